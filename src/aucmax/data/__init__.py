"""Rows and labels: where they come from, how they are read, and how kernels see them."""
