"""The files of a prompt: what was asked for, found where the child works, and put into words. Joins."""

from __future__ import annotations

from tmuxagents.runs import prompt
from tmuxagents.system import prompt_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.runs.prompt import FileSpec


def parse(words: Iterable[str], cwd: str) -> list[FileSpec]:
    """Read the `--file` options of a command line; a file that is called like the whole word is meant."""
    return [
        prompt.parse(word, is_file=prompt_file.is_there(_absolute(word, cwd)), field="--file")
        for word in words
    ]


def blocks(specs: Sequence[FileSpec], cwd: str, *, allow_outside: bool = False) -> list[str]:
    """Return one block a file; a file that cannot be had says so in its place and fails nothing."""
    folder = prompt_file.resolve(cwd)

    def may(resolved: str) -> bool:
        return prompt.may_be_read(resolved, folder, allow_outside=allow_outside)

    found = [prompt_file.read(_absolute(spec.path, cwd), limit=prompt.FILE_LIMIT, may=may) for spec in specs]
    return [prompt.file_block(spec, text) for spec, text in zip(specs, found, strict=True)]


def _absolute(path: str, cwd: str) -> str:
    return path if path.startswith("/") else f"{cwd}/{path}"
