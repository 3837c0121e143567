"""Helpers of all packages: errors, checks of arguments, atomic writes of files, progress."""
