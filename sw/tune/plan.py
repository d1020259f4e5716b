"""A whole choice for one run: algorithm, schedule, format and the other axes."""

import dataclasses
import json


__all__ = ["Plan"]


@dataclasses.dataclass(frozen=True)
class Plan:
    """A choice."""
    algorithm: str
    parameters: tuple = ()
    schedule: str = "weaver"
    format: str = "csr"
    direction: str | None = None
    frontier: str | None = None
    deduplicate: bool | None = None
    split: str = "static"

    @property
    def text(self) -> str:
        """The plan as one line."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def parse(cls, text):
        """The plan that :attr:`text` spells."""
        fields = json.loads(text)
        fields["parameters"] = tuple((name, value) for name, value in fields["parameters"])
        return cls(**fields)

    def arguments(self) -> dict:
        """The arguments of :meth:`~sw.runtime.device.Device.plan`, without the graph."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        del fields["parameters"]
        return fields | dict(self.parameters)
