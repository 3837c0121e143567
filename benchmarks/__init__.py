"""Measurements of aucmax, alone and compared with other libraries: ``python -m benchmarks``."""
