"""Card payments as a bank exports them, drawn with a random seed: the files of the tutorial.

Semicolons, ``1.168,53``, ``31.01.2026 14:05``, ``12,5 %``, yes and no, gaps, names in two
spellings; customers with several payments, and the date of a chargeback, which is known only after
a fraud.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aucmax.basics.replacing import replacing

__all__ = ["write_payments"]

PERIODS = {  # first day, days and payments of each file
    "payments.csv": (np.datetime64("2026-01-01"), 151, 20_000),
    "june.csv": (np.datetime64("2026-06-01"), 30, 4_000),
    "july.csv": (np.datetime64("2026-07-01"), 31, 4_000),
}
UNLABELLED = "july.csv"  # its frauds are not known yet
AFTERWARDS = ["chargeback", "fraud"]
CUSTOMERS, STOLEN_CARDS = 5_000, 30
COUNTRIES = {"DE": 0.0, "AT": 0.3, "FR": 0.6, "NL": 0.6, "US": 1.5, "BR": 2.5}
SHOPS, RISKY_SHOPS = 4_000, 12  # the first are frequent, and some of them risky
Floats = NDArray[np.float64]


def write_payments(folder: Path, seed: int = 0) -> list[Path]:
    """Write the files into a folder, one for each of `PERIODS`; return their paths.

    Parameters
    ----------
    folder : Path
        An existing folder.
    seed : int
        Seeds everything that is drawn.
    """
    rng = np.random.default_rng(seed)
    paths = []
    first_number = 104_233
    for name, (first_day, days, rows) in PERIODS.items():
        columns = _payments(rng, first_day, days, rows, first_number)
        first_number += rows
        if name == UNLABELLED:
            columns = {key: cells for key, cells in columns.items() if key not in AFTERWARDS}
        paths.append(folder / name)
        with replacing(paths[-1], text=True) as file:
            writer = csv.writer(file, delimiter=";", lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return paths


def _payments(
    rng: np.random.Generator, first_day: np.datetime64, days: int, rows: int, first_number: int
) -> dict[str, Sequence[str]]:
    """Draw payments in the order of time; return the columns of their file."""
    booked = first_day.astype("datetime64[m]") + np.sort(_minutes(rng, days, rows)).astype(
        "timedelta64[m]"
    )
    hour = (booked - booked.astype("datetime64[D]")).astype(float) / 60
    customer = rng.integers(0, CUSTOMERS, rows)
    amount = np.exp(rng.normal(3.6, 1.1, rows))
    limit = np.clip(rng.beta(1.5, 4, rows) + amount / 5_000, 0, 1)  # share of it that is used
    country = rng.choice(len(COUNTRIES), rows, p=[0.7, 0.1, 0.07, 0.07, 0.04, 0.02])
    shop = np.where(rng.random(rows) < 0.7, rng.integers(0, 40, rows), rng.integers(0, SHOPS, rows))
    stolen = customer < STOLEN_CARDS
    present = (rng.random(rows) < 0.6) & ~stolen
    new_device = ~present & (rng.random(rows) < np.where(stolen, 0.8, 0.1))
    log_odds = (
        0.015 * amount + 5 * limit + np.array([*COUNTRIES.values()])[country]
        + 2.5 * (shop < RISKY_SHOPS) - 2 * present + 3 * new_device
        + 2 * ((hour < 5) | (hour > 23)) + 7 * stolen
    )  # fmt: skip
    fraud = rng.random(rows) < 1 / (1 + np.exp(11.6 - log_odds))
    back = booked + rng.integers(5 * 1440, 40 * 1440, rows)
    return {
        "payment": [f"P-{number}" for number in range(first_number, first_number + rows)],
        "booked": _dates("%d.%m.%Y %H:%M", booked),
        "customer": [f"K-{(7919 * code + 4242) % 90_000 + 10_000}" for code in customer],
        "amount": _marked(rng, 0.0005, "pending", [_european(f"{x:,.2f}") for x in amount]),
        "currency": ["EUR"] * rows,
        "merchant": _spelt(rng, [f"Shop {(37 * code) % SHOPS + 1}" for code in shop]),
        "country": _marked(rng, 0.03, "", np.array([*COUNTRIES])[country].tolist()),
        "card present": np.where(present, "yes", "no").tolist(),
        "new device": np.where(new_device, "yes", "no").tolist(),
        "limit used": _marked(rng, 0.05, "", [_european(f"{x:.1%}") for x in limit]),
        "chargeback": np.where(fraud, _dates("%d.%m.%Y", back), "").tolist(),
        "fraud": np.where(fraud, "yes", "no").tolist(),
    }


def _minutes(rng: np.random.Generator, days: int, rows: int) -> Floats:
    """Draw minutes since the first, most of them by day."""
    by_day = np.clip(rng.normal(14 * 60, 200, rows), 0, 1439)
    of_day = np.where(rng.random(rows) < 0.9, by_day, rng.uniform(0, 1440, rows))
    return np.floor(1440 * rng.integers(0, days, rows) + of_day)


def _dates(form: str, times: NDArray[np.datetime64]) -> list[str]:
    return [time.strftime(form) for time in times.astype("datetime64[m]").tolist()]


def _european(text: str) -> str:
    return text.translate(str.maketrans(",.", ".,")).replace("%", " %")


def _marked(rng: np.random.Generator, share: float, mark: str, cells: list[str]) -> list[str]:
    """Write a mark, or nothing, in place of some of the cells."""
    return np.where(rng.random(len(cells)) < share, mark, cells).tolist()


def _spelt(rng: np.random.Generator, names: list[str]) -> list[str]:
    """Write one name in twenty in capitals."""
    slips = rng.random(len(names)) < 0.05
    return [name.upper() if slip else name for name, slip in zip(names, slips, strict=True)]
