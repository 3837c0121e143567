"""``aucmax cv``: choose all settings by cross-validation, and save the best model."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from aucmax.cli.common import (
    calibration_facts,
    calibration_words,
    counted,
    few_positives,
    folds_described,
    listed,
    listed_numbers,
    show_page,
)
from aucmax.cli.errors import command_line, interrupted
from aucmax.cli.front import LabelledRows, labelled_rows, rows_described
from aucmax.cli.large import Footprint, Large, what_was_read, words_of_read
from aucmax.cli.options import (
    DataArgument,
    Html,
    Json,
    Learning,
    Probability,
    Stopping,
    Transforms,
    number_or_word,
)
from aucmax.cli.paths import check_paths
from aucmax.estimators import AUCClassifierCV
from aucmax.estimators.files import save
from aucmax.estimators.folds import FOLDS, Pairs
from aucmax.estimators.named_loss import NamedLoss
from aucmax.estimators.scoring import METRICS, scoring_of
from aucmax.estimators.selection import Grid, best_cell
from aucmax.estimators.tuning import SearchProgress
from aucmax.objective.losses import LOSSES
from aucmax.report.curves import ranking_figures
from aucmax.report.figures import Figure, Line, around, tuning_figure
from aucmax.report.page import Page, ResultTable, Section
from aucmax.report.provenance import provenance
from aucmax.report.style import stroke
from aucmax.report.text import auc_text, interval_text

__all__ = ["cv"]

DEFAULT_LOSSES: tuple[str, ...] = tuple(AUCClassifierCV().losses)


@dataclass(frozen=True, kw_only=True)
class Written:
    """What comes out beside the model's scores."""

    probability: Probability = False
    html: Html = None
    as_json: Json = False


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that are tried."""

    losses: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help=f"Of {', '.join(LOSSES)}; {', '.join(DEFAULT_LOSSES)} by default.",
        ),
    ] = None
    within: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            help="With the square and the logistic loss, how much the positives count beside the "
            "negatives, 0 to 1, or pooled; 0.5 by default.",
        ),
    ] = None
    standardize: Annotated[
        str,
        typer.Option(
            metavar="A,B,…", help="From 0 (features as given) to 1 (features of equal spread)."
        ),
    ] = "0.5,1"
    l1_ratios: Annotated[
        str, typer.Option(metavar="A,B,…", help="Shares of the l1 part, 0 to 1.")
    ] = "0"
    alphas: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="Penalties to try; by default a grid for the data."),
    ] = None

    def given(self) -> dict[str, Any]:
        """The same as arguments of a search."""
        within = [number_or_word(tau) for tau in listed(self.within or "")]
        return {
            "alphas": listed_numbers(self.alphas, "--alphas"),
            "l1_ratios": listed_numbers(self.l1_ratios, "--l1-ratios"),
            "standardize": listed_numbers(self.standardize, "--standardize"),
            "losses": list(DEFAULT_LOSSES) if self.losses is None else listed(self.losses),
            "within": "auto" if self.within is None else within,
        }


@dataclass(frozen=True, kw_only=True)
class Scores:
    """What the best settings are chosen by."""

    scoring: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"What the best is chosen by: {', '.join(METRICS)}, or a name that scikit-learn "
            "has, such as f1.",
        ),
    ] = "auc"
    max_fpr: Annotated[
        float | None,
        typer.Option(
            "--max-fpr", help="False-positive rate up to which partial_auc and recall_at_fpr count."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Folds:
    """How rows are divided into folds."""

    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Number of folds; 5, or as many as the rarer class has rows."),
    ] = None
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How often folds are drawn; 4 times where a class has fewer than 100 rows, else "
            "once.",
            show_default=False,
        ),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the folds.")] = 0
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Folds to fit in parallel; -1 uses all cores.")
    ] = None

    def of(self, rows: LabelledRows) -> tuple[Pairs, int]:
        """The rows of each fold, and how many folds there are in a round."""
        folds = _number_of_folds(rows, self.folds)
        rounds = rows.folding.rounds(rows.rarest) if self.rounds is None else self.rounds
        if self.rounds is not None and rounds > 1 and rows.folding.time is not None:
            raise ValueError("--rounds: time has one order, so with --time folds are drawn once.")
        return rows.folds(folds, self.seed, rounds), folds


class _Large(Large):
    footprint = Footprint(330, 700, 5)


def cv(
    data: DataArgument,
    reading: Learning,
    transforms: Transforms,
    large: _Large,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Where to save the best model."),
    ] = None,
    settings: Settings,
    chosen_by: Scores,
    division: Folds,
    stopping: Stopping,
    written: Written,
) -> None:
    """Tune by cross-validated AUC, or another score, and save the best model.

    Tries settings on the same folds (stratified; --groups keeps each group together, --time trains
    on the past), and refits the best to all rows; among equals the strongest penalty. It begins
    with the first loss and goes from the best setting to those beside it; alphas that you name are
    all tried, with every loss, standardize and l1-ratio. Its mean held-out AUC and the interval
    around it are optimistically biased, a maximum over the grid: for unbiased figures use 'aucmax
    evaluate' on rows that were not given here. --impute and --one-hot learn from all rows.

    Examples:

        aucmax cv visits.csv --target booked -o booked.aucmax --html tuning.html

        aucmax cv visits.csv --target booked --groups customer --weight amount

        aucmax cv a9a --losses square --l1-ratios 0,0.5

        aucmax cv visits.csv --target booked --scoring partial_auc --max-fpr 0.05
    """
    html, as_json = written.html, written.as_json
    check_paths({"--output": output, "--html": html}, {"DATA": data})
    if written.probability and output is None:
        raise ValueError("--probability is for a model that is saved; name a file by --output.")
    grid, asked = settings.given(), vars(chosen_by)
    scoring_of(**asked)
    rows = labelled_rows(data, reading, transforms, as_json, large)
    parts, folds = division.of(rows)
    few_positives(rows.is_positive, "row")
    reached: list[SearchProgress] = []
    model = AUCClassifierCV(
        **grid, **asked, **vars(stopping), cv=parts, n_jobs=division.jobs, verbose=not as_json,
        callback=reached.append, positive=rows.classes.positive_label,
        probability=written.probability,
    )  # fmt: skip
    started = time.perf_counter()
    try:
        tuned = model.fit(*rows.given(), groups=rows.folding.groups)
    except KeyboardInterrupt:
        raise _interrupted(reached, {**rows.facts(), **asked}, as_json) from None
    seconds = time.perf_counter() - started
    report = {**rows.facts(), **asked}
    report |= _report(rows, tuned, parts, transforms.scale.value, division.seed)
    report |= {"rounds": len(parts) // folds, "seconds": seconds, **what_was_read(rows.X)}
    if output is not None:
        save(rows.whole(tuned.best_estimator_), output)
        report["model"] = str(output)
    page = _page(report)
    if html is not None:
        page.sections.append(_curves(rows, parts, tuned.held_out_))
    show_page(page, as_json, html)


def _number_of_folds(rows: LabelledRows, asked: int | None) -> int:
    """Return how many folds there are to be; ValueError where there are too few rows for them."""
    few, wanted = rows.rarest, FOLDS if asked is None else asked
    most = rows.folding.most(rows.is_positive, wanted)
    if asked is None and most > 1:
        return most
    if few < wanted:
        instead = f"use --folds {few}" if few > 1 else "cross-validation needs two"
        raise ValueError(
            f"{rows.name}: the rarer class has {counted(few, 'row')}, fewer than the {wanted} "
            f"folds; {instead}."
        )
    return wanted


def _interrupted(reached: list[SearchProgress], facts: dict[str, Any], as_json: bool) -> typer.Exit:
    """Print the results of the finished folds; return an exit with code 130."""
    done = int(reached[-1].finished.sum()) if reached else 0
    if not done:
        return interrupted("no fold is done, and nothing was saved")
    at = reached[-1]
    lines = _lines(at.grid, at.scores[at.finished])
    best = max(lines, key=_top)
    chosen = {name: best[name] for name in _AXES}
    report = {**facts, "interrupted": True, "folds": done, **chosen, "grid": lines}
    show_page(Page("", "", [Section("", tables=[_best_of_each(report)])], data=report), as_json)
    return interrupted(f"{done} of {counted(len(at.finished), 'fold')} done; nothing was saved")


# ---- the grid: a line of scores over alpha for each of its other settings

_AXES = ("loss", "within", "standardize", "l1_ratio")


def _lines(grid: Grid, paths: np.ndarray) -> list[dict[str, Any]]:
    lines = []
    for a, b, c in np.ndindex(grid.shape[:3]):
        named = grid.losses[a]
        scores = paths[:, a, b, c]
        mean = _over_folds(np.nanmean, scores)
        best = best_cell(scores)
        lines.append({
            "loss": named.loss,
            "within": named.within,
            "standardize": grid.standardize[b],
            "l1_ratio": grid.l1_ratios[c],
            "alphas": grid.alphas[b],
            "mean": mean,
            "std": _over_folds(np.nanstd, scores, ddof=1),
            "scores": scores,
            "best": None if best is None else best[0],
        })  # fmt: skip
    return lines


def _over_folds(statistic: Callable[..., Any], scores: np.ndarray, **options: Any) -> np.ndarray:
    """A statistic over the folds, for each alpha; NaN where it was not tried."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(statistic(scores, axis=0, **options))


