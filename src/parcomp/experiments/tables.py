"""Tables as CSV files: written whole or not at all, read back with their types, and never with an empty cell."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from parcomp.errors import FileError
from parcomp.experiments.experiment import Cell, Table

__all__ = ["read_table", "write_table"]


def write_table(path: Path, rows: Table) -> Path:
    """Write rows of the same columns; floats to six digits."""
    columns = list(rows[0]) if rows else []
    beside = path.with_name(f"{path.name}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for row in rows:
                if list(row) != columns:
                    raise ValueError(f"{path.name}: a row has the columns {list(row)}, not {columns}")
                writer.writerow([_written(row[column], f"{path.name}: {column}") for column in columns])
        os.replace(beside, path)
    except OSError as error:
        raise FileError(path, f"cannot be written ({error.strerror})") from None
    return path


def read_table(path: Path) -> Table:
    """The rows of a table; what reads as a number is one."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _read(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _written(cell: Cell, place: str) -> str:
    text = f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    if cell is None or not text or text == "nan":
        raise ValueError(f"{place}: a cell is empty; say why there is no value")
    return text


def _read(cell: str) -> Cell:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell
