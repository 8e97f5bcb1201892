"""Files that ship with the package, found from a wheel and from a source checkout alike.

Touches: the package's own files.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def layouts() -> Path:
    """Return the folder of the shipped layouts.

    The wheel carries it inside the package; an editable install has it beside the package.
    """
    inside = _PACKAGE / "layouts" / "shipped"
    return inside if inside.is_dir() else _PACKAGE.parent / "layouts"


def demo() -> Path:
    """Return the program that shows the demo, beside all that it needs."""
    inside = _PACKAGE / "demo" / "scripts"
    return (inside if inside.is_dir() else _PACKAGE.parent / "scripts") / "demo_run"


def skill() -> str:
    """Return the text of the skill that teaches a parent to delegate from the shell."""
    return (_PACKAGE / "skills" / "tmuxagents" / "SKILL.md").read_text("utf-8")


def schemas() -> Path:
    """Return the folder of the JSON Schemas."""
    return _PACKAGE / "schemas"


def prompts() -> dict[str, str]:
    """Return the workflow prompts: name -> text."""
    files = sorted((_PACKAGE / "prompts").glob("*.md"))
    return {file.stem: file.read_text("utf-8") for file in files}


def pi_extension() -> Path:
    """Return the file that pi is to load."""
    return _PACKAGE / "extensions" / "pi" / "index.ts"


def far_script(name: str) -> str:
    """Return one of the shell scripts that other machines run."""
    return (_PACKAGE / "machines" / f"{name}.sh").read_text("utf-8")
