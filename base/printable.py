"""Text that is fit to be printed, whatever it was made of.

File names, arguments, members of archives and symbols of programs may have any characters: those
that control a terminal, those that turn the direction of writing, bytes that are not UTF-8 (which
Python keeps as lone surrogates), and any length. Whoever prints such text passes it through
:func:`printable`, and messages of errors through :func:`one_line`.
"""

import re


__all__ = ["LINE", "PIECE", "one_line", "printable"]


#: Characters of the longest word or quotation in a message, and of a message.
PIECE, LINE = 200, 1500

_WORD = re.compile(rf"'[^']{{{PIECE - 1},}}'|\S{{{PIECE + 1},}}")


def _escape(character: str) -> str:
    if 0xDC80 <= ord(character) <= 0xDCFF:
        return f"\\x{ord(character) - 0xDC00:02x}"              # a byte that is not UTF-8
    return character.encode("unicode_escape").decode()


def _cut(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    end = most // 3
    return f"{text[:most - end - 1]}…{text[-end:]}"


def printable(text: str, most: int | None = None, lines: bool = False) -> str:
    r"""``text`` with escapes such as ``\x1b`` in the place of characters that cannot be printed.

    Parameters
    ----------
    text : str
    most : int, optional
        Largest number of characters of the result. A longer text keeps its beginning and its end,
        with ``…`` between them.
    lines : bool
        Whether ends of lines stay.
    """
    text = _cut(text, most)
    if not text.isprintable():
        text = "".join(character if character.isprintable() or (lines and character == "\n")
                       else _escape(character) for character in text)
    return _cut(text, most)


def one_line(message: object) -> str:
    """A message as one line of at most :data:`LINE` characters.

    Words and quotations of more than :data:`PIECE` characters are cut in the middle.
    """
    text = " ".join(str(message).split())
    text = _WORD.sub(lambda match: printable(match[0], PIECE), text)
    return _cut(printable(text), LINE)
