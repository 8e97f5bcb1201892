"""What a scripted child (tests/children/scripted.py) can do: one function for each word of its prompt.

Stdlib only and quick to start.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any, BinaryIO

_calls = 0


def say(kind: str, **fields: Any) -> None:
    """Write a line past Python's buffers: `on_term` may speak in the midst of it, and they refuse that."""
    line = json.dumps({"type": kind, **fields}, separators=(",", ":"), ensure_ascii=False) + "\n"
    rest = memoryview(line.encode())
    while rest:
        rest = rest[os.write(1, rest) :]


def begin(_: str) -> None:
    say("session", version=3, id="scripted", cwd=os.getcwd())
    say("agent_start")
    say("turn_start")


def message(content: list[dict[str, Any]], reason: str, error: str | None = None) -> None:
    usage = {
        "input": 10,
        "output": 5,
        "cacheRead": 0,
        "cacheWrite": 0,
        "totalTokens": 15,
        "cost": {"total": 0.001},
    }
    body: dict[str, Any] = {"role": "assistant", "content": content, "provider": "mock", "model": "scripted"}
    body |= {"usage": usage, "stopReason": reason}
    if error is not None:
        body["errorMessage"] = error
    say("message_end", message=body)


def answer(text: str) -> None:
    """`answer REASON [TEXT]`: a whole turn."""
    reason, _, words = text.partition(" ")
    failed = reason in ("error", "aborted")
    message([{"type": "text", "text": "" if failed else words}], reason, words if failed and words else None)
    say("turn_end", message={"role": "assistant", "stopReason": reason}, toolResults=[])


def tool(text: str) -> None:
    """`tool NAME JSON`: a turn with one tool call, which takes the `seconds` of its arguments."""
    global _calls  # noqa: PLW0603  (a script of one process)
    _calls += 1
    name, _, arguments = text.partition(" ")
    args = json.loads(arguments or "{}")
    call = f"call_{_calls}"
    message([{"type": "toolCall", "id": call, "name": name, "arguments": args}], "toolUse")
    say("tool_execution_start", toolCallId=call, toolName=name, args=args)
    time.sleep(args.get("seconds", 0))
    content = [{"type": "text", "text": "fine"}]
    say("tool_execution_end", toolCallId=call, toolName=name, result={"content": content}, isError=False)
    say("turn_end", message={"role": "assistant", "stopReason": "toolUse"}, toolResults=[])


def settle(text: str) -> None:
    say("agent_end", messages=[], willRetry=False)
    say("agent_settled", aborted=text == "aborted")


def done(text: str) -> None:
    """`done TEXT`: everything of a healthy run but the exit."""
    begin("")
    answer(f"stop {text}")
    settle("")


def ignore(names: str) -> None:
    for name in names.split():
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def die(name: str) -> None:
    number = getattr(signal, name)
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
    time.sleep(10)


