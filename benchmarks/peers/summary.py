"""What the runs say: who is fastest within .001 of the best AUC, ratios, and how time grows."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

import numpy as np

NEAR = 0.001
Clock = Literal["seconds", "processor_seconds"]


@dataclass
class Cell:
    """A method at one setting on one set: its AUC, and by repeat what the clocks showed."""

    method: str
    setting: str
    rows: int
    features: int
    stored: int
    aucs: dict[int, float] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    processor_seconds: dict[int, float] = field(default_factory=dict)
    memory_mb: dict[int, float] = field(default_factory=dict)

    @property
    def dense(self) -> bool:
        """Whether the rows are."""
        return self.stored == self.rows * self.features

    @property
    def auc(self) -> float:
        """The median AUC."""
        return median(self.aucs.values())

    @property
    def time(self) -> float:
        """Median processor seconds, which other work on the machine disturbs least."""
        return median(self.processor_seconds.values())


def cells(lines: Iterable[dict[str, str]], question: str) -> dict[str, list[Cell]]:
    """Return the cells of each set; of runs that were made again the last ones count."""
    found: dict[str, dict[tuple[str, str], Cell]] = defaultdict(dict)
    for line in lines:
        if line["question"] != question or not line["auc"]:
            continue
        sizes = (int(line[name]) for name in ("rows", "features", "stored"))
        key = line["method"], line["setting"]
        cell, repeat = found[line["data"]].setdefault(key, Cell(*key, *sizes)), int(line["repeat"])
        cell.aucs[repeat] = float(line["auc"])
        cell.seconds[repeat] = float(line["seconds"])
        cell.processor_seconds[repeat] = float(line["processor_seconds"])
        cell.memory_mb[repeat] = float(line["memory_mb"])
    return {data: list(of.values()) for data, of in found.items()}


def best_auc(competing: Iterable[Cell]) -> float:
    """Return the best AUC that any of them reaches."""
    return max((cell.auc for cell in competing), default=float("nan"))


def fastest(competing: Iterable[Cell], best: float) -> Cell | None:
    """Return the fastest of those within .001 of the best AUC."""
    near = [cell for cell in competing if cell.auc >= best - NEAR]
    return min(near, key=lambda cell: cell.time, default=None)


def ratio(theirs: Cell, ours: Cell, clock: Clock = "processor_seconds") -> float:
    """Return how many times as long they take: the median over the repeats both have."""
    a, b = getattr(theirs, clock), getattr(ours, clock)
    return median(a[repeat] / b[repeat] for repeat in a.keys() & b.keys())


@dataclass
class Duel:
    """Our fastest and their fastest within .001 of the best AUC of a set; None where nobody is."""

    data: str
    best: float
    us: Cell | None
    them: Cell | None
    ours: list[Cell]
    others: list[Cell]

    def ratio(self, clock: Clock = "processor_seconds") -> float | None:
        """Return how many times as long they take, None where one side does not get there."""
        return ratio(self.them, self.us, clock) if self.us and self.them else None


def duels(found: dict[str, list[Cell]], names: Collection[str]) -> list[Duel]:
    """Return the duel of each set, ``names`` being our methods."""
    fought = []
    for data, competing in found.items():
        best = best_auc(competing)
        ours = [cell for cell in competing if cell.method in names]
        others = [cell for cell in competing if cell.method not in names]
        fought.append(Duel(data, best, fastest(ours, best), fastest(others, best), ours, others))
    return fought


def slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return the power of the size with which the time grows, by least squares of logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
