"""Exceptions for bad input. All are subclasses of ValueError, so callers need not import them."""

__all__ = ["DataFileError", "DataWarning", "ModelFileError"]


class DataFileError(ValueError):
    """A data file cannot be read; the message names the file, the line if any, and a remedy."""


class ModelFileError(ValueError):
    """A model or moments file is corrupt, truncated, from a newer version, or not from aucmax."""


class DataWarning(UserWarning):
    """A data file was read, but its contents may not mean what they seem to."""
