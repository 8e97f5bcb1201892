"""Attacks by the whole program: each test fails if its attack works. docs/security.md names them all."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from tests.apart import NOBODY
from tests.harness import TmuxServer, alive, eventually
from tests.presets.shelf import Shelf
from tests.status.watchers import COMMAND
from tests.torture.siege import OTHER_USER
from tests.torture.walls import attempts
from tmuxagents import __main__ as way_in
from tmuxagents.attach import attach
from tmuxagents.cli import HIDDEN, VERBS
from tmuxagents.cli.group import tmuxagents
from tmuxagents.errors import NotPossible
from tmuxagents.runs import directory
from tmuxagents.runs.inspect import inspect
from tmuxagents.system import process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desk import Desk

WORKS = "begin\nanswer toolUse so far\nsleep 300"
EVIL = "\x1b]52;c;aGk=\x07\x1b[?1049h\x1bP1$t\x1b\\\x9b31m\x1b]0;title\x1b\\\u202e\x1b[6n\x07"
OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
SECRET, TASK_SECRET = "sk-attack-0123456789", "the-task-is-nobodys-business"


def mark_of(desk: Desk) -> Path:
    return desk.home.folder / "mark"


# --- shell execution --------------------------------------------------------------------------------------


def test_no_name_of_a_preset_model_or_file_is_run_by_tmux_or_a_shell(desk: Desk) -> None:
    mark = mark_of(desk)
    attack = f"#(touch {mark}) $(touch {mark}) `touch {mark}`; touch {mark} #{{E:pid}}"
    shelf = Shelf(desk.home)
    header = f"name: scout\ndescription: {json.dumps(attack)}\nmodel: {json.dumps('mock/' + attack)}\n"
    shelf.put(shelf.own / "scout.md", f"---\n{header}---\n{attack}\n")
    shelf.put(shelf.own / f"#(touch {mark.name});.md", "---\nname: other\ndescription: x\n---\n")
    note = desk.home.project / f"note#(touch {mark.name});.txt"
    note.write_text(attack)
    with TmuxServer(desk.home.folder) as server:
        inside = {"TMUX": f"{server.socket},{server.pid},0", "TMUXAGENTS_DEFAULT_MODEL": ""}
        for _ in range(4):  # a client may end its own job before that has run: once is no proof
            done = desk(
                "launch", "-p", "scout", "--file", note.name, "-m", "mock/x", "done fine", variables=inside
            )
            assert done.returncode == 0, done.stderr
            assert desk.result(done.stdout.strip())["status"] == "completed"
            desk("launch", "-p", "scout", f"done {attack}", variables=inside)  # its model is unknown
            desk("launch", "-p", attack, "done x", variables=inside)
            desk("presets", "list")
        shown = server.run("list-windows", "-a", "-F", "#{window_name} #{pane_title}")
        server.run("display-message", "-p", "#{E:@tmuxagents_status}")
        assert "touch" not in shown
    assert not list(desk.home.folder.rglob("mark"))


# --- escape sequences -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("poll", f"run{EVIL}"),
        ("output", EVIL),
        ("attach", EVIL),
        ("stop", f"{EVIL}x"),
        (f"launch{EVIL}", "x"),
        ("launch", f"--{EVIL}", "x"),
        ("launch", "-p", f"scout{EVIL}", "x"),
        ("launch", "-m", f"model{EVIL}", "x"),
        ("launch", "--cwd", f"/nowhere{EVIL}", "x"),
        ("launch", "--name", EVIL, "x"),
        ("launch", "--file", f"note{EVIL}", "x"),
        ("launch", "-L", f"socket{EVIL}", "x"),
        ("call", f"tool{EVIL}", "{}"),
        ("call", "subagent", f'{{"{EVIL}": 1}}'),
        ("schema", EVIL),
        ("presets", "check", f"/nowhere{EVIL}"),
    ],
    ids=repr,
)
def test_an_error_does_nothing_to_the_terminal_it_is_shown_on(desk: Desk, arguments: tuple[str, ...]) -> None:
    code, shown = on_terminal(desk, *arguments)
    assert code in (2, 3, 4) or "--file" in arguments  # a file that is not there is told of in the prompt
    found = OBEYED.search(COLOUR.sub("", shown))
    assert found is None, ascii(shown)


def on_terminal(desk: Desk, *arguments: str) -> tuple[int, str]:
    """Run a command on a terminal; return how it ended and all that the terminal was sent."""
    controller, line = pty.openpty()
    environment = {**desk.home.environment, "TERM": "xterm"}
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=desk.home.project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=line,
        stderr=line,
    ) as command:
        os.close(line)
        shown = b""
        with suppress(OSError):
            while piece := os.read(controller, 65536):
                shown += piece
    os.close(controller)
    return command.returncode, shown.decode("utf-8", "replace").replace("\r\n", "\n")


def test_a_runs_texts_do_nothing_to_the_terminal_of_who_looks(desk: Desk) -> None:
    steps = f"stderr {EVIL}\nbegin\ntool bash {json.dumps({'command': EVIL})}\nanswer error {EVIL}bad\nsettle"
    run_id = desk.launch(steps)
    desk.result(run_id)
    for arguments in (("poll", "-a"), ("transcript", run_id), ("output", run_id), ("poll", run_id)):
        code, shown = on_terminal(desk, *arguments)
        assert code == int("output" in arguments)  # the run has failed
        assert OBEYED.search(COLOUR.sub("", shown)) is None, ascii(shown)


# --- what others can see ----------------------------------------------------------------------------------


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """A desk that is watched, as all are but those of the tests: what is attacked is the whole."""
    desk.home.be_watched()
    return desk


@pytest.fixture
def at_work(desk: Desk) -> Iterator[str]:
    """A run that works, of a task and with a variable that are nobody's business."""
    run_id = desk.launch(f"{WORKS}\n{TASK_SECRET}", variables={"API_KEY": SECRET})
    desk.wait_for(run_id, "so far")
    yield run_id
    desk("stop", run_id)


