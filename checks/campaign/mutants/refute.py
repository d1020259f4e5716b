"""A proof that must refute a planted fault.

``python -m checks.campaign.mutants.refute UNIT PROPERTY SHAPE DEPTH`` runs a proof on the unchanged
sources. Exit code 0 means that the proof holds, and 1 that it is refuted.
"""

import contextlib
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile


__all__ = ["imported", "refutation"]


#: Packages of RTL and proofs, which are imported anew.
_PACKAGES = ("hw.", "checks.formal.")


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a given text instead of the file's text."""

    def __init__(self, name, path, text):
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname):
        return compile(self._text, self.path, "exec")


class _Finder:
    """Finds only the module with the fault."""

    def __init__(self, mutant):
        self._mutant = mutant

    def find_spec(self, name, path=None, target=None):
        if name != self._mutant.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        loader = _Loader(name, spec.origin, self._mutant.after)
        return importlib.util.spec_from_file_location(
            name, spec.origin, loader=loader,
            submodule_search_locations=spec.submodule_search_locations)


def _mine():
    return [name for name in sys.modules if f"{name}.".startswith(_PACKAGES)]


@contextlib.contextmanager
def imported(mutant):
    """RTL and proofs imported anew, with the fault in one module.

    Inside the context ``import`` gives separate modules. After the context it gives the earlier
    modules again.

    Parameters
    ----------
    mutant : checks.campaign.mutants.mutant.Mutant
        A fault in ``hw`` or ``formal``.
    """
    before = {name: sys.modules.pop(name) for name in _mine()}
    finder = _Finder(mutant)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in _mine():
            del sys.modules[name]
        sys.modules.update(before)
        for name, module in before.items():
            parent, _, child = name.rpartition(".")
            if parent in sys.modules:
                setattr(sys.modules[parent], child, module)


def refutation(proof, folder, *, timeout=600):
    """The :class:`checks.formal.prove.Refuted` of a proof; None if it holds.

    Only the promise counts, not the invariants that make it inductive. So the invariants are left
    out, and the proof checks ``proof.depth`` cycles from reset.

    Parameters
    ----------
    proof : checks.campaign.mutants.mutant.Refutation
    folder : pathlib.Path
        An existing folder. A counterexample stays there.
    timeout : float
        Time limit in seconds.

    Raises
    ------
    sim.toolchain.ToolError
        The tools do not work, or have no answer in time.
    """
    from checks.formal import registry
    from checks.formal.prove import Refuted
    [found] = [one for entry, one in registry.proofs([proof.unit], full=True)
               if (entry.name, one.shape) == (proof.name, proof.shape)]
    if found.mode != "structure":
        for name in _mine():
            for thing in list(vars(sys.modules[name]).values()):
                if "_add_invariants" in getattr(thing, "__dict__", ()):
                    thing._add_invariants = lambda *_: None
        found = registry.Proof(found.shape, found.build, "bounded", proof.depth)
    try:
        found.check(folder, timeout=timeout)
    except Refuted as refuted:
        return refuted
    return None


def _main(unit, name, shape, depth):
    from checks.campaign.mutants.mutant import Refutation
    with tempfile.TemporaryDirectory() as folder:
        refuted = refutation(Refutation(unit, name, shape, int(depth)), pathlib.Path(folder))
    if refuted is not None:
        print(f"refuted: {', '.join(refuted.assertions)}")
    return 0 if refuted is None else 1


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
