"""A page on a terminal, in colour."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aucmax.report.page import Page, ResultTable

__all__ = ["terminal"]


def terminal(page: Page, screen: Console) -> None:
    """Print a page: its lead, then its sections, with headings if there are several."""
    page = page.on_terminal()
    if page.lead:
        screen.print(page.lead, soft_wrap=True)
    for number, section in enumerate(page.sections):
        if page.lead or number:
            screen.print()
        if len(page.sections) > 1:
            screen.print(Text(section.heading, style="bold"))
        if section.lead:
            screen.print(Text(section.lead))
        for i, table in enumerate(section.tables):
            if i or section.lead:
                screen.print()
            screen.print(_drawn(table))
            if table.caption:
                screen.print(Text(table.caption, style="dim"))


def _drawn(content: ResultTable) -> Table:
    """Draw a table without lines."""
    table = Table(
        box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=any(content.head),
        header_style="not bold dim",
    )  # fmt: skip
    facts = not any(content.head)
    for i, name in enumerate(content.head):
        word = i == 0 or i in content.words
        table.add_column(
            name, justify="left" if word else "right", style="bold" if facts and i == 0 else "",
            # numbers are never broken; words are wrapped, not cut
            no_wrap=not word or (facts and i == 0), overflow="fold",
        )  # fmt: skip
    for i, row in enumerate(content.rows):
        table.add_row(*map(Text, row), style="bold green" if i in content.strong else "")
    return table
