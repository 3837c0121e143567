"""What all benchmarks share: data sets, how a run is made, where results are kept, tables."""
