"""Algorithms side by side: who runs, on which splits, and what the tests say."""
