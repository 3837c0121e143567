"""Models on disk: save and load, and no code is run."""

from aucmax.files.models import load, save

__all__ = ["load", "save"]
