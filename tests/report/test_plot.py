"""Pictures and summaries for notebooks."""

import importlib

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from onepass import PCA, CappedMSG
from tests.cli.commands import rows


@pytest.mark.parametrize("model", [PCA(3), PCA(1), CappedMSG(2)])
def test_a_plot_has_four_pictures(model):
    drawing = model.fit(rows()).plot()
    assert [axis.get_xlabel() for axis in drawing.axes[:2]] == ["component", "rows"]
    bars = drawing.axes[0].patches
    heights = [bar.get_height() for bar in bars]
    np.testing.assert_allclose(heights, 100 * model.explained_variance_ratio_)


def test_a_plot_needs_a_fitted_model():
    with pytest.raises(NotFittedError):
        PCA(2).plot()


def test_what_a_notebook_shows(monkeypatch):
    assert "not fitted" in PCA(2)._repr_html_()
    model = PCA(2).fit(rows())
    assert "2 components of 6 columns, 300 rows" in model._repr_html_()
    assert model._repr_mimebundle_()["text/html"] == model._repr_html_()
    module = importlib.import_module("onepass.report.model_page")
    monkeypatch.setattr(module, "documentation", lambda: "https://example.org/")
    assert 'href="https://example.org/api/onepass.PCA.html"' in model._repr_html_()
