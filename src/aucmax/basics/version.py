"""The versions of packages."""

from importlib.metadata import PackageNotFoundError, version

__all__ = ["package_version"]


def package_version(package: str = "aucmax") -> str:
    """Return the installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:  # running from a source tree that is not installed
        return "0+unknown"
