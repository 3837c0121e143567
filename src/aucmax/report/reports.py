"""Reports: what a command found, as types. Pages, the terminal and JSON are made from them alone.

The fields of a report are the keys of its JSON, with four exceptions: `inline` for a field whose
own fields take its place, `named` for another key, `optional` for one that is left out where it is
None, and `unlisted` for what only figures are drawn from.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from aucmax.basics.visible import json_text
from aucmax.report.page import Page

__all__ = ["Report", "as_data", "as_json", "inline", "named", "optional", "unlisted"]


def inline() -> Any:
    """Return a field whose own fields take its place in JSON, if it is not None."""
    return field(metadata={"json": "inline"})


def named(key: str) -> Any:
    """Return a field that JSON calls otherwise."""
    return field(metadata={"key": key})


def optional() -> Any:
    """Return a field that JSON leaves out where it is None, the default."""
    return field(default=None, metadata={"json": "optional"})


def unlisted(default: Any = None) -> Any:
    """Return a field that is not in JSON."""
    return field(default=default, metadata={"json": "unlisted"})


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a command found, and the files that show it."""

    plot: str | None = optional()
    html: str | None = optional()

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        raise NotImplementedError

    def contents(self) -> Any:
        """Return the data for JSON, see `as_data`."""
        return as_data(self)


def as_data(value: Any) -> Any:
    """Return dicts, lists, text and numbers in place of reports, tuples and arrays.

    Numbers that are not finite become None, and all else text.
    """
    if is_dataclass(value):
        data: dict[str, Any] = {}
        for entry in fields(value):
            how, item = entry.metadata.get("json"), getattr(value, entry.name)
            if how == "inline":
                data |= as_data(item) or {}
            elif how != "unlisted" and not (how == "optional" and item is None):
                data[entry.metadata.get("key", entry.name)] = as_data(item)
        return data
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [as_data(item) for item in value]
    if isinstance(value, np.generic):
        return as_data(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def as_json(value: Any) -> str:
    """Return what `as_data` takes as JSON."""
    return json_text(json.dumps(as_data(value), indent=2, ensure_ascii=False, allow_nan=False))
