"""Solvers that use all rows, or their moments, in each step, and stop at ``tol``."""
