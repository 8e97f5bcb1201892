"""A session's set-up, for one more of its runs: as its latest plan has it, and as its preset's file is today.

What was recorded counts: a preset that has been changed since is said, and changes nothing. Only a profile's
key is taken from the file of today, since no run keeps one. What was recorded is believed as far as the run's
seal says the same; without a seal the preset is read anew.
"""

from __future__ import annotations

from tmuxagents.core import continuing
from tmuxagents.edges import presetfiles, rundir, seal
from tmuxagents.errors import NotPossible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tmuxagents.commands.inspect import Run
    from tmuxagents.core.presets import Preset
    from tmuxagents.core.settings import Settings
    from tmuxagents.edges.seal import Plan

_PROFILE = "profile"
_FILES = (("systemPromptPath", rundir.SYSTEM_PROMPT), ("appendSystemPromptPath", rundir.APPEND_SYSTEM_PROMPT))


def launched_with(run: Run) -> Plan:
    """Return what a run was launched with; raise NotPossible if its seal and its directory differ in that."""
    plan = seal.plan_of(run.run_dir)
    if plan.changed:
        hint = f"see what it did: tmuxagents transcript {run.run_id[:8]}; then launch it anew"
        raise NotPossible(continuing.changed(run.run_id, plan.changed), kind="run-changed", hint=hint)
    return plan


class SetUp:
    """How the child of a run was set up: keys of its plan, files beside it, and what is to be warned of.

    `preset` is the one to be read anew, for want of a seal.
    """

    __slots__ = ("keys", "preset", "profile", "texts", "warnings")

    def __init__(self, plan: Plan, settings: Settings) -> None:
        meta = plan.meta or {}
        self.keys = continuing.set_up(meta) if plan.sealed else {}
        self.preset = None if plan.sealed else continuing.preset(meta)
        self.texts: dict[str, bytes] = {}
        self.warnings: list[str] = []
        self.profile: Preset | None = None
        if self.preset is not None:
            self.warnings.append(continuing.unsealed(str(meta.get("runId")), self.preset))
        for key, name in _FILES:
            if self.keys.get(key):
                self.texts[name] = plan.texts[name]
        if self.keys.get("presetPath"):
            self._look_at_file(settings)

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
