"""The version of the package."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["package_version"]


def package_version() -> str:
    """Return the version that is installed."""
    try:
        return version("aucmax")
    except PackageNotFoundError:  # running from a source tree that is not installed
        return "0+unknown"
