"""How long a model takes to rank well, beside what people use instead: ``python -m benchmarks``."""
