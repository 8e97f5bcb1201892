"""Adapters for profiles: their files as text, their fields as flags and as words, their command."""

from __future__ import annotations

from typing import Any

from scripts.conforming.words import HOME, refuse
from tmuxagents.agents.pi import command as pi_command
from tmuxagents.presets import catalogue, describe, disk, editing, preset
from tmuxagents.presets.fields import GLOBAL, PROFILE, PROJECT
from tmuxagents.presets.preset import PresetFile
from tmuxagents.text import yaml

Given = dict[str, Any]


def header(given: Given) -> Given:
    """Return header and body of a file."""
    read = yaml.parse(given["content"])
    return {"frontmatter": read.fields, "body": read.body}


def folder(given: Given) -> str:
    """Return where profiles of a scope lie."""
    if given["scope"] == PROJECT:
        return disk.project_folder(given["cwd"], PROFILE)
    return disk.global_folder({"HOME": HOME, **(given.get("env") or {})}, PROFILE)


def flags(given: Given) -> Given:
    """Return the child's command line and its own variables."""
    fields = given["profile"]
    key = fields.get("apiKey")
    env = pi_command.AGENT.key_variables(key, None) if key else {}
    args = pi_command.arguments(fields, cwd=given.get("cwd"), agent_dir=given.get("agentDir"))
    return {"args": args, "env": env}


def tool_conflict(given: Given) -> str:
    """Refuse tools that are both listed and excluded."""
    refuse(pi_command.tool_conflict(given["profile"], given.get("name")))
    return "ok"


def skill_conflict(given: Given) -> str:
    """Refuse skills that are both wanted and switched off."""
    refuse(pi_command.skill_conflict(given["profile"], given.get("name")))
    return "ok"


def exclusions(given: Given) -> Given:
    """Return a profile with the tools that are left."""
    return pi_command.apply_exclusions(given["profile"], given["all"])


def resolved_skills(given: Given) -> Given:
    """Return a profile with paths and texts for the names of its skills."""
    found = (given.get("skills") or {}).items()
    files = (
        catalogue.SkillFile(each["path"], name, is_declared=True, text=each["content"])
        for name, each in found
    )
    known = catalogue.index_skills(files)
    return catalogue.resolve_skills(given["profile"], known)


def summary(given: Given) -> str:
    """Return a profile on one line."""
    return describe.summary(given["name"], given["profile"])


def detail(given: Given) -> str:
    """Return a profile, a line each field."""
    return describe.detail(given["name"], given["profile"])


def text(given: Given) -> str:
    """Return a profile as the text of its file."""
    return editing.text(given["name"], given["profile"])


# --- the command ------------------------------------------------------------------------------------------


def command(given: Given) -> Given:
    """Return what is said and asked; what a person answers to each question stands in the case."""
    answer = describe.profile_answer(given["args"], _known(given.get("profiles") or {}))
    notes = [answer.note] if answer.note else []
    if given.get("confirm") and answer.afterwards:
        notes.append(answer.afterwards)
    questions = [answer.question] if answer.question else []
    return {"notes": [list(note) for note in notes], "confirms": [list(question) for question in questions]}


def _known(texts: dict[str, dict[str, str]]) -> dict[str, Given]:
    """Return the profiles of files that a case gives as texts, in the order in which they are read."""
    known: dict[str, Given] = {}
    for source in (GLOBAL, PROJECT):
        for stem, written in (texts.get(source) or {}).items():
            draft = PresetFile(kind=PROFILE, source=source, path=f"/{source}/{stem}.md", text=written)
            read = preset.parse(draft)
            if isinstance(read, preset.Preset):
                known[read.name] = read.fields
    return known


def completions(given: Given) -> list[str] | None:
    """Return how a line could go on."""
    return describe.profile_completions(given["prefix"], given.get("profiles") or [])
