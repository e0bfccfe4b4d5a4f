"""Model files with random changes, and what comes of loading them.

Run as a program, so that a crash, a hang or a lack of memory ends a process of its own:
``python -m tests.persistence.crafting SEED FIRST STOP`` prints the number of each file before it is
loaded, and what came of it.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import onepass
from onepass.estimators.saving import pack
from onepass.persistence import archive
from tests.contracts.chunks import chunks_of
from tests.contracts.results import published
from tests.contracts.variants import build

MOST_MEMORY = 500e6  # bytes of a process that loads such files one after the other
REFUSED, WORKS = "refused", "works"

# -- changes ---------------------------------------------------------------------------------------

NUMBERS = [
    -1, 0, 1, 2, 3, 7, 64, 255, 10**6, 10**9, 2**31, 2**63, -(2**63), 0.5, -0.5, 1e308, 1e-308,
]  # fmt: skip
OTHERS = [
    None, True, False, "", "PCA", "nan", "inf", "-0x1p+1023", [], {}, [1], {"a": 1}, "float16",
]  # fmt: skip
DTYPES = ["f4", "f8", "f2", "i1", "i4", "i8", "u1", "u8", "?"]


def changed_array(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array with one random change: size, type, content."""
    array = np.array(array)
    axis = int(rng.integers(max(array.ndim, 1)))
    ways = [
        lambda: np.zeros((0,) * array.ndim, array.dtype),
        lambda: np.delete(np.atleast_1d(array), -1, axis) if array.size else np.ones(1),
        lambda: np.repeat(np.atleast_1d(array), 2, axis),
        lambda: np.resize(array, (*array.shape[:axis], int(rng.integers(0, 40)),
                                  *array.shape[axis + 1 :])),
        lambda: array.reshape(-1),
        lambda: array.T,
        lambda: array[None],
        lambda: array.astype(rng.choice(DTYPES)),
        lambda: (-array.astype(float)).astype(array.dtype),
        lambda: spoiled(array, rng, [np.nan, np.inf, -np.inf]),
        lambda: np.full_like(array.astype(float), np.nan),
        lambda: spoiled(array, rng, [1e300, -1e300, 1e-300, 1e154, 0.0, -1.0, 2.0]),
        lambda: spoiled(array, rng, NUMBERS, array.dtype),
        lambda: np.zeros_like(array),
        lambda: rng.permutation(array.reshape(-1)).reshape(array.shape),
        lambda: (array.astype(float) * rng.choice([1e-9, 0.5, 3.0, 1e9])).astype(array.dtype),
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(ways[int(rng.integers(len(ways)))]())


def spoiled(
    array: np.ndarray, rng: np.random.Generator, values: list[Any], dtype: Any = None
) -> np.ndarray:
    """Return an array with some entries replaced."""
    wide = array.astype(float).reshape(-1)
    some = rng.random(wide.shape) < rng.choice([0.1, 1.0])
    wide[some] = rng.choice([float(v) for v in values], some.sum())
    return wide.reshape(array.shape).astype(dtype or float)


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a tree of dicts and lists."""
    found = []
    if isinstance(tree, dict | list):
        for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
            found += [(tree, key), *places(tree[key])]
    return found


def change_header(header: dict[str, Any], rng: np.random.Generator) -> None:
    """Make one random change to the tree of the header."""
    all_places = places(header)
    container, key = all_places[int(rng.integers(len(all_places)))]
    other, other_key = all_places[int(rng.integers(len(all_places)))]
    match int(rng.integers(6)):
        case 0 | 1:
            container[key] = NUMBERS[int(rng.integers(len(NUMBERS)))]
        case 2:
            container[key] = OTHERS[int(rng.integers(len(OTHERS)))]
        case 3:
            container[key] = json.loads(json.dumps(other[other_key]))
        case 4:
            del container[key]
        case 5 if isinstance(container, dict):
            container[f"{key}x"] = container.pop(key)
        case _:
            container.append(container[key])


def craft(
    header: dict[str, Any], arrays: dict[str, np.ndarray], rng: np.random.Generator
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return header and arrays with one to three random changes."""
    header, arrays = json.loads(json.dumps(header)), dict(arrays)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        name = sorted(arrays)[int(rng.integers(len(arrays)))]
        what = rng.random()
        if what < 0.5:
            arrays[name] = changed_array(arrays[name], rng)
        elif what < 0.55:
            arrays[name] = arrays[sorted(arrays)[int(rng.integers(len(arrays)))]]
        elif what < 0.6:
            del arrays[name]
        elif what < 0.62:
            arrays["extra"] = np.ones(3)
        else:
            change_header(header, rng)
        if not arrays:
            break
    return header, arrays


# -- files to begin with ---------------------------------------------------------------------------


def templates() -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Return the content of files: every estimator, with waiting rows, and bare models."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(59, 9)) * np.linspace(3, 0.5, 9) + 1
    heavy = rows * rng.standard_t(1.5, (59, 1))
    gaps = np.where(rng.random(rows.shape) < 0.1, np.nan, rows)
    thin = sparse.csr_array(np.where(np.abs(rows) > 1, rows, 0))
    everything = {"average": True, "batch_size": 4, "center": True}
    wanted: list[tuple[str, dict[str, Any], Any]] = [
        ("PCA", {}, rows),
        ("PCA", {"half_life": 100.0, "whiten": True}, rows),
        ("PCA", {}, thin),
        ("PCA", {}, np.float32(rows)),
        ("PCA", {"robust": True, "scale": True}, heavy),
        ("PCA", {}, gaps),
        ("IncrementalPCA", {}, rows),
        ("MSG", {**everything, "trace": "exact"}, rows),
        ("CappedMSG", {"max_rank": "auto", "center": True}, thin),
        ("CappedMSG", everything, np.float32(rows)),
        ("CappedMSG", {}, gaps),
        ("MEG", everything, thin),
        ("Incremental", {"center": True}, np.float32(thin.toarray())),
        ("Oja", {"random_state": 0}, rows),
        ("Grouse", {"random_state": 0, "average": True, "center": True}, rows),
        ("ERM", {"center": True}, thin),
    ]
    models = []
    for length in (8, None):
        with chunks_of(length):
            models += [build(name, 2, **params).partial_fit(X) for name, params, X in wanted]
    wide = rng.normal(size=(20, 4200))  # beyond the exact matrix
    models += [kind.partial_fit(wide) for kind in (onepass.PCA(2), onepass.CappedMSG(2))]
    packed = [pack(model) for model in (*models, *(model.for_transform() for model in models[:6]))]
    return packed + [pack(model, waiting=True) for model in models[: len(wanted)]]


# -- what comes of it ------------------------------------------------------------------------------


def use(data: bytes) -> str:
    """Load a file and use the model in every way; raise whatever should not have happened."""
    try:
        model = onepass.from_bytes(data)
    except onepass.ModelFileError:
        return REFUSED
    d = model.n_features_in_
    for count in (40, 600):  # rows: chunks of either length
        rows = np.abs(np.random.default_rng(1).normal(size=(count, d)))  # counts, if so prepared
        try:
            components = published(model)["components_"]
        except ValueError as error:  # of a column without entries, as a stream may have it
            if "entry" not in str(error):
                raise
            return WORKS
        assert np.isfinite(components).all(), "components are not finite"
        assert np.isfinite(model.mean_).all(), "the mean is not finite"
        assert model.transform(rows).shape == (len(rows), len(components)), "another shape"
        model = onepass.from_bytes(model.to_bytes())
        try:
            model.partial_fit(rows)
        except ValueError:  # a mean or a scale that no row can be added to is said so
            return WORKS
    return WORKS


def peak_memory() -> float:
    """Return the most bytes that this process has had in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def run(seed: int, first: int, stop: int) -> None:
    """Load the files with numbers first to stop, and say what came of each."""
    given = templates()
    for number in range(first, stop):
        rng = np.random.default_rng([seed, number])
        try:
            data = archive.to_bytes(*craft(*given[number % len(given)], rng))
        except (ValueError, TypeError):  # no such file can be written
            continue
        print(number, end=" ", flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(use(data), flush=True)
        assert peak_memory() < MOST_MEMORY, f"{peak_memory() / 1e6:.0f} MB"


if __name__ == "__main__":
    faulthandler.enable()
    faulthandler.dump_traceback_later(3000, exit=True)
    run(*map(int, sys.argv[1:]))
