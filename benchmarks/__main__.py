"""Run a benchmark: ``python -m benchmarks NAME``.

A benchmark is a module of this package: its docstring is the help text, the parameters of its
``main`` are the options.
"""

import ast
import os
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
ONE_THREAD = ("additive", "l1_paths", "peers")  # compare libraries, of which some have no threads


def summaries() -> dict[str, str]:
    """Return the name of each benchmark and the first line of its docstring, importing none."""
    texts = {}
    for module in pkgutil.iter_modules([str(HERE)]):
        if module.name not in ("__main__", "common"):
            path = HERE / (f"{module.name}/__init__" if module.ispkg else module.name)
            docstring = ast.get_docstring(ast.parse(path.with_suffix(".py").read_text()))
            texts[module.name] = (docstring or "").splitlines()[0]
    return texts


def main(words: list[str]) -> None:
    """Run the benchmark that the first word names, with the others as its options."""
    names = summaries()
    if not words or words[0] in ("-h", "--help"):
        print("python -m benchmarks NAME [--help]\n")
        print("\n".join(f"{name:18}{text}" for name, text in names.items()))
        return
    name, *options = words
    if name not in names:
        sys.exit(f"There is no benchmark {name!r}; choose one of {', '.join(names)}.")
    if name in ONE_THREAD:
        for library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # read when they are imported
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    import typer

    module = import_module(f"benchmarks.{name}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    text = (module.__doc__ or "").replace("\n\n    ", "\n\n\b\n    ")  # no line breaks in examples
    app.command(help=text)(module.main)
    app(args=options, prog_name=f"python -m benchmarks {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
