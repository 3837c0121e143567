"""What adds, subtracts and decays: class moments, sketches of them, and samples of rows."""
