"""The MCP server of the installed command. The tests talk to it in lines, as a client does."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.harness import alive, eventually, unread
from tests.status.watchers import COMMAND
from tests.tools.parents import WORKS, Parent
from tmuxagents.mcp.requests import Subcall
from tmuxagents.tools import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desk import Desk

STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


LAST_ANSWERS_S = 2.0  # instead of 20: the time to read for a client that has closed its end
IMPATIENT = f"""import sys
from tmuxagents.__main__ import main
from tmuxagents.mcp import server
server.LAST_ANSWERS_S = {LAST_ANSWERS_S}
main()"""


class Client:
    """A client, and the server that it started."""

    def __init__(self, desk: Desk, *options: str, impatient: bool = False) -> None:
        desk.home.meet_agent()
        self.server = subprocess.Popen(
            [*([sys.executable, "-c", IMPATIENT] if impatient else COMMAND), "mcp", *options],
            cwd=desk.home.project,
            env=desk.home.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.told: list[dict[str, Any]] = []  # notifications
        self._begun = b""
        self._ids = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.server.poll() is None:
            self.server.kill()
        self.server.communicate()

    def write(self, line: bytes) -> None:
        assert self.server.stdin
        self.server.stdin.write(line + b"\n")
        self.server.stdin.flush()

    def read(self, limit: float = 30.0) -> dict[str, Any]:
        """Return the next message."""
        assert self.server.stdout
        handle, deadline = self.server.stdout.fileno(), time.monotonic() + limit
        while b"\n" not in self._begun:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"nothing came in {limit} s"
            piece = os.read(handle, 65536)
            assert piece, "the server has left"
            self._begun += piece
        line, _, self._begun = self._begun.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, **params: Any) -> int:
        """Send a request; return its id."""
        self._ids += 1
        self.write(
            json.dumps({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}).encode()
        )
        return self._ids

    def tell(self, method: str, **params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def answer(self, own: int | None, limit: float = 30.0) -> dict[str, Any]:
        """Return the answer to a request. Messages that come before it are kept."""
        while True:
            message = self.read(limit)
            if "method" not in message and message["id"] == own:
                return message
            self.told.append(message)

    def result(self, method: str, **params: Any) -> dict[str, Any]:
        answer = self.answer(self.ask(method, **params))
        assert "result" in answer, answer
        body: dict[str, Any] = answer["result"]
        return body

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.result("tools/call", name=tool, arguments=arguments)

    def begin(self, task: str) -> int:
        """Begin a call that takes long."""
        return self.ask("tools/call", name="subagent", arguments={"preset": "scout", "task": task})

    def processes(self) -> list[int]:
        """Return the processes that carry out the calls."""
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]


def text(result: dict[str, Any]) -> str:
    said: str = result["content"][0]["text"]
    return said


@pytest.fixture
def parent(desk: Desk) -> Parent:
    return Parent(desk)


@pytest.fixture
def client(parent: Parent) -> Iterator[Client]:
    with Client(parent.desk) as made:
        yield made


def ending(parent: Parent, run_id: str) -> tuple[str, str]:
    result = parent.desk.result(run_id)
    return result["status"], result["reason"]


# --- a session with it ------------------------------------------------------------------------------------


def test_launch_look_and_answer_after_a_handshake(client: Client) -> None:
    begun = client.result(
        "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t"}
    )
    assert (begun["protocolVersion"], begun["serverInfo"]["name"]) == ("2025-06-18", "tmuxagents")
    client.tell("notifications/initialized")
    tools = client.result("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in catalogue.TOOLS]
    started = client.call("background_agent", preset="scout", task="done Found.")
    assert (started["isError"], text(started).startswith("Started scout in the background")) == (False, True)
    run_id = started["structuredContent"]["run"]["runId"]

    def answer() -> str:
        return text(client.call("background_agent_status", runId=run_id)).partition("\n\n")[2]

    assert eventually(answer) == "Found."
    done = client.call("subagent", preset="scout", task="done Seen.")
    assert text(done).endswith("\n\nSeen.")
    assert done["structuredContent"]["text"] == text(done)
    assert done["structuredContent"]["status"] == "completed"
    assert "output" not in done["structuredContent"]["runs"][0]


def test_the_stateless_protocol_needs_no_handshake(client: Client) -> None:
    found = client.result("server/discover", _meta=STATELESS)
    assert (found["supportedVersions"], found["resultType"]) == (["2026-07-28"], "complete")
    done = client.result("tools/call", name="list_subagent_profiles", arguments={}, _meta=STATELESS)
    assert (done["resultType"], done["structuredContent"]["count"]) == ("complete", 2)


def test_progress_goes_to_who_asks_for_it_and_grows(client: Client) -> None:
    script = 'begin\ntool read {"path":"a.py"}\nsleep 0.5\nanswer stop fine\nsettle'
    arguments = {"preset": "scout", "task": script}
    meta = {"progressToken": "p-1"}
    own = client.ask("tools/call", name="subagent", arguments=arguments, _meta=meta)
    assert text(client.answer(own)["result"]).endswith("fine")
    told = [message["params"] for message in client.told]
    assert {message["method"] for message in client.told} == {"notifications/progress"}
    assert {params["progressToken"] for params in told} == {"p-1"}
    assert [params["progress"] for params in told] == list(range(1, len(told) + 1))
    assert "Finished reading a.py" in [params["message"] for params in told]
    client.told.clear()
    client.call("subagent", **arguments)
    assert client.told == []


def test_calls_run_beside_one_another_and_it_answers_meanwhile(client: Client, tmp_path: Path) -> None:
    slow = client.begin(f"begin\ngate {tmp_path / 'go'}\nanswer stop slow\nsettle")
    quick = client.begin("done quick")
    assert client.result("ping") == {}
    assert client.read()["id"] == quick
    (tmp_path / "go").touch()
    assert client.read()["id"] == slow


# --- resources, prompts, notices --------------------------------------------------------------------------


def notices(client: Client) -> list[dict[str, Any]]:
    return [told["params"] for told in client.told if told["method"] == "notifications/message"]


def noticed(client: Client, count: int) -> list[dict[str, Any]]:
    """Wait until the client has this number of messages about ends; return them."""

    def look() -> bool:
        client.result("ping")
        return len(notices(client)) >= count

    eventually(look, 30)
    return notices(client)


def test_what_runs_came_to_is_read_as_resources(parent: Parent, client: Client) -> None:
    done = client.call("subagent", preset="scout", task="done The whole answer.")
    run_id = done["structuredContent"]["runs"][0]["runId"]
    listed = client.result("resources/list")["resources"]
    assert [one["uri"] for one in listed] == [
        f"tmuxagents://runs/{run_id}/{kind}" for kind in ("output", "transcript", "result")
    ]
    texts = {}
    for one in listed:
        (content,) = client.result("resources/read", uri=one["uri"])["contents"]
        assert (content["uri"], content["mimeType"]) == (one["uri"], one["mimeType"])
        texts[one["name"].partition("/")[2]] = content["text"]
    assert (texts["output"], "The whole answer." in texts["transcript"]) == ("The whole answer.", True)
    assert json.loads(texts["result"]) == parent.desk.result(run_id)
    by_its_beginning = client.result("resources/read", uri=f"tmuxagents://runs/{run_id[:6]}/output")
    assert by_its_beginning["contents"][0]["text"] == "The whole answer."
    for uri in ("tmuxagents://runs/ffffffff/output", "tmuxagents://runs/../output", f"x{run_id}", "file:///"):
        error = client.answer(client.ask("resources/read", uri=uri))["error"]
        assert (error["code"], error["data"]["uri"]) == (-32002, uri)
    for wrong in (None, 7, "", "a\0b", "x" * 5000):
        assert client.answer(client.ask("resources/read", uri=wrong))["error"]["code"] == -32602


def test_each_end_in_the_background_is_told_once_to_who_launched_it(parent: Parent, client: Client) -> None:
    client.result("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t"})
    with Client(parent.desk) as other:
        other.result("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "o"})
        good = client.call("background_agent", preset="scout", task="done Found.", name="good")
        noticed(client, 1)
        client.result("logging/setLevel", level="warning")
        client.call("background_agent", preset="scout", task="done Unheard.")
        client.call("subagent", preset="scout", task="done In the foreground.")
        bad = client.call("background_agent", preset="scout", task="begin\nanswer length half\nsettle")
        first, second = noticed(client, 2)
        other.result("ping")
        assert notices(other) == []
    runs = [one["structuredContent"]["run"]["runId"] for one in (good, bad)]
    assert [(told["level"], told["data"]["runId"]) for told in (first, second)] == [
        ("info", runs[0]),
        ("warning", runs[1]),
    ]
    assert first["data"]["text"] == f"good {runs[0]} completed"
    assert second["data"]["text"] == f"scout {runs[1]} failed (length)"


def test_without_a_session_only_a_request_that_asks_for_it_hears_of_an_end(
    parent: Parent, client: Client
) -> None:
    arguments = {"preset": "scout", "task": "done Found."}
    own = client.ask("tools/call", name="background_agent", arguments=arguments, _meta=STATELESS)
    run_id = client.answer(own)["result"]["structuredContent"]["run"]["runId"]
    parent.desk.result(run_id)
    client.result("ping", _meta=STATELESS)
    assert client.told == []
    asking = {**STATELESS, "io.modelcontextprotocol/logLevel": "info"}

    def look() -> bool:
        client.result("ping", _meta=asking)
        return bool(notices(client))

    eventually(look, 30)
    client.result("ping", _meta=asking)
    assert [told["data"]["runId"] for told in notices(client)] == [run_id]


# --- what is wrong ----------------------------------------------------------------------------------------


def test_what_is_wrong_with_a_call_is_for_the_model_to_read(client: Client) -> None:
    for name, arguments, words in (
        ("subagnet", {}, 'There is no tool "subagnet".'),
        ("subagent", {"task": "x"}, "preset is missing"),
        ("subagent", [], "The arguments of subagent must be an object"),
        ("stop_agent", {"runId": "X"}, 'Run "X" not found.'),
        ("--help", {}, 'There is no tool "--help".'),
        ("stop_agent", {"runId": "x" * 3_000_000}, "runId is too long: 3000000 characters, at most 4096"),
    ):
        done = client.result("tools/call", name=name, arguments=arguments)
        assert (done["isError"], text(done).splitlines()[0]) == (True, words)
        assert done["structuredContent"]["error"]["message"] == words


def test_what_is_wrong_with_a_request_is_an_error_of_the_protocol(client: Client) -> None:
    for name in (None, 7, "", "a\0b", "\ud800", "x" * 200_000):
        assert client.answer(client.ask("tools/call", name=name))["error"]["code"] == -32602
    assert client.answer(client.ask("no/such"))["error"]["code"] == -32601
    own = client.begin(WORKS)
    client.write(
        json.dumps({"jsonrpc": "2.0", "id": own, "method": "tools/call", "params": {"name": "x"}}).encode()
    )
    assert client.answer(own)["error"]["message"] == "This id is in use."


def test_a_thousand_malformed_messages_change_nothing(client: Client) -> None:
    client.result("ping")
    bad = [
        *(b"{", b"nonsense", b"\xff\xfe\x00", b"[" * 5000, b"[]", b"null", b"{}", b'"x"', b"-1e999"),
        *(b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"jsonrpc":"1.0","id":1}'),
        *(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":3}', b'{"jsonrpc":"2.0","id":7,"method":null}'),
        b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":""}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
    ]
    answers = 0
    for number in range(1000):
        client.write(bad[number % len(bad)])
        if number % len(bad) != len(bad) - 1:  # the last of them is a notification, which gets no answer
            assert "error" in client.read()
            answers += 1
    assert (client.result("ping"), answers > 900) == ({}, True)


def test_empty_lines_and_pieces_of_a_line_are_no_trouble(client: Client) -> None:
    assert client.server.stdin
    client.write(b"\r")
    client.write(b"")
    for piece in (b'{"jsonrpc":"2.0",', b'"id":1,"meth', b'od":"ping"}'):
        client.server.stdin.write(piece)
        client.server.stdin.flush()
    client.write(b'\r\n{"jsonrpc":"2.0","id":2,"method":"ping"}')
    assert [client.read()["id"], client.read()["id"]] == [1, 2]


def test_a_message_without_end_is_refused_and_the_next_one_is_heard(client: Client) -> None:
    client.write(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (17 * 1024 * 1024))
    assert client.read()["error"]["message"] == "This message is too long."
    assert client.result("ping") == {}


def test_a_call_that_is_killed_is_an_error_and_no_more(client: Client) -> None:
    own = client.begin(WORKS)
    (pid,) = eventually(client.processes)
    os.kill(pid, signal.SIGKILL)
    done = client.answer(own)["result"]
    assert (done["isError"], text(done)) == (True, "The call failed (exit code -9).")
    assert client.result("ping") == {}


def test_too_many_calls_at_once_are_refused(client: Client) -> None:
    started = client.call("background_agent", preset="scout", task=WORKS)
    waits = {"runId": started["structuredContent"]["run"]["runId"], "wait": 240}
    for _ in range(32):
        client.ask("tools/call", name="background_agent_status", arguments=waits)
    done = client.answer(client.begin("done x"))["result"]
    assert (done["isError"], text(done)) == (True, "32 calls are at work: wait for one of them.")
    for pid in client.processes():
        os.kill(pid, signal.SIGINT)


# --- ended ------------------------------------------------------------------------------------------------


def test_a_cancelled_call_ends_its_children_and_has_no_answer(
    parent: Parent, client: Client, tmp_path: Path
) -> None:
    own = client.begin(f"pid a\n{WORKS}")
    other = client.begin(f"pid b\nbegin\ngate {tmp_path / 'go'}\nanswer stop x\nsettle")
    eventually(lambda: {"a", "b"} <= set(parent.desk.home.recorded()))
    client.tell("notifications/cancelled", requestId=own, reason="enough")
    eventually(lambda: not alive(parent.desk.home.recorded()["a"]))
    (tmp_path / "go").touch()
    assert client.read()["id"] == other
    endings = {ending(parent, run_id) for run_id in parent.desk.runs()}
    assert endings == {("aborted", "parent"), ("completed", "done")}
    assert client.result("ping") == {}
    assert eventually(lambda: client.processes() == [])


def test_a_cancel_in_the_middle_of_a_calls_start_is_not_lost(
    parent: Parent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in parent.desk.home.environment.items():  # a call inherits ours
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(parent.desk.home.project)
    arguments = json.dumps({"preset": "scout", "task": WORKS}).encode()
    call = Subcall(["call", "--stream", "--", "subagent", "-"], arguments)
    call.cancel()
    lines: list[bytes] = []

    def all_said() -> bool:
        lines.extend(call.lines())
        return call.is_over

    eventually(all_said, 30)
    assert call.close() == 130
    (run,) = json.loads(lines[-1])["details"]["runs"]
    assert (run["status"], run["reason"]) == ("aborted", "parent")


def leave(client: Client, how: str) -> None:
    """Close the end from which the server reads, or send a signal to the server."""
    if how != "leaves":
        client.server.send_signal(signal.Signals[how])
        return
    assert client.server.stdin
    client.server.stdin.close()
    client.server.stdin = None


@pytest.mark.parametrize("how", ["leaves", "SIGTERM", "SIGKILL"])
def test_who_leaves_ends_its_calls_and_not_what_is_in_the_background(
    parent: Parent, client: Client, how: str
) -> None:
    background = client.call("background_agent", preset="scout", task=f"pid b\n{WORKS}")
    run_id = background["structuredContent"]["run"]["runId"]
    client.begin(f"pid a\n{WORKS}")
    eventually(lambda: {"a", "b"} <= set(parent.desk.home.recorded()))
    leave(client, how)
    assert client.server.wait(10) == (-signal.SIGKILL if how == "SIGKILL" else 0)
    (foreground,) = set(parent.desk.runs()) - {run_id}
    assert ending(parent, foreground) == ("aborted", "parent")
    assert parent("background_agent_status", runId=run_id).runs[0]["status"] == "running"


def test_who_asks_and_closes_its_end_at_once_is_answered_still(client: Client) -> None:
    launch = {"name": "background_agent", "arguments": {"preset": "scout", "task": "done x"}}
    asked = [client.ask("tools/call", **launch), client.ask("tools/list"), client.ask("resources/list")]
    assert client.server.stdin
    client.server.stdin.close()
    client.server.stdin = None
    answers = {client.read()["id"] for _ in asked}
    assert (answers, client.server.wait(30)) == (set(asked), 0)


def test_a_pipe_that_never_blocks_loses_nothing(parent: Parent) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    home = parent.desk.home
    argv = [*COMMAND, "mcp"]
    with subprocess.Popen(
        argv, cwd=home.project, env=home.environment, stdin=subprocess.PIPE, stdout=writing
    ) as server:
        os.close(writing)
        assert server.stdin
        for number in range(40):  # more than a pipe holds
            server.stdin.write(b'{"jsonrpc": "2.0", "id": %d, "method": "tools/list"}\n' % number)
        server.stdin.close()
        eventually(lambda: unread(reading) > 50_000)
        with open(reading, "rb") as file:
            assert [json.loads(line)["id"] for line in file] == list(range(40))
    assert server.returncode == 0


@pytest.mark.parametrize("how", ["leaves", "SIGINT", "SIGTERM", "SIGHUP"])
def test_a_client_that_does_not_read_keeps_nobody(parent: Parent, how: str) -> None:
    with Client(parent.desk, impatient=True) as client:
        client.begin(f"pid a\n{WORKS}")
        eventually(lambda: "a" in parent.desk.home.recorded())
        for _ in range(40):  # more than a pipe holds
            client.ask("tools/list")
        assert client.server.stdout
        answers = client.server.stdout.fileno()
        full = fcntl.fcntl(answers, fcntl.F_GETPIPE_SZ)
        # Some room stays at the end of each page that the next answer does not fit into.
        eventually(lambda: unread(answers) > full // 2)
        leave(client, how)
        assert client.server.wait(LAST_ANSWERS_S + 10) == 0
    (run_id,) = parent.desk.runs()
    eventually(lambda: parent.desk.folder(run_id).joinpath("result.json").exists())
    assert ending(parent, run_id) == ("aborted", "parent")


def test_a_call_that_takes_too_long_is_answered_and_goes_on(parent: Parent) -> None:
    go = parent.desk.home.folder / "go"
    with Client(parent.desk, "--limit", "3s") as client:  # by then it works, on a busy machine, too
        done = client.answer(client.begin(f"begin\ngate {go}\nanswer stop Late.\nsettle"))["result"]
        go.touch()
        first, second = text(done).splitlines()
        run_id = done["structuredContent"]["runs"][0]["runId"]
        assert first == "Not done after 3 s. It goes on; ask again later:"
        assert second == f'scout running: background_agent_status {{"runId": "{run_id}"}}'
        assert (done["isError"], done["structuredContent"]["status"]) == (False, "running")
        assert parent.desk.result(run_id)["status"] == "completed"
        assert text(client.call("background_agent_status", runId=run_id)).endswith("\n\nLate.")


@pytest.mark.parametrize("how", ["leaves", "cancels", "SIGTERM", "SIGKILL"])
def test_a_call_that_goes_on_does_so_without_its_client(parent: Parent, tmp_path: Path, how: str) -> None:
    task = f"begin\ngate {tmp_path / 'go'}\nanswer stop x\nsettle"
    tasks = [{"preset": "scout", "task": task} for _ in range(5)]
    with Client(parent.desk, "--limit", "1") as client:
        own = client.ask("tools/call", name="subagent", arguments={"tasks": tasks})
        assert text(client.answer(own)["result"]).startswith("Not done after 1 s. It goes on;")
        if how == "cancels":
            client.tell("notifications/cancelled", requestId=own)
            client.result("ping")
        elif how != "leaves":
            client.server.send_signal(signal.Signals[how])
        assert client.server.stdin
        client.server.stdin.close()
        client.server.stdin = None
        client.server.wait(10)
        (tmp_path / "go").touch()  # the call keeps our stderr open until it ends
    eventually(
        lambda: len(parent.desk.made()) == len(tasks), 30
    )  # the last one begins when another has ended
    assert {parent.desk.result(run_id)["status"] for run_id in parent.desk.made()} == {"completed"}


# --- a file -----------------------------------------------------------------------------------------------


def read_from(parent: Parent, file: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
    """Let a server read a file; return its exit code and its messages."""
    with file.open("rb") as requests:
        done = parent.desk("mcp", *options, stdin=requests)
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def request(own: int, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": own, "method": method, "params": params})


def test_all_that_a_file_asks_for_is_answered(parent: Parent, tmp_path: Path) -> None:
    child = {"preset": "scout", "task": "begin\nsleep 1\nanswer stop Found.\nsettle"}
    lines = [request(0, "tools/call", name="subagent", arguments=child), "", "{"]
    lines += [request(own, "tools/call", name="list_subagent_profiles") for own in range(1, 40)]  # over 32
    lines.append(request(40, "ping"))
    file = tmp_path / "requests"
    file.write_text("\n".join(lines))  # the last line has no end
    code, said = read_from(parent, file)
    answers = {message["id"]: message for message in said}
    assert (code, len(said), set(answers)) == (0, 42, {None, *range(41)})
    assert answers[None]["error"]["code"] == -32700
    assert "Found." in text(answers[0]["result"])
    assert not any(answer["result"].get("isError") for own, answer in answers.items() if own is not None)


def test_a_file_without_requests_is_answered_by_nothing(parent: Parent) -> None:
    assert read_from(parent, Path(os.devnull)) == (0, [])


def test_a_call_of_a_file_that_takes_too_long_is_answered_and_goes_on(parent: Parent, tmp_path: Path) -> None:
    child = {"preset": "scout", "task": "begin\nsleep 2\nanswer stop Late.\nsettle"}
    file = tmp_path / "requests"
    file.write_text(request(1, "tools/call", name="subagent", arguments=child) + "\n")
    code, (answer,) = read_from(parent, file, "--limit", "1")
    assert (code, text(answer["result"]).splitlines()[0]) == (
        0,
        "Not done after 1 s. It goes on; ask again later:",
    )
    (run_id,) = parent.desk.made()
    assert parent.desk.result(run_id)["output"] == "Late."


# --- where it stands --------------------------------------------------------------------------------------


def test_a_child_is_offered_nothing_and_refused(parent: Parent) -> None:
    parent.desk.home.environment["PI_SUBAGENTS_CHILD"] = "1"
    with Client(parent.desk) as client:
        assert client.result("tools/list")["tools"] == client.result("resources/list")["resources"] == []
        assert client.answer(client.ask("resources/read", uri="tmuxagents://runs/x/output"))["error"]
        done = client.call("subagent", preset="scout", task="x")
    assert (done["isError"], done["structuredContent"]["error"]["kind"]) == (True, "nested")


def test_what_lies_in_the_project_is_not_run(parent: Parent, client: Client) -> None:
    for name in ("tmuxagents", "json", "click"):
        folder = parent.desk.home.project / name
        folder.mkdir()
        (folder / "__init__.py").write_text("raise SystemExit('a file of the project was run')\n")
    assert client.call("list_subagent_profiles")["isError"] is False


def test_the_tmux_server_is_the_one_that_was_named(parent: Parent) -> None:
    with Client(parent.desk, "-L", "elsewhere") as client:
        done = client.call("subagent", preset="scout", task="done x")
    (run_id,) = parent.desk.windows("elsewhere")
    assert done["structuredContent"]["runs"][0]["runId"] == run_id
