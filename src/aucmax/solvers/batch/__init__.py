"""Solvers that look at all rows, or their moments, at once, and stop at ``tol``."""
