"""Files that ship with the package, found from a wheel and from a source checkout alike."""

from __future__ import annotations

from pathlib import Path


def layouts() -> Path:
    """Return the folder of the shipped layouts.

    The wheel carries it inside the package; an editable install has it beside the package.
    """
    package = Path(__file__).resolve().parent.parent
    inside = package / "layouts"
    return inside if inside.is_dir() else package.parent / "layouts"
