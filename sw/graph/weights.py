"""Conversion of a file's weights to a graph's weights, which are integers of 32 bits."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from base.errors import UserError

from .graph import WEIGHT_LIMIT

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray


__all__ = ["Weighing"]


@dataclasses.dataclass(frozen=True)
class Weighing:
    """How to read weights.

    Raises
    ------
    UserError
        If the scale is not a number above 0.
    """

    #: Factor for the weights. The products are rounded to the nearest integer, halves to the even
    #: one. If it is left out, weights must be integers.
    scale: float | None = None
    used: bool = True  #: Whether weights are read at all.
    #: The end of errors: how to read other weights.
    hint: str = "; --weight-scale X multiplies by X and rounds, --no-weights drops weights"

    def __post_init__(self) -> None:
        if self.scale is not None and not (self.scale > 0 and math.isfinite(self.scale)):
            raise UserError(f"weight scale {self.scale:g}: must be a number above 0")

    def apply(self, values: NDArray[Any], path: str) -> NDArray[Any] | None:
        """The weights of an array of numbers, as integers.

        Parameters
        ----------
        values : array[n] of integers, reals or truth values
        path : str
            Name of the file in errors.

        Returns
        -------
        integers[n], or None
            ``None`` if weights are not used, or are truth values.

        Raises
        ------
        UserError
            If a value is not an integer of 32 bits; the error names the first such value.
        """
        if not self.used or values.dtype.kind == "b":
            return None
        if values.dtype.kind not in "iuf":
            raise UserError(f"{path}: weights are of type {values.dtype}, must be numbers")
        if self.scale is None and values.dtype.kind != "f":
            return values
        with np.errstate(all="ignore"):
            scaled = values.astype(np.float64)
            if self.scale is not None:
                scaled = np.rint(scaled * self.scale)
            legal = (scaled >= 0) & (scaled < WEIGHT_LIMIT) & (scaled == np.floor(scaled))
        if not legal.all():
            at = int(np.argmin(legal))
            times = "" if self.scale is None else f" times {self.scale:g}"
            raise UserError(f"{path}: weight {float(values[at])!r}{times} of arc {at} is not an "
                            f"integer from 0 to {WEIGHT_LIMIT - 1}{self.hint}")
        return scaled.astype(np.int64)
