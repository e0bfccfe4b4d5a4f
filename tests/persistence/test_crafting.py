"""Files whose fields were changed are refused, or give a model that works."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import onepass
from onepass.estimators.saving import pack
from onepass.persistence import archive
from tests.persistence.crafting import REFUSED, WORKS

X = np.random.default_rng(0).normal(size=(700, 5))


@pytest.mark.parametrize(
    ("seed", "count"), [(0, 300), pytest.param(1, 20_000, marks=pytest.mark.long)]
)
def test_files_with_random_changes(seed, count):
    command = [sys.executable, "-m", "tests.persistence.crafting", str(seed), "0", str(count)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout[-100:], done.stderr[-2000:])
    found = Counter(line.split()[1] for line in done.stdout.splitlines())
    assert min(found[REFUSED], found[WORKS]) > count / 20, found


def state(**entries):
    return lambda header, arrays: header["state"].update(entries)


def header(**entries):
    return lambda header, arrays: header.update(entries)


def array(name, change):
    return lambda header, arrays: arrays.update({name: change(arrays[name].copy())})


def no_batch(header, arrays):
    header["params"]["batch_size"] = None


def many_rows_wait(header, arrays):
    for name in ("buffer.rows", "buffer.weights"):
        arrays[name] = np.repeat(arrays[name], 50, axis=0)


# Each entry may be within its limits, and together they are no model.
LEARNER, ROBUST, BARE = onepass.PCA(2), onepass.PCA(2, robust=True), "bare"
CHANGES = {
    "rows is -1, outside of 0": (LEARNER, state(rows=-1.0)),
    "numbers of rows contradict each other": (LEARNER, header(n_samples_seen=1)),
    "bounded.count is 2, outside of 1 to 1": (ROBUST, state(**{"bounded.count": 2})),
    "bounded.0.centre has entries": (ROBUST, array("bounded.0.centre", lambda x: x + np.nan)),
    "buffer.rows has a length of": ("waiting", array("buffer.weights", lambda x: x[1:])),
    "more rows wait than a chunk has": ("waiting", many_rows_wait),
    "rows that are not orthonormal": (BARE, array("components", lambda x: 1.1 * x)),
    "explained_variance has a length of 2": (BARE, array("components", lambda x: x[:0])),
    "captured.mean is 1.5, outside": (BARE, state(**{"standard_errors.captured.mean": 1.5})),
    "direction of length zero": (
        onepass.CappedMSG(2), array("solver.average.factor", np.zeros_like)
    ),
    "not a valid model": (onepass.ERM(2), state(**{"settled.0.weight": 1e-308})),
    "batch_size must be": (onepass.Incremental(2), no_batch),
    "no array is as long": (onepass.Grouse(2), header(n_features=10**9)),
    "": (LEARNER, header(reading={"skip_lines": -1})),
    "no list of texts": (LEARNER, header(na=["?"] * 101)),
}  # fmt: skip


@pytest.mark.parametrize("message", CHANGES)
def test_what_cannot_be_is_refused_by_its_name(message):
    given, change = CHANGES[message]
    model = (onepass.PCA(2) if isinstance(given, str) else given).fit(X)
    model = model.for_transform() if given == BARE else model
    content, arrays = pack(model.partial_fit(X[:43]) if given != BARE else model, waiting=True)
    onepass.from_bytes(archive.to_bytes(content, arrays))
    change(content, arrays)
    with pytest.raises(onepass.ModelFileError) as caught:
        onepass.from_bytes(archive.to_bytes(content, arrays))
    assert message in str(caught.value)


@pytest.mark.parametrize("weight", [0.0, 20.0])  # variances of no rows, or along no directions
def test_variances_along_other_directions_than_those_held_are_refused(weight):
    model = onepass.CappedMSG(2).partial_fit(np.random.default_rng(0).normal(size=(20, 300)))
    header, arrays = pack(model)
    header["state"]["mean.weight"] = weight
    if weight:
        arrays["variances.moment.sums"] = np.zeros((2, 0, 0))
    with pytest.raises(onepass.ModelFileError, match="not along the directions"):
        onepass.from_bytes(archive.to_bytes(header, arrays))


def test_a_far_origin_of_float32_rows_does_no_harm():
    header, arrays = pack(onepass.CappedMSG(2).partial_fit(X.astype(np.float32)))
    arrays["variances.moment.origin"] = np.array([1e9, 64.0, 255.0, 1e9, 2.0**63])
    model = onepass.from_bytes(archive.to_bytes(header, arrays))
    assert np.isfinite(model.partial_fit(X.astype(np.float32)).components_).all()
