"""Files whose entries are within their limits, each by itself, and still no model."""

import numpy as np
import pytest

import onepass
from onepass.estimators.saving import pack
from onepass.persistence import archive

X = np.random.default_rng(0).normal(size=(700, 5))


def _no_average(header, arrays):
    arrays["solver.average.factor"][:] = 0.0


def _no_weight(header, arrays):
    arrays["bounded.0.sums"][0] = 0.0


def _no_rows(header, arrays):
    header["state"]["settled.0.weight"] = 1e-308


def _infinite_rest(header, arrays):
    header["state"]["solver.rest"] = "inf"


def _no_batch(header, arrays):
    header["params"]["batch_size"] = None


def _many_columns(header, arrays):
    header["n_features"] = 10**9


@pytest.mark.parametrize(
    ("model", "change", "said"),
    [
        (onepass.CappedMSG(2), _no_average, "a direction of length zero"),
        (onepass.PCA(2, robust=True), _no_weight, "not a valid model"),
        (onepass.ERM(2), _no_rows, "not a valid model"),
        (onepass.CappedMSG(2), _infinite_rest, "solver.rest"),
        (onepass.Incremental(2), _infinite_rest, "solver.rest"),
        (onepass.Incremental(2), _no_batch, "batch_size must be"),
        (onepass.Grouse(2), _many_columns, "no array is as long"),
        (onepass.PCA(2), _many_columns, "no array is as long"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_they_are_refused(model, change, said):
    header, arrays = pack(model.partial_fit(X))
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    with pytest.raises(onepass.ModelFileError, match=said):
        onepass.from_bytes(archive.to_bytes(header, arrays))


@pytest.mark.parametrize("marks", ["abc", 5, None, [1], [["?"]], {"?": 1}, ["?"] * 101])
def test_marks_of_missing_entries_are_texts(marks):
    header, arrays = pack(onepass.PCA(2).partial_fit(X))
    assert "na" not in header
    header["na"] = marks
    with pytest.raises(onepass.ModelFileError, match="marks of missing entries are no list of"):
        onepass.from_bytes(archive.to_bytes(header, arrays))


@pytest.mark.parametrize(
    "reading", ["abc", {"layer": None}, {"skip_lines": -1}, {"na": ["?"]}, {"other": 1}]
)
def test_options_of_reading_are_checked(reading):
    header, arrays = pack(onepass.PCA(2).partial_fit(X))
    header["reading"] = reading
    with pytest.raises(onepass.ModelFileError):
        onepass.from_bytes(archive.to_bytes(header, arrays))


def test_a_far_origin_of_float32_rows_does_no_harm():
    header, arrays = pack(onepass.CappedMSG(2).partial_fit(X.astype(np.float32)))
    arrays["variances.moment.origin"] = np.array([1e9, 64.0, 255.0, 1e9, 2.0**63])
    model = onepass.from_bytes(archive.to_bytes(header, arrays))
    assert np.isfinite(model.partial_fit(X.astype(np.float32)).components_).all()
