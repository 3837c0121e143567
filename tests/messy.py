"""Twelve tables as banks, shops and hospitals write them, and how an analyst cleans each by hand.

Each function of `TABLES` makes a table with a rare event, whose rate depends in known ways on what
the cells mean, and with traps. Tables of one name, of any rows and random state, are of one kind:
their levels and merchants have the same effects.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["TABLES", "Messy", "unnamed"]

GAPS = ("", "NA", "?", "-", "n/a")
UNKNOWN = ("n.k.", "1O.5")  # no numbers

# what an output may call a trap; "|" stands between the words
NUMBER = "number|numeric|currency|currencies|thousand|decimal|percent"
PERCENT = "percent|%|number|numeric"
DATE = "date|day|weekday|hour|month|time"
GAP = "gap|missing|median|marked|marker"
BAD = "not a number|not numbers|no number|miswritten|became a gap|becomes a gap|became gaps|bad"
BAD += "|unreadable|1O.5|n.k."
LEVEL = "level|categor|yes/no|ja/nein|Y/N|words|text|one-hot|0/1|two values"
MANY_WORDS = "other|frequent|rare"
SPELLING = "case|space|spelling|spelt|spelled"
ID = "an id|ids|identif|all different|different values|differ|unique|distinct|row number|running"
INDEX = "row number|running|index|counts the rows|without a name|unnamed|no name"
CONSTANT = "constant|single value|one value|same value|only value|never varies|does not vary"
COPY = "copy|copies|same as|equal|duplicate|identical|repeats"
TWICE = "duplicate|repeated|twice|identical rows|same rows"
LEAK = "alone|perfect|leak|only for|afterwards|after the event|being missing|missingness"
GROUPS = "--groups|groups"
TIME = "--time|grows with time|order of time|drift|over time|in time"
LABELS = "without a label|without label|missing label|no label|unlabelled|labels missing"
LABELS += "|labels are missing|label is missing|missing"
SEMICOLON = "';'|\";\"|semicolon|separated by ;|delimiter ;|separator ;"
TAB = "'\\t'|tab"
COMMA = "decimal comma|decimal ,|decimal ','|decimal mark ,|comma as decimal"
ENCODING = "1252|latin|encoding|8859"


@dataclass(frozen=True)
class Messy:
    """A table, what an analyst does about it, and what a command must say about it.

    Parameters
    ----------
    cells : dict of lists, or of Arrow arrays
        The columns as they are written, the target among them.
    target, positive : str
        The target column, and which of its words is the event, without space around it.
    clean : callable
        From the table, read as text, to numbers that a linear score may use.
    traps : list of (column, words)
        A line of the output must name the column and have one of the words; a column "" is the
        whole table.
    leaks : tuple of str
        Columns that are known only after the event; nobody has them for new rows.
    sep, encoding : str
        How a CSV file is written. Tables of Arrow arrays become Parquet.
    """

    cells: dict[str, Any]
    target: str
    positive: str
    clean: Callable[[pd.DataFrame], pd.DataFrame]
    traps: list[tuple[str, str]]
    leaks: tuple[str, ...] = ()
    sep: str = ","
    encoding: str = "utf-8"

    def write(self, folder: Path, name: str) -> Path:
        """Write the file, and return its path."""
        if not isinstance(next(iter(self.cells.values())), list):
            pq.write_table(pa.table(self.cells), folder / f"{name}.parquet")
            return folder / f"{name}.parquet"
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.sep, lineterminator="\n")
        writer.writerow(self.cells)
        writer.writerows(zip(*self.cells.values(), strict=True))
        (folder / f"{name}.csv").write_bytes(text.getvalue().encode(self.encoding))
        return folder / f"{name}.csv"

    def read(self, path: Path) -> pd.DataFrame:
        """Return the table as pandas reads it if told everything: CSV as text, gaps as NaN."""
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        gaps: dict[str, Any] = {"keep_default_na": False, "na_values": list(GAPS)}
        return pd.read_csv(path, sep=self.sep, encoding=self.encoding, dtype=str, **gaps)

    def labels(self, frame: pd.DataFrame) -> pd.Series:
        """Return 1 for the event, 0 for none, NaN where nobody knows."""
        words = frame[self.target].str.strip()
        return (words == self.positive).astype(float).where(words.notna())


def unnamed(output: str, traps: Iterable[tuple[str, str]]) -> list[str]:
    """Return the traps that an output does not name: no line has the column and one of the words.

    The words of a column "" may stand in any line. Case does not matter.
    """
    lines = output.lower().splitlines()

    def named(column: str, words: str) -> bool:
        name = re.compile(rf"(?<!\w){re.escape(column.lower())}(?!\w)" if column else "")
        word = re.compile("|".join(map(re.escape, words.lower().split("|"))))
        return any(name.search(line) and word.search(line) for line in lines)

    return [f"{column or 'table'}: {words}" for column, words in traps if not named(column, words)]


# ---- how cells are made and written -------------------------------------------------------


def drawn(score: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw events, about that share of the rows, by the logistic model."""
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        above = np.mean(1 / (1 + np.exp(-score - middle))) > share
        low, high = (low, middle) if above else (middle, high)
    return rng.random(len(score)) < 1 / (1 + np.exp(-score - low))


