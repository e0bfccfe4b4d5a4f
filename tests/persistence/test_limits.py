"""What is saved can be loaded, however wild the rows are; what no model can hold is not."""

import re
from math import nan

import numpy as np
import pytest
from scipy import sparse

import onepass
from onepass.estimators.saving import pack
from onepass.persistence import archive
from tests.contracts.variants import build
from tests.persistence.crafting import reseal, unpacked


def tiny_then_huge(rows):
    rows[:700] *= 1e-95
    rows[700:] *= 1e98


def huge_then_tiny(rows):
    tiny_then_huge(rows[::-1])


def the_same(rows):
    rows[:] = 0.1 * np.arange(rows.shape[1]) + 0.7


def the_same_at_first(rows):
    rows[:900] = rows[0]


def mostly_zero(rows):
    rows[np.arange(len(rows)) % 9 > 0] = 0.0


def far(rows):
    rows += 1e9


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of overflow, which is limited afterwards
@pytest.mark.parametrize(
    ("name", "is_sparse"), [("PCA", True), *((name, False) for name in onepass.ESTIMATORS)]
)
@pytest.mark.parametrize(
    "change", [tiny_then_huge, huge_then_tiny, the_same, the_same_at_first, mostly_zero, far]
)
def test_a_model_of_wild_rows_is_loaded_again(tmp_path, name, is_sparse, change):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1500, 9)) * np.linspace(3, 1, 9)
    change(rows)
    rows = sparse.csr_array(rows) if is_sparse else rows
    for weights in np.ones(1500), 10.0 ** rng.uniform(-50, 50, 1500):
        model = build(name, 2)
        for part in np.split(np.arange(1500), 3):
            model.partial_fit(rows[part], sample_weight=weights[part])
            model.save(tmp_path / "model")
            loaded = onepass.load(tmp_path / "model")
            np.testing.assert_array_equal(loaded.components_, model.components_)
            model = loaded


def test_captured_is_unknown_where_nothing_varies():
    rows = sparse.csr_array(np.tile(0.1 * np.arange(9) + 0.7, (1000, 1)))
    assert np.isnan(onepass.PCA(2).partial_fit(rows).captured_.mean)


def number(name, value):
    return lambda header, arrays: header["header"]["state"].update({name: value})


def array(name, change):
    return lambda header, arrays: arrays.update({name: change(arrays[name])})


CRAFTED = {
    "rows_since is 1e+300, outside of 0 to 1e+70": number("rows_since", 1e300),
    "rows is -1, outside of 0 to 1e+70": number("rows", -1.0),
    "rows_learned is 1.0, not of type int": number("rows_learned", 1.0),
    "bounded.count is 2, outside of 1 to 1": number("bounded.count", 2),
    "other does not belong to it": number("other", 1.0),
    "bounded.0.centre has entries outside": array("bounded.0.centre", lambda x: x + nan),
    "bounded.0.centre has a length of 5, not 4": array("bounded.0.centre", lambda old: np.ones(5)),
    "directions has a length of 3, not 4": array("directions", lambda old: old[..., :3].copy()),
    "settled.0.squares has a length of 9, not 10": array("settled.0.squares", lambda old: old[1:]),
    "its numbers of rows contradict each other": number("rows_learned", 199),
    "directions are there, and were found from no rows": number("rows_found", 0.0),
}


def crafted(path, change):
    """Change a model file, and seal it again."""
    header, arrays = unpacked(path)
    change(header, arrays)
    reseal(path, header, arrays)


@pytest.mark.parametrize("message", CRAFTED)
def test_what_is_beyond_a_limit_is_not_loaded(tmp_path, message):
    path = tmp_path / "a.onepass"
    rows = np.random.default_rng(0).standard_t(1.5, (300, 4))
    onepass.PCA(2, robust=True).partial_fit(rows).save(path)
    crafted(path, CRAFTED[message])
    with pytest.raises(onepass.ModelFileError, match=re.escape(message)):
        onepass.load(path)


WAITING = {
    "buffer.rows has a length of 44, not 43": array("buffer.weights", lambda old: old[1:]),
    "buffer.weights has entries outside": array("buffer.weights", np.zeros_like),
    "more rows wait than a chunk has": lambda header, arrays: arrays.update(
        {name: np.repeat(arrays[name], 50, axis=0) for name in ("buffer.rows", "buffer.weights")}
    ),
}


@pytest.mark.parametrize("message", WAITING)
def test_what_is_wrong_with_waiting_rows_is_not_loaded(tmp_path, message):
    path = tmp_path / "a.onepass"
    rows = np.random.default_rng(0).normal(size=(300, 4))
    archive.write(path, *pack(onepass.PCA(2).partial_fit(rows), waiting=True))
    onepass.load(path)
    crafted(path, WAITING[message])
    with pytest.raises(onepass.ModelFileError, match=re.escape(message)):
        onepass.load(path)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("components", lambda x: 1.1 * x, "components has rows that are not orthonormal"),
        ("components", lambda x: x[:0], "explained_variance has a length of 2, not 0"),
        ("explained_variance", np.negative, "explained_variance has entries outside of 0"),
        ("mean", lambda x: x[1:], "mean has a length of 3, not 4"),
        ("column_variances", lambda x: x[1:], "column_variances has 3 entries for 4 columns"),
        ("scale", lambda x: np.zeros(4), "scale has entries outside"),
        ("captured", lambda x: x + 1.0, "captured has entries outside of 0 to 1"),
    ],
)
def test_what_is_wrong_with_a_model_without_a_learner(tmp_path, name, change, message):
    path = tmp_path / "a.onepass"
    rows = np.random.default_rng(0).normal(size=(300, 4))
    onepass.PCA(2).fit(rows).for_transform().save(path)
    onepass.load(path)
    crafted(path, array(name, change))
    with pytest.raises(onepass.ModelFileError, match=re.escape(message)):
        onepass.load(path)
