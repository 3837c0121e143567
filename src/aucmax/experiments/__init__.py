"""Algorithms compared: the papers' tables and figures again, and `aucmax compare`."""