def test_neither_task_nor_environment_stands_where_others_look(desk: Desk, at_work: str) -> None:
    for words in command_lines():
        assert SECRET.encode() not in words
        assert TASK_SECRET.encode() not in words
    panes = "#{pane_start_command} #{pane_title} #{window_name} #{session_name} #{pane_current_command}"
    seen = [
        desk.tmux("show-environment", "-g"),
        desk.tmux("show-environment", "-g", "-h"),
        desk.tmux("show-options", "-A", "-g"),
        desk.tmux("show-options", "-w", "-t", desk.windows()[at_work]),
        desk.tmux("list-panes", "-a", "-F", panes),
    ]
    assert not [text for text in seen if SECRET in text or TASK_SECRET in text]
    assert SECRET not in "".join(_texts(desk.home.state))
    server = desk.tmux("display-message", "-p", "#{pid}")
    for ours in (int(server), *desk.watchers()):
        assert SECRET.encode() not in Path(f"/proc/{ours}/environ").read_bytes()


def command_lines() -> Iterator[bytes]:
    """Yield the command line of each process there is."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            yield Path(f"/proc/{pid}/cmdline").read_bytes()


def _texts(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes().decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("run", "--timeout=60", "--name", "scout", "TASK"), "run --timeout... --name ... ..."),
        (("-L", "tmuxagents", "run", "--", "TASK"), "-L tmuxagents run -- ..."),
        (("call", "subagent", "JSON", "--stream"), "call ... ... --stream"),
    ],
    ids=["run", "of a server", "call"],
)
def test_what_somebody_typed_does_not_stand_in_ps_while_the_child_works(
    desk: Desk, words: tuple[str, ...], shown: str
) -> None:
    task = f"pid child\n{WORKS}\n{TASK_SECRET}"
    given = {"TASK": task, "JSON": json.dumps({"preset": "scout", "task": task})}
    shelf = Shelf(desk.home)
    shelf.put(shelf.own / "scout.md", "---\nname: scout\ndescription: x\n---\nx\n")
    with desk.start(*(given.get(word, word) for word in words)) as command:
        try:
            eventually(lambda: "child" in desk.home.recorded())
            assert not [line for line in command_lines() if TASK_SECRET.encode() in line]
            line = Path(f"/proc/{command.pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ")
            assert line.decode().endswith(f"{Path(*COMMAND)} {shown}")
        finally:
            command.send_signal(signal.SIGINT)
            command.communicate(timeout=30)


# Another program that we start tells what it sees of who has started it.
SPY = '#!/bin/sh\ntr "\\0" " " < /proc/$PPID/cmdline >> {seen}\nexec {real} "$@"\n'


def test_a_verb_that_takes_words_has_hidden_them_before_it_does_anything(desk: Desk) -> None:
    seen, folder = desk.home.folder / "seen", desk.home.folder / "bin"
    folder.mkdir()
    for name, real in (("tmux", shutil.which("tmux")), ("editor", "true")):
        (folder / name).write_text(SPY.format(seen=seen, real=real))
        (folder / name).chmod(0o755)
    more = {"PATH": f"{folder}:{desk.home.environment['PATH']}", "EDITOR": str(folder / "editor")}
    for verb, *words in (
        ("launch", f"done {TASK_SECRET}"),
        ("resume", "@last", f"done {TASK_SECRET}"),
        ("presets", "new", "x", "--editor", "-d", TASK_SECRET, f"--prompt={TASK_SECRET}"),
    ):
        seen.unlink(missing_ok=True)
        desk("poll", "--wait", "@last")
        desk(verb, *words, variables=more, cold=True)  # only a program has words of its own to hide
        assert f"tmuxagents {verb} ..." in seen.read_text()
        assert TASK_SECRET not in seen.read_text()


def test_each_verb_that_takes_words_is_known_as_one_before_the_command_line_is_read() -> None:
    worded = {
        verb
        for verb in (*VERBS, *HIDDEN)
        for command in subcommands(tmuxagents.get_command(click.Context(tmuxagents), verb))
        for parameter in command.params
        if {parameter.name} & {"task", "text", "arguments", "line", "prompt", "description"}
    }
    assert worded == way_in._WITH_TEXT


def subcommands(command: click.Command | None) -> Iterator[click.Command]:
    """Yield a verb and the verbs below it."""
    assert command is not None
    yield command
    if isinstance(command, click.Group):
        for one in command.commands.values():
            yield from subcommands(one)


def test_all_that_is_written_is_for_its_user_alone(desk: Desk, at_work: str) -> None:
    assert desk.folder(at_work).is_dir()
    for path in (desk.home.state, *desk.home.state.rglob("*")):
        facts = path.lstat()
        if not stat.S_ISLNK(facts.st_mode):
            assert facts.st_mode & 0o077 == 0, path
    assert stat.S_IMODE((desk.sockets).stat().st_mode) & 0o077 == 0


def test_another_user_reads_writes_and_stops_nothing(desk: Desk, at_work: str) -> None:
    folder = desk.folder(at_work)
    for path in (desk.home.folder, *desk.home.folder.parents):
        if path.stat().st_uid == 0 and str(path).startswith(
            "/tmp/"
        ):  # as if the home itself were open to all
            path.chmod(path.stat().st_mode | 0o055)
    for attempt in attempts(desk, at_work):
        done = subprocess.run(
            [*OTHER_USER, *attempt],
            capture_output=True,
            text=True,
            check=False,
            timeout=20,
        )
        assert done.returncode != 0, attempt
        assert TASK_SECRET not in done.stdout
    assert not inspect(str(folder)).ended


# --- a state directory of another user --------------------------------------------------------------------


@pytest.fixture
def planted(desk: Desk) -> Path:
    """A run that another user has laid out, in a state directory of theirs: its agent leaves a mark."""
    run = desk.home.run("done x", agentCommand=["/bin/touch", str(mark_of(desk))]).folder
    for path in (desk.home.state, *desk.home.state.rglob("*")):
        os.lchown(path, NOBODY, NOBODY)
    return run


@pytest.mark.parametrize(
    "line",
    [
        *("poll", "poll --json", "poll RUN", "statusline", "wait RUN", "output RUN", "events RUN"),
        *("launch x", "run x", "resume RUN x", "retry RUN", "stop RUN", "attach RUN"),
        *("prune", "prune RUN", "send RUN x", "_wrap DIR", "_watch", "layouts open grid"),
    ],
)
def test_no_state_directory_of_another_user_is_used(desk: Desk, planted: Path, line: str) -> None:
    words = [{"RUN": planted.name, "DIR": str(planted)}.get(word, word) for word in line.split()]
    before = sorted(desk.home.state.rglob("*"))
    done = desk(*words)
    said = json.loads(done.stdout)["error"]["message"] if "--json" in words else done.stderr + done.stdout
    assert done.returncode == 3, said
    folder = desk.home.state if words[0] == "_wrap" else "it"
    assert f"is not used, since {folder} belongs to nobody (user 65534)." in said
    assert "--json" in words or "hint: work as that user, or set TMUXAGENTS_HOME to a folder" in said
    assert sorted(desk.home.state.rglob("*")) == before
    assert not mark_of(desk).exists()


def test_doctor_says_whose_a_state_directory_is(desk: Desk, planted: Path) -> None:
    assert planted.is_dir()
    checks = json.loads(desk("doctor", "--json").stdout)["checks"]
    (told,) = (check for check in checks if check["name"] == "state")
    assert (told["state"], "it belongs to nobody" in told["message"]) == ("broken", True)
    assert {"registry", "runs", "watcher"}.isdisjoint(check["name"] for check in checks)


def test_a_run_of_another_user_inside_our_own_state_directory_is_none(desk: Desk) -> None:
    planted = desk.home.run("done x", agentCommand=["/bin/touch", str(mark_of(desk))]).folder
    for path in (planted, *planted.iterdir()):
        os.lchown(path, NOBODY, NOBODY)
    assert planted.name not in desk("poll", "-aA").stdout
    assert desk("_wrap", str(planted)).returncode == 3
    assert desk("retry", planted.name).returncode == 4
    assert not mark_of(desk).exists()
    assert {path.name for path in planted.iterdir()} == {"meta.json", "prompt.txt"}


# --- ways out of the folders ------------------------------------------------------------------------------


REFERENCES = [
    *(
        "../0123456789abcdef",
        "OUTSIDE",
        "runs/../OUTSIDE",
        "",
        "*",
        "..",
        ".",
        "/",
        " ",
        "%2e%2e",
        "-1",
        "x\ny",
    ),
    *("a" * 4096, "0123456789ABCDEF", "\uff11234567890abcdef", "../../0123456789abcdef"),
]


@pytest.mark.parametrize(
    "verb", ["poll", "output", "transcript", "events", "stop", "attach", "retry", "prune"]
)
def test_no_reference_leads_out_of_the_runs(desk: Desk, verb: str) -> None:
    desk.launch("done x")
    outside = desk.home.folder / "0123456789abcdef"
    outside.mkdir()
    (outside / "meta.json").write_text(json.dumps({"v": 1, "runId": outside.name, "task": "planted"}))
    (outside / "result.json").write_text(json.dumps({"status": "completed", "reason": "done"}))
    before = sorted(path.name for path in outside.iterdir())
    for reference in REFERENCES if verb == "poll" else REFERENCES[:5]:
        reference = reference.replace("OUTSIDE", str(outside))  # noqa: PLW2901  (it is known only now)
        done = desk(verb, "--json", "--", reference)
        error = json.loads(done.stdout)["error"]
        assert (done.returncode, error["exit"]) in ((2, 2), (4, 4)), (reference, done.stdout)
        assert "\n" not in error["message"]
        assert len(error["message"]) < 300
    assert sorted(path.name for path in outside.iterdir()) == before


def test_a_run_that_a_clone_brings_along_is_none(desk: Desk) -> None:
    real = desk.launch("done x")
    desk.result(real)
    planted = desk.home.project / ".pi" / "subagents" / "runs" / "fedcba9876543210"
    planted.mkdir(parents=True)
    meta = {
        "v": 1,
        "runId": planted.name,
        "task": "planted",
        "project": str(desk.home.project),
        "createdAt": 2e9,
    }
    (planted / "meta.json").write_text(json.dumps(meta))
    (planted / "result.json").write_text(
        json.dumps({"status": "completed", "reason": "done", "output": "evil"})
    )
    shown = json.loads(desk("poll", "-A", "-a", "--json").stdout)["runs"]
    assert [run["runId"] for run in shown] == [real]
    assert desk("output", planted.name).returncode == 4
    assert "evil" not in desk("output", "@last").stdout


# --- a hostile child --------------------------------------------------------------------------------------


def ended(result: dict[str, Any]) -> tuple[str, str]:
    return result["status"], result["reason"]


def test_a_plan_that_a_child_writes_over_is_there_again_at_its_end(desk: Desk) -> None:
    honest, forged = desk.launch("done fine"), desk.launch("--name", "scout", "forge_plan\ndone fine")
    assert [desk.result(run_id)["output"] for run_id in (honest, forged)] == ["fine", "fine"]
    row = json.loads(desk("poll", "scout", "--json").stdout)["runs"][0]
    assert (row["runId"], row["status"], row["task"]) == (forged, "completed", "forge_plan\ndone fine")
    of_honest = [(desk.folder(honest) / name).stat().st_mtime_ns for name in ("meta.json", "wrapper.json")]
    assert of_honest == sorted(of_honest)  # nobody has touched it since


def test_events_that_a_child_forges_change_no_ending(desk: Desk) -> None:
    for steps in ("answer error 401: no\nsettle", "exit 4", "answer length half\nsettle"):
        forged = desk.launch(f"begin\nforge_events\nforge\n{steps}")
        honest = desk.launch(f"begin\n{steps}")
        assert ended(desk.result(forged)) == ended(desk.result(honest))
        assert desk.result(forged)["output"] != "forged"


def test_a_lock_that_a_child_holds_keeps_nobody_from_the_truth(desk: Desk) -> None:
    fine = desk.launch("hold_lock\ndone fine")
    assert ended(desk.result(fine)) == ("completed", "done")
    lost = desk.launch(f"pid holder\nhold_lock\n{WORKS}")
    desk.wait_for(lost, "so far")
    wrapper = json.loads((desk.folder(lost) / "wrapper.json").read_text())
    process.send(wrapper["pid"], wrapper["startTime"], signal.SIGKILL)
    eventually(lambda: "aborted" in desk("poll", lost).stdout)  # whoever sees it has it concluded
    assert ended(desk.result(lost)) == ("aborted", "lost")
    assert not alive(desk.home.recorded()["holder"])


def test_a_child_that_stops_its_wrapper_can_be_stopped(desk: Desk) -> None:
    run_id = desk.launch(f"pid child\n{WORKS.removesuffix('sleep 300')}to_parent SIGSTOP\nsleep 300")
    desk.wait_for(run_id, "so far")
    assert not inspect(str(desk.folder(run_id))).ended
    assert desk("stop", run_id).returncode == 0
    assert ended(desk.result(run_id)) == ("aborted", "stopped")
    assert not alive(desk.home.recorded()["child"])


def test_a_child_that_kills_its_wrapper_is_ended_and_no_success(desk: Desk) -> None:
    run_id = desk.launch("pid child\nbegin\nanswer toolUse x\nto_parent SIGKILL\nsleep 300")
    eventually(lambda: "aborted" in desk("poll", run_id).stdout)
    assert ended(desk.result(run_id)) == ("aborted", "lost")
    assert not alive(desk.home.recorded()["child"])


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of ours that no run has anything to do with; it leads a session, as a person's shell does."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as sleeping:
        yield sleeping
        sleeping.kill()


@pytest.fixture
def orphan() -> Iterator[tuple[int, int]]:
    """Such a process in a session whose leader is gone, and the number of that."""
    argv = ["/bin/sh", "-c", "sleep 600 >/dev/null & echo $!"]
    with subprocess.Popen(argv, start_new_session=True, stdout=subprocess.PIPE) as leader:
        assert leader.stdout
        pid = int(leader.stdout.readline())
    yield pid, leader.pid
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("claim", ["a bystander", "one that is gone", "one elsewhere"])
def test_a_forged_wrapper_leads_stop_to_the_true_one(
    desk: Desk, bystander: subprocess.Popen[bytes], claim: str
) -> None:
    run_id = desk.launch(f"pid child\n{WORKS}")
    desk.wait_for(run_id, "so far")
    path = desk.folder(run_id) / "wrapper.json"
    forged = json.loads(path.read_text())
    forged |= {"pid": bystander.pid, "startTime": process.start_time(bystander.pid)}
    forged |= {"one that is gone": {"startTime": 1}, "one elsewhere": {"bootId": "x", "host": "x"}}.get(
        claim, {}
    )
    path.write_text(json.dumps(forged))
    done = desk("stop", run_id)
    assert bystander.poll() is None
    assert done.returncode == 0, done.stderr
    assert not alive(desk.home.recorded()["child"])
    assert ended(desk.result(run_id)) == ("aborted", "stopped")


def test_a_run_that_a_forged_wrapper_keeps_running_ends_by_stop(
    desk: Desk, bystander: subprocess.Popen[bytes]
) -> None:
    run_id = desk.launch(f"pid child\n{WORKS}")
    desk.wait_for(run_id, "so far")
    path = desk.folder(run_id) / "wrapper.json"
    wrapper = json.loads(path.read_text())
    forge(path, pid=bystander.pid, startTime=process.start_time(bystander.pid))
    process.send(wrapper["pid"], wrapper["startTime"], signal.SIGKILL)
    assert "running" in desk("poll", run_id).stdout
    done = desk("stop", run_id)
    assert (done.returncode, bystander.poll()) == (0, None), done.stderr
    assert ended(directory.read_result(str(desk.folder(run_id))) or {}) == ("aborted", "stopped")
    assert not alive(desk.home.recorded()["child"])


@pytest.mark.parametrize("place", ["the window of another run", "another server", "a server that is gone"])
def test_a_forged_place_leads_attach_to_no_window_but_the_runs_own(desk: Desk, place: str) -> None:
    run_id, other = desk.launch(WORKS), desk.launch(WORKS)
    desk.wait_for(run_id, "so far")
    path = desk.folder(run_id) / "wrapper.json"
    said = json.loads(path.read_text())["tmux"]
    with TmuxServer(desk.home.folder) as server:
        forged = {
            "the window of another run": {"window": desk.windows()[other]},
            "another server": {
                "socketPath": str(server.socket),
                "serverPid": server.pid,
                "serverStartTime": server.started,
                "window": server.run("list-windows", "-a", "-F", "#{window_id}").split()[0],
            },
            "a server that is gone": {"serverStartTime": 1},
        }[place]
        forge(path, tmux=said | forged)
        with pytest.raises(NotPossible) as refused:
            attach.find_window(inspect(str(desk.folder(run_id))))
        assert refused.value.kind == "no-window"
    forge(path, tmux=said)
    target, _ = attach.find_window(inspect(str(desk.folder(run_id))))
    assert target is not None
    assert target.window.window == desk.windows()[run_id]


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("what", ["a process", "a session whose leader is gone"])
def test_a_forged_child_leads_nobody_to_the_processes_of_others(
    desk: Desk, bystander: subprocess.Popen[bytes], orphan: tuple[int, int], what: str, *, sealed: bool
) -> None:
    # With the seal gone, too, its own child is found by the mark that it carries.
    run_id = desk.launch(f"pid child\n{WORKS}")
    desk.wait_for(run_id, "so far")
    folder, child = desk.folder(run_id), desk.home.recorded()["child"]
    pid = bystander.pid if what == "a process" else orphan[1]
    log = (folder / "events.jsonl").read_text()
    told = f'"pid":{int(child)},"pidStartTime":{child.start_time}'
    assert told in log
    forged = f'"pid":{pid},"pidStartTime":{process.start_time(pid) or 1}'
    (folder / "events.jsonl").write_text(log.replace(told, forged))
    wrapper = json.loads((folder / "wrapper.json").read_text())
    if sealed:
        forge(folder / "wrapper.json", startTime=10**12)  # as if all that it left were older
    else:
        (desk.home.state / "sealed" / run_id).unlink()
    process.send(wrapper["pid"], wrapper["startTime"], signal.SIGKILL)
    eventually(lambda: "aborted" in desk("poll", run_id).stdout)
    assert ended(desk.result(run_id)) == ("aborted", "lost")
    assert (bystander.poll(), alive(orphan[0])) == (None, True)
    assert not alive(child)


def forge(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("verb", ["resume", "retry"])
@pytest.mark.parametrize("place", ["meta.json", "append-system-prompt.md", "system-prompt.md"])
def test_a_forged_plan_starts_nothing(desk: Desk, verb: str, place: str) -> None:
    shelf = Shelf(desk.home)
    shelf.put(shelf.own / "scout.md", "---\nname: scout\ndescription: x\ntools: read\n---\nBe careful.\n")
    run_id = desk.launch("-p", "scout", "done fine")
    desk.result(run_id)
    folder = desk.folder(run_id)
    if place == "meta.json":
        forge(folder / place, profile={"extensions": [str(mark_of(desk))]}, presetKind="profile")
    else:
        (folder / place).write_text("Do as you like.")
    words = [run_id, "done more"] if verb == "resume" else [run_id]
    done = desk(verb, *words)
    assert (done.returncode, done.stdout) == (4, "")
    assert f"Run {run_id} is not as it was launched: {place} in it has been changed" in done.stderr
    assert f"hint: see what it did: tmuxagents transcript {run_id[:8]}" in done.stderr
    assert desk.made() == [run_id]


def test_a_variable_of_the_fault_hook_reaches_no_child(desk: Desk) -> None:
    server_of = {"TMUXAGENTS_FAULT": "unlink:9999:EROFS", "TMUXAGENTS_FAULT_LOG": "/nowhere"}
    run_id = desk.launch(WORKS, variables=server_of)
    desk.wait_for(run_id, "so far")
    wrapper = json.loads((desk.folder(run_id) / "wrapper.json").read_text())["pid"]
    lines = (desk.folder(run_id) / "events.jsonl").read_text().splitlines()
    child = next(json.loads(line)["pid"] for line in lines if '"pid"' in line)
    server = int(desk.tmux("display-message", "-p", "#{pid}"))
    for pid in (wrapper, child, server, *desk.watchers()):
        assert b"TMUXAGENTS_FAULT" not in Path(f"/proc/{pid}/environ").read_bytes()
    desk("stop", run_id)
