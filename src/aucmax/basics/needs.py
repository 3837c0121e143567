"""Optional packages, and the extra that installs each."""

from importlib import import_module
from typing import Any

__all__ = ["EXTRAS", "MissingPackage", "needs"]

# package: extra, as in pyproject.toml
EXTRAS = {
    "clarabel": "svm",
    "dask": "dask",
    "deltalake": "lake",
    "distributed": "dask",
    "filelock": "files",
    "fsspec": "remote",
    "jinja2": "report",
    "matplotlib": "report",
    "narwhals": "query",
    "onnx": "onnx",
    "pandas": "files",
    "pooch": "files",
    "pyarrow": "files",
    "requests": "files",
    "rich": "cli",
    "river": "river",
    "skops": "files",
    "sqlglot": "sql",
    "typer": "cli",
}


class MissingPackage(ImportError):
    """An optional package that is needed is not installed; the message names the extra."""


def needs(module: str, use: str) -> Any:
    """Import and return a module of an optional package.

    Parameters
    ----------
    module : str
        The name of the module, such as ``"skops.io"``.
    use : str
        What needs it, as the singular subject of a sentence.

    Raises
    ------
    MissingPackage
        If the package is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        if (error.name or package).partition(".")[0] != package:
            raise  # it is installed, but a package that it needs is not
        extra = EXTRAS[package]
        raise MissingPackage(
            f"{use} needs {package}: pip install 'aucmax[{extra}]'", name=package
        ) from None
