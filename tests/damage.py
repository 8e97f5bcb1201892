"""What may become of a registry's file, whoever did it: each takes the path."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from contextlib import closing


def deleted(path: str) -> None:
    for side in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + side)


def emptied(path: str) -> None:
    os.truncate(path, 0)


def garbage(path: str) -> None:
    with open(path, "wb") as file:
        file.write(b"garbage " * 5000)


def replaced_by_garbage(path: str) -> None:
    garbage(f"{path}.other")
    os.replace(f"{path}.other", path)


def of_a_newer_program(path: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("PRAGMA user_version = 99")


def a_folder_in_its_place(path: str) -> None:
    deleted(path)
    os.mkdir(path)
