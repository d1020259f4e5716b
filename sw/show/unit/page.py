"""The interface of a unit as a page in Markdown."""

import itertools


__all__ = ["page"]


#: How a payload passes.
_STREAM = """\
clk      _/‾\\_/‾\\_/‾\\_/‾\\_/‾\\_
valid    ___/‾‾‾‾‾‾‾‾‾‾‾‾‾\\___
ready    _______/‾‾‾‾‾‾‾‾‾‾‾‾‾
payload  ---<    A    >< B >---
passes           A      B
"""

#: How the host reads and writes a register.
_REGISTERS = """\
clk          _/‾\\_/‾\\_/‾\\_/‾\\_/‾\\_
{write:12} ___/‾‾‾\\_______________
{read:12} ___________/‾‾‾\\_______
{address:12} ---< W >-----< R >-------
{data:12} ---< D >-----------------
{answer:12} -----------------< Q >---
"""


def page(described) -> str:
    """The page.

    Parameters
    ----------
    described : Described
    """
    parts = [f"# {described.module}", described.summary,
             f"Written by `{described.command}`. Other sizes give ports of other widths.",
             "## Ports", _ports(described)]
    streams = [port for port in described.ports() if port.get("stream") == "valid"]
    if streams:
        parts += ["A payload passes in each cycle in which both `valid` and `ready` are high. "
                  "`ready` may come before, with or after `valid`:", _block(_STREAM)]
    names = {port["name"] for port in described.ports()}
    for ports in (("host_write", "host_read", "host_addr", "host_wdata", "host_rdata"),
                  ("write", "read", "address", "write_data", "read_data")):
        if names.issuperset(ports) and described.registers():
            named = dict(zip(("write", "read", "address", "data", "answer"), ports))
            parts += ["A write takes one cycle; the word that is read comes in the next cycle:",
                      _block(_REGISTERS.format(**named))]
    for name, values in described.values().items():
        parts += [f"## {name}", _table(("number", "name"), (
            (number, f"`{value}`") for value, number in values.items()))]
    if rows := described.instructions():
        parts += ["## Instructions", _table(("`request_op`", "instruction", "reads", "effect"), (
            (row["number"], f"`{row['name']}`", ", ".join(f"`{each}`" for each in row["reads"]),
             row["doc"]) for row in rows))]
    if rows := described.registers():
        parts += ["## Registers", _table(("address", "register", "access", "bits", ""), (
            (_address(row), f"`{row.name.replace('%s', 'i')}`", row.access, row.bits, row.doc)
            for row in rows))]
    if places := described.memory_map():
        parts += ["## Memory", _table(("address", "region"), (
            (f"`0x{address:08X}`", name) for name, address in places.items()))]
    return "\n\n".join(parts) + "\n"


def _address(row):
    return f"`0x{row.address:06X}`" + (f" + {row.stride} i, i < {row.count}" if row.stride else "")


def _ports(described):
    """A table of the ports, with a row for each member that has several."""
    rows = []
    for member, ports in itertools.groupby(described.ports(), lambda port: port["member"]):
        ports = list(ports)
        text = described.member(member)
        if len(ports) > 1:
            rows.append((f"**{member}**", "", "", text))
        rows += [(f"`{port['name']}`", port["direction"], _width(port), port["doc"])
                 for port in ports]
    return _table(("port", "", "bits", ""), rows)


def _width(port):
    if "element" in port and port["width"] > port["element"]:
        return f"{port['width'] // port['element']} x {port['element']}"
    return port["width"]


def _table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
                     for line in lines)


def _block(text):
    return f"```text\n{text}```"
