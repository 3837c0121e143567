"""Monitoring of a stream: its AUC, learning against a frozen model, shifted features."""

from typing import Any

import numpy as np

from aucmax.streams.drift import FALSE_ALARM_RATE
from aucmax.streams.state import State, summary

__all__ = ["moved", "stream_report"]

_MAX_FEATURES = 5  # in a report


def stream_report(state: State) -> dict[str, Any]:
    """Return the current figures of a stream, as JSON types.

    Returns
    -------
    dict
        ``row``, ``bad``, ``lines`` and ``features`` so far; ``optimality`` of the model;
        ``prequential``, the AUC of all rows, each scored before it was learnt. Within strata this
        is called ``strata``; it and all other AUCs are then means over strata.
        Since the freeze, decayed if there is a half-life: ``frozen`` and ``learning``, the AUCs of
        the two models; ``test``, the paired test of the second minus the first, valid for a single
        look; and ``moved``. ``drift``, undecayed: the ``evidence`` that rows have changed since the
        freeze, and the ``row`` at which it first reached 1/``level`` (`aucmax.streams.drift`).
        Without a change, this happens in at most a share ``level`` of streams, however often one
        looks. Unknown values are None.
    """
    positive, baseline = state.positive, state.baseline
    report: dict[str, Any] = {"row": state.rows, "bad": state.bad, "lines": state.lines}
    report["features"] = len(state.learner.names)
    if state.settings.strata is not None:
        report["strata"] = state.settings.strata
    optimality = state.learner.scorer.optimality
    report["optimality"] = optimality if optimality == optimality else None  # NaN for SPAM
    report |= dict.fromkeys(("prequential", "frozen", "learning", "test", "moved", "drift"))
    if positive is None:
        return report
    prequential, pair = state.up_to_now()
    report["prequential"] = _auc(prequential.auc(positive))
    if baseline is None:
        return report
    areas: list[Any] = [scores.auc(positive) for scores in pair.scorers()]
    report["frozen"], report["learning"] = map(_auc, areas)
    report["frozen_after"] = baseline.rows
    test = pair.test(areas)
    if test is not None:
        report["test"] = test._asdict()
    report["drift"] = {
        "evidence": state.drift.evidence,
        "row": state.alarm,
        "level": FALSE_ALARM_RATE,
    }
    report["moved"] = moved(state)[:_MAX_FEATURES]
    return report


def _auc(area: Any) -> dict[str, float] | None:
    return None if area is None else area._asdict()


def moved(state: State) -> list[dict[str, Any]]:
    """Return the features sorted by the shift of a class mean since the freeze, largest first.

    The moments of the rows since the freeze are those of all rows minus the decayed earlier ones.
    ``z`` is the change of the mean in standard errors; ``shift`` the change in standard deviations
    before the freeze, and ``spread`` the ratio of the standard deviations, None if that was 0. With
    SPAM the list is empty.
    """
    if state.baseline is None or not state.baseline.statistics:
        return []
    learner, frozen = state.learner, state.baseline.statistics
    current, n_rows_since = summary(learner), state.rows - state.baseline.rows
    rows, names, features = state.pair.scorers()[0].rows, learner.names, []
    for label, k in learner.labels.items():
        T, t = current["counts"][k], frozen["counts"][k] * learner.gamma**n_rows_since
        since, d = T - t, current["means"].shape[1]
        if since <= 1e-9 * T or frozen["counts"][k] <= 0.0 or rows[k] < 2.0:
            continue
        before, scatter = np.zeros(d), np.zeros(d)
        before[: frozen["means"].shape[1]] = frozen["means"][k]
        scatter[: frozen["means"].shape[1]] = frozen["variances"][k]
        gap = (T / since) * (current["means"][k] - before)
        variance = (T / since) * current["variances"][k] - (t / since) * scatter - (t / T) * gap**2
        variance = np.maximum(variance, 0.0)
        error = np.sqrt(scatter / frozen["rows"][k] + variance / rows[k])
        z = np.divide(gap, error, out=np.zeros(d), where=error > 0.0)
        for j in np.argsort(-np.abs(z), kind="stable")[:_MAX_FEATURES].tolist():
            if not z[j]:
                continue
            sd, sd_now = float(np.sqrt(scatter[j])), float(np.sqrt(variance[j]))
            features.append(
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
    return sorted(features, key=lambda feature: -abs(feature["z"]))
