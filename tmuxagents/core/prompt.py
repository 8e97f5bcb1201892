"""What a child is asked, in the end: files, what was said before, the task, in this order.

The task stands last, to the byte: who waits for `{previous}` finds it again there, see `with_outputs`.
"""

from __future__ import annotations

from tmuxagents import records
from tmuxagents.core import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tmuxagents.core.filespecs import FileSpec
    from tmuxagents.records import FileText

FILE_LIMIT = 1024 * 1024
PREVIOUS = "{previous}"
_KB = 1024
_GAP = "\n\n"
_FILE = "=== "
_BEFORE, _BEHIND = f"Previously:{_GAP}", f"{_GAP}Instructions:{_GAP}"  # of a transcript


def may_be_read(resolved: str, folder: str, *, allow_outside: bool = False) -> bool:
    """Say whether a file may go into a prompt: it lies in the child's folder, or a person allowed others."""
    return allow_outside or paths.is_inside(resolved, folder)


def file_block(spec: FileSpec, found: FileText) -> str:
    """Return what stands in the prompt for one file: its lines, or why they are not there."""
    path = spec.path.encode("utf-8", "replace").decode("utf-8")  # a name need not be UTF-8, and a prompt is
    if found.problem == records.OUTSIDE:
        return f"[access denied: path outside project directory: {path}]"
    if found.problem == records.MISSING:
        return f"[file not found: {path}]"
    if found.problem == records.TOO_LARGE:
        size = (found.size + _KB // 2) // _KB
        return f"[file too large: {path} ({size}KB, limit {FILE_LIMIT // _KB}KB)]"
    if found.problem is not None:
        return f"[could not read file: {path}]"
    return f"{_FILE}{path} ===\n{_wanted(found.text, spec)}"


def left_out(blocks: Iterable[str]) -> list[str]:
    """Return what to warn of: the files that are not in the prompt, and why."""
    return [f"{block[1:-1]}; the child is told so" for block in blocks if not block.startswith(_FILE)]


def _wanted(text: str, spec: FileSpec) -> str:
    lines = text.removesuffix("\n").split("\n")
    if spec.tail is not None:  # also where the head is asked for as well
        return "\n".join(lines[max(0, len(lines) - max(0, spec.tail)) :])
    if spec.head is not None:
        return "\n".join(lines[: max(0, spec.head)])
    first = max(0, (spec.start or 1) - 1)
    return "\n".join(lines[first : None if spec.end is None else max(0, spec.end)])


def compose(task: str, *, blocks: Iterable[str] = (), transcript: str | None = None) -> str:
    """Return the effective prompt. `transcript`: what the session said before, where it is replayed."""
    asked = task if transcript is None else f"{_BEFORE}{transcript}{_BEHIND}{task}"
    return _GAP.join((*blocks, asked))


def without_transcript(prompt: str, task: str, length: int | None) -> str:
    """Return an effective prompt as if its transcript, of so many characters, had never stood in it.

    A prompt that does not look so was not left as it was written: then the task alone is what was asked.
    """
    if length is None:
        return prompt
    end = len(prompt) - len(f"{_BEHIND}{task}")
    blocks = prompt[: max(0, end - length)]
    if not (prompt.endswith(f"{_BEHIND}{task}") and 0 <= length <= end and blocks.endswith(_BEFORE)):
        return task
    return blocks.removesuffix(_BEFORE) + task


def with_outputs(prompt: str, task: str, outputs: Sequence[str | None]) -> str:
    """Return an effective prompt whose task has the outputs of the runs it waited for as `{previous}`.

    In the task alone: a file, a transcript or an output that holds the word is none of it.
    """
    if PREVIOUS not in task or not prompt.endswith(task):
        return prompt
    joined = _GAP.join(output or "" for output in outputs)
    return prompt[: len(prompt) - len(task)] + task.replace(PREVIOUS, joined)
