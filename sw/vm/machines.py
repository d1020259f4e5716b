"""The GraphVMs beside the device, by name."""

from base.errors import UserError


__all__ = ["NAMES", "run_on"]


#: The GraphVMs that run a program without the device.
NAMES = ("cpu", "cuda", "reference")


def run_on(name, program, graph, **given):
    """Run a program on one of :data:`NAMES`. Returns a :class:`~sw.vm.host.ProgramResult`.

    Parameters
    ----------
    name : str
    program : GraphProgram
    graph : Graph
    **given
        Parameters of the program, and the machine's options.

    Raises
    ------
    UserError
        There is no such machine, or it cannot run here; or as of :func:`~sw.vm.host.perform`.
    """
    match name:
        case "cpu":
            from sw.vm import cpu
            return cpu.run(program, graph, **given)
        case "cuda":
            from sw.vm import cuda
            reason = cuda.available()
            if reason is not None:
                raise UserError(f"the GraphVM cuda cannot run here: {reason}")
            return cuda.run(program, graph, **given)
        case "reference":
            from sw.vm import reference
            return reference.run(program, graph, **given)
    raise UserError(f"there is no GraphVM {name!r}; there are rtl, {', '.join(NAMES)}")
