"""A checkpoint: an unfinished model, what its run is, and how far its data were read.

It is a model file with one more entry in its header, so that `onepass info` can read it.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import onepass
from onepass.estimators.saving import pack, unpack
from onepass.persistence import archive
from onepass.persistence.archive import ModelFileError
from onepass.persistence.atomic import temporary_start
from onepass.sources import Position
from onepass.sources.files import FileSource
from onepass.sources.paths import fingerprint


def describe(options: dict[str, Any], source: FileSource) -> dict[str, Any]:
    """Return what identifies a run: runs that differ in it may end with different models."""
    return {
        "version": onepass.__version__,
        "options": options,
        "columns": source.feature_names or [source.n_features],
        "files": [fingerprint(path) for path in source.paths],
    }


def save(path: str, model: Any, run: dict[str, Any], position: Position, seconds: float) -> None:
    """Write a model, its run, the position in the data and the time it took: all or nothing."""
    header, arrays = pack(model, waiting=True)
    entry = {**run, "position": position, "seconds": seconds}
    archive.write(path, {**header, "checkpoint": entry}, arrays)


def load(path: str, run: dict[str, Any]) -> tuple[Any, Position, float]:
    """Return the model, position and seconds of a checkpoint; refuse that of another run."""
    header, arrays = archive.read(path)
    if "distributed" in header:
        raise ModelFileError(
            f"{path}: of a run with --dask or --workers; resume it with one of these options"
        )
    if "checkpoint" not in header:
        raise ModelFileError(f"{path}: a finished model, and not a checkpoint")
    try:
        then = header["checkpoint"]
        position, seconds = Position(*then["position"]), float(then["seconds"])
        found = list(_differences(then, run))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path}: not a sound checkpoint: {error!r}") from error
    if found:
        message = f"{path} is of another run: {'; '.join(found[:3])}"
        message += f" (and {len(found) - 3} more differences)" if len(found) > 3 else ""
        version = then.get("version", "an earlier version of onepass")
        if version != run["version"]:
            message += (
                f". It was written by {version}, and this is {run['version']}, with other options "
                "or defaults: resume with that version, or begin again without --resume"
            )
        raise ValueError(message)
    return unpack(header, arrays, path), position, seconds


def remove_unfinished(path: str) -> None:
    """Remove temporary files that a killed run has left beside a file."""
    folder, name = os.path.split(os.path.realpath(path))
    pattern = f"{glob.escape(temporary_start(name))}*.tmp"
    for left in glob.glob(os.path.join(glob.escape(folder), pattern)):
        with suppress(OSError):
            os.unlink(left)


def _differences(then: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """Yield how two runs differ, in words."""
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
        elif before[path]["size"] != after[path]["size"]:
            yield f"{path} had {before[path]['size']:,} bytes and has {after[path]['size']:,}"
        elif before[path]["content"] != after[path]["content"]:
            yield f"{path} has another content"
        elif before[path] != after[path]:
            yield f"{path} was modified"
    order, order_now = ([file["path"] for file in run["files"]] for run in (then, now))
    if order != order_now and before.keys() == after.keys():
        yield "the files come in another order, or another number of times"
    if then["columns"] != now["columns"]:
        yield f"the columns were {_shown(then['columns'])} and are {_shown(now['columns'])}"


def _shown(value: Any) -> str:
    """Return the value of an option as a user writes it."""
    if isinstance(value, list):
        text = ",".join(map(str, value))
        return text if len(text) <= 60 else f"{text[:57]}..."
    return "not given" if value is None else str(value)