def text(form: str, values: Iterable[Any]) -> list[str]:
    return [form.format(value) for value in values]


def european(form: str, values: Iterable[float]) -> list[str]:
    """Write numbers with a decimal comma and points between thousands."""
    return [word.translate(str.maketrans(",.", ".,")) for word in text(form, values)]


def dated(form: str, stamps: pd.DatetimeIndex) -> list[str]:
    return list(stamps.strftime(form))


def chosen(mask: np.ndarray, true: str, false: str) -> list[str]:
    return np.where(mask, true, false).tolist()


def with_gaps(
    cells: list[str], mask: np.ndarray, rng: np.random.Generator, marks: Iterable[str] = ("",)
) -> list[str]:
    """Write one of the marks where the mask is true."""
    gaps = rng.choice(list(marks), len(cells)).tolist()
    return [gap if empty else cell for cell, gap, empty in zip(cells, gaps, mask, strict=True)]


def with_bad(cells: list[str], at: float = 0.9) -> list[str]:
    """Write a few cells far down that are no numbers."""
    first = int(at * len(cells))
    return [*cells[:first], *UNKNOWN, *cells[first + len(UNKNOWN) :]]


def typed(words: list[str], rng: np.random.Generator, share: float = 0.1) -> list[str]:
    """Write some of the words in capitals or with space behind them."""
    slip = rng.random(len(words))
    return [
        word.upper() if p < share / 2 else f"{word} " if p < share else word
        for word, p in zip(words, slip.tolist(), strict=True)
    ]


def moments(rows: int, rng: np.random.Generator, first: str = "2023-01-02") -> pd.DatetimeIndex:
    """Draw times of a year, to the minute."""
    minutes = rng.integers(364 * 24 * 60, size=rows)
    return pd.DatetimeIndex(np.datetime64(first, "m") + minutes)


def weekend(stamps: pd.DatetimeIndex) -> np.ndarray:
    return np.asarray(stamps.day_of_week >= 5)


def many_words(
    stem: str, rows: int, rng: np.random.Generator, count: int = 8000
) -> tuple[list[str], np.ndarray]:
    """Draw words of which 15 are frequent; return them and what they add to a score.

    The others come once or twice, so that any bound between divides the words alike.
    """
    effects = np.zeros(count)
    effects[:15] = np.random.default_rng(0).permutation(np.linspace(-1.8, 1.8, 15))
    rare = rng.random(rows) < 0.3
    picked = np.where(rare, rng.integers(15, count, rows), rng.integers(15, size=rows))
    return [f"{stem} {k}" for k in picked], effects[picked]


def few_words(
    effects: dict[str, float], rows: int, rng: np.random.Generator
) -> tuple[list[str], np.ndarray]:
    """Draw words, the first most often; return them and what they add to a score."""
    names = list(effects)
    frequency = 1 / (np.arange(len(names)) + 1.5)
    picked = rng.choice(len(names), rows, p=frequency / frequency.sum())
    return [names[k] for k in picked], np.array(list(effects.values()))[picked]


def serial(form: str, rows: int, rng: np.random.Generator) -> list[str]:
    """Write ids, each once, in no order."""
    return text(form, 100_000 + rng.permutation(3 * rows)[:rows])


