"""All planted faults, by part of the project."""

from . import (core, dram, exchange, functional, fusion, gcn, golden, graphpeg, hashing, language,
               memory, proofs, software, tiles, units)


__all__ = ["MUTANTS"]


#: Every :class:`campaign.mutants.mutant.Mutant`, in the order in which ``./graphloom mutants`` runs
#: them.
MUTANTS = (*software.MUTANTS, *fusion.MUTANTS, *language.MUTANTS, *hashing.MUTANTS,
           *golden.MUTANTS, *gcn.MUTANTS, *graphpeg.MUTANTS, *exchange.MUTANTS, *core.MUTANTS,
           *memory.MUTANTS, *dram.MUTANTS, *functional.MUTANTS, *units.MUTANTS, *tiles.MUTANTS,
           *proofs.MUTANTS)
