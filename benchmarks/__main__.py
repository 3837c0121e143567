"""Run what is asked for and not there yet, and write docs/benchmarks.md.

    python -m benchmarks                          # a fit and a tuned model on the small sets
    python -m benchmarks fit --sets all           # the generated ones, too: an hour or more
    python -m benchmarks scaling auto             # time over rows and entries; the choice of solver
    python -m benchmarks precision                # float32 beside float64, memory
    python -m benchmarks --page                   # only the page, from the runs that are kept

Each run is a line of benchmarks/results/peers.csv, and is not run again. Methods take turns, so
that other work on the machine meets them all; a method over the time limit is not tried again on
that set. Peers that are not installed are skipped with the reason; benchmarks/requirements.txt has
them.
"""

import argparse
import os


def asked() -> argparse.Namespace:
    """Return what the command line asks for."""
    ask = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument("questions", nargs="*", default=["fit", "tuned"])
    ask.add_argument("--sets", nargs="+", help="their names, or all; by default the real ones")
    ask.add_argument("--methods", nargs="+", help="their names; all by default")
    ask.add_argument("--repeats", type=int, default=3)
    ask.add_argument("--limit", type=float, help="processor seconds that one fit may take")
    ask.add_argument("--threads", type=int, default=1, help="threads of every library")
    ask.add_argument("--again", action="store_true", help="run what is there, too")
    ask.add_argument("--page", action="store_true", help="only make the page")
    return ask.parse_args()


def main() -> None:
    """Run, and make the page."""
    told = asked()
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):  # read when the libraries are imported
        os.environ[f"{name}_NUM_THREADS"] = str(told.threads)
    from benchmarks import page
    from benchmarks.session import session

    if not told.page:
        for question in told.questions:
            session(
                question, told.sets, told.methods, told.repeats, told.limit, told.threads,
                told.again,
            )  # fmt: skip
    page.write()


if __name__ == "__main__":
    main()
