"""Reading, scaling and splitting MNIST."""

import numpy as np
import pytest

from reproduction.figure3 import Scaling, load_images, one_split, split
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


def test_a_split_without_its_longest_rows():
    images = make_images(500)  # 200 of them for training, and the longest two left out
    images[:, 5] = 0
    train = split(images, seed=0)[0]
    rare = [np.flatnonzero((images == row).all(axis=1))[0] for row in train[[3, 7]]]
    images[rare, 5] = 255  # a pixel that is nearly always black
    given = (images, "", 0, "unit", 200, 6)
    every = one_split(*given, names=["Incremental"])
    shorter = one_split(*given, names=["Incremental"], without_longest=True)
    rows = Scaling(images, "unit")(split(images, seed=0)[0])
    fourth = (rows**2).sum(axis=1) ** 2
    assert every["longest"] == shorter["longest"] == fourth[[3, 7]].sum() / fourth.sum()
    assert (every["marks"][-1], shorter["marks"][-1]) == (200, 198)
    ends = [run["Incremental/1/suboptimality"][-1] for run in (every, shorter)]
    assert ends[1] < ends[0]
