"""The model between two rounds, on the client's disk."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from onepass import model_file
from onepass.estimators.persistence import pack, unpack
from onepass.model_file import ModelFileError


@dataclass(frozen=True)
class Run:
    """What a distributed run is: two of them end with the same model only if these are equal.

    Attributes
    ----------
    rounds : int
        Of how many rounds it is.
    shards : list of str
        The labels of all shards, in their order.
    params : dict of str
        The parameters of the estimator, as text, but for the seed.
    """

    rounds: int
    shards: list[str]
    params: dict[str, str]


def save(path: str | os.PathLike[str], model: Any, run: Run, done: int, seed: int) -> None:
    """Write the model after `done` rounds: a model file, with one more entry in its header."""
    header, arrays = pack(model)
    entry = {"run": asdict(run), "done": done, "seed": seed}
    model_file.write(path, {**header, "distributed": entry}, arrays)


def load(path: str | os.PathLike[str], run: Run) -> tuple[Any, int, int]:
    """Return model, rounds done and seed of a checkpoint of the same run."""
    header, arrays = model_file.read(path)
    try:
        entry = header["distributed"]
        then, done, seed = Run(**entry["run"]), int(entry["done"]), int(entry["seed"])
    except (KeyError, TypeError) as error:
        raise ModelFileError(f"{os.fspath(path)}: not a checkpoint of a distributed run") from error
    for name, value in asdict(run).items():
        if getattr(then, name) != value:
            raise ValueError(f"{os.fspath(path)} is of another run: its {name} are not the same")
    return unpack(header, arrays, path), done, seed
