"""``graphloom board``: a board that is simulated, at a serial port that is none."""

from typing import Annotated

import typer

from base.errors import UserError

from .commands import app
from .records import with_machine


_LINE = "Serial line"


@app.command("board", epilog="Example: graphloom board --preset tiny --corrupt 0.001, and in "
             "another terminal graphloom run bfs karate --device serial:/dev/pts/3")
@with_machine("dram", preset="fpga")
def _board(
        machine,
        corrupt: Annotated[float, typer.Option(
            metavar="P", min=0.0, max=1.0, help="Probability that a byte arrives as another.",
            rich_help_panel=_LINE)] = 0.0,
        lose: Annotated[float, typer.Option(
            metavar="P", min=0.0, max=1.0, help="Probability that a byte does not arrive.",
            rich_help_panel=_LINE)] = 0.0,
        repeat: Annotated[float, typer.Option(
            metavar="P", min=0.0, max=1.0, help="Probability that a byte arrives twice.",
            rich_help_panel=_LINE)] = 0.0,
        seed: Annotated[int, typer.Option(
            metavar="N", min=0, help="Seed of the faults on the line.", rich_help_panel=_LINE)] = 1,
        divisor: Annotated[int, typer.Option(
            metavar="N", help="Clock cycles of a bit. A real line takes about 50; with fewer the "
            "simulation waits less for the line.", rich_help_panel=_LINE)] = 4,
        memory: Annotated[str, typer.Option(
            metavar="sdram|dram", help="sdram: the board's SDRAM with its controller; dram: the "
            "DRAM model of other simulations.", rich_help_panel="Hardware")] = "sdram"):
    """Simulate a board with its host link, and print the port of the board for programs.

    The simulation runs until Ctrl-C.
    """
    config = machine.config()
    timing = machine.memory(config)
    if memory not in ("sdram", "dram"):
        raise UserError(f"--memory {memory}: must be sdram or dram")
    if machine.dram and memory != "dram":
        raise UserError("--dram applies to the DRAM model only: give --memory dram as well")

    from sim.board_simulator import BoardSimulator

    from .execute import console, progress_display
    with progress_display() as (show, tell):
        show("preparing the hardware")
        board = BoardSimulator(config, divisor=divisor, sdram=memory == "sdram", dram=timing,
                               corrupt=corrupt, lose=lose, repeat=repeat, seed=seed, report=tell)
    out = console()
    out.say(f"{board.port}: a board, {config.name}; use it with --device serial:{board.port}, "
            "end it with Ctrl-C")
    out.file.flush()
    try:
        board.run()
        if board.problem is not None:
            raise board.problem
    except KeyboardInterrupt:
        lines = (board.to_board, board.to_host)
        out.print(f"{board.cycles:,} cycles; on the line "
                  + ", ".join(f"{sum(getattr(line, what) for line in lines):,} bytes {what}"
                              for what in ("corrupted", "lost", "repeated")))
    finally:
        board.close()
