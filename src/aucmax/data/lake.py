"""Delta and Iceberg tables: their own libraries list the Parquet files that have the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aucmax.basics.errors import DataFileError
from aucmax.basics.needs import needs
from aucmax.data.files import DataFiles, TableFile
from aucmax.data.remote import Remote, is_remote

__all__ = ["delta_files", "delta_table", "iceberg_files", "is_delta", "is_iceberg"]
__all__ += ["is_lake"]

# features that Delta requires of readers, but that do not change rows or columns
_HARMLESS = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "typeWidening"}


def is_delta(data: Any) -> bool:
    """Return whether an object is a `deltalake.DeltaTable`."""
    return _is(data, "deltalake", "DeltaTable")


def is_iceberg(data: Any) -> bool:
    """Return whether an object is a `pyiceberg.table.Table`."""
    return _is(data, "pyiceberg", "Table")


def is_lake(data: Any) -> bool:
    """Return whether an object is a Delta or an Iceberg table."""
    return is_delta(data) or is_iceberg(data)


def _is(data: Any, package: str, name: str) -> bool:
    kinds = type(data).__mro__
    return any(k.__module__.partition(".")[0] == package and k.__name__ == name for k in kinds)


def delta_table(folder: str) -> Any:
    """Return the current version of the Delta table at a folder or an address."""
    deltalake = needs("deltalake", f"{folder}: a Delta table")
    try:
        return deltalake.DeltaTable(folder)
    except deltalake.exceptions.DeltaError as error:
        raise DataFileError(f"{folder}: not a readable Delta table ({error})") from None


def delta_files(table: Any, named: Any) -> DataFiles:
    """Return the files of a version of a Delta table, the oldest first.

    Parameters
    ----------
    table : deltalake.DeltaTable
    named : object
        The user's name for the table.

    Raises
    ------
    DataFileError
        If the table has no rows, or its files alone do not show deleted rows or renamed columns.
    """
    title = str(table.table_uri).removeprefix("file://").rstrip("/")
    features = {str(feature) for feature in table.protocol().reader_features or ()} - _HARMLESS
    mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    if mapped == "none":
        features.discard("columnMapping")
    if features or mapped != "none":
        listed = " and ".join(sorted(features)) or "columnMapping"
        raise DataFileError(
            f"{title}: the Delta table uses {listed}, so its Parquet files alone do not show its "
            "rows; rewrite it without that, or save the rows of to_pyarrow_table() to a file"
        )
    columns = [field.name for field in table.schema().fields]
    actions = _columns(table.get_add_actions(flatten=True))
    addresses = table.file_uris()  # in the same order
    ages = list(zip(actions["modification_time"], actions["path"], strict=True))
    files = []
    for k in sorted(range(len(ages)), key=ages.__getitem__):
        values = dict.fromkeys(columns)  # older files lack the columns that were added since
        for name in table.metadata().partition_columns:
            values[name] = actions[f"partition.{name}"][k]
        files.append(TableFile(_file(addresses[k]), tuple(values.items())))
    return _some(title, files, named)


def iceberg_files(table: Any) -> DataFiles:
    """Return the files of the current snapshot of a `pyiceberg.table.Table`, the oldest first.

    Raises
    ------
    DataFileError
        As for `delta_files`.
    """
    title = ".".join(table.name())
    tasks = list(table.scan().plan_files())
    names: dict[str, set[int]] = {}
    ids: dict[int, set[str]] = {}
    for schema in table.schemas().values():
        for field in schema.fields:
            names.setdefault(field.name, set()).add(field.field_id)
            ids.setdefault(field.field_id, set()).add(field.name)
    reused = any(len(own_ids) > 1 for own_ids in names.values())
    reused |= any(len(own_names) > 1 for own_names in ids.values())
    if reused or any(task.delete_files for task in tasks):
        problem = (
            "renamed columns, or new ones with old names" if reused else "files of deleted rows"
        )
        raise DataFileError(
            f"{title}: the Iceberg table has {problem}, so its Parquet files alone do not show its "
            "rows; rewrite it (rewrite_data_files), or save the rows of scan().to_arrow() to a file"
        )
    constants = tuple((field.name, field.initial_default) for field in table.schema().fields)
    ages = _iceberg_ages(table)
    paths = sorted((task.file.file_path for task in tasks), key=ages.__getitem__)
    files = [TableFile(_file(path), constants) for path in paths]
    return _some(title, files, table)


def _iceberg_ages(table: Any) -> dict[str, tuple[int, int, str]]:
    """Return, for the path of each file of the current snapshot, a sort key by age."""
    snapshot = table.current_snapshot()
    times = {own.snapshot_id: own.timestamp_ms for own in table.snapshots()}
    return {
        entry.data_file.file_path: (
            entry.sequence_number or 0,  # the first version of the format has none
            times.get(entry.snapshot_id, 0),  # an expired snapshot is old
            entry.data_file.file_path,
        )
        for manifest in (snapshot.manifests(table.io) if snapshot else ())
        for entry in manifest.fetch_manifest_entry(table.io)
    }


def _some(title: str, files: list[Any], named: Any) -> DataFiles:
    if not files:
        raise DataFileError(f"{title}: the table has no rows")
    return DataFiles(tuple(files), named, title)


def _file(name: str) -> Path | Remote:
    name = name.removeprefix("file://")
    return Remote(name) if is_remote(name) else Path(name)


def _columns(table: Any) -> dict[str, list[Any]]:
    import pyarrow as pa

    return dict(pa.table(table).to_pydict())
