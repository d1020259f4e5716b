"""Random programs that are nearly searches: most facts hold in some of them, and not in others."""

__all__ = ["near_search"]


_FILTERS = ("depth[v] == infinity", "infinity == depth[v]", "depth[v] > level", "mark[v] == 0",
            "not flag[v]", "depth[v] == infinity and mark[v] < 2", "parent[v] == none",
            "dist[v] > 3", "level < depth[v]")
_REDUCTIONS = ("parent[dst].min(src)", "parent[dst].max(src)", "depth[dst].min(level)",
               "depth[dst].min(depth[src] + 1)", "ways[dst] += ways[src]", "ways[dst] += 1",
               "mark[dst].max(1)", "mark[dst].max(level)", "mark[dst].min(depth[src])",
               "flag[dst] |= True", "dist[dst].min(dist[src] + weight)", "dist[dst].min(dist[src])")
_GUARDS = ("src != dst", "dist[src] + weight < dist[dst]", "depth[src] < level", "mark[src] == 0",
           "uint(src) < 9")
_STORES = ("depth[v] = level", "depth[v] = level", "depth[v] = level + 1",
           "depth[v] = min(depth[v], level)", "mark[v] = 1", "mark[v] = 0",
           "mark[v] = mark[v] + 1", "flag[v] = True", "parent[v] = v", "ways[v] = 0",
           "dist[v] = 2")
_STARTS = ("depth[source] = 0", "parent[source] = source", "ways[source] = 1", "mark[source] = 1",
           "dist[source] = 0", "flag[source] = True", "depth[other] = 0")
_COUNTS = ("level += 1", "level += 1", "level += 1", "level += 2", "level = level - 1", "level = 5")
_LOOPS = ("while frontier:", "while frontier:", "while len(frontier) > 0:",
          "for level in range(4):", "while level < 5:")


def near_search(rng) -> str:
    """The text of a program.

    Parameters
    ----------
    rng : random.Random
    """
    pick, seldom = rng.choice, rng.random() < .25
    reductions = _of_each(rng, _REDUCTIONS, pick((1, 1, 2, 2, 3)))
    stores = _of_each(rng, _STORES, pick((1, 1, 2)))
    if seldom:
        test = pick(("depth[v] == infinity", "mark[v] == 0", "uint(v) < 8"))
        stores[0] = f"if {test}:\n            {stores[0]}"
    if rng.random() < .4:
        guard = pick(_GUARDS)
        reductions = [f"if {guard}:", *(f"    {line}" for line in reductions)]
    tracking = reductions[-1].split("[")[0].strip()
    loop = pick(_LOOPS)
    body = [f"frontier = edges.from_({pick(('frontier', 'frontier', 'vertices'))})"
            f"{pick(('.to(wanted)', '.to(wanted)', ''))}.apply_modified(visit, {tracking})",
            *pick((("frontier.apply(settle)",),) * 4 + (("vertices.apply(settle)",), ()))]
    body += [line for line in ("frontier = frontier.where(wanted)", "vertices.apply(settle)")
             if rng.random() < .2]
    body.insert(0, "frontier.apply(settle)" if rng.random() < .2 else "limit += 1")
    if not loop.startswith("for"):
        body.insert(pick((0, 0, len(body))), pick(_COUNTS))
    inside = "\n        ".join(reductions)
    weight = ", weight" if "weight" in inside else ""
    lines = "\n        "
    return f"""
@program
def near(edges: edgeset, source: vertex = 0, other: vertex = 3):
    depth = vector(uint, {pick(('infinity', 'infinity', 'infinity', '0'))})
    parent = vector(vertex, {pick(('none', 'none', '0', 'lambda v: v'))})
    ways = vector(uint, 0)
    mark = vector(uint, {pick(('0', '0', '0', 'infinity'))})
    flag = vector(bool, False)
    dist = vector(uint, infinity)

    def wanted(v):
        return {pick(_FILTERS)}

    def visit(src, dst{weight}):
        {inside}

    def settle(v):
        {lines.join(stores)}

    level = {pick(('0', '0', '0', '1', '7'))}
    limit = 0
    {(chr(10) + '    ').join(rng.sample(_STARTS, rng.randint(1, 5)))}
    frontier = {pick(('vertexset(source)',) * 4 + ('vertexset(source, other)', 'vertices'))}
    {loop}
        {lines.join(body)}
    return depth, parent, ways, mark, flag, dist
"""


def _of_each(rng, lines, count):
    """So many lines at most, of different vectors."""
    found = {line.split("[")[0]: line for line in rng.sample(lines, count)}
    return list(found.values())
