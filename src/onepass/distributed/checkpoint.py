"""The checkpoint of a distributed fit: finished rounds, and the finished branches of the next."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from onepass.distributed.learning import Learned, add_round, join
from onepass.distributed.shards import Shard
from onepass.estimators.saving import OF_PARTS, pack, unpack
from onepass.persistence import archive
from onepass.persistence.archive import ModelFileError
from onepass.warning import OnepassWarning


def describe(estimator: Any, shards: Sequence[Shard], rounds: int) -> dict[str, Any]:
    """Return what identifies a run: runs that differ in it may end with different models."""
    params = {name: repr(value) for name, value in estimator.get_params(deep=False).items()}
    params.pop("random_state", None)
    paths = dict.fromkeys(shard.path for shard in shards if shard.path is not None)
    seen = {path: os.stat(path) for path in paths if os.path.isfile(path)}
    return {
        "rounds": rounds,
        "shards": [shard.label for shard in shards],
        "params": params,
        "files": [[path, stat.st_size, stat.st_mtime_ns] for path, stat in seen.items()],
    }


@dataclass
class State:
    """How far a run has come, and where that is saved."""

    run: dict[str, Any]  # see `describe`
    seed: int  # of all tasks
    path: str | os.PathLike[str] | None  # where checkpoints go; None for none
    every: float  # seconds between two checkpoints
    done: int = 0  # rounds that are finished
    model: Any = None  # their model; None if they had no row
    branches: dict[int, Learned] = field(default_factory=dict)  # finished ones of the next round

    def __post_init__(self) -> None:
        self._due = time.monotonic() + self.every

    def keep(self, *, now: bool = False) -> None:
        """Write a checkpoint if it is due, or `now`; if the disk fails, warn and continue."""
        if self.path is None or not (now or time.monotonic() >= self._due):
            return
        parts = [self.branches[number] for number in sorted(self.branches)]
        shown = add_round(self.model, join(*parts).model if parts else None)  # of all rows so far
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
    parts: dict[str, Any] = {str(number): part for number, part in state.branches.items()}
    if state.branches and state.model is not None:
        parts["model"] = Learned(state.model, "")
    kept = {}
    for name, part in parts.items():
        content = None
        if part.model is not None:
            content, more = pack(part.model)
            arrays.update({f"{OF_PARTS}{name}-{key}": array for key, array in more.items()})
        kept[name] = {"label": part.label, "content": content}
    entry = {"run": state.run, "seed": state.seed, "done": state.done, "parts": kept}
    archive.write(path, {**header, "distributed": entry}, arrays)


def load(path: str | os.PathLike[str], run: dict[str, Any], every: float) -> State:
    """Return the state in a checkpoint; refuse that of another run."""
    header, arrays = archive.read(path)
    try:
        entry = header["distributed"]
        changed = [name for name, value in run.items() if entry["run"][name] != value]
        kept = dict(entry["parts"])
        state = State(run, int(entry["seed"]), path, every, int(entry["done"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{os.fspath(path)}: not a checkpoint of a distributed run") from error
    if changed:
        raise ValueError(f"{os.fspath(path)} is of another run: its {changed[0]} are not the same")
    for name, part in kept.items():
        model, content = None, part["content"]
        if content is not None:
            start = f"{OF_PARTS}{name}-"
            own = {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}
            model = unpack(content, own, os.fspath(path))
        if name == "model":
            state.model = model
        else:
            state.branches[int(name)] = Learned(model, part["label"])
    if state.done and not state.branches:
        state.model = unpack(header, arrays, os.fspath(path))
    return state
