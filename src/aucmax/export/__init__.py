"""Models for other homes: ONNX, and SQL."""

from aucmax.export.onnx_file import to_onnx
from aucmax.export.sql import to_sql

__all__ = ["to_onnx", "to_sql"]
