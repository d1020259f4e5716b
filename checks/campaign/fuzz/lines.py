"""Valid command lines from pages and from the help of commands, and their mutations."""

import re
import shlex

import typer

from base.installation import ROOT


__all__ = ["Lines"]


#: Pages whose command lines are valid.
_PAGES = ("README.md", "docs/commands.md")

#: {file named in a page or in help: file of the corpus that replaces it}.
_STANDS = {"my-graph.mtx.gz": "graph.mtx.gz", "soc-epinions1.el.gz": "graph.el.gz",
           "road.gr.gz": "road.gr.gz"}

#: Commands that change the project or need an hour. Their mutations would do so too.
_LEFT_OUT = {"docs", "lint", "lock", "test"}

#: Values that programs often handle wrongly.
NASTY = (
    "", " ", "-", "--", "=", ":", ",", ".", "..", "/", "0", "-1", "+5", "1.5", "1e9", "1e309",
    "nan", "inf", "-0", "00", "0x10", "0b1", "1_000", " 7", "7 ", "2147483647", "2147483648",
    "4294967295", "4294967296", "9" * 40, "9" * 5000, "\u0663", "\uff13",
    "\u00b2", "a" * 300, "a" * 70_000,
    "\x1b[31m", "a\nb", "a\tb", "\r", "\x07", "\udcff", "\u00e9", "\u202e", "\U0001f980", "[red]",
    "{}", "%s%n", "$HOME", "~", "~nobody/x", "*", "None", "true", "scale=3", "x:y=z", "x:y=z,y=z",
    "a,a", ",,", "a=b=c", "=1", "warps=", "warps=4", "missing", "missing/x.json", "graph.el",
    "graph.npz", "program.elf", "figures.jsonl", ".", "/dev/null", "/dev/full", "/dev/zero",
    "out.json", "out.npz", "out.txt", "out.fst", "rmat:scale=4,degree=2,seed=1",
    "rmat:scale=40,degree=2", "uniform:vertices=0,edges=1", "karate", "@file", "--help", "-h",
    "--json", "--set", "serial:/dev/missing", "serial:", "vwc:width=3", "cr2:cluster_bits=99")


def _commands(group, path=()):
    """Every command below a group, as (words, command)."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def _examples(text):
    """Command lines in a text, as lists of words without the program's name."""
    for line in re.findall(r"graphloom ([a-z][^;\n]*)", text):
        try:
            words = shlex.split(line.rstrip("."))
        except ValueError:
            continue
        yield [_STANDS.get(word, word) for word in words]


class Lines:
    """Valid command lines, and mutations of them.

    Parameters
    ----------
    app : typer.Typer
        The command line.
    """
    def __init__(self, app):
        group = typer.main.get_command(app)
        self._commands = {words: command for words, command in _commands(group)
                          if words[0] not in _LEFT_OUT}
        known = {words[0] for words in self._commands}
        text = "".join((ROOT / page).read_text("utf-8") for page in _PAGES)
        found = list(_examples("\n".join(re.findall(r"(?m)^    \./(graphloom .*)$", text))))
        for words, command in self._commands.items():
            found += _examples(f"{command.epilog or ''}\n")
            found.append([*words, "--help"])
            found.append(list(words))
        #: Valid lines. Each line is a list of words.
        self.valid = [line for line in map(list, dict.fromkeys(map(tuple, found)))
                      if line[0] in known]

    def _options(self, line):
        """The options of the command of a line."""
        for length in (2, 1):
            command = self._commands.get(tuple(line[:length]))
            if command is not None:
                return [parameter for parameter in command.params if parameter.opts[0][0] == "-"]
        return []

    def _value(self, rng, word):
        kind = rng.randrange(6)
        if kind <= 1 or not word:
            return rng.choice(NASTY)
        place = rng.randrange(len(word) + 1)
        if kind == 2:                                   # something in the middle
            return word[:place] + rng.choice(NASTY)[:300] + word[place:]
        if kind == 3:                                   # one character less
            return word[:place] + word[place + 1:]
        if kind == 4:                                   # another number
            return re.sub(r"\d+", lambda _: rng.choice(("0", "1", "3", "64", "1000000", "-1", "x",
                                                        "18446744073709551616")), word, count=1)
        return word * 2

    def mutated(self, rng):
        """A valid line with one to four mutations.

        Parameters
        ----------
        rng : random.Random

        Returns
        -------
        list of str
        """
        line = list(rng.choice(self.valid))
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
            kind, place = rng.randrange(8), rng.randrange(len(line))
            options = self._options(line)
            if kind <= 2 and len(line) > 1:
                place = rng.randrange(1, len(line))
                line[place] = self._value(rng, line[place])
            elif kind == 3 and options:
                option = rng.choice(options)
                line += [rng.choice(option.opts), *[rng.choice(NASTY)] * (not option.is_flag)]
            elif kind == 4 and options:
                option = rng.choice(options)
                line.append(f"{option.opts[0]}={rng.choice(NASTY)}")
            elif kind == 5 and len(line) > 1:
                del line[place]
            elif kind == 6:
                line.insert(place, line[rng.randrange(len(line))])
            else:
                line.insert(rng.randrange(1, len(line) + 1), rng.choice(NASTY))
        # No argument of a process holds a zero byte.
        return [word.replace("\0", "") for word in line if word is not None] or ["run"]
