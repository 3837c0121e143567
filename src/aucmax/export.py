"""Models for other homes: ONNX, and SQL."""

from aucmax.explain.onnx_file import to_onnx
from aucmax.explain.sql import to_sql

__all__ = ["to_onnx", "to_sql"]
