"""The papers' learners, which take one step per row, and the code that they share."""