def record(pid: int, what: str) -> None:
    """Write down a process, with its start: its number is given away again before a long test is over."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            started = file.read().rpartition(")")[2].split()[19]
    except OSError:
        started = "0"
    with open(os.environ["CHILD_RECORD"], "a", encoding="utf-8") as book:
        book.write(f"{pid}:{started} {what}\n")


def starting() -> ModuleType:
    """Return the steps that start programs: few children need them, and all would pay for `subprocess`."""
    from tests.children import programs  # noqa: PLC0415  (see above)

    return programs


def pour_updates(out: BinaryIO, count: int) -> None:
    line = b'{"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":"xxxxxxxx"}}\n'
    out.writelines(line * 1000 for _ in range(count // 1000))


def pour_calls(out: BinaryIO, count: int) -> None:
    for i in range(count):
        call = {"toolCallId": f"f{i}", "toolName": "ls", "args": {"path": str(i)}}
        out.write(b'{"type":"tool_execution_start",' + json.dumps(call).encode()[1:] + b"\n")


def pour_names(out: BinaryIO, count: int) -> None:
    for i in range(count):
        huge = f"{i} " + "x" * 1_000_000
        call = {"toolCallId": huge, "toolName": "read", "args": {"path": huge}}
        out.write(b'{"type":"tool_execution_start",' + json.dumps(call).encode()[1:] + b"\n")
        call = {"toolName": huge, "args": {"path": "x"}}
        out.write(b'{"type":"tool_execution_start",' + json.dumps(call).encode()[1:] + b"\n")


def pour_stderr(_: BinaryIO, count: int) -> None:
    for _line in range(count):
        sys.stderr.buffer.write(b"complaint " * 100 + b"\n")


def pour_both(out: BinaryIO, count: int) -> None:
    for _ in range(count):
        pour_stderr(out, 1)
        out.write(b"not json " * 100 + b"\n")


def pour_line(out: BinaryIO, megabytes: int) -> None:
    out.write(
        b'{"type":"tool_execution_end","toolCallId":"big","toolName":"bash","result":{"content":[{"text":"'
    )
    out.writelines(b"x" * 1_000_000 for _ in range(megabytes))
    out.write(b'"}]},"isError":false}\n')


def pour_dense(out: BinaryIO, times: int) -> None:
    out.write(b'{"type":"x","all":[' + b"{}," * (times * 1_300_000) + b"{}]}\n")


def pour_c1(_: BinaryIO, kilobytes: int) -> None:
    message([{"type": "text", "text": "\x9d\n" * (kilobytes * 500)}], "stop")


def pour_wide(_: BinaryIO, times: int) -> None:
    message([{"type": "text", "text": "\U0001f600" * (times * 970_000)}], "stop")


def pour_mixed(_: BinaryIO, times: int) -> None:
    message([{"type": "text", "text": "\U0001f600" + "x" * (times * 3_900_000)}], "stop")


FLOODS = {
    "updates": pour_updates,
    "events": pour_calls,
    "names": pour_names,
    "stderr": pour_stderr,
    "both": pour_both,
    "line": pour_line,
    "wide": pour_wide,
    "mixed": pour_mixed,
    "c1": pour_c1,
    "dense": pour_dense,
}


def flood(text: str) -> None:
    """`flood KIND N`: more than anybody wants."""
    kind, count = text.split()
    FLOODS[kind](sys.stdout.buffer, int(count))
    sys.stdout.flush()
    sys.stderr.flush()


def on_term(step: str) -> None:
    """`on_term STEP`: from now on, when TERM comes, do the step and leave."""
    word, _, rest = step.partition(" ")

    def handler(_number: int, _frame: object) -> None:
        STEPS[word](rest)
        os._exit(0)

    signal.signal(signal.SIGTERM, handler)


def forge(_: str) -> None:
    """Write a result of one's own into the run directory, found by our own stdin."""
    folder = os.path.dirname(os.readlink("/proc/self/fd/0"))
    result = {
        "v": 1,
        "status": "completed",
        "reason": "done",
        "output": "forged",
        "exitCode": 0,
        "endedAt": 1.0,
    }
    with open(f"{folder}/result.json", "w", encoding="utf-8") as file:
        json.dump(result, file)


def block(_: str) -> None:
    """Put folders where files of the run belong."""
    folder = os.path.dirname(os.readlink("/proc/self/fd/0"))
    for name in ("result.json", "output.md"):
        os.makedirs(f"{folder}/{name}/inside", exist_ok=True)


def listen(_: str) -> None:
    """Go on as one that listens on a unix socket and carries no marker, in the same process."""
    if "TMUXAGENTS_RUN" in os.environ:
        script = (
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind('\\0' + str(id(s))); s.listen()"
        )
        rest = f"{script}; sys.path[:0] = {sys.path[:1]}; from tests.children import steps; steps.main()"
        os.lseek(0, 0, os.SEEK_SET)
        os.execve(sys.executable, [sys.executable, "-c", rest], {"PATH": os.environ["PATH"], **_record()})


def _record() -> dict[str, str]:
    return {"CHILD_RECORD": os.environ["CHILD_RECORD"]}


def become_nobody(_: str) -> None:
    if os.getuid() == 0:
        os.setresuid(65534, 65534, 65534)


