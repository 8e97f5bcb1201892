"""One round of a real agent CLI with our MCP server: it launches a child, polls it, and tells its answer.

For scripts/try-mcp-agent, which starts it in a network of its own. It plays the model of the agent, on
127.0.0.1, in the protocol that the agent speaks, and starts scripts/model_server.py for the real child.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from scripts import agent_homes

Json = dict[str, Any]
SCRIPTS = Path(__file__).parent
PROGRAMS = Path(os.environ.get("TMUXAGENTS_DEV_DIR") or SCRIPTS.parent / ".dev") / "agents"
TMUXAGENTS = str(Path(sys.executable).with_name("tmuxagents"))
PRESET = "---\nname: greeter\ndescription: Says hello\nagent: {agent}\nmodel: {model}\n---\nBe friendly.\n"
LAUNCH, POLL = "background_agent", "background_agent_status"
RUN = re.compile(r"\b[0-9a-f]{16}\b")
ENDED = re.compile(r"\b(completed|failed|aborted)\b")
PATIENCE_S, MOST_POLLS = 120, 60


def loopback_up() -> None:
    """Switch the loopback of this network on: it is all that there is."""
    with socket.socket() as any_socket:
        request = struct.pack("16sH", b"lo", 0x1 | 0x40)  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


# --- the model of the agent -------------------------------------------------------------------------------


class Model:
    """What the agent's model decides, from what its tools have told so far."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def decide(self, results: list[str]) -> tuple[str, Json] | str:
        """Return a tool and its arguments, or the last answer."""
        for new in results[len(self.told) :]:
            self.told.append(new)
            print(f"  its tool answered: {new.splitlines()[0][:100]}", flush=True)
        if not self.told:
            return LAUNCH, {"preset": "greeter", "task": "Say hello."}
        last = self.told[-1]
        if len(self.told) > MOST_POLLS:
            return "The child did not come to an end."
        if len(self.told) > 1 and ENDED.search(last.splitlines()[0]):
            return f"The child said: {last.partition(chr(10) * 2)[2]}"
        time.sleep(0.5)
        return POLL, {"runId": next(iter(RUN.findall(self.told[0])), "none")}


def claude_reply(model: Model, request: Json) -> list[Json]:
    """Answer a request of the Messages API, as events."""
    offered = {tool.get("name") for tool in request.get("tools", [])}
    prefix = "mcp__tmuxagents__"
    blocks = [block for message in request["messages"] for block in _blocks(message)]
    results = [_text(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
    decided = model.decide(results) if prefix + LAUNCH in offered else "A title"
    if isinstance(decided, str):
        start: Json = {"type": "text", "text": ""}
        delta: Json = {"type": "text_delta", "text": decided}
    else:
        start = {"type": "tool_use", "id": f"t{len(results)}", "name": prefix + decided[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(decided[1])}
    why = "end_turn" if isinstance(decided, str) else "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": request.get("model", "m")}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def codex_reply(model: Model, request: Json) -> list[Json]:
    """Answer a request of the Responses API, as events."""
    calls = [item for item in request["input"] if item.get("type") == "function_call_output"]
    decided = model.decide([_text(item.get("output")) for item in calls])
    if isinstance(decided, str):
        item: Json = {"type": "message", "role": "assistant", "id": "m1"}
        item["content"] = [{"type": "output_text", "text": decided}]
    else:
        item = {"type": "function_call", "id": f"f{len(calls)}", "call_id": f"c{len(calls)}"}
        item |= {"namespace": "mcp__tmuxagents", "name": decided[0], "arguments": json.dumps(decided[1])}
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1}
    usage |= {"output_tokens_details": None, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text(content: Any) -> str:
    """Return what a tool said: codex puts a head of its own before it, and gives its model the object."""
    if isinstance(content, list):
        content = "\n".join(str(block.get("text", "")) for block in content)
    text = str(content).rpartition("Output:\n")[2]
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return str(json.loads(text)["text"])
    return text


REPLIES = {"claude": claude_reply, "codex": codex_reply}


def serve(agent: str) -> int:
    """Serve the model of an agent; return the port."""
    model, lock = Model(), threading.Lock()

    class Connection(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing of each request."""

        def do_HEAD(self) -> None:
            self.send_error(404)

        do_GET = do_HEAD  # noqa: N815  (the library's name)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if not self.path.partition("?")[0].endswith(("/messages", "/responses")):
                self.send_error(404)
                return
            with lock:  # one thought at a time
                events = REPLIES[agent](model, json.loads(body))
            text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


# --- the agent ----------------------------------------------------------------------------------------------

CODEX_CONFIG = """model = "mock"
model_provider = "mock"
check_for_update_on_startup = false
approval_policy = "never"

[analytics]
enabled = false

[model_providers.mock]
name = "mock"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
supports_websockets = false
"""


def set_up(agent: str, home: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Return how the agent is started, and its environment."""
    prompt = "Have a child say hello, and tell me what it said."
    if agent == "claude":
        allowed = ",".join(f"mcp__tmuxagents__{tool}" for tool in (LAUNCH, POLL))
        words = ["-p", "--output-format=text", f"--allowedTools={allowed}", "--", prompt]
        url = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "none"}
        quiet = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
        return words, url | dict.fromkeys(quiet, "1") | {"ENABLE_TOOL_SEARCH": "false"}
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CODEX_CONFIG.format(port=port))
    words = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt]
    return words, {"MOCK_KEY": "none"}


