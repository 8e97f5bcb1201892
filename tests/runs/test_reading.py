"""The verbs that read (output, transcript, events, schema) and their errors, with the installed command."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.apart import running
from tests.status.watchers import validator
from tmuxagents import cli
from tmuxagents.cli import boundary
from tmuxagents.cli.verbs import explaining

if TYPE_CHECKING:
    from tests.harness import Home, Run

COMMAND = str(Path(sys.executable).with_name("tmuxagents"))


def ended(home: Home, script: str, **changes: Any) -> Run:
    run = home.run(script, **changes)
    run.start().wait()
    return run


def test_output_is_the_whole_last_answer(home: Home) -> None:
    text = "word " * 40_000
    run = ended(home, f"begin\nanswer toolUse first\nanswer stop {text}\nsettle")
    for reference in (run.run_id, run.run_id[:6], "@last"):
        done = home.command("output", reference)
        assert (done.returncode, done.stdout, done.stderr) == (0, text + "\n", "")
    assert (run.result() or {})["outputBytes"] == len(text)


def test_output_keeps_head_and_tail_and_names_the_file(home: Home) -> None:
    run = ended(home, f"begin\nanswer stop {'a' * 5000}{'b' * 5000}\nsettle")
    head, middle, tail = home.command("output", "--max-bytes", "100", run.run_id).stdout.splitlines()
    assert (head, tail) == ("a" * 50, "b" * 50)
    assert middle == f"[... 9900 bytes left out; tmuxagents output {run.run_id} prints all ...]"


def test_output_of_a_failed_run_says_so_first(home: Home) -> None:
    run = ended(home, "begin\nanswer length half\nsettle")
    done = home.command("output", run.run_id)
    how = "failed (length): The answer was cut at the model's output limit; what follows is unfinished"
    assert (done.returncode, done.stdout) == (1, f"{how}\nhalf\n")
    silent = home.command("output", ended(home, "exit 0").run_id)
    assert (silent.returncode, silent.stdout.splitlines()[1:]) == (1, [])
    assert silent.stdout.endswith("; no text output\n")


def test_output_of_a_working_run_is_only_told_to_who_wants_a_part(home: Home) -> None:
    run = home.run("begin\nanswer toolUse so far\nsleep 60").start()
    run.wait_for("assistant_text")
    done = home.command("output", run.run_id)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.splitlines() == [
        f"Run {run.run_id} is still running: it has no answer yet.",
        "hint: --wait waits for it, --partial prints what there is",
    ]
    done = home.command("output", "--partial", run.run_id)
    assert (done.returncode, done.stdout, done.stderr) == (0, "so far\n", "still running\n")


def test_output_waits(home: Home) -> None:
    run = home.run("begin\nanswer toolUse so far\nsleep 1\nanswer stop later\nsettle").start()
    assert home.command("output", "--wait", run.run_id).stdout == "later\n"


def test_output_as_json_is_the_run(home: Home) -> None:
    run = ended(home, f"done {'x' * 9000}", name="scout")
    document = json.loads(home.command("output", "scout", "--json").stdout)
    validator("run").validate(document)
    assert (document["output"], document["outputBytes"]) == ("x" * 4096, 9000)
    assert (document["runId"], document["status"], document["reason"]) == (run.run_id, "completed", "done")


def test_controls_are_taken_out_on_a_terminal_and_left_in_a_pipe(home: Home) -> None:
    run = ended(
        home,
        'json {"type":"message_end","message":{"role":"assistant","content":'
        '[{"type":"text","text":"a\\u001b]52;c;eA==\\u0007b"}],"stopReason":"stop"}}',
    )
    assert home.command("output", run.run_id).stdout.endswith("\na\x1b]52;c;eA==\x07b\n")
    assert on_terminal(home, "output", run.run_id).endswith("ab\r\n")


def on_terminal(home: Home, *arguments: str) -> str:
    master, slave = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *arguments], stdout=slave, stderr=slave, env=home.environment, cwd=home.project
    ):
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(master)
    return shown.decode()


def test_transcript_of_a_session_has_all_its_runs_in_order(home: Home) -> None:
    first = ended(home, "done one")
    second = ended(home, "done two", sessionId=first.run_id)
    done = home.command("transcript", first.run_id)
    assert [line for line in done.stdout.splitlines() if line in ("one", "two")] == ["one", "two"]
    assert home.command("output", first.run_id).stdout == "two\n"
    assert home.command("logs", second.run_id).stdout == done.stdout
    assert done.stdout.splitlines()[-2:] == ["", "2 runs · ↑20 ↓10 · $0.002"]


def test_each_run_of_several_stands_under_its_number_and_how_it_ended(home: Home) -> None:
    first = ended(home, "begin\nanswer length half\nsettle")
    assert "===" not in home.command("transcript", first.run_id).stdout
    second = home.run("begin\nanswer toolUse so far\nsleep 60", sessionId=first.run_id).start()
    second.wait_for("assistant_text")
    lines = home.command("transcript", first.run_id).stdout.splitlines()
    assert [line for line in lines if line.startswith("===")] == [
        "=== Run 1/2 (failed) ===",
        "=== Run 2/2 (running) ===",
    ]
    assert lines[lines.index("=== Run 2/2 (running) ===") + 1] == f"Run: {second.run_id}"


def test_a_session_is_told_as_the_tools_of_a_parent_tell_it(home: Home) -> None:
    long = "word " * 60
    script = f'begin\nanswer toolUse {long}\ntool bash {{"command":"ls"}}\nanswer stop one\x1b[31m\nsettle'
    first = ended(home, script)
    alone = f'{long}\n---\n→ bash: {{"command":"ls"}}\n---\n[tool result]: fine\n---\none\n'
    used = "\n1 run · ↑30 ↓15 · $0.003\n"
    assert home.command("transcript", "--session", first.run_id).stdout == alone + used
    second = ended(home, "begin\nanswer length half\nsettle", sessionId=first.run_id)
    assert home.command("transcript", "--session", second.run_id).stdout == (
        f"=== Run 1/2 (completed) ===\n---\n{alone}---\n=== Run 2/2 (error) ===\n---\nhalf\n---\n"
        "[Error: The answer was cut at the model's output limit.]\n\n2 runs · ↑40 ↓20 · $0.004\n"
    )
    silent = home.run("begin\nsleep 60").start()
    silent.wait_for("run_started")
    assert home.command("transcript", "--session", silent.run_id).stdout == "(no messages in session)\n"


def test_following_a_session_follows_its_latest_run(home: Home) -> None:
    first = ended(home, "done one")
    second = home.run(
        "begin\nanswer toolUse two\nsleep 1\nanswer stop three\nsettle", sessionId=first.run_id
    ).start()
    second.wait_for("assistant_text")
    lines = home.command("transcript", "-f", first.run_id).stdout.splitlines()
    assert [line for line in lines if line in ("one", "two", "three")] == ["one", "two", "three"]


def test_a_run_is_told_with_how_many_its_session_has(home: Home) -> None:
    first = ended(home, "done one")
    assert json.loads(home.command("output", "--json", first.run_id).stdout)["runCount"] == 1
    ended(home, "done two", sessionId=first.run_id)
    document = json.loads(home.command("output", "--json", first.run_id).stdout)
    validator("run").validate(document)
    assert (document["output"], document["sessionId"], document["runCount"]) == ("two", first.run_id, 2)


def test_a_log_larger_than_what_is_read_at_once_is_read_whole(home: Home) -> None:
    run = ended(home, "flood events 12000")
    lines = home.command("events", run.run_id).stdout.splitlines()
    assert sum(len(line) for line in lines) > 1024 * 1024
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert len(lines) > 12000


def test_transcript_follows_to_the_end(home: Home) -> None:
    run = home.run("begin\nanswer toolUse first\nsleep 1\nanswer stop second\nsettle").start()
    run.wait_for("assistant_text")
    lines = home.command("transcript", "-f", run.run_id).stdout.splitlines()
    assert lines[-5:-3] == ["first", "second"]
    assert re.fullmatch(r"Completed after \d+s", lines[-3])
    assert lines[-2:] == ["", "1 run · ↑20 ↓10 · $0.002"]


def test_events_follow_from_a_number(home: Home) -> None:
    run = home.run("begin\nanswer toolUse first\nsleep 1\nanswer stop second\nsettle").start()
    run.wait_for("assistant_text")
    lines = [
        json.loads(line)
        for line in home.command("events", "-f", "--after", "2", run.run_id).stdout.splitlines()
    ]
    assert [line["seq"] for line in lines] == list(range(3, lines[-1]["seq"] + 1))
    assert lines[-1]["type"] == "child_exited"


def test_following_is_ended_by_ctrl_c_with_130(home: Home) -> None:
    run = home.run("begin\nanswer toolUse first\nsleep 60").start()
    run.wait_for("assistant_text")
    argv = [COMMAND, "events", "-f", run.run_id]
    with running(argv, env=home.environment, cwd=home.project, stdout=subprocess.PIPE) as follower:
        assert follower.stdout is not None
        follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        assert follower.wait(10) == 130
    assert run.status() == "running"


def test_a_closed_pipe_and_a_full_device_are_no_traceback(home: Home) -> None:
    run = ended(home, f"done {'x' * 300_000}")
    line = f"{COMMAND} output {run.run_id} | head -c 1; exit ${{PIPESTATUS[0]}}"
    closed = subprocess.run(
        ["bash", "-c", line], env=home.environment, capture_output=True, text=True, check=False
    )
    assert (closed.returncode, closed.stdout, closed.stderr) == (1, "x", "")
    with open("/dev/full", "w") as full:
        refused = subprocess.run(
            [COMMAND, "output", run.run_id],
            env=home.environment,
            stdout=full,
            stderr=-1,
            text=True,
            check=False,
        )
    assert refused.returncode == 3
    assert refused.stderr.startswith("No space is left on the device")


REFUSED = [
    (("output", "ffffffffffff"), 4, "unknown-run", 'There is no run "ffffffffffff".'),
    (("output", ""), 2, "usage", "Name a run: this one is empty."),
    (("output", "abc"), 4, "unknown-run", 'There is no run "abc".'),
    (("transcript", "../../etc"), 4, "unknown-run", 'There is no run "../../etc".'),
    (("events", "a\nb\x1b[31m"), 4, "unknown-run", 'There is no run "a b".'),
    (("output", "@last"), 4, "unknown-run", None),
    (("output", "x" * 4000), 4, "unknown-run", None),
    (("output", "--max-bytes", "0", "x"), 2, "usage", None),
    (("output", "one", "two"), 4, "unknown-run", None),
    (("transcript", "--session", "-f", "x"), 2, "usage", "--session and --follow do not go together."),
    (("outptu",), 2, "usage", 'There is no verb "outptu".'),
    (("schema", "reciept"), 2, "bad-argument", None),
    (("schema",), 2, "usage", None),
]


@pytest.mark.parametrize(("arguments", "code", "kind", "message"), REFUSED)
def test_a_refusal_is_one_sentence_with_a_hint(
    home: Home, arguments: tuple[str, ...], code: int, kind: str, message: str | None
) -> None:
    done = home.command(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    sentence, hint = done.stderr.splitlines()
    assert hint.startswith("hint: ")
    assert message in (None, sentence)
    asked = home.command(*arguments, "--json")
    error = json.loads(asked.stdout)
    validator("error").validate(error)
    assert (asked.returncode, asked.stderr) == (code, "")
    assert (error["error"]["kind"], error["error"]["message"]) == (kind, sentence)


def test_an_ambiguous_beginning_names_the_candidates(home: Home) -> None:
    twins = [
        ended(home, "done x", runId=f"beef{n}0000000000a", sessionId=f"beef{n}0000000000a") for n in (1, 2)
    ]
    done = home.command("output", "beef", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["kind"]) == (4, "ambiguous-run")
    assert error["candidates"] == sorted(twin.run_id for twin in twins)


@pytest.mark.parametrize("before", ["itself", "no\0id"])
def test_a_reopened_run_with_a_damaged_plan_has_no_answer_of_another(home: Home, before: str) -> None:
    run = ended(home, "begin\nexit 1")
    damaged = run.meta | {"reopens": True, "resumes": run.run_id if before == "itself" else before}
    (run.folder / "meta.json").write_text(json.dumps(damaged))
    done = home.command("output", run.run_id)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "failed (exit): The child exited with code 1; no text output\n"


def test_a_forged_event_without_a_number_of_ours_is_in_no_list_of_events(home: Home) -> None:
    run = ended(home, "done real")
    with (run.folder / "events.jsonl").open("a") as log:
        for seq in (0, -1):
            forged = {"v": 1, "seq": seq, "at": 1.5, "type": "assistant_text", "text": "forged"}
            log.write(json.dumps(forged) + "\n")
    for arguments in (("events",), ("transcript", "--times")):
        shown = home.command(*arguments, run.run_id).stdout
        assert ("real" in shown, "forged" in shown) == (True, False)


def test_a_name_means_the_live_run_then_the_newest(home: Home) -> None:
    old = ended(home, "done old", name="scout")
    assert home.command("output", "scout").stdout == "old\n"
    live = home.run(
        "begin\nanswer toolUse live\nsleep 60", name="scout", createdAt=old.meta["createdAt"] - 100
    ).start()
    live.wait_for("assistant_text")
    assert home.command("output", "--partial", "scout").stdout == "live\n"


def test_last_is_the_owners(home: Home) -> None:
    ended(home, "done mine", owner="me")
    ended(home, "done other", owner="other")
    ended(home, "done nobodys")
    assert home.command("output", "@last").stdout in ("nobodys\n", "other\n")
    owned = {**home.environment, "TMUXAGENTS_OWNER": "me"}
    assert home.command("output", "@last", env=owned).stdout == "mine\n"
    other = {**home.environment, "PI_SESSION_ID": "other"}
    assert home.command("output", "@last", env=other).stdout == "other\n"


def test_every_schema_is_printed(home: Home) -> None:
    for name in explaining.schema_names():
        document = json.loads(home.command("schema", name).stdout)
        jsonschema.Draft202012Validator.check_schema(document)


def test_help_names_the_verbs_in_groups(home: Home) -> None:
    shown = home.command("--help").stdout
    assert re.search(
        r"Everyday:.*output.*transcript.*For agents and programs:.*events.*schema", shown, re.DOTALL
    )
    for verb in ("output", "transcript", "events", "schema"):
        assert "Example: tmuxagents" in home.command(verb, "--help").stdout


@pytest.mark.parametrize("plan", ["{}", "[]", "{", '{"runId":"fedcba9876543210"}'])
def test_a_directory_without_a_plan_of_its_own_is_no_run(home: Home, plan: str) -> None:
    broken = home.state / "runs" / "0123456789abcdef"
    broken.mkdir(parents=True)
    (broken / "meta.json").write_text(plan)
    done = home.command("output", "0123456789abcdef")
    assert (done.returncode, done.stderr.splitlines()[0]) == (4, 'There is no run "0123456789abcdef".')


def test_a_state_directory_that_is_none_is_exit_3(home: Home) -> None:
    home.state.write_text("")
    done = home.command("output", "0123456789abcdef")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == "hint: set TMUXAGENTS_HOME to a folder of yours"


def test_our_own_bug_is_one_line_and_a_log(
    home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TMUXAGENTS_HOME", str(home.state))
    monkeypatch.setattr(explaining, "schema_text", lambda _name: 1 / 0)
    with pytest.raises(SystemExit) as left:
        cli.main(["schema", "run"])
    line, hint = capfd.readouterr().err.splitlines()
    log = Path(hint.removeprefix("hint: the log to report is "))
    assert (left.value.code, line) == (70, "Something went wrong in tmuxagents itself: ZeroDivisionError.")
    assert "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_log_of_a_bug_takes_the_bytes_of_an_odd_file_name(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMUXAGENTS_HOME", str(home.state))
    _, log = boundary.problem_of(ValueError("caf\udce9"))
    assert log is not None
    assert "caf\\udce9" in Path(log).read_text()
