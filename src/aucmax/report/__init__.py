"""Figures of how models rank, and the page of a command: terminal, JSON or HTML."""