def carry_out(argv: list[str], environment: dict[str, str], folder: Path) -> str:
    """Return what a program says on stdout; what it says besides goes to ours."""
    done = subprocess.run(
        argv,
        env=environment,
        cwd=folder,
        timeout=PATIENCE_S,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def ready(child: str, home: Path, url: str) -> dict[str, str]:
    """Lead a child of another brand to the model server, by files where its parent hands few variables on."""
    brand = agent_homes.BRANDS[child]
    there = set(brand.files) & {str(path.relative_to(home)) for path in home.rglob("*")}
    assert not there, there
    variables = agent_homes.furnish(brand, home, url)
    if child == "claude":
        (home / ".claude").mkdir()
        (home / ".claude" / "settings.json").write_text(json.dumps({"env": variables}))
        return {}
    return variables


def round_of(agent: str, program: str, child: str, folder: Path) -> str:
    """Let an agent do the round with a child of this brand; return what it says in the end."""
    home, project, sockets = folder / "home", folder / "project", folder / "sockets"
    for made in (home, project / ".git", sockets):
        made.mkdir(parents=True)
    words, variables = set_up(agent, home, serve(agent))
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{PROGRAMS / child / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "TMUXAGENTS_HOME": str(folder / "state"),
        "TMUXAGENTS_PI": os.environ["TMUXAGENTS_TEST_PI"],
        "TMUX_TMPDIR": str(sockets),
        "PI_CODING_AGENT_DIR": str(folder / "agent"),
        **variables,
    }
    models = [sys.executable, str(SCRIPTS / "model_server.py"), f"--agent-dir={folder / 'agent'}"]
    with subprocess.Popen(models, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            environment = ready(child, home, url) | environment
            preset = PRESET.format(agent=child, model=agent_homes.BRANDS[child].model)
            (folder / "agent" / "subagents").mkdir()
            (folder / "agent" / "subagents" / "greeter.md").write_text(preset)
            carry_out([TMUXAGENTS, "integrate", agent], environment, project)
            said = carry_out([program, *words], environment, project)
            print(carry_out([TMUXAGENTS, "poll", "--all"], environment, project))
            return said
        finally:
            tmux = ["tmux", "-S", f"{sockets}/tmux-{os.getuid()}/tmuxagents", "kill-server"]
            subprocess.run(tmux, check=False, capture_output=True, timeout=10)
            server.terminate()


def main(agent: str, program: str, child: str) -> int:
    """Do the round; say whether the child's answer came back."""
    loopback_up()
    with tempfile.TemporaryDirectory(prefix="mcp-agent-", ignore_cleanup_errors=True) as folder:
        begun = time.monotonic()
        said = round_of(agent, program, child, Path(folder))
    print(f"  {agent} said after {time.monotonic() - begun:.1f} s: {said.strip()}")
    good = "The child said: Hello from the model server." in said
    how = f"launched, polled, answered by {child}" if good else "the answer did not come back"
    print(f"{agent}: {how}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
