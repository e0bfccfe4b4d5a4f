"""The checkpoint of a distributed fit: the finished branches of the tree, or the finished model."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from onepass.distributed.shards import Learned, Shard, join
from onepass.estimators.saving import OF_PARTS, pack, unpack
from onepass.persistence import archive
from onepass.persistence.archive import ModelFileError
from onepass.sources.paths import fingerprint, split
from onepass.warning import OnepassWarning


def describe(estimator: Any, shards: Sequence[Shard]) -> dict[str, Any]:
    """Return what identifies a run: runs that differ in it may end with different models."""
    params = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    params.pop("random_state", None)
    paths = dict.fromkeys(shard.path for shard in shards if shard.path is not None)
    seen = [path for path in paths if os.path.exists(split(path)[0])]  # others are on workers
    return {
        "shards": [shard.label for shard in shards],
        "params": params,
        "files": [fingerprint(path) for path in seen],
    }


@dataclass
class State:
    """How far a run has come, and where that is saved."""

    run: dict[str, Any]  # see `describe`
    seed: int  # of all tasks
    path: str | os.PathLike[str] | None  # where checkpoints go; None for none
    every: float  # seconds between two checkpoints
    model: Any = None  # of all rows, when everything is done
    branches: dict[int, Learned] = field(default_factory=dict)  # those that are done until then

    def __post_init__(self) -> None:
        self._due = time.monotonic() + self.every

    def keep(self, *, now: bool = False) -> None:
        """Write a checkpoint if it is due, or `now`; if the disk fails, warn and continue."""
        if self.path is None or not (now or time.monotonic() >= self._due):
            return
        parts = [self.branches[number] for number in sorted(self.branches)]
        shown = join(*parts).model if parts else self.model  # of all rows so far
        if shown is not None:
            try:
                _write(self.path, self, shown)
            except OSError as error:
                warnings.warn(
                    f"the checkpoint could not be written ({error}); learning continues without it",
                    OnepassWarning,
                    stacklevel=2,
                )
        self._due = time.monotonic() + self.every


def _write(path: str | os.PathLike[str], state: State, shown: Any) -> None:
    """Write a model file of all rows so far, and in it what is needed to continue."""
    header, arrays = pack(shown)
    kept = {}
    for number, part in state.branches.items():
        content = None
        if part.model is not None:
            content, more = pack(part.model)
            arrays.update({f"{OF_PARTS}{number}-{key}": array for key, array in more.items()})
        kept[str(number)] = {"label": part.label, "content": content}
    entry = {"run": state.run, "seed": state.seed, "branches": kept}
    archive.write(path, {**header, "distributed": entry}, arrays)


def load(path: str | os.PathLike[str], run: dict[str, Any], every: float) -> State:
    """Return the state in a checkpoint; refuse that of another run."""
    header, arrays = archive.read(path)
    try:
        entry = header["distributed"]
        changed = [name for name, value in run.items() if entry["run"][name] != value]
        kept = {int(number): part for number, part in entry["branches"].items()}
        state = State(run, int(entry["seed"]), path, every)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{os.fspath(path)}: not a checkpoint of a distributed run") from error
    if changed:
        raise ValueError(f"{os.fspath(path)} is of another run: its {changed[0]} are not the same")
    for number, part in kept.items():
        model, content = None, part["content"]
        if content is not None:
            start = f"{OF_PARTS}{number}-"
            own = {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}
            model = unpack(content, own, os.fspath(path))
        state.branches[number] = Learned(model, part["label"])
    if not kept:
        state.model = unpack(header, arrays, os.fspath(path))
    return state
