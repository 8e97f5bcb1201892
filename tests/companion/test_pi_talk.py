"""The talks behind /profile and /agents: what is asked and said, line by line, and what becomes of it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.status.watchers import COMMAND, checked
from tests.tools.parents import WORKS, Parent
from tmuxagents import companion
from tmuxagents.registry import database
from tmuxagents.registry.database import Scope

if TYPE_CHECKING:
    from tests.desk import Desk

YES, NO = True, False
OWNER = {"PI_SESSION_ID": "session-1"}


class Talk:
    """One talk, in which a test answers what it is asked."""

    def __init__(self, desk: Desk, *words: str, answers: tuple[Any, ...] = (), **variables: str) -> None:
        asking = subprocess.Popen(
            [*COMMAND, *words],
            cwd=desk.home.project,
            env=desk.home.environment | OWNER | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert asking.stdin
        assert asking.stdout
        self.asked: list[dict[str, Any]] = []
        self.said: list[tuple[str, str]] = []
        left = list(answers)
        with asking:
            for line in map(json.loads, asking.stdout):
                if "say" in line:
                    self.said.append((line["level"], line["say"]))
                    continue
                self.asked.append(line)
                if not left:
                    asking.stdin.close()  # whoever was asked has gone
                    break
                answer = left.pop(0)
                answer = answer(line) if callable(answer) else answer
                asking.stdin.write(json.dumps({"answer": answer}) + "\n")
                asking.stdin.flush()
        assert (asking.returncode, left) == (0, [])


@pytest.fixture
def parent(desk: Desk) -> Parent:
    return Parent(desk)


def profile(desk: Desk, line: str, *answers: Any) -> Talk:
    return Talk(desk, "_profile", "--", line, answers=answers)


# --- /profile ---------------------------------------------------------------------------------------------


def test_what_needs_no_question_is_said_at_once(parent: Parent) -> None:
    assert profile(parent.desk, "").said[0][1].startswith("Subagent profiles:\n  profile: ")
    assert profile(parent.desk, "show nobody").said == [
        ("error", 'Profile "nobody" not found. Available: researcher, scout')
    ]
    assert profile(parent.desk, "create a/b").said[0][0] == "warning"


def test_words_are_offered(parent: Parent) -> None:
    done = parent.desk("_profile", "--words")
    words = ["list", "show", "create", "edit", "delete", "researcher", "scout"]
    assert json.loads(done.stdout) == {"words": words}


def test_a_profile_is_made_by_answers_in_their_order(parent: Parent) -> None:
    answers = ("global", "", "mock/mock-text", "You write.", "", "high", "allowlist", "read, edit")
    talk = profile(parent.desk, "create writer", *answers, "(none)", "(none)", YES)
    assert [one["title"].partition(" (")[0] for one in talk.asked] == [
        *("Scope", "Provider", "Model", "System prompt", "Text appended to the system prompt", "Thinking"),
        *("Tools", "Only these", "Extensions", "Skills", "Save?"),
    ]
    assert talk.said == [("info", 'Profile "writer" saved to global agent-profiles.')]
    assert "tools:             [read, edit]" in talk.asked[-1]["text"]
    text = (parent.profiles / "writer.md").read_text()
    assert "\nmodel: mock/mock-text\n" in text
    assert text.endswith("\nYou write.\n")


@pytest.mark.parametrize("answers", [(None,), ("global", None), ("global", "", "", None)])
def test_who_leaves_the_questions_has_saved_nothing(parent: Parent, answers: tuple[Any, ...]) -> None:
    assert profile(parent.desk, "create writer", *answers).said == [("info", "Cancelled.")]
    assert not (parent.profiles / "writer.md").exists()


def test_a_parent_that_goes_in_the_middle_has_saved_nothing(parent: Parent) -> None:
    assert profile(parent.desk, "create writer", "global").said == []
    assert not (parent.profiles / "writer.md").exists()


def test_an_edited_profile_is_asked_for_again_until_it_is_good(parent: Parent) -> None:
    bad = "---\nname: researcher\nmodel: a\nmodel: b\n---\n"
    good = "---\nname: researcher\nmodel: mock/x\n---\nNew.\n"
    talk = profile(parent.desk, "edit researcher", bad, good)
    assert [one["text"] == bad for one in talk.asked] == [False, True]
    assert [level for level, _ in talk.said] == ["error", "info"]
    assert (parent.profiles / "researcher.md").read_text() == good


def test_a_profile_is_deleted_once_somebody_says_so(parent: Parent) -> None:
    path = parent.profiles / "researcher.md"
    assert profile(parent.desk, "rm researcher", NO).said == []
    assert path.exists()
    talk = profile(parent.desk, "rm researcher", YES)
    assert (talk.asked[0]["title"], talk.asked[0]["text"]) == (
        "Delete profile?",
        'Delete subagent profile "researcher"?',
    )
    assert (talk.said, path.exists()) == ([("info", 'Profile "researcher" deleted.')], False)


def test_without_anybody_to_ask_nothing_is_done(parent: Parent) -> None:
    talk = Talk(parent.desk, "_profile", "--alone", "--", "rm researcher")
    assert (talk.asked, [level for level, _ in talk.said]) == ([], ["error"])
    assert (parent.profiles / "researcher.md").exists()


# --- /agents ----------------------------------------------------------------------------------------------


def choose(word: str) -> Any:
    return lambda line: next(option for option in line["options"] if word in option)


def test_runs_of_the_session_are_shown_read_and_stopped(parent: Parent) -> None:
    desk = parent.desk
    desk.launch("-p", "scout", "--name", "other", WORKS)
    done = desk.launch("-p", "scout", "--name", "quick", "done Seen.", variables=OWNER)
    desk.result(done)
    live = desk.launch("-p", "scout", "--name", "slow", WORKS, variables=OWNER)
    desk.wait_for(live, "assistant_text")
    told = Talk(desk, "_agents", "--alone").said[0][1].splitlines()
    assert (told[0], len(told)) == ("bg: 1 running / 2 total", 4)
    assert Talk(desk, "_agents", answers=(choose("quick"), "output")).said == [("info", "Seen.")]
    outside = Talk(desk, "_agents", answers=(choose("slow"), "attach"))
    assert outside.asked[1]["options"] == ["attach", "output", "stop"]
    assert f"tmuxagents attach {live[:8]}" in outside.said[0][1]
    assert Talk(desk, "_agents", answers=(choose("slow"), "stop")).said == [("info", f"Stopped run {live}.")]
    assert desk.result(live)["reason"] == "stopped"
    assert Talk(desk, "_agents", answers=(None,)).said == []


# --- runs that were taken over ----------------------------------------------------------------------------


def test_a_fork_counts_the_runs_that_it_has_taken_over(parent: Parent) -> None:
    desk = parent.desk
    mine = desk.launch("-p", "scout", WORKS, variables=OWNER)
    other = desk.launch("-p", "scout", WORKS, variables={"PI_SESSION_ID": "session-0"})
    fork = {"PI_SESSION_ID": "session-2", "TMUXAGENTS_RUNS": f"{mine} nonsense"}
    found = json.loads(desk("call", "background_agent_status", variables=fork).stdout)["details"]
    assert (found["counts"]["total"], [run["runId"] for run in found["runs"]]) == (1, [mine])
    with database.open_file(database.path_of(str(desk.home.state))) as book:
        scope = Scope("owner", "session-0", also=(mine,))
        assert {row.run_id for row in book.rows(scope)} == {mine, other}
        assert book.tally(scope).by_status["running"] == 2


def test_what_the_follower_says_is_what_its_schema_says(parent: Parent) -> None:
    desk = parent.desk
    old = desk.launch("-p", "scout", "--name", "old", "done Seen.", variables=OWNER)
    desk.result(old)
    entry = {"customType": companion.LAUNCHED, "data": {"runId": old, "status": "running"}}
    following = subprocess.Popen(
        [*COMMAND, "_follow"],
        cwd=desk.home.project,
        env=desk.home.environment | OWNER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    out, _ = following.communicate(json.dumps({"entries": [entry, None]}) + "\n", timeout=60)
    (line,) = out.splitlines()
    told = checked(line, "notice")
    assert (told["status"], told["update"]["runId"], told["run"]) == ("bg: 0 running / 1 total", old, None)
    assert told["notice"]["text"].startswith("✓ old completed after ")
    assert following.returncode == 0


def test_the_follower_stays_small(desk: Desk) -> None:
    argv = [sys.executable, "-X", "importtime", "-P", "-m", "tmuxagents", "_follow"]
    done = subprocess.run(
        argv, env=desk.home.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tmuxagents.companion" in imported
    assert not imported & {"click", "libtmux", "watchdog", "asyncio", "subprocess", "yaml"}
