"""What a stream tells of itself: its AUC, whether learning on pays, and what has moved."""

from typing import Any

import numpy as np

from aucmax.streams.drift import LEVEL
from aucmax.streams.state import State, summary

__all__ = ["moved", "told"]

_MOST = 5  # features that are told


def told(state: State) -> dict[str, Any]:
    """Return what there is to tell now, as JSON takes it.

    Returns
    -------
    dict
        ``row``, ``bad``, ``lines`` and ``features`` so far; ``optimality`` of the model;
        ``prequential``, the AUC of all rows, each scored before it was learnt;
        and since the freeze, decayed where there is a half-life, ``frozen`` and ``learning``, the
        AUCs of the two models, ``test``, the paired test of the second less the first at this one
        look, and ``moved``;
        and ``drift``, undecayed, the ``evidence`` that rows have changed since the freeze and the
        ``row`` at which it first was 1/``level`` (`aucmax.streams.drift`): without a change that
        happens in a share ``level`` of streams, however often one looks.
        What is not known yet is None.
    """
    positive, baseline = state.positive, state.baseline
    found: dict[str, Any] = {"row": state.rows, "bad": state.bad, "lines": state.lines}
    found["features"] = len(state.learner.names)
    left = state.learner.scorer.optimality
    found["optimality"] = left if left == left else None  # SPAM knows none
    found |= dict.fromkeys(("prequential", "frozen", "learning", "test", "moved", "drift"))
    if positive is None:
        return found
    found["prequential"] = _auc(state.tally.auc(positive))
    if baseline is None:
        return found
    for name, scorer in (("frozen", 0), ("learning", 1)):
        found[name] = _auc(state.pair.auc(positive, scorer))
    found["frozen_after"] = baseline.rows
    test = state.pair.test(positive)
    if test is not None:
        found["test"] = test._asdict()
    found["drift"] = {"evidence": state.drift.evidence, "row": state.alarm, "level": LEVEL}
    found["moved"] = moved(state)[:_MOST]
    return found


def _auc(found: Any) -> dict[str, float] | None:
    return None if found is None else found._asdict()


def moved(state: State) -> list[dict[str, Any]]:
    """Return the features by how far a class mean has moved since the freeze, the farthest first.

    The rows since are what is left of all rows without those before, decayed. ``z`` is the change
    of the mean in its standard errors; ``shift`` in standard deviations before the freeze, and
    ``spread`` the ratio of the standard deviations, None where there was none. SPAM has none of it.
    """
    if state.baseline is None or not state.baseline.known:
        return []
    learner, then = state.learner, state.baseline.known
    now, since = summary(learner), state.rows - state.baseline.rows
    rows, names, out = state.pair.rows, learner.names, []
    for label, k in learner.labels.items():
        T, t = now["counts"][k], then["counts"][k] * learner.gamma**since
        rest, d = T - t, now["means"].shape[1]
        if rest <= 1e-9 * T or then["counts"][k] <= 0.0 or rows[k] < 2.0:
            continue
        before, scatter = np.zeros(d), np.zeros(d)
        before[: then["means"].shape[1]] = then["means"][k]
        scatter[: then["means"].shape[1]] = then["variances"][k]
        gap = (T / rest) * (now["means"][k] - before)
        here = (T / rest) * now["variances"][k] - (t / rest) * scatter - (t / T) * gap**2
        here = np.maximum(here, 0.0)
        error = np.sqrt(scatter / then["rows"][k] + here / rows[k])
        z = np.divide(gap, error, out=np.zeros(d), where=error > 0.0)
        for j in np.argsort(-np.abs(z), kind="stable")[:_MOST].tolist():
            if not z[j]:
                continue
            sd, sd_now = float(np.sqrt(scatter[j])), float(np.sqrt(here[j]))
            out.append(
                {
                    "feature": names[j],
                    "class": label,
                    "before": float(before[j]),
                    "since": float(before[j] + gap[j]),
                    "z": float(z[j]),
                    "shift": float(gap[j]) / sd if sd else None,
                    "spread": sd_now / sd if sd else None,
                }
            )
    return sorted(out, key=lambda one: -abs(one["z"]))
