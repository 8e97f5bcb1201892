"""Preset and profile files for tests, as the edge reads them."""

from __future__ import annotations

import hashlib
from typing import Any

from tmuxagents.presets import preset as presets_preset
from tmuxagents.presets.catalogue import Catalogue
from tmuxagents.presets.preset import BadPreset, Preset, PresetFile

HOME, PROJECT = "/home/dev", "/home/dev/app"
FOLDERS = {
    ("preset", "global"): f"{HOME}/.pi/agent/subagents",
    ("profile", "global"): f"{HOME}/.pi/agent/agent-profiles",
    ("preset", "project"): f"{PROJECT}/.pi/subagents",
    ("profile", "project"): f"{PROJECT}/.pi/agent-profiles",
}


def text_file(text: str, *, kind: str = "preset", source: str = "global", name: str = "a.md") -> PresetFile:
    """Return a file that was read."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return PresetFile(kind, source, f"{FOLDERS[kind, source]}/{name}", text, digest)


def file(header: str, body: str = "", **place: Any) -> PresetFile:
    """Return a file with these lines of header."""
    return text_file(f"---\n{header}\n---\n{body}", **place)


def preset(header: str = "", body: str = "", **place: Any) -> Preset:
    """Return a good preset; name and description are given."""
    read = presets_preset.parse(file(f"name: scout\ndescription: Looks around\n{header}", body, **place))
    assert isinstance(read, Preset), read and read.warning()
    return read


def profile(header: str = "", body: str = "", *, full: bool = False, **place: Any) -> Preset:
    """Return a good profile; the name is given."""
    read = presets_preset.parse(file(f"name: p\n{header}", body, kind="profile", **place), full_profiles=full)
    assert isinstance(read, Preset), read and read.warning()
    return read


def bad(header: str, **place: Any) -> list[str]:
    """Return what is wrong with a file that is bad."""
    read = presets_preset.parse(file(header, **place))
    assert isinstance(read, BadPreset), read
    return [flaw.words() for flaw in read.flaws]


def catalogue(*files: PresetFile) -> Catalogue:
    return Catalogue(files)
