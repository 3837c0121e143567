"""Fits on a Dask cluster: each pass is a set of tasks, and workers keep no data between passes.

Needs Dask: ``pip install "aucmax[dask]"``.
"""

from aucmax.data.distributed import connected, source

__all__ = ["connected", "source"]
