"""Learning from rows of named features, one by one, in fixed memory."""
