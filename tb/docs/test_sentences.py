"""Every sentence of the project begins with its subject.

=================  =============================================================
the search         test_hidden, test_page, test_source: it finds a sentence in
                   each place that can hold one, and no question and no code
the project        test_none
=================  =============================================================
"""

import pytest

from tb.docs import sentences


@pytest.mark.parametrize("text, found", [
    ("What is built is kept.", True),
    ("Who waits is woken.", True),
    ("Of two equal ones the first wins.", True),
    ("**That** is so.", True),
    ("`What` is a name.", True),
    ("What is kept?", False),
    ("*Who waits?*", False),
    ("Whatever is kept.", False),
    ("Offsets are words.", False),
    ("A warp does what it should.", False),
    ("", False),
])
def test_hidden(text, found):
    assert sentences.hidden(text) == found


def texts(read, path, monkeypatch):
    monkeypatch.setattr(sentences, "ROOT", path.parent)
    return [(found.line, found.text) for found in read(path) if sentences.hidden(found.text)]


def test_page(tmp_path, monkeypatch):
    path = tmp_path / "page.md"
    path.write_text("""\
# What it is

A unit. What waits is
woken. What is it? Good.

- Of items
  1. Who asks

| What stands | That stands |
|---|---|
| right: Of cells | what |

```
What is code
```

    Who is code

That is the end""")
    assert texts(sentences.of_page, path, monkeypatch) == [
        (1, "What it is"), (3, "What waits is woken."), (6, "Of items"), (7, "Who asks"),
        (9, "What stands"), (9, "That stands"), (11, "Of cells"), (19, "That is the end")]


def test_source(tmp_path, monkeypatch):
    path = tmp_path / "module.py"
    path.write_text('''\
"""What a module does. Good."""

#: Of values, the first
VALUE = "What is no comment"     # Who waits

def f(a):
    """A function.

    Parameters
    ----------
    a : int
        What it takes.
    """
    text = """What is no docstring."""
    # A comment
    # of lines. That is
    # the end.

class C:
    """Who? A class."""
''')
    assert sorted(texts(sentences.of_source, path, monkeypatch)) == [
        (1, "What a module does."), (3, "Of values, the first"), (4, "Who waits"),
        (12, "What it takes."), (15, "That is the end.")]


def test_none():
    assert len(sentences.pages()) > 20 and len(sentences.sources()) > 300
    found = sentences.all_hidden()
    assert not found, "\n".join(map(str, found))
