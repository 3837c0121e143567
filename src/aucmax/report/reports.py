"""Reports: the results of a command, as types from which pages, terminal text and JSON are made.

The fields of a report are the keys of its JSON, with four exceptions: `inline` for a field that is
replaced by its own fields, `named` for another key, `optional` for a field that is left out if it
is None, and `unlisted` for data that only figures need.
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
    """Return a field that JSON replaces by its own fields, or leaves out if it is None."""
    return field(metadata={"json": "inline"})


def named(key: str) -> Any:
    """Return a field that has another key in JSON."""
    return field(metadata={"key": key})


def optional() -> Any:
    """Return a field that JSON leaves out if it is None, the default."""
    return field(default=None, metadata={"json": "optional"})


def unlisted(default: Any = None) -> Any:
    """Return a field that is not in JSON."""
    return field(default=default, metadata={"json": "unlisted"})


@dataclass(frozen=True, kw_only=True)
class Report:
    """The results of a command, and the files that show them."""

    plot: str | None = optional()
    html: str | None = optional()

    def page(self, command: str = "") -> Page:
        """Return the page; ``command`` is what was run."""
        raise NotImplementedError

    def contents(self) -> Any:
        """Return the contents of the JSON, see `as_data`."""
        return as_data(self)


def as_data(value: Any) -> Any:
    """Return dicts, lists, text and numbers in place of reports, tuples and arrays.

    Numbers that are not finite become None, and all other objects text.
    """
    if is_dataclass(value):
        data: dict[str, Any] = {}
        for entry in fields(value):
            form, item = entry.metadata.get("json"), getattr(value, entry.name)
            if form == "inline":
                data |= as_data(item) or {}
            elif form != "unlisted" and not (form == "optional" and item is None):
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
    """Return a report, or part of one, as JSON."""
    return json_text(json.dumps(as_data(value), indent=2, ensure_ascii=False, allow_nan=False))
