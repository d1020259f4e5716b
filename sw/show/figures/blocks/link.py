"""The host link of a board."""

from hw.config import preset
from hw.link.linked_gpu import LinkedGpu
from hw.link.link import Link

from ..diagram import Diagram
from ..module_graph import ModuleGraph


__all__ = ["draw"]


def draw() -> str:
    """The picture."""
    config = preset("fpga").replace(threads=4, warps=2)
    clock = {"divisor": 50, "clock_hz": 50_000_000}
    d = Diagram("Block diagram of the host link", 860, 330, {
        "link": ModuleGraph(Link(config, **clock)),
        "board": ModuleGraph(LinkedGpu(config, **clock))})
    d.box("link", (110, 16, 510, 226), ["Link"], kind="frame", of=("board/link",))
    d.box("rx", (16, 56, 56, 40), ["rx"], kind="outside", of=("link/port rx",))
    d.box("tx", (16, 182, 56, 40), ["tx"], kind="outside", of=("link/port tx",))
    d.box("uart in", (126, 50, 84, 52), ["UART", "receiver"], of=("link/uart_receiver",))
    d.box("queue", (230, 50, 76, 52), ["Queue", "block RAM"], kind="memory",
          of=("link/queue", "link/received"))
    d.box("receiver", (326, 50, 104, 52), ["Receiver", "unstuffs, CRC"], of=("link/receiver",))
    d.box("buffer", (326, 120, 104, 40), ["Buffer", "block RAM"], kind="memory",
          of=("link/buffer",))
    d.box("transmitter", (326, 176, 104, 52), ["Transmitter", "CRC, stuffs"],
          of=("link/transmitter",))
    d.box("uart out", (126, 176, 84, 52), ["UART", "transmitter"], of=("link/uart_transmitter",))
    d.box("performs", (470, 90, 134, 100), ["State machine", "performs a frame,", "word by word"],
          kind="graph", of=("link/value", "link/address", "link/state_state"))
    d.arrow("rx", "uart in")
    d.arrow("uart in", "queue")
    d.arrow("queue", "receiver")
    d.arrow("receiver", "buffer", out="bottom", into="top")
    d.arrow("buffer", "performs", both=True)
    d.arrow("performs", "transmitter", out="left+40", into="right-22",
            via=((450, None), (None, 180)))
    d.arrow("transmitter", "uart out", out="left", into="right")
    d.arrow("uart out", "tx", out="left", into="right")
    d.box("gpu", (680, 90, 160, 60), ["GPU"], kind="core", of=(
        "board/gpu", "link/port read", "link/port write", "link/port address",
        "link/port write_data", "link/port read_data"))
    d.arrow("performs", "gpu", out="right-20", label=("host port", (650, 112)), both=True)
    d.box("share", (560, 264, 160, 50), ["Memory share", "the link goes first"], kind="memory",
          of=("board/share", "link/port request", "link/port response"))
    d.arrow("performs", "share", out="bottom+43", into="top-60",
            label=("words", (590, 256), "start"), both=True)
    d.arrow("gpu", "share", out="bottom-60", into="top+60", label=("lines", (706, 230), "start"),
            both=True)
    d.box("memory", (760, 264, 80, 50), ["Memory"], kind="outside",
          of=("board/port memory_request", "board/port memory_response"))
    d.arrow("share", "memory", both=True)
    return d.svg()
