"""Figures of rankings, and the page of a command, rendered for the terminal, as JSON or HTML."""
