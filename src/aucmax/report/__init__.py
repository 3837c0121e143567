"""Figures of how models rank."""
