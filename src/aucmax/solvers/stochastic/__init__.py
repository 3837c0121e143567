"""The papers' learners, which take a step for each row, and what they share."""
