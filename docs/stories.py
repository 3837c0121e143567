"""The order of the gallery: a first visit begins with rare events."""

__all__ = ["Order"]

FIRST = ["plot_rare_events.py"]


class Order:
    """Sphinx-gallery's key of an example: those of `FIRST`, then the others by name."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return (FIRST.index(name) if name in FIRST else len(FIRST), name)

    def __repr__(self):
        return type(self).__name__  # the same in every build, so that pages are not made again
