"""Pictures for notebooks."""

import numpy as np
import pytest

from onepass import PCA, CappedMSG
from tests.cli.commands import rows


@pytest.mark.parametrize("model", [PCA(3), PCA(1), CappedMSG(2)])
def test_a_plot_has_all_pictures(model):
    axes = model.fit(rows()).plot(rows()).axes
    assert [axis.get_xlabel() for axis in axes[:2]] == ["component", "rows"]
    assert len(axes) == 3 + model.n_components_
    for i, axis in enumerate(axes[3:]):
        weights = model.components_[i]
        expected = weights[np.argsort(-np.abs(weights))]
        np.testing.assert_allclose([bar.get_width() for bar in axis.patches], expected)


def test_labels_of_rows_and_arrows_do_not_cover_each_other():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(600, 2)).repeat(3, axis=1)  # three columns point the same way
    X = shared + 0.01 * rng.normal(size=(600, 6))
    X[300:310] *= 50  # and ten rows are marked at the same place
    axis = PCA(2).fit(X).plot(X).axes[2]
    axis.figure.draw_without_rendering()
    labels = [label for label in axis.texts if label.get_text()]
    boxes, inside = [label.get_window_extent() for label in labels], axis.get_window_extent()
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in boxes)
    assert all(inside.y0 <= box.y0 and box.y1 <= inside.y1 for box in boxes)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])
    assert {label.get_text() for label in labels} >= {f"column {j}" for j in range(6)}
    assert any(label.get_text().isdigit() for label in labels)


@pytest.mark.parametrize("far", [1e4, 1e8])
def test_arrows_are_within_the_picture_where_the_mean_is_not(far):
    """One row moved the mean out of the picture, and drawing the arrows there did not end."""
    X = rows(d=4)
    X[7] = far
    axis = PCA(2, robust=False).fit(X).plot(X).axes[2]
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    assert not left < 0.0 < right
    arrows = [text for text in axis.texts if getattr(text, "arrow_patch", None)]
    ends = np.array([end for arrow in arrows for end in (arrow.xy, arrow.xyann)])
    assert len(ends) == 8
    assert ((ends >= (left, bottom)) & (ends <= (right, top))).all()
