"""The features of a table, value by value: what `TableEncoder` computes, read literally."""

import datetime
import math
import statistics
from collections import Counter

DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
GAPS = ("", "na", "n/a", "nan", "null", "?")
GAPS += ("#n/a", "#nv", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!")


def is_gap(value):
    if isinstance(value, str):
        return value.strip().lower() in GAPS
    return value is None or value != value


def prepared(kinds, fit, rows, missing=True, min_level_rows=10, max_levels=1000):
    """Return the names of the features and their values for rows.

    ``kinds`` has the kind of each column by its name; ``fit`` and ``rows`` have lists of values.
    """
    blocks = [[], [], []]  # of names, and the function that gives the value
    for name, kind in kinds.items():
        known = [value for value in fit[name] if not is_gap(value)]
        some_gaps = len(known) < len(fit[name])
        if kind == "words":
            words(blocks, name, known, some_gaps, min_level_rows, max_levels)
        elif known:
            middle = statistics.median(known)
            if kind == "yes/no":
                middle = float(sum(known) > len(known) / 2)
            fill = filling(middle)
            blocks[0].append((name, name, fill))
            if missing and some_gaps:
                blocks[1].append((f"missingindicator_{name}", name, lambda v: float(is_gap(v))))
            if kind == "date":
                weekdays(blocks, name, known, fill)
            if kind == "date" or (kind == "time" and min(known) >= 0 and max(known) < 1):
                hats(blocks, name, known, fill)
    features = [feature for block in blocks for feature in block]
    n = len(rows[next(iter(kinds))])
    values = [[f(rows[name][i]) for _, name, f in features] for i in range(n)]
    return [feature for feature, _, _ in features], values


def filling(middle):
    return lambda value: middle if is_gap(value) else float(value)


def words(blocks, name, known, some_gaps, min_level_rows, max_levels):
    counts = Counter(known)
    levels = sorted(counts)
    if len(counts) > 20:
        often = [word for word in counts if counts[word] >= min_level_rows]
        often = sorted(often, key=lambda word: (-counts[word], word))[:max_levels]
        if len(often) < len(counts) - 1:
            levels = sorted(often)
    for level in levels:
        blocks[2].append((f"{name}_{level}", name, lambda v, level=level: float(v == level)))
    if some_gaps:
        blocks[2].append((f"{name}_nan", name, lambda v: float(is_gap(v))))
    if len(levels) < len(counts):
        alone = lambda v: v in levels or (some_gaps and is_gap(v))  # noqa: E731
        blocks[2].append((f"{name}_other", name, lambda v: float(not alone(v))))


def date(days):
    return datetime.date(1970, 1, 1) + datetime.timedelta(math.floor(days))


def weekdays(blocks, name, known, fill):
    seen = {DAYS[date(days).weekday()] for days in known}
    if len({date(days) for days in known}) <= 14 or len(seen) < 2:
        return
    for day in DAYS:
        if day in seen:
            is_day = lambda v, day=day: float(DAYS[date(fill(v)).weekday()] == day)  # noqa: E731
            blocks[2].append((f"{name}_{day}", name, is_day))


def hats(blocks, name, known, fill):
    if len({round(86400 * (days % 1)) % 86400 for days in known}) < 2:
        return
    for hour in range(0, 24, 3):

        def hat(value, hour=hour):
            away = abs(24 * (fill(value) % 1) - hour)
            return max(0.0, 1 - min(away, 24 - away) / 3)

        blocks[2].append((f"{name}_{hour:02d}:00", name, hat))
