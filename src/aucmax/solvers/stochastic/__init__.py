"""The papers' learners, which take one step per row, and the code they share."""
