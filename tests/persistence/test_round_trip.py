"""What is written is read, by us and by NumPy."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onepass.persistence import archive
from onepass.persistence.archive import DTYPES

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)  # fmt: skip
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,12}", fullmatch=True).filter(
    lambda name: name != "header"
)
ARRAYS = hnp.arrays(
    st.sampled_from(sorted(DTYPES)), hnp.array_shapes(min_dims=0, max_dims=4, min_side=0)
)


def assert_same(arrays, expected):
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        assert array.dtype == expected[name].dtype
        assert array.shape == expected[name].shape
        assert array.tobytes() == expected[name].tobytes()


@settings(deadline=None)
@given(st.dictionaries(st.text(), JSON), st.dictionaries(NAMES, ARRAYS, max_size=4))
def test_round_trip(tmp_path_factory, header, arrays):
    path = tmp_path_factory.mktemp("model") / "a.onepass"
    archive.write(path, header, arrays)
    read_header, read_arrays = archive.read(path)
    assert read_header == header
    assert_same(read_arrays, arrays)
    with np.load(path, allow_pickle=False) as loaded:
        assert_same({name: loaded[name] for name in loaded.files if name != "header"}, arrays)
        assert json.loads(loaded["header"].tobytes())["header"] == header
    data = archive.to_bytes(header, arrays)
    assert data == path.read_bytes()
    from_bytes = archive.from_bytes(data)
    assert from_bytes[0] == header
    assert_same(from_bytes[1], arrays)
    again = path.with_suffix(".again")
    archive.write(again, read_header, read_arrays)
    assert again.read_bytes() == path.read_bytes()


def test_order_of_memory_and_of_bytes_do_not_matter(tmp_path):
    values = np.arange(6.0).reshape(2, 3)
    arrays = {"f": np.asfortranarray(values), "s": values[:, ::-1], "b": values.astype(">f8")}
    archive.write(tmp_path / "a", {}, arrays)
    _, read = archive.read(tmp_path / "a")
    for name, array in arrays.items():
        np.testing.assert_array_equal(read[name], array)
        assert read[name].dtype == np.dtype("<f8")
        assert read[name].flags.c_contiguous
        assert read[name].flags.writeable


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"a": np.nan}, {}),
        ({"a": object()}, {}),
        ({}, {"a": np.array([object()])}),
        ({}, {"a": np.array(["text"])}),
        ({}, {"a": np.array([1j])}),
        ({}, {"a": np.zeros(2, dtype=[("x", "f8")])}),
    ],
)
def test_what_cannot_be_stored_is_refused_before_writing(tmp_path, header, arrays):
    with pytest.raises((ValueError, TypeError)):
        archive.write(tmp_path / "a", header, arrays)
    assert list(tmp_path.iterdir()) == []


def test_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        archive.read(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        archive.write(tmp_path / "none" / "a", {}, {})
