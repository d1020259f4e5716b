# amaranth: UnusedElaboratable=no
"""Boards with plain ports, and the boards' Verilog, for a simulator."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.board_system import BoardSystem
from hw.config import HardwareConfig
from hw.emit import verilog as emit
from hw.link.linked_gpu import LinkedGpu
from hw.memory.port import memory_tag_bits, plain_connect, plain_ports
from hw.sdram.pins import Pins


__all__ = ["FlatBoard", "FlatSystem", "verilog"]


class FlatBoard(wiring.Component):
    """The linked GPU with a plain port for each field of the memory port.

    Members
    -------
    rx, tx : In(1), Out(1)
        The serial line.
    busy : Out(1)
        As for the :class:`~hw.gpu.Gpu`.
    mem_req_valid, mem_req_ready, mem_req_write, mem_req_line, mem_req_data, mem_req_mask, \
    mem_req_tag, mem_rsp_valid, mem_rsp_ready, mem_rsp_tag, mem_rsp_data
        As for :class:`hw.top.FlatGpu`, with one more bit of tag.

    Attributes
    ----------
    black_boxes : dict
        As for the :class:`~hw.gpu.Gpu`.
    """
    def __init__(self, config: HardwareConfig, divisor, clock_hz):
        self._board = LinkedGpu(config, divisor, clock_hz)
        self.black_boxes = self._board.black_boxes
        super().__init__({
            "rx": In(1, init=1), "tx": Out(1, init=1), "busy": Out(1),
            **plain_ports(config, "mem", memory_tag_bits(config) + 1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.board = board = self._board
        m.d.comb += [
            board.rx.eq(self.rx), self.tx.eq(board.tx), self.busy.eq(board.busy),
        ]
        plain_connect(m, self, "mem", board.memory_request, board.memory_response)
        return m


class FlatSystem(wiring.Component):
    """A board's system with SDRAM (:class:`hw.board_system.BoardSystem`), with a plain port for
    each pin.

    Members
    -------
    rx, tx, busy
        As for :class:`FlatBoard`.
    sdram_clk_en, sdram_cs, sdram_ras, sdram_cas, sdram_we, sdram_ba, sdram_a, sdram_dqm, \
    sdram_dq_o, sdram_dq_oe, sdram_dq_i
        The SDRAM's pins (:data:`hw.sdram.pins.Pins`).

    Attributes
    ----------
    black_boxes : dict
        As for the :class:`~hw.gpu.Gpu`.
    """
    def __init__(self, config: HardwareConfig, divisor, clock_hz):
        self._system = BoardSystem(config, frequency=clock_hz / 1e6, baud=clock_hz / divisor)
        self.black_boxes = self._system.black_boxes
        super().__init__({
            "rx": In(1, init=1), "tx": Out(1, init=1), "busy": Out(1),
            **{f"sdram_{name}": member for name, member in Pins.members.items()},
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.system = system = self._system
        m.d.comb += [system.rx.eq(self.rx), self.tx.eq(system.tx), self.busy.eq(system.busy)]
        for name, member in Pins.members.items():
            outside, inside = getattr(self, f"sdram_{name}"), getattr(system.pins, name)
            m.d.comb += outside.eq(inside) if member.flow == Out else inside.eq(outside)
        return m


def verilog(config: HardwareConfig, divisor, clock_hz, *, sdram) -> str:
    """Verilog of the board; the top module is ``graphloom_board``.

    With ``sdram`` the board has an SDRAM controller, otherwise a memory port.
    """
    board = (FlatSystem if sdram else FlatBoard)(config, divisor, clock_hz)
    return emit({"graphloom_board": board, **board.black_boxes})
