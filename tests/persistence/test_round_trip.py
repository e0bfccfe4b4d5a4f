"""What is written is read, by us and by NumPy."""

import json

import numpy as np
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
    assert archive.to_bytes(header, arrays) == path.read_bytes()
    for read in (archive.read(path), archive.from_bytes(path.read_bytes())):
        assert read[0] == header
        assert_same(read[1], arrays)
        assert archive.to_bytes(*read) == path.read_bytes()
    with np.load(path, allow_pickle=False) as loaded:
        assert_same({name: loaded[name] for name in loaded.files if name != "header"}, arrays)
        assert json.loads(loaded["header"].tobytes())["header"] == header
