"""``aucmax moments``: files of class moments, which add and subtract, and models fitted to them."""

from __future__ import annotations

from collections.abc import Callable

import typer

from aucmax.cli.common import help_of
from aucmax.cli.moments.build import build
from aucmax.cli.moments.combine import merge, subtract
from aucmax.cli.moments.fit import fit
from aucmax.cli.moments.show import show
from aucmax.cli.options import spread

__all__ = ["moments"]

moments = typer.Typer(rich_markup_mode="rich", add_completion=False)


def _moments() -> None:
    """Summarise rows in small files that add and subtract, and fit models to them.

    A file of moments has the weight, mean and covariance of each class, with the names of features
    and labels, but no rows. That is all that the pairwise square loss needs: each shard of a table,
    or each hospital, builds a file, and the model fitted to the merged file is that of all rows.
    Files of several sites also choose its settings.

    Examples:

        aucmax moments build a.csv --target ill -o a.moments

        aucmax moments merge a.moments b.moments -o both.moments

        aucmax moments fit both.moments --alpha 0.01 -o model.aucmax

        aucmax moments fit a.moments b.moments -o tuned.aucmax
    """


moments.callback(help=help_of(_moments))(_moments)
_COMMANDS: tuple[Callable[..., None], ...] = (build, merge, subtract, fit, show)
for _command in _COMMANDS:
    moments.command(_command.__name__, help=help_of(_command))(spread(_command))
