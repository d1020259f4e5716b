"""Random memory instructions that access few lines and few rows of local memory."""

from hw.isa import MemoryMap
from hw.operations import AmoOp, MemOp
from tb.hw.core.models_memory import (Operation, WORD, fault, global_address, lanes_of,
                                      local_address)


__all__ = ["Traffic"]


#: Weights of the kinds of instructions.
KINDS = {MemOp.LOAD: 9, MemOp.STORE: 6, MemOp.AMO: 4, MemOp.FENCE: 1}


class Traffic:
    """Random memory instructions.

    Parameters
    ----------
    rng : random.Random
    config : HardwareConfig
    window : int
        Bytes of global memory in use, half at the start of memory and half at its end. By default
        twice the L1 data cache.
    faults : float
        Probability of an instruction that fails.
    """

    def __init__(self, rng, config, *, window=None, faults=0.0):
        self._rng = rng
        self._config = config
        self._half = (window or 2 * config.l1_bytes) // 2
        self._local = min(config.local_bytes, 8 * config.line_bytes)
        self.faults = faults
        self.kinds = dict(KINDS)

    def _global(self, offset):
        offset %= 2 * self._half
        if offset < self._half:
            return global_address(offset)
        return global_address(self._config.memory_bytes - 2 * self._half + offset)

    def _local_address(self, offset):
        return local_address(offset % self._local)

    def _addresses(self, space):
        rng, lanes, line = self._rng, range(self._config.threads), self._config.line_bytes
        base = rng.randrange(2 * self._half)
        match rng.randrange(6):
            case 0:
                return [space(base + 4 * lane) for lane in lanes]
            case 1:
                return [space(base)] * len(lanes)
            case 2:
                return [space(base - base % line + rng.randrange(line)) for _ in lanes]
            case 3:
                stride = rng.choice([1, 2, 8, line - 4, line, line + 4])
                return [space(base + stride * lane) for lane in lanes]
            case 4:
                few = [rng.randrange(2 * self._half) for _ in range(rng.randrange(1, 4))]
                return [space(rng.choice(few)) for _ in lanes]
            case _:
                return [space(rng.randrange(2 * self._half)) for _ in lanes]

    def _spoil(self, operation):
        """Give some lanes addresses that fail."""
        rng, config = self._rng, self._config
        outside = [0, MemoryMap.DEVICE, MemoryMap.LOCAL - 4, WORD - 3,
                   MemoryMap.LOCAL + config.local_bytes, MemoryMap.GLOBAL - 4,
                   MemoryMap.GLOBAL + config.memory_bytes & WORD]
        for lane in rng.sample(range(config.threads), rng.randrange(1, config.threads + 1)):
            match rng.randrange(3):
                case 0:
                    operation.address[lane] = rng.choice(outside)
                case 1:
                    operation.address[lane] |= rng.randrange(1, 4)
                case _:
                    operation.address[lane] = rng.choice(outside) | rng.randrange(4)

    def mask(self):
        """The mask of active lanes; at least one lane is active."""
        rng, threads = self._rng, self._config.threads
        return rng.choice([(1 << threads) - 1, (1 << threads) - 1, rng.randrange(1, 1 << threads),
                           1 << rng.randrange(threads)])

    def operation(self, **fields):
        """A random instruction with the given ``fields``."""
        rng, config = self._rng, self._config
        op = rng.choices(list(self.kinds), list(self.kinds.values()))[0]
        op = fields.pop("op", op)
        size = 2 if op in (MemOp.AMO, MemOp.FENCE) or rng.random() < 0.6 else rng.randrange(2)
        everywhere = [self._addresses(self._global), self._addresses(self._local_address)]
        address = rng.choice([everywhere[0], everywhere[0], everywhere[1],
                              [rng.choice(pair) for pair in zip(*everywhere)]])
        value = rng.choice([lambda: rng.getrandbits(32), lambda: rng.randrange(4),
                            lambda: WORD - rng.randrange(4)])
        made = Operation(
            op, [lane >> size << size for lane in address], self.mask(),
            data=[value() for _ in address], compare=[value() for _ in address],
            size=size, signed=rng.randrange(2), amo=rng.choice(list(AmoOp)),
            writes=int(op in (MemOp.LOAD, MemOp.AMO)), warp=rng.randrange(config.warps),
            rd=rng.randrange(32), pc=rng.getrandbits(30) << 2)
        if op is MemOp.AMO:
            made.writes = rng.randrange(2)
        if op is MemOp.LOAD and config.load_hints:
            made.once = rng.randrange(2)
        if op is MemOp.FENCE:
            made.address = [rng.getrandbits(32) for _ in address]
        for name, field in fields.items():
            setattr(made, name, field)
        if rng.random() < self.faults:
            self._spoil(made)
        elif fault(config, made):
            raise AssertionError(f"the traffic generator made {made}, {lanes_of(made.mask)}")
        return made