def members(form: str, rows: int, rng: np.random.Generator, each: int = 5) -> list[str]:
    """Write the ids of customers or patients with several rows."""
    own = 100_000 + rng.permutation(800_000)[: rows // each]
    return text(form, rng.choice(own, rows))


def again(cells: dict[str, list[str]], rng: np.random.Generator) -> dict[str, list[str]]:
    """Write one row in fifty twice."""
    rows = len(next(iter(cells.values())))
    order = np.sort(np.concatenate([np.arange(rows), rng.choice(rows, rows // 50, False)])).tolist()
    return {name: [column[k] for k in order] for name, column in cells.items()}


# ---- the hour of an analyst ---------------------------------------------------------------


def number(cells: pd.Series, decimal: str = ".") -> pd.Series:
    """Read amounts; what is no number is a gap."""
    plain = cells.str.replace(r"[$€£%\s]", "", regex=True)
    plain = plain.str.replace("," if decimal == "." else ".", "", regex=False)
    return pd.to_numeric(plain.str.replace(decimal, ".", regex=False), errors="coerce")


def filled(values: pd.Series) -> pd.DataFrame:
    """Put the median into gaps, and mark them."""
    return pd.DataFrame({"": values.fillna(values.median()), "gap": values.isna()})


def levels(cells: pd.Series, least: int = 25) -> pd.DataFrame:
    """Make a 0/1 column of each frequent word; case and space do not matter."""
    words = cells.astype(object).fillna("gap").str.strip().str.lower()
    counts = words.value_counts()
    return pd.get_dummies(words.where(words.map(counts) >= least, "other")).drop(
        columns="other", errors="ignore"
    )


def yes(cells: pd.Series) -> pd.Series:
    return cells.str.strip().str.lower().isin(["y", "yes", "ja"])


def parts(stamps: pd.Series, hour: bool = True) -> pd.DataFrame:
    """Return days, weekdays and the hour of times."""
    days = (stamps - pd.Timestamp("2020-01-01")) / pd.Timedelta(days=1)
    columns = filled(days).assign(hour=stamps.dt.hour.fillna(12)) if hour else filled(days)
    return pd.concat([columns, pd.get_dummies(stamps.dt.day_of_week)], axis=1)


def features(**columns: pd.Series | pd.DataFrame) -> pd.DataFrame:
    """Put columns beside each other."""
    named = []
    for name, column in columns.items():
        frame = column.to_frame("") if isinstance(column, pd.Series) else column
        named.append(frame.rename(columns=lambda part, name=name: f"{name} {part}"))
    return pd.concat(named, axis=1).astype(float)


# ---- banks --------------------------------------------------------------------------------


def payments(rows: int, rng: np.random.Generator) -> Messy:
    """Card payments of a German bank; some are charged back."""
    amount, booked = rng.lognormal(4, 1.3, rows), moments(rows, rng).sort_values()
    merchant, of_merchant = many_words("Shop", rows, rng)
    country, of_country = few_words({"DE": 0, "AT": 0.3, "FR": 0.8, "BR": 1.6}, rows, rng)
    present = rng.random(rows) < 0.7
    score = 0.8 * np.log(amount) + of_merchant + of_country - 1.2 * present
    event = drawn(score + 0.08 * booked.hour.to_numpy(), 0.08, rng)
    outcome = chosen(event, "Betrug", "ok")
    back = booked + pd.to_timedelta(rng.integers(5, 60, rows), unit="D")
    cells = {
        "buchung_nr": text("{}", 7_000_000 + np.arange(rows)),
        "kunde": members("K-{}", rows, rng),
        "gebucht_am": dated("%d.%m.%Y %H:%M", booked),
        "betrag": european("{:,.2f}", amount),
        "waehrung": ["EUR"] * rows,
        "haendler": typed(merchant, rng),
        "land": country,
        "karte_vorhanden": chosen(present, "ja", "nein"),
        "rueckbuchung_am": with_gaps(dated("%d.%m.%Y", back), ~event, rng),
        "status": [f" {word} " if k % 3 else word for k, word in enumerate(outcome)],
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            amount=number(frame.betrag, ","),
            booked=parts(pd.to_datetime(frame.gebucht_am, format="%d.%m.%Y %H:%M")),
            merchant=levels(frame.haendler),
            country=levels(frame.land),
            present=yes(frame.karte_vorhanden),
        )

    traps = [("", SEMICOLON), ("", COMMA), ("betrag", NUMBER), ("gebucht_am", DATE),
             ("gebucht_am", TIME), ("buchung_nr", ID), ("kunde", GROUPS), ("waehrung", CONSTANT),
             ("haendler", MANY_WORDS), ("haendler", SPELLING), ("karte_vorhanden", LEVEL),
             ("rueckbuchung_am", LEAK), ("status", SPELLING)]  # fmt: skip
    return Messy(cells, "status", "Betrug", clean, traps, ("rueckbuchung_am",), sep=";")


def loans(rows: int, rng: np.random.Generator) -> Messy:
    """Loans of a lender in the USA; bad cells stand far down."""
    income, asked = rng.lognormal(11, 0.6, rows), 500 * rng.integers(2, 80, rows)
    rate, debts = rng.normal(12, 4, rows).clip(5, 30), rng.gamma(4, 5, rows)
    issued = moments(rows, rng, "2016-01-01")
    years = rng.integers(0, 11, rows)
    grade, of_grade = few_words({"B": 0, "C": 0.4, "A": -0.8, "D": 0.9, "E": 1.4}, rows, rng)
    home, of_home = few_words({"MORTGAGE": 0, "RENT": 0.4, "OWN": -0.2}, rows, rng)
    term = rng.random(rows) < 0.3
    no_years = rng.random(rows) < 0.06
    score = -1.2 * np.log(income) + asked / 15_000 + rate / 6 + debts / 12 + of_grade + of_home
    event = drawn(score + 0.7 * term + 1.2 * no_years - years / 12, 0.06, rng)
    tenure = [f"{k} years" for k in years]
    tenure = [{"10 years": "10+ years", "0 years": "< 1 year"}.get(word, word) for word in tenure]
    cells = {
        "loan_id": serial("{}", rows, rng),
        "loan_amnt": text("{:,}", asked),
        "term": chosen(term, " 60 months", " 36 months"),
        "int_rate": text("{:.2f}%", rate),
        "grade": grade,
        "emp_length": with_gaps(tenure, no_years, rng, ["n/a"]),
        "home_ownership": home,
        "annual_inc": text("${:,.2f}", income),
        "issue_d": dated("%b-%Y", issued),
        "dti": with_bad(text("{:.2f}", debts), 0.93),
        "recoveries": text("${:,.2f}", event * rng.lognormal(6, 1, rows)),
        "loan_status": chosen(event, "Charged Off", "Fully Paid"),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            asked=number(frame.loan_amnt),
            long=frame.term.str.contains("60"),
            rate=number(frame.int_rate),
            grade=levels(frame.grade),
            years=filled(pd.to_numeric(frame.emp_length.str.extract(r"(\d+)")[0])),
            home=levels(frame.home_ownership),
            income=number(frame.annual_inc),
            issued=parts(pd.to_datetime(frame.issue_d, format="%b-%Y"), hour=False)[[""]],
            debts=filled(number(frame.dti)),
        )

    traps = [("loan_id", ID), ("loan_amnt", NUMBER), ("int_rate", PERCENT), ("annual_inc", NUMBER),
             ("issue_d", DATE), ("dti", BAD), ("emp_length", GAP), ("term", LEVEL),
             ("recoveries", LEAK)]  # fmt: skip
    return Messy(cells, "loan_status", "Charged Off", clean, traps, ("recoveries",))


def customers(rows: int, rng: np.random.Generator) -> Messy:
    """Customers of a German bank who leave, in Windows' old encoding."""
    balance, rate = rng.lognormal(8, 1, rows), rng.normal(3, 1, rows).clip(0.1)
    born = pd.DatetimeIndex(np.datetime64("1940-01-01") + rng.integers(0, 24_000, rows))
    surname = rng.choice(["Müller", "Schmidt", "Jäger", "Groß", "Weiß"], rows).tolist()
    town, of_town = few_words(
        {"Köln": 0, "München": 0.8, "Lübeck": -0.6, "Würzburg": 1.2}, rows, rng
    )
    mobile, online = rng.random(rows) < 0.5, rng.random(rows) < 0.6
    products = rng.integers(1, 6, rows)
    age = (np.datetime64("2024-01-01") - born.to_numpy().astype("M8[D]")).astype(float) / 365
    score = -0.6 * np.log(balance) - 0.5 * rate + of_town - 1.1 * mobile + 0.6 * online
    event = drawn(score - 0.5 * products - age / 25, 0.06, rng)
    cells = {
        "kundennummer": serial("{}", rows, rng),
        "nachname": surname,
        "ort": town,
        "geburtsdatum": dated("%d.%m.%Y", born),
        "saldo": with_bad(european("{:,.2f} €", balance)),
        "zinssatz": european("{:.2f} %", rate),
        "mobil": chosen(mobile, "ja", "nein"),
        "online": chosen(online, "J", "N"),
        "produkte": text("{}", products),
        "gekündigt": chosen(event, "ja", "nein"),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            town=levels(frame.ort),
            born=parts(pd.to_datetime(frame.geburtsdatum, format="%d.%m.%Y"), hour=False)[[""]],
            balance=filled(number(frame.saldo, ",")),
            rate=number(frame.zinssatz, ","),
            mobile=yes(frame.mobil),
            online=frame.online == "J",
            products=number(frame.produkte),
        )

    traps = [("", SEMICOLON), ("", COMMA), ("", ENCODING), ("kundennummer", ID),
             ("geburtsdatum", DATE), ("saldo", NUMBER), ("saldo", BAD), ("zinssatz", PERCENT),
             ("mobil", LEVEL)]  # fmt: skip
    return Messy(cells, "gekündigt", "ja", clean, traps, sep=";", encoding="cp1252")


def transfers(rows: int, rng: np.random.Generator) -> Messy:
    """Transfers of a British bank; someone has looked into the suspicious ones."""
    amount, sent = rng.lognormal(6, 1.2, rows), moments(rows, rng)
    purpose, of_purpose = many_words("invoice", rows, rng)
    country, of_country = few_words({"GB": 0, "IE": 0.2, "CY": 1.4, "PA": 2.0}, rows, rng)
    first = rng.random(rows) < 0.2
    no_country = rng.random(rows) < 0.05
    of_country = np.where(no_country, 2.2, of_country)
    score = 0.7 * np.log(amount) + of_purpose + of_country + 1.1 * first
    event = drawn(score + 0.9 * weekend(sent), 0.08, rng)
    officer = rng.choice(["A. Jones", "P. O'Neill", "M. Khan"], rows).tolist()
    pounds = text("£{:,.2f}", amount)
    cells = {
        "reference": serial("{}", rows, rng),
        "account": members("GB{}", rows, rng),
        "sent_at": dated("%m/%d/%Y %H:%M", sent),
        "amount": pounds,
        "amount_gbp": pounds,
        "purpose": typed(purpose, rng),
        "country": with_gaps(country, no_country, rng, ["?", "-"]),
        "first_time": chosen(first, "Y", "N"),
        "closed_by": with_gaps(officer, ~event, rng),
        "outcome": with_gaps(chosen(event, "suspicious", "clear"), rng.random(rows) < 0.02, rng),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            sent=parts(pd.to_datetime(frame.sent_at, format="%m/%d/%Y %H:%M")),
            amount=number(frame.amount),
            purpose=levels(frame.purpose),
            country=levels(frame.country),
            first=yes(frame.first_time),
        )

    traps = [("reference", ID), ("account", GROUPS), ("sent_at", DATE), ("amount", NUMBER),
             ("amount_gbp", COPY), ("purpose", MANY_WORDS), ("purpose", SPELLING), ("country", GAP),
             ("first_time", LEVEL), ("closed_by", LEAK), ("outcome", LABELS)]  # fmt: skip
    return Messy(cells, "outcome", "suspicious", clean, traps, ("closed_by",))


# ---- shops and services -------------------------------------------------------------------


def clicks(rows: int, rng: np.random.Generator) -> Messy:
    """Advertisements shown by a shop, written by pandas with its index, some rows twice."""
    price, shown = rng.lognormal(4, 1, rows), moments(rows, rng).sort_values()
    site, of_site = many_words("site", rows, rng)
    device, of_device = few_words({"phone": 0.6, "desktop": 0, "tablet": -0.7}, rows, rng)
    width = rng.choice([300, 728, 970], rows)
    known = rng.random(rows) < 0.4
    score = -0.5 * np.log(price) + of_site + of_device + width / 600 + 0.9 * known
    event = drawn(score + 0.06 * shown.hour.to_numpy() + 0.7 * weekend(shown), 0.08, rng)
    dollars = text("${:,.2f}", price)
    cells = {
        "": text("{}", range(rows)),
        "shown_at": dated("%Y-%m-%dT%H:%M:00Z", shown),
        "session": text("{:08x}", rng.permutation(4 * rows)[:rows] + 2**31),
        "site": site,
        "device": typed(device, rng),
        "width": text("{}", width),
        "price": dollars,
        "list_price": dollars,
        "returning": chosen(known, "yes", "no"),
        "clicked": text("{:d}", event),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            shown=parts(pd.to_datetime(frame.shown_at.str.removesuffix("Z"))),
            site=levels(frame.site),
            device=levels(frame.device),
            width=number(frame.width),
            price=number(frame.price),
            returning=yes(frame.returning),
        )

    traps = [("", TWICE), ("", INDEX), ("shown_at", DATE), ("shown_at", TIME), ("session", ID),
             ("site", MANY_WORDS), ("device", SPELLING), ("price", NUMBER), ("list_price", COPY),
             ("returning", LEVEL)]  # fmt: skip
    return Messy(again(cells, rng), "clicked", "1", clean, traps)


def orders(rows: int, rng: np.random.Generator) -> Messy:
    """Orders of a shop that come back, written by a spreadsheet: a byte-order mark first."""
    total, discount = rng.lognormal(7, 0.9, rows), rng.choice([0, 5, 12, 25.5], rows)
    ordered = moments(rows, rng)
    coupon, of_coupon = many_words("coupon", rows, rng)
    no_coupon = rng.random(rows) < 0.3
    payment, of_payment = few_words({"card": 0, "invoice": 1.3, "gift card": -1.0}, rows, rng)
    news, pieces = rng.random(rows) < 0.5, rng.poisson(3, rows) + 1
    of_coupon = np.where(no_coupon, -0.8, of_coupon)
    score = total / 2500 + discount / 12 + of_coupon + of_payment - 0.8 * news + pieces / 3
    event = drawn(score + 0.8 * weekend(ordered), 0.08, rng)
    cells = {
        "order_no": serial("OR-{}", rows, rng),
        "ordered_at": dated("%d %b %Y %H:%M", ordered),
        "total": text("{:,.2f}", total),
        "discount": text("{:.2f}%", discount),
        "coupon": with_gaps(coupon, no_coupon, rng),
        "payment": typed(payment, rng),
        "newsletter": chosen(news, "yes", "no"),
        "pieces": text("{}", pieces),
        "shop": ["main"] * rows,
        "returned": chosen(event, "returned", "kept"),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            ordered=parts(pd.to_datetime(frame.ordered_at, format="%d %b %Y %H:%M")),
            total=number(frame.total),
            discount=number(frame.discount),
            coupon=levels(frame.coupon),
            payment=levels(frame.payment),
            newsletter=yes(frame.newsletter),
            pieces=number(frame.pieces),
        )

    traps = [("order_no", ID), ("ordered_at", DATE), ("total", NUMBER), ("discount", PERCENT),
             ("coupon", MANY_WORDS), ("coupon", GAP), ("payment", SPELLING), ("newsletter", LEVEL),
             ("shop", CONSTANT), ("", TWICE)]  # fmt: skip
    return Messy(again(cells, rng), "returned", "returned", clean, traps, encoding="utf-8-sig")


def subscribers(rows: int, rng: np.random.Generator) -> Messy:
    """Customers of a telephone company; those who came this month have no charges yet."""
    tenure, monthly = rng.integers(0, 73, rows), rng.normal(65, 25, rows).clip(18)
    contract = {"Month-to-month": 0.8, "One year": -0.5, "Two year": -1.5}
    term, of_term = few_words(contract, rows, rng)
    paid, of_paid = few_words(
        {"Electronic check": 0.7, "Mailed check": 0, "Bank transfer (automatic)": -0.4}, rows, rng
    )
    senior, partner, paperless = (rng.random((3, rows)) < [[0.2], [0.5], [0.6]]).tolist()
    score = monthly / 30 - tenure / 18 + of_term + of_paid
    score = score + 0.7 * np.array(senior) - 0.4 * np.array(partner) + 0.5 * np.array(paperless)
    event = drawn(score + 1.5 * (tenure == 0), 0.08, rng)
    charges = text("{:.2f}", tenure * monthly)
    cells = {
        "customerID": serial("{}-QXZ", rows, rng),
        "SeniorCitizen": text("{:d}", senior),
        "Partner": chosen(np.array(partner), "Yes", "No"),
        "tenure": text("{}", tenure),
        "tenure_months": text("{}", tenure),
        "Contract": term,
        "PaperlessBilling": chosen(np.array(paperless), "Yes", "No"),
        "PaymentMethod": paid,
        "MonthlyCharges": text("{:.2f}", monthly),
        "TotalCharges": with_gaps(charges, tenure == 0, rng, [" "]),
        "Country": ["US"] * rows,
        "Churn": chosen(event, "Yes", "No"),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            senior=number(frame.SeniorCitizen),
            partner=yes(frame.Partner),
            tenure=number(frame.tenure),
            contract=levels(frame.Contract),
            paperless=yes(frame.PaperlessBilling),
            paid=levels(frame.PaymentMethod),
            monthly=number(frame.MonthlyCharges),
            total=filled(number(frame.TotalCharges)),
        )

    traps = [("customerID", ID), ("tenure_months", COPY), ("Partner", LEVEL), ("Country", CONSTANT),
             ("TotalCharges", GAP)]  # fmt: skip
    return Messy(cells, "Churn", "Yes", clean, traps)


def claims(rows: int, rng: np.random.Generator) -> Messy:
    """Claims at an insurer in the USA, with notes of several lines."""
    amount, earlier = rng.lognormal(8, 0.8, rows), rng.poisson(0.8, rows)
    reported = moments(rows, rng)
    state, of_state = few_words({"TX": 0, "FL": 0.9, "NY": 0.3, "OH": -0.7, "": 0}, rows, rng)
    police, share = rng.random(rows) < 0.4, rng.choice([1, 2.5, 5, 10], rows)
    no_police = rng.random(rows) < 0.25
    score = amount / 4000 + 0.6 * earlier + of_state - 1.2 * (police & ~no_police) - share / 6
    event = drawn(score + 1.1 * no_police + 0.8 * weekend(reported), 0.05, rng)
    calls = rng.integers(10**6, size=rows)
    cells = {
        "claim_no": serial("{}", rows, rng),
        "reported_at": dated("%m/%d/%Y", reported),
        "amount": text("${:,.0f}", amount),
        "deductible": text("{:.2f}%", share),
        "earlier_claims": text("{}", earlier),
        "us_state": state,
        "police_report": with_gaps(chosen(police, "Y", "N"), no_police, rng, ["n/a", "NA"]),
        "description": text('Caller {} said, "see below".\nRear bumper; call back.', calls),
        "fraud": chosen(event, "Y", "N"),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            reported=parts(pd.to_datetime(frame.reported_at, format="%m/%d/%Y"), hour=False),
            amount=number(frame.amount),
            deductible=number(frame.deductible),
            earlier=number(frame.earlier_claims),
            state=levels(frame.us_state),
            police=levels(frame.police_report),
        )

    traps = [("claim_no", ID), ("reported_at", DATE), ("amount", NUMBER), ("deductible", PERCENT),
             ("us_state", GAP), ("police_report", GAP), ("description", ID)]  # fmt: skip
    return Messy(cells, "fraud", "Y", clean, traps)


def machines(rows: int, rng: np.random.Generator) -> Messy:
    """Machines of a plant, row after row in time, whose sensors drift; tabs in a .csv file."""
    measured = moments(rows, rng).sort_values()
    year = np.linspace(0, 1, rows)
    heat, shake = 60 + 25 * year + rng.normal(0, 6, rows), rng.gamma(3, 1, rows)
    oil, off = rng.normal(4, 0.8, rows), rng.random(rows) < 0.08
    kind, of_kind = few_words({"M-20": 0, "M-31": 0.9, "X-7": -0.8}, rows, rng)
    score = (heat - 60 - 25 * year) / 5 + shake / 1.5 - 0.9 * oil * ~off + of_kind
    event = drawn(score + 1.5 * year, 0.05, rng)
    cells = {
        "nr": text("{}", 1 + np.arange(rows)),
        "measured_at": dated("%Y-%m-%d %H:%M", measured),
        "model": kind,
        "heat": text("{:.1f}", heat),
        "shake": with_bad(text("{:.3f}", shake)),
        "oil": with_gaps(text("{:.2f}", oil), off, rng, ["-"]),
        "plant": text("{}", [4] * rows),
        "fault": text("{:d}", event),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            measured=parts(pd.to_datetime(frame.measured_at)),
            kind=levels(frame.model),
            heat=number(frame.heat),
            shake=filled(number(frame.shake)),
            oil=filled(number(frame.oil)),
        )

    traps = [("", TAB), ("nr", ID), ("measured_at", DATE), ("measured_at", TIME), ("shake", BAD),
             ("oil", GAP), ("plant", CONSTANT)]  # fmt: skip
    return Messy(cells, "fault", "1", clean, traps, sep="\t")


# ---- hospitals ----------------------------------------------------------------------------


def visits(rows: int, rng: np.random.Generator) -> Messy:
    """Visits at a hospital; lactate is measured where someone fears sepsis, one of the outcomes."""
    age, pulse = rng.normal(60, 18, rows).clip(18, 99), rng.normal(85, 14, rows)
    heat, lactate = rng.normal(37.2, 0.8, rows), rng.lognormal(0.4, 0.5, rows)
    admitted = moments(rows, rng)
    ward, of_ward = few_words({"surgery": 0, "medicine": 0.3, "icu": 1.4, "ENT": -0.9}, rows, rng)
    unmeasured, ventilated = rng.random(rows) < 0.6, rng.random(rows) < 0.15
    score = age / 30 + pulse / 18 + 0.9 * heat + of_ward + 1.1 * ventilated
    score = score + np.where(unmeasured, -0.8, 0.7 * lactate)
    event = drawn(score + 0.5 * weekend(admitted), 0.04, rng)
    sex = rng.choice(["M", "F", "f", "m "], rows).tolist()
    cells = {
        "visit_no": serial("V2024-{}", rows, rng),
        "patient": members("{}", rows, rng),
        "admitted_at": dated("%Y-%m-%d %H:%M", admitted),
        "age": with_gaps(text("{:.0f}", age), rng.random(rows) < 0.05, rng, GAPS),
        "sex": sex,
        "ward": ward,
        "pulse": text("{:.0f}", pulse),
        "temperature": with_bad(text("{:.1f}", heat)),
        "lactate": with_gaps(text("{:.2f}", lactate), unmeasured, rng, ["NA", ""]),
        "ventilated": chosen(ventilated, "Y", "N"),
        "sepsis": with_gaps(chosen(event, "yes", "no"), rng.random(rows) < 0.03, rng),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            admitted=parts(pd.to_datetime(frame.admitted_at)),
            age=filled(number(frame.age)),
            sex=levels(frame.sex),
            ward=levels(frame.ward),
            pulse=number(frame.pulse),
            temperature=filled(number(frame.temperature)),
            lactate=filled(number(frame.lactate)),
            ventilated=yes(frame.ventilated),
        )

    traps = [("visit_no", ID), ("patient", GROUPS), ("admitted_at", DATE), ("age", GAP),
             ("sex", SPELLING), ("temperature", BAD), ("lactate", GAP), ("ventilated", LEVEL),
             ("sepsis", LABELS)]  # fmt: skip
    return Messy(cells, "sepsis", "yes", clean, traps)


def labs(rows: int, rng: np.random.Generator) -> Messy:
    """Laboratory values with every mark of a gap, and a code that is given after the death."""
    sodium, kidney = rng.normal(139, 4, rows), rng.lognormal(0, 0.4, rows)
    white, age = rng.gamma(5, 1.8, rows), rng.normal(66, 15, rows).clip(18, 99)
    off = rng.random((3, rows)) < [[0.1], [0.2], [0.3]]
    urgent = rng.random(rows) < 0.35
    score = np.abs(age) / 14 + 1.1 * kidney * ~off[1] + white / 6 * ~off[2] - sodium / 6 * ~off[0]
    score = score + off[0] * (-139 / 6 + 0.9) + off[1] * 0.6 + off[2] * 1.5 + 0.9 * urgent
    event = drawn(score, 0.05, rng)
    code = np.where(event, rng.integers(20, 24, rows), rng.integers(1, 8, rows))
    cells = {
        "": text("{}", range(rows)),
        "age": text("{:.0f}", age),
        "sodium": with_gaps(text("{:.0f}", sodium), off[0], rng, GAPS),
        "creatinine": with_gaps(text("{:.2f}", kidney), off[1], rng, GAPS),
        "leukocytes": with_gaps(text("{:.1f}", white), off[2], rng, GAPS),
        "urgent": chosen(urgent, "yes", "no"),
        "discharge_code": text("{}", code),
        "died": text("{:d}", event),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            age=number(frame.age),
            sodium=filled(number(frame.sodium)),
            creatinine=filled(number(frame.creatinine)),
            leukocytes=filled(number(frame.leukocytes)),
            urgent=yes(frame.urgent),
        )

    traps = [("", INDEX), ("sodium", GAP), ("creatinine", GAP), ("leukocytes", GAP),
             ("urgent", LEVEL), ("discharge_code", LEAK)]  # fmt: skip
    return Messy(cells, "died", "1", clean, traps, ("discharge_code",))


def stays(rows: int, rng: np.random.Generator) -> Messy:
    """Stays of patients who come back, in Parquet: numbers as text, decimals, dictionaries."""
    days, sugar = rng.gamma(2, 3, rows), rng.normal(6, 1.5, rows)
    cost, admitted = rng.lognormal(8, 0.7, rows), moments(rows, rng)
    cause, of_cause = few_words({"I50": 0.8, "J18": 0.2, "E11": 0, "S72": -0.9}, rows, rng)
    insured, off = rng.random(rows) < 0.8, rng.random(rows) < 0.15
    unknown = rng.random(rows) < 0.1
    score = days / 5 + 0.5 * sugar * ~off + 4.2 * off + of_cause + cost / 8000
    event = drawn(score - 0.9 * (insured & ~unknown) + 0.6 * weekend(admitted), 0.08, rng)
    cents = [f"{value:.2f}" for value in cost]
    cells = {
        "patient": pa.array(members("P{}", rows, rng)),
        "admitted_at": pa.array(admitted.to_numpy().astype("M8[us]")),
        "cause": pa.array(cause).dictionary_encode(),
        "stay_days": pa.array(text("{:.1f}", days)),
        "glucose": pa.array(with_gaps(text("{:.1f}", sugar), off, rng, ["n/a", ""])),
        "cost": pa.array(cents).cast(pa.decimal128(12, 2)),
        "insured": pa.array(insured.tolist(), mask=unknown),
        "ward": pa.array(["south"] * rows).dictionary_encode(),
        "readmitted": pa.array(chosen(event, "yes", "no")).dictionary_encode(),
    }

    def clean(frame: pd.DataFrame) -> pd.DataFrame:
        return features(
            admitted=parts(frame.admitted_at),
            cause=levels(frame.cause),
            days=number(frame.stay_days),
            glucose=filled(number(frame.glucose.replace("n/a", ""))),
            cost=frame.cost.astype(float),
            insured=filled(frame.insured.astype(float)),
        )

    traps = [("patient", GROUPS), ("admitted_at", DATE), ("stay_days", NUMBER), ("glucose", GAP),
             ("insured", GAP), ("ward", CONSTANT)]  # fmt: skip
    return Messy(cells, "readmitted", "yes", clean, traps)


TABLES: dict[str, Callable[[int, np.random.Generator], Messy]] = {
    table.__name__: table
    for table in (payments, visits, loans, clicks, customers, transfers, orders, subscribers,
                  claims, machines, labs, stays)
}  # fmt: skip
