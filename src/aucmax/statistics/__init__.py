"""Statistics that add, subtract and decay: class moments, sketches of them, samples of rows."""
