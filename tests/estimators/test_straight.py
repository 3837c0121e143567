"""A search ends with the line where neither a curve nor a pair explains more than chance."""

import numpy as np
import pandas as pd
import pytest

from aucmax import AdditiveAUCClassifier, AUCClassifier
from aucmax.columns.additive import AdditiveFeatures
from aucmax.estimators.labelling import labelled_rows
from aucmax.estimators.straight import line_suffices
from aucmax.statistics.pairs import all_pairs


def table(seed, n=5000):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n, 5)), rng.normal(size=n)


def suffices(X, score, strata=None):
    """Whether the line of the square loss is enough for the fifth of the rows that score most."""
    features = AdditiveFeatures().fit(X)
    Z = features.lines().transform(X).toarray()
    y = score > np.quantile(score, 0.8)
    line = AUCClassifier(0.01, loss="square").fit(Z, y)
    rows = labelled_rows(AUCClassifier(), Z, y, None, strata=strata)
    pairs = all_pairs(len(features.axes_)).tolist()
    return line_suffices(features, X, rows, line.decision_function(Z), pairs)


def test_lines_are_rarely_searched_in_vain():
    """Two tests at 5 % each: about two of twenty tables."""
    searched = 0
    for seed in range(20):
        _, X, noise = table(seed)
        searched += not suffices(X, X @ [2, 1, 1, 0, 0] + 2 * noise)
    assert 1 <= searched <= 6
    _, X, noise = table(0)
    assert suffices(X, np.exp(2 * X[:, 0]) + noise / 99)  # it bends, and ranks as a line
    assert not suffices(X[:4000], X[:4000, 0])  # too few rows to tell
    assert not suffices(X, np.exp(2 * X[:, 0]) + noise / 99, strata=np.arange(5000) % 500)


@pytest.mark.parametrize("score", [
    lambda X, noise: X[:, 0] ** 2 + noise,
    lambda X, noise: X[:, 0] + 2 * np.sin(9 * X[:, 1]) + noise,
    lambda X, noise: X[:, 0] + np.abs(X[:, 1]) + noise,
    lambda X, noise: X[:, 0] + X[:, 1] * X[:, 2] + noise,
    lambda X, noise: X[:, 0] + np.sign(X[:, 1] * X[:, 2]) + noise,
])  # fmt: skip
def test_what_bends_or_acts_together_is_searched(score):
    for seed in range(3):
        _, X, noise = table(seed)
        assert not suffices(X, score(X, noise))


def test_words_and_gaps_that_act_together_are_searched():
    rng, X, noise = table(1)
    frame = pd.DataFrame({"city": rng.choice(["Bonn", "Ulm", "Hof"], len(X)), "dose": X[:, 0]})
    frame["age"] = np.where(rng.random(len(X)) < 0.3, np.nan, X[:, 1])
    for flipped in (frame.city == "Ulm", frame.age.isna()):
        score = np.where(flipped, 1.0, -1.0) * X[:, 0] + noise
        assert not suffices(frame, score)


def test_the_search_looks_first():
    """No curve is tried where none is needed, unless it is asked for; pairs only if allowed."""
    _, X, noise = table(4)
    settings = {"losses": ["square"], "cv": 3}

    def tried(score, **more):
        model = AdditiveAUCClassifier(**(settings | more)).fit(X[:, :3], score > 1)
        return {*model.shape_scores_}

    assert tried(X[:, 0] + noise) == {"line"}
    assert tried(X[:, 0] + noise, shape="curves") == {"line", "curves"}
    together = 2 * X[:, 0] + np.sign(X[:, 1] * X[:, 2]) + noise
    assert tried(together, interactions=0) == {"line"}
    assert tried(together) == {"line", "curves", "interactions"}
