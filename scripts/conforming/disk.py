"""Adapters for what needs a disk: each case gets a folder of its own, which stands as <ROOT> in its texts."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from scripts.conforming.words import replaced
from tmuxagents.launch import prepare
from tmuxagents.presets import disk
from tmuxagents.presets.catalogue import Catalogue
from tmuxagents.presets.fields import GLOBAL, PROFILE, PROJECT
from tmuxagents.runs import prompt
from tmuxagents.runs.prompt import FileSpec

Given = dict[str, Any]

ROOT, _PROJECT, _AGENT = "<ROOT>", "proj", "agent"
_OURS_ALONE = 0o700  # files that others could write to would not be believed
_MADE_UP = re.compile("<([0-9]{1,12}) bytes>")  # a file of so many bytes
_MOST_FILLED = 4 * 1024 * 1024  # of these, more than anybody reads


def profiles(given: Given, root: str) -> Given:
    """Return the profiles of the user's folder and of a project's, and what is warned of."""
    environment = {"HOME": root, "PI_AGENT_DIR": f"{root}/{_AGENT}"}
    project = f"{root}/{_PROJECT}"
    folders = {
        GLOBAL: disk.global_folder(environment, PROFILE),
        PROJECT: disk.project_folder(project, PROFILE),
    }
    os.makedirs(project, _OURS_ALONE)
    for source, place in folders.items():
        for name, text in replaced(given.get(source) or {}, ROOT, root).items():
            _write(place, name, text)
    read = disk.read_all(project, environment)
    found = Catalogue(read.files)
    said = {one.path: one.warnings for one in found.presets}
    said |= {bad.path: [bad.warning()] for bad in found.bad}
    warnings = [warning for file in read.files for warning in said.get(file.path, [])]
    counting = {one.name: one.fields for one in found.presets if one.hidden_by is None}
    return {"profiles": replaced(counting, root, ROOT), "warnings": replaced(warnings, root, ROOT)}


def files(given: Given, root: str) -> str:
    """Return a prompt with files of a project."""
    given = replaced(given, ROOT, root)
    project = f"{root}/{_PROJECT}"
    os.makedirs(project, _OURS_ALONE)
    for name, text in (given.get("files") or {}).items():
        _write(project, name, text)
    cwd = os.path.join(project, given.get("cwd") or "")
    blocks = prepare.file_blocks([_spec(one) for one in given.get("spec") or []], cwd)
    return prompt.compose(given["prompt"], blocks=blocks).replace(root, ROOT)


def _spec(value: Any) -> FileSpec:
    # Not by `filespecs.read`: vectors ask for the first 0 lines, which the ways in refuse.
    wanted = {"path": value} if isinstance(value, str) else value
    return FileSpec(**wanted)


def _write(folder: str, name: str, text: str) -> None:
    """Write a file below the root of a case, and nowhere else."""
    path = Path(os.path.normpath(os.path.join(folder, name)))
    root = Path(folder.partition(f"/{_PROJECT}")[0].partition(f"/{_AGENT}")[0])
    if not path.is_relative_to(root):
        raise ValueError(f"{name} lies outside of the case's own folder")
    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir(_OURS_ALONE)
    made_up = _MADE_UP.fullmatch(text)
    path.write_bytes(b"x" * min(int(made_up[1]), _MOST_FILLED) if made_up else text.encode())
    path.chmod(0o600)
    if made_up:
        os.truncate(path, int(made_up[1]))