def remove(name: str) -> None:
    folder = os.path.dirname(os.readlink("/proc/self/fd/0"))
    if name == "everything":
        os.spawnlp(os.P_WAIT, "rm", "rm", "-rf", folder)
    else:
        os.unlink(f"{folder}/{name}")


def raw(text: str) -> None:
    sys.stdout.buffer.write(text.encode().decode("unicode_escape").encode("latin-1"))
    sys.stdout.buffer.flush()


def complain(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def gate(path: str) -> None:
    """`gate PATH`: wait until there is a file, as long as that takes."""
    while not os.path.exists(path):
        time.sleep(0.05)


def forge_events(_: str) -> None:
    """Write into the run's own events that all went well."""
    folder = os.path.dirname(os.readlink("/proc/self/fd/0"))
    with open(f"{folder}/events.jsonl", "a", encoding="utf-8") as log:
        log.writelines(
            json.dumps({"v": 1, "seq": 99, "at": time.time(), **event}, separators=(",", ":")) + "\n"
            for event in (
                {"type": "assistant_text", "text": "forged"},
                {"type": "turn_end", "stopReason": "stop"},
                {"type": "settled", "aborted": False, "attended": False},
                {"type": "child_exited", "exitCode": 0, "signal": None},
            )
        )


def forge_plan(name: str) -> None:
    """`forge_plan [NAME]`: write over the run's own plan, or another of its files."""
    folder = os.path.dirname(os.readlink("/proc/self/fd/0"))
    with open(f"{folder}/{name or 'meta.json'}", "w", encoding="utf-8") as file:
        file.write("no plan\n")


def hold_lock(_: str) -> None:
    """Put a lock of one's own in the place of the run's, and hold it."""
    folder = os.path.dirname(os.readlink("/proc/self/fd/0"))
    os.unlink(f"{folder}/run.lock")
    held = os.open(f"{folder}/run.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)


def eat(megabytes: str) -> None:
    """`eat N`: have so much memory, a bit at a time."""
    eaten = []
    for _ in range(int(megabytes) // 10):
        eaten.append(bytearray(b"x" * 10_000_000))
        time.sleep(0.02)


STEPS: dict[str, Callable[[str], object]] = {
    "begin": begin,
    "eat": eat,
    "answer": answer,
    "tool": tool,
    "settle": settle,
    "done": done,
    "retry": lambda text: say("auto_retry_start", attempt=1, maxAttempts=3, delayMs=10, errorMessage=text),
    "old_end": lambda _: say("agent_end", messages=[]),
    "ignore": ignore,
    "die": die,
    "exit": lambda text: os._exit(int(text)),
    "sleep": lambda text: time.sleep(float(text)),
    "found": lambda what: starting().found(what),
    "service": lambda what: starting().service(what),
    "flood": flood,
    "on_term": on_term,
    "forge": forge,
    "remove": remove,
    "block": block,
    "listen": listen,
    "become_nobody": become_nobody,
    "raw": raw,
    "stderr": complain,
    "pid": lambda what: record(os.getpid(), what),
    "json": lambda text: (sys.stdout.write(text + "\n"), sys.stdout.flush()),
    "gate": gate,
    "forge_events": forge_events,
    "forge_plan": forge_plan,
    "hold_lock": hold_lock,
    "to_parent": lambda name: os.kill(os.getppid(), getattr(signal, name)),
    "shell": lambda line: starting().shell(line),
}


def about() -> None:
    """Answer what an installed agent is asked about itself: its version, its models."""
    if sys.argv[1:2] == ["--version"]:
        print("0.87.1")
        return
    models = [{"provider": "mock", "id": name} for name in ("mock-text", "mock-think", "mock-tools", "x")]
    sys.stdin.readline()
    say("response", command="get_available_models", success=True, data={"models": models})
    sys.stdin.read()


def main() -> None:
    if "--version" in sys.argv or "rpc" in sys.argv:
        about()
        return
    for step in sys.stdin.buffer.read().decode().split("\n"):
        word, _, rest = step.partition(" ")
        if word in STEPS:
            STEPS[word](rest)
