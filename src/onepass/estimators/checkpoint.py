"""Checkpoints: a model of all rows so far, the run that it is of, and how that run continues.

The file is a model file with one more entry in its header, so that `onepass info` can read it. It
holds the rows that wait for a chunk, too.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import onepass
from onepass.estimators.saving import OF_PASS, pack, unpack
from onepass.pca.passes import FurtherPass
from onepass.persistence import archive
from onepass.persistence.archive import ModelFileError
from onepass.sources.paths import fingerprint
from onepass.warning import OnepassWarning


def describe_run(
    kind: str, options: dict[str, Any], paths: Sequence[str], **more: list[Any]
) -> dict[str, Any]:
    """Return what identifies a run: runs that differ in it may end with different models.

    That is the kind of run, in words, its options, its files, and `more` lists, by name.
    """
    files = [fingerprint(path) for path in paths]
    version = onepass.__version__
    return {"version": version, "kind": kind, "options": options, "files": files, "more": more}


@dataclass
class Checkpoint:
    """Where a run saves how far it has come, and how often."""

    path: str
    run: dict[str, Any]  # see `describe_run`
    every: float  # seconds between two checkpoints
    rows: int = 0  # that the file holds the model of; 0 if this run has no file yet

    def __post_init__(self) -> None:
        self._due = time.monotonic() + self.every

    @property
    def is_due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self._due

    def write(self, model: Any, progress: dict[str, Any], further: Any = None) -> None:
        """Write all or nothing; if the disk fails, warn, keep the old file and continue.

        `progress` is what the run needs to continue, as JSON, and `further` the pass over the rows
        that goes on, if it is not the first.
        """
        header, arrays = pack(model, waiting=True)
        header["checkpoint"] = {"run": self.run, "progress": progress, "pass": None}
        if further is not None:
            header["checkpoint"]["pass"], held = further.saved()
            arrays |= {f"{OF_PASS}{name}": array for name, array in held.items()}
        try:
            archive.write(self.path, header, arrays)
        except OSError as error:
            kept = f"the one of {self.rows:,} rows is kept" if self.rows else "there is none yet"
            message = f"the checkpoint could not be written ({error.strerror or error}); {kept}"
            warnings.warn(message, OnepassWarning, stacklevel=2)
        else:
            self.rows = header["n_samples_seen"]
        self._due = time.monotonic() + self.every

    def read(self) -> tuple[Any, dict[str, Any], Any]:
        """Return the model of all rows so far, the progress, and the pass, None for the first.

        The file of another run is refused.
        """
        header, arrays = archive.read(self.path)
        if "checkpoint" not in header:
            raise ModelFileError(f"{self.path}: a finished model, and not a checkpoint")
        try:
            entry = header["checkpoint"]
            then, progress, numbers = entry["run"], dict(entry["progress"]), entry["pass"]
            version, found = str(then["version"]), list(_differences(then, self.run))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(f"{self.path}: not a valid checkpoint: {error!r}") from error
        if found:
            message = f"{self.path} is of another run: {'; '.join(found[:3])}"
            message += f" (and {len(found) - 3} more differences)" if len(found) > 3 else ""
            if version != self.run["version"]:
                message += (
                    f". It was written by {version}, and this is {self.run['version']}, with other "
                    "options or defaults: resume with that version, or start again"
                )
            raise ValueError(message)
        model = unpack(header, arrays, self.path)
        self.rows = model.n_samples_seen_
        if numbers is None:
            return model, progress, None
        further = FurtherPass(model.learner_.stream)
        held = {name: array for name, array in arrays.items() if name.startswith(OF_PASS)}
        try:
            further.restore(numbers, {name[len(OF_PASS) :]: held[name] for name in held})
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelFileError(f"{self.path}: not a valid checkpoint: {error}") from error
        return model, progress, further


def rows_in_checkpoint(path: str | os.PathLike[str]) -> int:
    """Return how many rows the model of a checkpoint has learned from."""
    return int(archive.read(path)[0]["n_samples_seen"])


def _differences(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield how two runs differ, in words."""
    if then["kind"] != now["kind"]:
        yield f"it was {then['kind']} and is {now['kind']}"
        return
    for name in sorted(then["options"].keys() | now["options"].keys()):
        was, is_now = then["options"].get(name), now["options"].get(name)
        if was != is_now:
            yield f"{name} was {_shown(was)} and is {_shown(is_now)}"
    before, after = ({file["path"]: file for file in run["files"]} for run in (then, now))
    for path in {**before, **after}:
        if path not in after:
            yield f"{path} was read and is not given now"
        elif path not in before:
            yield f"{path} is new"
        elif before[path] != after[path]:
            yield f"{path} was changed"
    order, order_now = ([file["path"] for file in run["files"]] for run in (then, now))
    if order != order_now and before.keys() == after.keys():
        yield "the files come in another order, or another number of times"
    for name, listed in now["more"].items():
        if then["more"][name] != listed:
            yield f"the {name} were {_shown(then['more'][name])} and are {_shown(listed)}"


def _shown(value: Any) -> str:
    """Return the value of an option as a user writes it."""
    if isinstance(value, list):
        text = ",".join(map(str, value))
        return text if len(text) <= 60 else f"{text[:57]}... ({len(value)} in all)"
    return "not given" if value is None else str(value)
