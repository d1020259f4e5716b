"""All planted faults, by the part of the project that they are in."""

from . import core, golden, memory, proofs, software, units


__all__ = ["MUTANTS"]


#: Every :class:`campaign.mutants.mutant.Mutant`, in the order in which ``./graphloom mutants``
#: begins them.
MUTANTS = (*software.MUTANTS, *golden.MUTANTS, *core.MUTANTS, *memory.MUTANTS, *units.MUTANTS,
           *proofs.MUTANTS)
