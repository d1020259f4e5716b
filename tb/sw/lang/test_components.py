"""The pass that finds loops whose labels end as the least vertex of each component.

======================  ===========================================================================
what has the fact       test_components: any functions of which the same is proved, with anything
                        beside them that is the same in every round
what has it not         test_no_components: a premiss fails each time
======================  ===========================================================================
"""

import pytest

from sw.lang import graph_ir as ir
from sw.lang.facts import OrderFree, known
from sw.lang.reader import read_text
from tb.sw.lang.fact_programs import components_text
from tb.sw.lang.spelled import analysed


_SEEN = {"vectors": "words = vector(uint, 0)", "returns": "label, words"}
_COUNTED = {"before": "rounds = 0", "after": "rounds += 1"}
_SHORTCUT = "label[v] = label[label[v]]\ndiffers[v] = False"
_LOWER = "    label[max(label[src], label[dst])].min(min(label[src], label[dst]))\n"
_APART = """if label[src] {} label[dst]:
    label[label[dst]].min(label[src])
    differs[dst] |= True"""


@pytest.mark.parametrize("text", [
    {},
    {"shortcut": "differs[v] = False", "hook": """if label[src] != label[dst]:
    label[src].min(label[dst])
    label[dst].min(label[src])
    differs[src] |= True"""},
    {"hook": _APART.format("<"), "needs": "(needs=symmetric)"},
    {"hook": _APART.replace("]:", "] and label[src] != label[dst]:", 1).format("<="),
     "needs": "(needs=symmetric)"},
    {"hook": """if label[src] >= label[dst] and label[src] != label[dst]:
    label[label[src]].min(label[dst])
    differs[src] |= True""", "needs": "(needs=symmetric)"},
    {"hook": _APART.format("<") + """
if label[src] > label[dst]:
    label[label[src]].min(label[dst])
    differs[src] |= True"""},
    {"hook": """a = min(label[src], label[dst])
b = max(label[dst], label[src])
if not a >= b:
    label[b].min(a)
    differs[src] |= True
    label[dst].min(label[label[src]])"""},
    {"shortcut": """below = label[label[label[v]]]
if below != label[v]:
    label[v] = min(v, below)
differs[v] = False"""},
    {"shortcut": """if label[v] > label[label[v]]:
    label[v] = label[label[v]]
differs[v] = False"""},
    {"shortcut": """if label[label[v]] < label[v]:
    label[v] = label[label[v]]
differs[v] = False"""},
    {"shortcut": """if label[v] != min(label[label[v]], v):
    label[v] = min(label[label[v]], v)
differs[v] = False"""},
    {"flags": "vector(uint, 0)", "shortcut": "label[v] = label[label[v]]\ndiffers[v] = 0",
     "hook": f"if label[src] != label[dst]:\n    differs[dst].max(3)\n{_LOWER}"},
    _SEEN | _COUNTED | {"shortcut": f"{_SHORTCUT}\nwords[v] = 3"},
    _SEEN | {"before": "def count(src, dst): words[dst].max(2)", "after": "edges.apply(count)"},
    _SEEN | {"before": "def note(v): words[v] = 3", "behind": "vertices.apply(note)"}])
def test_components(text):
    assert _order_free(text) == "label"


@pytest.mark.parametrize("text", [
    # labels do not begin as the vertices, or flags do not begin as False
    {"labels": "vector(vertex, 0)"}, {"flags": "vector(bool, True)"},
    {"before": "label[3] = 2"}, {"before": "differs[3] = True"},
    {"before": "def first(v): label[v] = min(label[v], 1)\nvertices.apply(first)"},
    {"before": "def other(src, dst): label[dst].max(src)\nedges.apply(other)"},
    {"before": "def flag(v): differs[v] = v == 1\nvertices.apply(flag)"},
    # a label may rise, or be no vertex of the component
    {"shortcut": "label[v] = max(label[v], label[label[v]])\ndiffers[v] = False"},
    {"shortcut": "label[v] = min(label[label[v]], 3)\ndiffers[v] = False"},
    {"shortcut": "label[v] = v\ndiffers[v] = False"},
    # no label falls in a round in which an edge sets a flag
    {"shortcut": "differs[v] = False"},
    {"shortcut": "label[v] = label[v]\ndiffers[v] = False"},
    {"shortcut": "if v > 1:\n    label[v] = label[label[v]]\ndiffers[v] = False"},
    {"shortcut": "if label[v] < label[label[v]]:\n    label[v] = label[label[v]]\n"
                 "differs[v] = False"},
    {"shortcut": "if label[label[v]] > label[v]:\n    label[v] = label[label[v]]\n"
                 "differs[v] = False"},
    {"hook": """if label[src] != label[dst]:
    label[min(label[src], label[dst])].min(max(label[src], label[dst]))
    differs[dst] |= True"""},
    # edges that differ set no flag; or a flag stays; or others are set
    {"hook": _APART.format("<")},
    {"hook": f"if label[src] != label[dst] and edges.out_degree(src) > 1:\n{_LOWER}"
             "    differs[dst] |= True"},
    {"shortcut": "label[v] = label[label[v]]\nif v > 1:\n    differs[v] = False"},
    {"hook": f"if True:\n{_LOWER}    differs[dst] |= True"},
    # a label changes, and no edge says so
    {"hook": f"if label[src] != label[dst]:\n{_LOWER}    differs[dst] |= True\n"
             "if label[src] < label[dst]:\n    label[dst].min(label[src])"},
    {"asked": "label"},
    # a label is lowered elsewhere, raised by other edges, or stored by the host
    {"vectors": "other = vector(vertex, 0)",
     "hook": f"if label[src] != label[dst]:\n{_LOWER}    differs[dst] |= True\n"
             "    label[other[dst]].min(label[src])"},
    {"before": "def other(src, dst): label[dst].max(label[src])", "after": "edges.apply(other)"},
    {"after": "label[3] = 2"},
    # a call may fail, by a word of then
    {"hook": f"if label[src] != label[dst]:\n{_LOWER}    differs[dst] |= True\n"
             "    if 9 // uint(label[dst]) < 5:\n        label[dst].min(label[src])"},
    # two operators change a word
    _SEEN | {"before": "def note(src, dst): words[dst].max(7)", "after": "edges.apply(note)",
             "shortcut": f"{_SHORTCUT}\nwords[v] = 3"},
    # what depends on the order, or on the number of rounds
    _SEEN | {"hook": f"if label[src] != label[dst]:\n{_LOWER}    differs[dst] |= True\n"
                     "    words[dst] += 1"},
    _SEEN | {"shortcut": f"{_SHORTCUT}\nwords[v] = uint(label[v])"},
    _SEEN | {"before": "def count(src, dst): words[dst].max(2)\ndef low(v): return label[v] == 3",
             "after": "edges.to(low).apply(count)"},
    _SEEN | {"hook": f"if label[src] != label[dst]:\n{_LOWER}    differs[dst] |= True\n"
                     "words[label[dst]].max(1)"},
    _SEEN | _COUNTED | {"shortcut": f"{_SHORTCUT}\nwords[v] = rounds"},
    _SEEN | _COUNTED | {"before": "rounds = 0\ndef note(v): words[v] = rounds",
                        "behind": "vertices.apply(note)"}])
def test_no_components(text):
    assert _order_free(text) is None


def _order_free(text):
    program = analysed(read_text(components_text(**text)))
    [loop] = [node for node in program.body if isinstance(node, ir.WhileLoop)]
    fact = known(loop, OrderFree)
    return fact and fact.vector
