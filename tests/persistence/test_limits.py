"""What is saved can be loaded, however wild the rows are; what no model can hold is not."""

import re

import numpy as np
import pytest
from onepass.estimators.model_file_schema import MOST_SUM, Array, Scalar, check_state, flatten
from scipy import sparse

import onepass
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
        model = getattr(onepass, name)(2)
        for part in np.split(np.arange(1500), 3):
            model.partial_fit(rows[part], sample_weight=weights[part])
            model.save(tmp_path / "model")
            loaded = onepass.load(tmp_path / "model")
            np.testing.assert_array_equal(loaded.components_, model.components_)
            model = loaded


def test_captured_is_unknown_where_nothing_varies():
    rows = sparse.csr_array(np.tile(0.1 * np.arange(9) + 0.7, (1000, 1)))
    assert np.isnan(onepass.PCA(2).partial_fit(rows).captured_.mean)


def test_what_is_beyond_a_limit_is_stored_as_the_limit():
    schema = {"sums": Array((3,)), "part": {"total": Scalar(), "rows": Scalar(int, 0, 7)}}
    state = {"sums": np.array([-np.inf, 2.0, 1e300]), "part": {"total": np.inf, "rows": 8}}
    read = check_state(schema, *flatten(schema, state))
    np.testing.assert_array_equal(read["sums"], [-MOST_SUM, 2.0, MOST_SUM])
    assert read["part"] == {"total": MOST_SUM, "rows": 7}


@pytest.mark.parametrize(
    "state", [{"sums": np.full(3, np.nan), "total": 1.0}, {"sums": np.ones(3), "total": np.nan}]
)
def test_what_no_file_can_hold_is_refused_when_it_is_saved(state):
    with pytest.raises(ValueError, match=r"sums|total"):
        flatten({"sums": Array((3,)), "total": Scalar()}, state)


def number(name, value):
    return lambda header, arrays: header["header"]["state"].update({name: value})


def array(name, change):
    return lambda header, arrays: arrays.update({name: change(arrays[name])})


CRAFTED = {
    "drift.rows is -1, outside of 0 to 1e+70": number("drift.rows", -1.0),
    "scored is 3, outside of 0 to 2": number("scored", 3),
    "rows_since is 1e+300, outside of 0 to 1e+70": number("rows_since", 1e300),
    "evidence_rows has entries outside of 0": array("evidence_rows", np.negative),
    "drift.mean has entries outside of -2 to 2": array("drift.mean", lambda old: old + np.nan),
    "evidence has entries outside": array("evidence", lambda old: old + 1e300),
    "drift.mean has a length of 5, not 4": array("drift.mean", lambda old: np.ones(5)),
    "drift.point has a length of 0, not 4": array("drift.point", lambda old: old[:0]),
    "asked has a length of 3, not 4": array("asked", lambda old: old[..., :3].copy()),
    "buffer.rows has a length of 8, not 7": array("buffer.weights", lambda old: old[1:]),
    "its numbers of rows contradict each other": number("rows_seen", 199),
    "more rows wait than a chunk has": lambda header, arrays: arrays.update(
        {name: np.repeat(arrays[name], 50, axis=0) for name in ("buffer.rows", "buffer.weights")}
    ),
}


@pytest.mark.parametrize("message", CRAFTED)
def test_what_is_beyond_a_limit_is_not_loaded(tmp_path, message):
    path = tmp_path / "a.onepass"
    rows = np.random.default_rng(0).normal(size=(200, 4))
    onepass.PCA(2).partial_fit(rows).save(path)
    header, arrays = unpacked(path)
    CRAFTED[message](header, arrays)
    reseal(path, header, arrays)
    with pytest.raises(onepass.ModelFileError, match=re.escape(message)):
        onepass.load(path)
