"""A session's set-up, for one more of its runs: as its latest plan has it, and as its preset's file is today.

What was recorded counts: a preset that has been changed since is said, and changes nothing. Only a profile's
key is taken from the file of today, since no run keeps one.
"""

from __future__ import annotations

from tmuxagents.core import continuing
from tmuxagents.edges import presetfiles, rundir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.commands.inspect import Run
    from tmuxagents.core.presets import Preset
    from tmuxagents.core.settings import Settings

_LIMIT = 16 * 1024 * 1024
_PROFILE = "profile"
_FILES = (("systemPromptPath", rundir.SYSTEM_PROMPT), ("appendSystemPromptPath", rundir.APPEND_SYSTEM_PROMPT))


class SetUp:
    """How the child of a run was set up: keys of its plan, files beside it, and what is to be warned of."""

    __slots__ = ("keys", "profile", "texts", "warnings")

    def __init__(self, run: Run, settings: Settings) -> None:
        self.keys = continuing.set_up(run.meta)
        self.texts: dict[str, bytes] = {}
        self.warnings: list[str] = []
        self.profile: Preset | None = None
        for key, name in _FILES:
            if self.keys.get(key):
                self._take_text(run.run_dir, key, name)
        if self.keys.get("presetPath"):
            self._look_at_file(settings)

    def _take_text(self, run_dir: str, key: str, name: str) -> None:
        text = rundir.read_bytes(f"{run_dir}/{name}", limit=_LIMIT)
        if text is None and name == rundir.SYSTEM_PROMPT and self.keys.get("systemPrompt"):
            text = str(self.keys["systemPrompt"]).encode("utf-8", "replace")
        self.keys[key] = None if text is None else name
        if text is None:
            self.warnings.append(f"{run_dir}/{name} is gone: the child goes on without it")
        else:
            self.texts[name] = text

    def _look_at_file(self, settings: Settings) -> None:
        """Take a profile's key from its file, and say if that is another one by now."""
        kind, path = str(self.keys["presetKind"]), str(self.keys["presetPath"])
        try:
            file = presetfiles.read_file(path, kind, str(self.keys.get("presetSource")))
        except presetfiles.Refused as refused:
            self._warn(f"cannot be read now ({path}: {refused.why})")
            return
        if file.hash != self.keys.get("presetHash"):
            self._warn(f"has been changed since ({path})")
        if kind == _PROFILE:
            self.profile = _parsed(file, settings, str(self.keys["preset"]))

    def _warn(self, what: str) -> None:
        goes_on = "the session goes on with what it began with"
        self.warnings.append(f"{self.keys['presetKind']} {self.keys['preset']} {what}: {goes_on}")


def _parsed(file: Any, settings: Settings, name: str) -> Preset | None:
    """Return the profile of a file, if it still is the one of this name."""
    from tmuxagents.core import presets  # noqa: PLC0415  (YAML with it, which few sessions need)

    found = presets.parse(file, full_profiles=settings.project_profiles_full)
    return found if isinstance(found, presets.Preset) and found.name == name else None