def _is(line: dict[str, Any], chosen: dict[str, Any]) -> bool:
    return all(line[name] == chosen[name] for name in _AXES)


def _top(line: dict[str, Any]) -> float:
    return -np.inf if line["best"] is None else float(line["mean"][line["best"]])


def _loss(line: dict[str, Any]) -> NamedLoss:
    return NamedLoss(line["loss"], line["within"])


def _shown(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By name, one line for each loss and standardize: the chosen one, or that of the best l1."""
    several = len({line["l1_ratio"] for line in report["grid"]}) > 1
    alike: dict[tuple[NamedLoss, float], list[dict[str, Any]]] = {}
    for line in report["grid"]:
        alike.setdefault((_loss(line), line["standardize"]), []).append(line)
    best = [
        max(lines, key=lambda line: (_is(line, report), _top(line))) for lines in alike.values()
    ]
    return {
        f"{_loss(line)}, standardize {line['standardize']:g}"
        + f", l1 {line['l1_ratio']:g}" * several: line
        for line in best
    }


def _report(
    rows: LabelledRows,
    tuned: Any,
    parts: Pairs,
    scale: str,
    seed: int,
) -> dict[str, Any]:
    paths = np.asarray(tuned.auc_path_)
    losses = tuple(NamedLoss(*named) for named in tuned.losses_)
    tried = Grid(losses, tuned.standardize, tuned.l1_ratios, tuned.alphas_[0])
    grid = _lines(tried, paths)
    best = tuned.best_estimator_
    chosen = {
        "loss": tuned.loss_,
        "within": tuned.within_,
        "standardize": tuned.standardize_,
        "l1_ratio": tuned.l1_ratio_,
        "alpha": tuned.alpha_,
    }
    line = next(line for line in grid if _is(line, chosen))
    at = line["best"] = int(np.argmin(np.abs(line["alphas"] - tuned.alpha_)))
    return {
        "folds": len(parts),
        "folding": rows.folding.words,
        "seed": seed,
        "scale": scale,
        "leaning": tuned.alphas is None,
        "settings_tried": int(np.isfinite(paths).any(axis=0).sum()),
        **chosen,
        "score": float(tuned.best_score_),
        "score_std": float(line["std"][at]),
        "auc": tuned.best_interval_.auc,
        "auc_interval": tuned.best_interval_._asdict(),
        "at_edge": at in (0, len(line["alphas"]) - 1) and len(line["alphas"]) > 1,
        "solver": best.solver_,
        "objective": best.objective_,
        "optimality": best.optimality_,
        "nonzero": int(np.count_nonzero(best.coef_)),
        **calibration_facts(best),
        "grid": grid,
    }


# ---- the page


def _best_of_each(report: dict[str, Any]) -> ResultTable:
    """The best alpha of each line."""
    shown, rows = _shown(report), []
    for name, line in shown.items():
        k, cells = line["best"], ("–", "not tried", "–")
        if k is not None:
            spread = line["std"][k]
            deviation = f"{spread:.4f}" if np.isfinite(spread) else "–"
            cells = (f"{line['alphas'][k]:.1e}", auc_text(line["mean"][k]), deviation)
        rows.append((name, *cells))
    return ResultTable(
        ("best of each", "alpha", _words(report), "std"),
        rows,
        "std: the standard deviation over the folds.",
        strong=[i for i, line in enumerate(shown.values()) if _is(line, report)],
    )


def _page(report: dict[str, Any]) -> Page:
    described = rows_described(report)
    tried, edge = report["settings_tried"], "; at the edge of the grid (--alphas)"
    chosen = [
        ("loss", str(_loss(report))),
        ("standardize", f"{report['standardize']:g}"),
        ("l1 ratio", f"{report['l1_ratio']:g}"),
        ("alpha", f"{report['alpha']:.3g}{edge * report['at_edge']}"),
        ("held-out AUC", f"{auc_text(report['auc'])}  (95 % interval {_interval(report)})"),
        ("refit", f"{report['solver']}, optimality {report['optimality']:.1e}"),
        ("weights", f"{report['nonzero']:,} of {report['features']:,} nonzero"),
        *calibration_words(report),
    ]
    if report["scoring"] != "auc":
        score = f"{auc_text(report['score'])} ± {report['score_std']:.4f} over the folds"
        chosen.insert(4, (f"held-out {_words(report)}", score))
    if "read" in report:
        chosen.append(("read", words_of_read(report)))
    if "model" in report:
        chosen.append(("saved", report["model"]))
    folds = f"{folds_described(report)}, {report['folding']}"
    return Page(
        f"Tuned on {report['data']}",
        f"{described}\n{folds}; {counted(tried, 'setting')}, {report['seconds']:.2f} seconds",
        [
            Section("Chosen", tables=[ResultTable.facts(chosen, _how_chosen(report))]),
            Section(
                f"{_words(report)} over alpha",
                tables=[_best_of_each(report)],
                figures=[_figure(report)],
            ),
        ],
        provenance=provenance(
            command_line(), [("data", described), ("folds", folds)], report["seed"]
        ),
        data=report,
    )


def _words(report: dict[str, Any]) -> str:
    """What the best is chosen by."""
    return scoring_of(report["scoring"], report["max_fpr"]).words


def _interval(report: dict[str, Any]) -> str:
    return interval_text(report["auc_interval"]["low"], report["auc_interval"]["high"])


def _how_chosen(report: dict[str, Any]) -> str:
    tried = report["settings_tried"]
    if tried == 1:
        return "The one setting that was tried: nothing was chosen by the held-out rows."
    leaning = ", leaning to the alphas usual for so many rows" if report["leaning"] else ""
    return (
        f"Chosen among {tried:,} settings by the mean held-out {_words(report)}{leaning}; the "
        "figure and its interval are optimistically biased: a maximum over the grid. For unbiased "
        "ones evaluate the model on rows that were not used here."
    )


def _figure(report: dict[str, Any]) -> Figure:
    shown, words = _shown(report), _words(report)
    losses = list(dict.fromkeys(_loss(line) for line in shown.values()))
    gammas = list(dict.fromkeys(line["standardize"] for line in shown.values()))
    line = next(line for line in shown.values() if _is(line, report))
    at_choice = line["scores"][:, [line["best"]]]
    lines = {
        name: Line(
            line["alphas"],
            line["mean"],
            around(line["mean"], _over_folds(np.nanstd, line["scores"] - at_choice, ddof=1)),
            points=True,
            detail=f"best {_top(line):.4f}",
            stroke=stroke(losses.index(_loss(line)), gammas.index(line["standardize"])),
        )
        for name, line in shown.items()
        if line["best"] is not None
    }
    return tuning_figure(
        lines,
        (report["alpha"], report["score"]),
        f"Mean of {report['folds']} folds. Ring: the choice. Band: one standard deviation over the "
        "folds, to either side, of the difference from the choice in the same fold; the table has "
        f"the standard deviation of the {words} itself. Its axis does not start at 0.",
        words,
    )


def _curves(rows: LabelledRows, parts: Pairs, held_out: list[np.ndarray]) -> Section:
    """Curves of the held-out rows, from the chosen settings fitted to each training part."""
    tests = [
        rows.scored(test, scores)
        for (_, test), scores in zip(parts, held_out, strict=True)
        if len(np.unique(rows.is_positive[test])) == 2
    ]
    return Section(
        "Curves on held-out rows",
        "The chosen settings, fitted to the training part of each fold.",
        figures=ranking_figures({"chosen": tests}),
        on_terminal=False,
    )
