"""All planted faults, by part of the project."""

from . import (cluster, compiled, core, dram, exchange, functional, fusion, gcn, golden, graphpeg,
               hashing, language, live, memory, proofs, report, software, tiles, units)


__all__ = ["MUTANTS"]


#: Every :class:`campaign.mutants.mutant.Mutant`, in the order in which ``./graphloom mutants`` runs
#: them.
MUTANTS = (*software.MUTANTS, *fusion.MUTANTS, *language.MUTANTS, *hashing.MUTANTS,
           *golden.MUTANTS, *gcn.MUTANTS, *graphpeg.MUTANTS, *exchange.MUTANTS, *core.MUTANTS,
           *memory.MUTANTS, *dram.MUTANTS, *compiled.MUTANTS, *functional.MUTANTS,
           *units.MUTANTS, *tiles.MUTANTS, *report.MUTANTS, *live.MUTANTS, *cluster.MUTANTS,
           *proofs.MUTANTS)
