"""Learning from rows of named features, one after the other, in memory that they do not fill."""
