"""CR2 for kernels."""

from sw.compile.formats.storage_format import StorageFormat
from sw.compile.kernels.passes import Pass

from .active import RecordExpansion
from .image import Cr2Image
from .records import RecordLayout


__all__ = ["Cr2"]


class Cr2(StorageFormat):
    """One layout for each Degree-2^k subgraph. If the frontier is a queue, kernels visit only the
    frontier's records, to which the expand list leads."""
    name = "cr2"

    image: Cr2Image

    def __init__(self, image):
        super().__init__(image)
        self._expansion = None

    def finds_rows(self, task):
        return self.image.options["expand"]

    @property
    def has_lists(self):
        return self._expansion is not None

    def layouts(self, task):
        if task.queued:
            self._expansion = RecordExpansion(task, self.image)
            return self._expansion.layouts
        return [RecordLayout(task, self.image, part, k) for part, k in self.image.subgraphs()]

    def reserve(self, task):
        if self._expansion:
            self._expansion.reserve()

    def build(self, task):
        if self._expansion:
            self._expansion.build()

    def passed(self, k):
        if self._expansion:
            self._expansion.passed(k)

    def passes(self, task):
        return [Pass("init_topology", self._expansion.emit)] if self._expansion else []
