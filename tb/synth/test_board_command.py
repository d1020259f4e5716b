"""``graphloom synth board``: its files, its messages, and its refusals before a build."""

import json

import pytest
import typer
from typer.testing import CliRunner

import synth.ulx3s
from base.errors import UserError
from sw.cli import synth_board
from sw.show.report import build, inputs
from tb.synth.test_ulx3s import small_board


@pytest.fixture
def command(monkeypatch):
    """A function that calls the command with a board whose system is small."""
    app = typer.Typer()
    app.callback()(lambda: None)
    synth_board.register(app)

    def call(*arguments):
        return CliRunner().invoke(app, ["board", *map(str, arguments)], catch_exceptions=True)
    monkeypatch.setattr(synth.ulx3s, "Ulx3s", lambda config, **options: small_board(**options))
    return call


@pytest.mark.full
def test_writes_a_bitstream(command, tmp_path):
    output, results = tmp_path / "x.bit", tmp_path / "x.json"
    done = command("-o", output, "--json", results, "--seeds", "1")
    assert done.exit_code == 0, done.output
    assert "fpga on ecp5-85k with sdram, 50 MHz, 1000000 baud" in done.output
    assert "SDRAM clock: 4.79 ns after the system clock" in done.output
    found = json.loads(results.read_text())
    placement, = found["placements"]
    board = found["board"]
    assert board["bytes"] == output.stat().st_size
    assert board["seed"] == placement["seed"] == 1 and placement["frequency"] >= 50
    page, = (page for _, page in build.pages_of(inputs.find([str(results)])))
    assert page.command.startswith("./graphloom synth board --memory sdram --frequency 50 ")
    assert {each.title for each in page.blocks} == {"Area", "Frequency"}


@pytest.mark.parametrize("arguments, message", [
    (["-o", "x.bin"], "the name must end in .bit"),
    (["-o", "/nowhere/x.bit"], "there is no folder /nowhere"),
    (["--seeds", "1,x"], "--seeds"),
    (["--seeds", "0"], "0 is no seed"),
    (["--frequency", "48"], "a clock of 48 MHz cannot be made"),
])
def test_refuses(command, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = command(*arguments)
    assert isinstance(done.exception, UserError) and message in str(done.exception)
    assert not list(tmp_path.iterdir())
