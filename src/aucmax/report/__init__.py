"""Figures of how models rank, charts for a terminal, and the report: one HTML page."""
