"""A checkpoint: a model that is not finished, and how far its data were read.

It is a model file with one more entry in its header, so that `onepass info` can look into it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from onepass import model_file
from onepass.estimators.persistence import pack, unpack
from onepass.model_file import ModelFileError
from onepass.sources import Position


@dataclass(frozen=True)
class Checkpoint:
    """What is written beside the model.

    Attributes
    ----------
    options : dict
        What the run was asked to do.
    columns : list
        The columns, by name, or their number.
    files : list of dict
        The fingerprint of each file.
    position : Position
        How far the data were read.
    seconds : float
        How long that took.
    """

    options: dict[str, Any]
    columns: list[Any]
    files: list[dict[str, Any]]
    position: Position
    seconds: float


def save(path: str, model: Any, checkpoint: Checkpoint) -> None:
    """Write a model and its checkpoint, all or nothing."""
    header, arrays = pack(model)
    model_file.write(path, {**header, "checkpoint": asdict(checkpoint)}, arrays)


def load(path: str) -> tuple[Any, Checkpoint]:
    """Return the model and the checkpoint."""
    header, arrays = model_file.read(path)
    if "distributed" in header:
        raise ModelFileError(
            f"{path}: of a run with --dask or --workers, which goes on with one of these options"
        )
    if "checkpoint" not in header:
        raise ModelFileError(f"{path}: a finished model, and not a checkpoint")
    try:
        checkpoint = Checkpoint(**header["checkpoint"])
        position = Position(*checkpoint.position)
    except TypeError as error:
        raise ModelFileError(f"{path}: not a sound checkpoint: {error}") from error
    return unpack(header, arrays, path), replace(checkpoint, position=position)


def remove_unfinished(path: str) -> None:
    """Remove what a killed run left of writing a file."""
    folder, name = os.path.split(os.path.realpath(path))
    for left in glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.tmp")):
        with suppress(OSError):
            os.unlink(left)


def differences(then: Checkpoint, now: Checkpoint) -> Iterator[str]:
    """Yield what two runs do not have in common, in words."""
    for name in sorted(then.options.keys() | now.options.keys()):
        was, is_now = then.options.get(name), now.options.get(name)
        if was != is_now:
            yield f"{name} was {_shown(was)} and is {_shown(is_now)}"
    before = {file["path"]: file for file in then.files}
    after = {file["path"]: file for file in now.files}
    for path in {**before, **after}:
        if path not in after:
            yield f"{path} was read and is not given now"
        elif path not in before:
            yield f"{path} is new"
        elif before[path]["size"] != after[path]["size"]:
            yield f"{path} had {before[path]['size']:,} bytes and has {after[path]['size']:,}"
        elif before[path]["ends"] != after[path]["ends"]:
            yield f"{path} has another content"
        elif before[path] != after[path]:
            yield f"{path} was modified"
    if list(before) != list(after) and before.keys() == after.keys():
        yield "the files come in another order"
    if then.columns != now.columns:
        yield f"the columns were {_shown(then.columns)} and are {_shown(now.columns)}"


def _shown(value: Any) -> str:
    """Return the value of an option as a user knows it."""
    if isinstance(value, list):
        text = ",".join(map(str, value))
        return text if len(text) <= 60 else f"{text[:57]}..."
    return "not given" if value is None else str(value)
