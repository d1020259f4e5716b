"""The reference models of the units that hand out edges, by the name of the variant."""

from hw.config import HardwareConfig
from sw.golden.gather.eghw import EghwModel
from sw.golden.gather.fsm import WeaverModel
from sw.golden.gather.graphpeg import GraphpegModel
from sw.golden.gather.scan import ScanModel
from sw.golden.gather.stream import StreamModel


__all__ = ["MODELS", "model"]


#: {value of ``HardwareConfig.gather``: function from configuration to model}.
MODELS = {
    "fsm": lambda config: WeaverModel(config.warps, config.threads, config.weaver_table_entries),
    "scan": lambda config: ScanModel(config.warps, config.threads, config.weaver_table_entries,
                                     _under_way(config)),
    "stream": lambda config: StreamModel(config.warps, config.threads,
                                         config.weaver_table_entries, _under_way(config)),
    "eghw": lambda config: EghwModel(config.warps, config.threads, config.weaver_table_entries),
    "graphpeg": lambda config: GraphpegModel(config.warps, config.threads),
}


def _under_way(config):
    """Rows under way in a unit that reads rows ahead: one a cycle of the table's latency."""
    return min(config.weaver_table_entries // config.threads, config.table_latency)


def model(config: HardwareConfig):
    """The model of a configuration's unit; ``None`` if the configuration has none."""
    return None if config.gather == "none" else MODELS[config.gather](config)
