"""Principal angles."""

import numpy as np
import pytest

from onepass import metrics


@pytest.mark.parametrize("angle", [1.5, 0.3, 1e-5, 1e-9, 1e-13, 0.0])
def test_known_angles(angle):
    rng = np.random.default_rng(0)
    frame = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    A = frame[:2]
    B = np.array([np.cos(angle) * frame[0] + np.sin(angle) * frame[2], frame[1]])
    mix = np.array([[2.0, 1.0], [0.0, 3.0]])
    angles = metrics.principal_angles(mix @ A, 1e-6 * B)
    np.testing.assert_allclose(angles, [angle, 0.0], rtol=1e-12, atol=1e-15)


def test_spans_of_different_dimension():
    angles = metrics.principal_angles(np.eye(3)[:1], [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(angles, [np.pi / 4])


def test_different_widths_are_refused():
    with pytest.raises(ValueError, match="shape"):
        metrics.principal_angles(np.eye(3), np.eye(2))
