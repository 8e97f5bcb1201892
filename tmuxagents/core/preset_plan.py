"""What a preset or profile puts into the plan of a run, and into files beside it.

The plan holds what the child's command line needs, and no secret: an API key goes through the environment.
"""

from __future__ import annotations

from tmuxagents.core import child_flags, sanitize
from tmuxagents.errors import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tmuxagents.core.presets import Preset

SYSTEM_PROMPT, APPENDED = "system-prompt.md", "append-system-prompt.md"
# Of a profile; the rest has keys of its own in a plan, or stands in a file, or is nobody's to read.
_FLAG_FIELDS = (
    *("thinkingLevel", "noTools", "tools", "noExtensions", "noSkills", "noContextFiles"),
    *("extensions", "suggestedSkills", "extraArgs"),
)


def faults(preset: Preset, *, has_model: bool) -> Iterator[Fault]:
    """Yield why a profile cannot be launched. A model that the call names makes up for one it lacks."""
    if preset.kind != "profile":
        return
    fields = preset.fields
    if has_model:
        fields = {key: value for key, value in fields.items() if key != "provider"}
    for message in child_flags.refusals(fields, preset.name):
        yield Fault(child_flags.KIND, message, field="preset")


def keys(preset: Preset) -> dict[str, Any]:
    """Return the keys of a plan that a preset decides."""
    texts = files(preset)
    plan: dict[str, Any] = {
        "preset": preset.name,
        "presetKind": preset.kind,
        "presetSource": preset.source,
        "presetPath": preset.path,
        "presetHash": preset.hash,
        "presetHides": preset.hides,
        "tools": list(preset.tools or ()),
        "systemPrompt": texts.get(SYSTEM_PROMPT),
        "systemPromptPath": SYSTEM_PROMPT if SYSTEM_PROMPT in texts else None,
        "appendSystemPromptPath": APPENDED if APPENDED in texts else None,
    }
    if preset.nesting:
        plan["nesting"] = preset.nesting
    if preset.kind == "profile":
        # Beside the documented keys: there an empty list of tools means that none is forbidden.
        plan["profile"] = {key: preset.fields[key] for key in _FLAG_FIELDS if key in preset.fields}
    return plan


def files(preset: Preset) -> dict[str, str]:
    """Return the prompt files of a run: name and trimmed text."""
    texts = {SYSTEM_PROMPT: preset.fields.get("systemPrompt")}
    if preset.kind == "profile":
        texts[APPENDED] = preset.fields.get("appendSystemPrompt")
    return {name: text.strip() for name, text in texts.items() if text and text.strip()}


def origin(meta: Mapping[str, Any]) -> str | None:
    """Return where the preset of a plan comes from, for a receipt: name, file, hash, what it hides."""
    if not meta.get("preset"):
        return None
    hides = f"; hides {meta['presetHides']}" if meta.get("presetHides") else ""
    where = f"{meta['presetSource']}: {meta['presetPath']}, sha256 {meta['presetHash']}{hides}"
    return sanitize.line(f"{meta['preset']} ({where})")
