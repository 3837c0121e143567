"""Messages of Python functions in the words of the command line: ``drop=['x']`` is ``--drop x``."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from aucmax.cli.errors import quoted
from aucmax.data.reading import FIELDS, flag_of

__all__ = ["in_options", "options_of"]

# options that stand for arguments of other names, unless the command has one of the same name
_OTHERS = {
    "alpha": "--alphas",
    "cv": "--folds",
    "l1_ratio": "--l1-ratios",
    "loss": "--losses",
    "part_bytes": "--memory",
    "sample_weight": "--weight",
}
_OF_READING = {name: flag_of(name) for name, field in FIELDS.items() if field["help"]}
_SWITCHES = {  # options without a value, and those for False
    name: None if field["off"] is None else flag_of(name, False)
    for name, field in FIELDS.items()
    if field["kind"] in (bool, bool | None)
}
_STRING = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_VALUE = rf"""{_STRING}|[\[(](?:{_STRING}|[^\])'"])*[\])]|…|-?[\w.+-]*\w"""
_SETTING = re.compile(rf"""(?<![\w./'"-])(?<!\w\()([a-z]\w*)=({_VALUE})?""")
# the setting that is what a message is about
_SUBJECT = re.compile(r"((?:^|: )(?:each of )?)([a-z]\w*)(?=(?:, unless [^,]+,)? must )")


def in_options(message: str, words: Sequence[str]) -> str:
    """Return a message with the options of a command in place of arguments of functions.

    Parameters
    ----------
    message : str
        With arguments as they are written in Python: ``missing=True``, ``loss='hinge'``, or
        ``target=`` if the value does not matter. Or about one of them: ``alpha must be ...``.
    words : sequence of str
        The command line, from the name of the command on.
    """
    flags = _OTHERS | options_of(words) | _OF_READING

    def translated(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name in _SWITCHES and name in flags:
            return (value == "False" and _SWITCHES[name]) or flags[name]
        return found[0] if name not in flags else _option(flags[name], value)

    def named(found: re.Match[str]) -> str:
        before, name = found.groups()
        return before + flags.get(name, name)

    return _SUBJECT.sub(named, _SETTING.sub(translated, message))


def _option(flag: str, value: str | None) -> str:
    """Return an option with a value that is written in Python."""
    if value is None:
        return flag
    try:
        plain = ast.literal_eval(value)
    except (ValueError, SyntaxError):  # such as …
        return f"{flag} {value}"
    if plain is True:
        return flag
    if plain is None or plain is False:
        return f"no {flag}"
    arguments = plain if isinstance(plain, (list, tuple)) else [plain]
    return " ".join(f"{flag} {quoted(str(argument))}" for argument in arguments)


def options_of(words: Sequence[str]) -> dict[str, str]:
    """Return the options of the command that is called, by the names of its parameters."""
    from aucmax.cli.app import COMMANDS
    from aucmax.cli.later import command_of

    called = [word for word in words if not word.startswith("-")]
    command: Any = command_of(called[0]) if called and called[0] in COMMANDS else None
    for word in called[1:2]:
        command = getattr(command, "commands", {}).get(word, command)
    options = {parameter.name: parameter.opts for parameter in getattr(command, "params", ())}
    for name, in_python in (("fpr", "max_fpr"), ("jobs", "n_jobs")):
        if name in options:
            options[in_python] = options[name]
    return {
        name: max(flags, key=len) for name, flags in options.items() if flags[0].startswith("-")
    }
