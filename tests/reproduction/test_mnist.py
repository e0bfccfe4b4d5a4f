"""Reading, scaling and splitting MNIST."""

import numpy as np
import pytest

from reproduction.figure3 import Scaling, load_images, split
from tests.reproduction.idx import make_images, write_folder


@pytest.mark.parametrize("packed", [True, False])
def test_idx_files_are_read_compressed_or_not(tmp_path, packed):
    images = write_folder(tmp_path, packed=packed)
    np.testing.assert_array_equal(load_images(tmp_path), images)


@pytest.mark.parametrize(
    ("reading", "norm"), [("printed", 35 / 36**2), ("unit", 1.0), ("whole", 1.0)]
)
def test_rows_have_mean_zero_and_the_norm_of_the_reading(reading, norm):
    images = make_images(5000)  # 36 pixels, one of them always black; more than one chunk
    scaling = Scaling(images, reading)
    rows = scaling(images)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    assert (rows[:, 0] == 0).all()
    squares = (rows**2).sum(axis=1)
    assert squares.mean() == pytest.approx(norm)
    assert scaling.norm_moments(images) == pytest.approx((norm, (squares**2).mean()))
    variances = rows[:, 1:].var(axis=0)
    assert np.allclose(variances, variances[0]) == (reading != "whole")


def test_the_split_is_40_20_40_and_uses_every_image_once():
    images = np.arange(100, dtype=np.uint8)[:, None]
    parts = split(images, seed=3)
    assert [len(part) for part in parts] == [40, 20, 40]
    assert sorted(np.vstack(parts).ravel()) == list(range(100))
    assert not np.array_equal(split(images, seed=4)[0], parts[0])
