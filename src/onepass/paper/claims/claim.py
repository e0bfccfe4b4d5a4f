"""What a claim is, and how loosely its words are taken."""

from __future__ import annotations

from dataclasses import asdict, dataclass

CLEARLY = 1.1
SLIGHTLY = 1.5
COMPARABLE = 2.0
MUCH = 2.0


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper against what was measured."""

    claim: str
    where: str
    expected: str
    measured: str
    holds: bool

    def to_json(self) -> dict[str, str | bool]:
        """Return the entry of ``claims.json``."""
        return asdict(self)
