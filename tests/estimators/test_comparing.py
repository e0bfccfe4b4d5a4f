"""Several algorithms on one stream."""

import numpy as np
import pandas as pd
import pytest

from onepass import MSG, CappedMSG, Oja, compare, metrics
from onepass.sources.synthetic import Orthogonal

ROWS = np.random.default_rng(0).normal(size=(700, 6)) * [5, 4, 1, 1, 1, 1]


def test_curves_are_those_of_each_algorithm_alone():
    estimators = [CappedMSG(2), Oja(2, random_state=0)]
    table = pd.DataFrame(compare(estimators, ROWS, at=[100, 300, 700]))
    assert table.groupby("algorithm").rows.apply(list).to_dict() == {
        "CappedMSG": [100, 300, 700],
        "Oja": [100, 300, 700],
    }
    alone = CappedMSG(2).partial_fit(ROWS[:300]).captured_.mean
    found = table[(table.algorithm == "CappedMSG") & (table.rows == 300)].captured.item()
    assert found == alone
    assert (table.groupby("algorithm").seconds.diff().dropna() >= 0).all()
    assert table.suboptimality.isna().all()
    assert not hasattr(estimators[0], "n_features_in_")


def test_blocks_do_not_matter_and_powers_of_two_are_the_default():
    whole = compare({"a": CappedMSG(2)}, ROWS)
    parts = compare({"a": CappedMSG(2)}, np.array_split(ROWS, 9))
    assert whole["rows"].tolist() == [64, 128, 256, 512, 700]
    np.testing.assert_array_equal(whole["rows"], parts["rows"])
    np.testing.assert_array_equal(whole["captured"], parts["captured"])


def test_suboptimality_where_the_distribution_is_known():
    source = Orthogonal(8).stream(2000, seed=0)
    curves = compare([MSG(2, center=False), MSG(1, center=False)], source, at=[10, 2000])
    assert curves["algorithm"].tolist() == ["MSG", "MSG", "MSG 2", "MSG 2"]
    alone = MSG(2, center=False).partial_fit(source).components_
    assert curves["suboptimality"][1] == metrics.suboptimality(alone, Orthogonal(8))


@pytest.mark.parametrize(("estimators", "at"), [([], None), ([MSG(2)], []), ([MSG(2)], [0, 5])])
def test_nonsense_is_refused(estimators, at):
    with pytest.raises(ValueError, match=r"no estimator|at must be"):
        compare(estimators, ROWS, at=at)


def test_a_single_estimator_has_to_be_in_a_list():
    with pytest.raises(ValueError, match="estimators must be a list or a dict"):
        compare(CappedMSG(2), ROWS)
