"""Command lines, links, files and tests that README and the pages of docs name.

======================  ========================================================
pages                   test_a_page: how their parts are found
command lines           test_command_lines: the parser of each command takes the
                        words of each code block; test_commands_in_sentences:
                        the same for commands within sentences, which may leave
                        out arguments
links                   test_links: each file is there, and has the heading
files                   test_files: files and folders of the project that a page
                        names are there
======================  ========================================================

The code blocks of "How do I" are run: :mod:`tb.docs.test_how_do_i`.
"""

import functools
import re
from unittest import mock

import pytest

from base.errors import UserError
from sw.cli.commands import RefusedLine, StrictCommand
from sw.cli.main import app
from sw.cli.tests import ROOT

from . import markdown


PAGES = {str(path.relative_to(ROOT)): path for path in markdown.pages()}


def parse(words, complete=True):
    """Let the command line parse the words and do nothing else.

    Returns None, or the reason for which the command refuses the words. Unless the line is
    ``complete``, arguments and the value of the last option may be left out.
    """
    if words in (["--install-completion"], ["--show-completion"]):
        return None             # these would be done, at home of whoever runs the tests
    try:
        with mock.patch.object(StrictCommand, "invoke", return_value=None) as invoked:
            app(words, standalone_mode=False, prog_name="graphloom")
        return None if invoked.called or "--help" in words else "there is no command"
    except (RefusedLine, UserError) as error:
        if not complete and type(error).__name__ in ("MissingParameter", "BadOptionUsage",
                                                     "NoArgsIsHelpError"):
            return None
        return str(error) or type(error).__name__


def test_the_parser_refuses():
    """Each of these would fail if a user typed it."""
    for line in ("run bfs karate --scheduel vm", "run bfs karate extra", "run",
                 "rnu bfs karate", "synth weaver --seed 1", "bench",
                 "run bfs karate --max-cycles many", "run bfs karate --wave",
                 "graph info a.mtx --weight-scale x"):
        assert parse(line.split()), line
    for line in ("synth", "run bfs --wave", "reproduce"):
        assert parse(line.split(), complete=False) is None, line
    assert parse(["synth", "weaver", "--seeds", "1,2"]) is None


def test_a_page():
    """The parts of a page, as :mod:`tb.docs.markdown` finds them."""
    text = """\
# A `b`, c

See `a
b` and [x](y.md#z), [`w`](w.md).

    ./graphloom one \\
        two | graphloom three # four

- item
## Build time
```sh
# not a title
A=1 ./graphloom five; echo graphloom six
```
[no](link.md) `code`"""
    first, second = markdown.blocks(text)
    assert (first.heading, first.info, second.heading, second.info) == (
        "A `b`, c", "", "Build time", "sh")
    assert markdown.command_lines(first.text) == [["one", "two"], ["three"]]
    assert markdown.command_lines(second.text) == [["five"]]
    assert markdown.spans(text) == ["b", "a b", "w", "code"]
    assert markdown.links(text) == ["y.md#z", "w.md", "link.md"]
    assert markdown.anchors(text) == {"a-b-c", "build-time"}


@pytest.mark.parametrize("name", PAGES)
def test_command_lines(name):
    wrong = []
    for block in markdown.blocks(PAGES[name].read_text()):
        if block.info.split()[:1] not in (["python"], ["diff"], ["json"]):
            wrong += [f"{' '.join(words)}: {why}" for words in markdown.command_lines(block.text)
                      if (why := parse(words))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_sentences(name):
    wrong = []
    for span in markdown.spans(PAGES[name].read_text()):
        words = span.split()
        if words[0] in ("graphloom", "./graphloom") and words[1:] and "COMMAND" not in words:
            wrong += [f"{span}: {why}" for line in markdown.command_lines(span.replace("…", "x"))
                      if (why := parse(line, complete=False))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", PAGES)
def test_links(name):
    path, wrong = PAGES[name], []
    for link in markdown.links(path.read_text()):
        if "://" in link or link.startswith("mailto:"):
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists():
            wrong.append(f"{link}: there is no such file")
        elif anchor and anchor not in markdown.anchors(target.read_text()):
            wrong.append(f"{link}: there is no such heading")
    assert not wrong, "\n".join(wrong)


def _spread(pattern):
    """The names that a pattern with alternatives in braces stands for."""
    if found := re.fullmatch(r"(.*?)\{([^{}]*)\}(.*)", pattern):
        return [name for part in found[2].split(",")
                for name in _spread(found[1] + part.strip() + found[3])]
    return [pattern]


@functools.cache
def _tests():
    """Names of all tests, and of the files that hold them."""
    files = sorted((ROOT / "tb").rglob("*.py"))
    return {path.stem for path in files}.union(
        *(re.findall(r"(?m)^ *(?:async )?def (test_\w+)", path.read_text()) for path in files))


@pytest.mark.parametrize("name", PAGES)
def test_files(name):
    rooms = {path.name for path in ROOT.iterdir() if path.is_dir()} - {".git", ".venv"}
    wrong = []
    for span in markdown.spans(PAGES[name].read_text()):
        if re.fullmatch(r"test_\w+", span) and span not in _tests():
            wrong.append(f"{span}: there is no such test")
        if span.partition("/")[0] not in rooms or not re.fullmatch(r"[\w./*{},-]+(::\w+)?", span):
            continue
        for file in _spread(span):
            file, _, test = file.partition("::")
            # Words in capitals, as PAPER, stand for any.
            if not list(ROOT.glob(re.sub(r"\b[A-Z]{3,}\b(?![./]?md)", "*", file.rstrip("/")))):
                wrong.append(f"{file}: there is no such file")
            elif test and test not in _tests():
                wrong.append(f"{span}: there is no such test")
    assert not wrong, "\n".join(wrong)
