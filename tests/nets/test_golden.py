"""What each verb prints: its help, its answers and its refusals, compared with tests/data/golden/VERB.txt.

They run in the frozen home of tests/data/run-v1; what they launch are scripted children in a private tmux.
`scripts/golden` writes the files again.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.desk import Desk
from tests.harness import REPOSITORY, Home
from tests.nets import frozen
from tests.schema_examples import CLOSED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.nets.frozen import Golden

GOLDEN = REPOSITORY / "tests" / "data" / "golden"
# What is not the same from one time to the next, and what stands in its place. Nothing else is hidden.
SUBSTITUTIONS = {
    r"(?<=completed    )\ds   \ds(?=  scripted)": "0s   0s",  # a run of this moment
    str(REPOSITORY): "/REPOSITORY",
    r"^! \S+ \S+ (queued|running|completed) .*\n": "",  # lines of `run` come as often as there is time for
    r'("(at|createdAt|startedAt|endedAt|lastEventAt)": )[0-9.]+': r"\1TIME",
    r'("(elapsedSeconds|durationMs)": )[0-9.]+': r"\1DURATION",
    r'("cursor": ")[0-9a-f]+\.[0-9]+\.[0-9]+': r"\1CURSOR",
    r"^(cursor ).*": r"\1CURSOR",
    r"(tmuxagents, version ).*": r"\1VERSION",
    r"[0-9]+ days ago": "DAYS ago",
    r" +[0-9]{3,}d  ": "  DAYS  ",  # the age of frozen runs, and its heading
    r" +AGE  ": "  AGE  ",
    r"[0-9.]+ K?B\b": "SIZE",  # plans name this test's folder
    r'("bytes": )[0-9]+': r"\1SIZE",
}
MINE = """---
name: repo-guide
description: Finds its way around a repository
model: mock/mock-text
tools: read,bash
---
Look around quickly, report what you found in a few lines, change nothing.
"""
INHERITED = "TMUXAGENTS_DEFAULT_MODEL=inherit"
FLAWED = "---\nname: flawed\ntimeout: soon\ncolour: red\n---\nText.\n"
# Variables stand before a command, as in a shell.
COMMANDS = {
    "tmuxagents": """
        --help
        COLUMNS=80
        nonsense
        --nonsense
        --version
    """,
    "help": """
        help --help
        help wait
        help lauch
        help presets list
        help presets lists
    """,
    "launch": f"""
        launch --help
        launch
        launch ''
        {INHERITED} launch x
        launch -m nope/x x
        launch --agent nope x
        launch --cwd /nowhere x
        launch --cwd notes.txt x
        launch --timeout -1 x
        launch --timeout soon x
        launch --name '*' x
        launch --after nope x
        launch --after 1 x
        launch -p nope x
        launch --file ../outside.txt "done x"
        wait @last
        launch --task-file nope
        launch --live --batch x y
        launch --nonsense x
        launch --json -p nope x
        launch --name fresh "done Fresh."
        wait fresh
        output fresh
        launch --json --name again -p repo-guide --file notes.txt:1-2 --file nope "begin\nsleep 300"
        stop again
    """,
    "run": f"""
        run --help
        run
        {INHERITED} run x
        run --tasks nope.json
        run --tasks notes.txt
        run --tasks tasks.json x
        run "done Fine."
        run "begin\nanswer error 401: no such key\nsettle"
        run --tasks tasks.json
        run --json "done Fine."
    """,
    "poll": """
        poll --help
        poll
        poll -a
        poll -A
        poll done error person
        poll 8
        poll nope
        poll --json nope
        poll --json timeout
        poll --wait --timeout 0 queued
        poll --any queued
        poll --timeout -1
        poll --since nonsense
        poll --nonsense
        poll -a done
    """,
    "wait": """
        wait --help
        wait
        wait done preset
        wait done error
        wait --any done queued
        wait --timeout 0 queued
        wait nope
        wait --timeout soon done
        wait --json preset
    """,
    "attach": """
        attach --help
        attach
        attach done
        attach nope
        attach --next
        attach --back
        attach --resume queued
        attach --json done
    """,
    "send": """
        send --help
        send
        send done
        send done "Be brief."
        send person "Be brief."
        send open-lost "Be brief."
        send nope "Be brief."
        send --json done "Be brief."
    """,
    "answer": """
        answer --help
        answer
        answer done allow
        answer person allow
        answer nope allow
        answer --json done allow
    """,
    "stop": """
        stop --help
        stop
        stop done
        stop nope
        stop done --all
        stop --json preset
        launch --name sleeper "begin\nanswer toolUse working\nsleep 300"
        stop sleeper
    """,
    "retry": """
        retry --help
        retry
        retry nope
        retry no-cwd
        retry queued
        wait @last
        retry preset
        wait @last
    """,
    "resume": """
        resume --help
        resume
        resume nope x
        resume done
        resume elsewhere x
        resume preset "done More."
        wait @last
        resume --json files "begin\nsleep 300"
        stop @last
    """,
    "output": """
        output --help
        output done
        output preset
        output error
        output empty
        output queued
        output open-settled
        output --max-bytes 20 done
        output --max-bytes 0 done
        output nope
        output
        output --json length
    """,
    "transcript": """
        transcript --help
        transcript done
        transcript person
        transcript loop
        transcript queued
        transcript --session preset
        transcript nope
        transcript --json empty
    """,
    "export": """
        export --help
        export nope
    """,
    "replay": """
        replay --help
        replay done
        replay --speed 0 done
        replay nope
    """,
    "events": """
        events --help
        events told
        events --after 3 empty
        events --after -1 empty
        events queued
        events nope
    """,
    "top": """
        top --help
        top
        TERM=dumb top
    """,
    "presets": """
        presets --help
        presets
        presets list
        presets list --json
        presets show --help
        presets show repo-guide
        presets show nope
        presets show flawed
        presets show
        presets check --help
        presets check
        presets check repo-guide
        presets check nope
        presets check --json
        presets new --help
        presets new
        presets new 'bad name'
        presets new writer -d 'Writes docs' -t read,edit,write --prompt 'Write plainly.'
        presets new writer -d 'Writes docs'
        presets new timed --set timeout=soon
        presets show writer --json
        presets edit --help
        presets edit writer --set timeout=1200
        presets edit writer --set nonsense=1
        presets edit flawed --set nonsense=1
        presets edit nope --set timeout=1200
        presets edit writer
        presets show writer
        presets rm --help
        presets rm writer
        presets rm -y writer
        presets rm -y nope
        presets nope
    """,
    "setup": """
        setup --help
        setup
        setup --skip nonsense
    """,
    "demo": """
        demo --help
        demo nonsense
        TMUXAGENTS_PI=/nowhere/pi demo
    """,
    "config": """
        config --help
        TMUXAGENTS_PI=/nowhere/pi config
        config list --help
        TMUXAGENTS_PI=/nowhere/pi config list --json
        config get --help
        config get timeout
        config get timeout --json
        config get nope
        config set --help
        config set timeout 900
        config set timeout soon
        config set timout 9
        config set --project timeout 800
        config set --project driver live
        config get timeout
        config unset --help
        config unset --project timeout
        config unset timeout
        config edit --help
        config edit
    """,
    "agents": """
        agents --help
        agents
        agents --json
        agents --format "{{.name}} {{.installed}}"
    """,
    "models": """
        models --help
        models
        models --json
        models --agent nope
        models nope
        TMUXAGENTS_PI=/nowhere/pi models --refresh
    """,
    "hosts": """
        hosts --help
        hosts
        hosts list --help
        hosts list --json
        hosts add --help
        hosts add
        hosts add a/b --yes
        hosts add box --max-running 0
        hosts check --help
        hosts check
        hosts check nope
        hosts remove --help
        hosts remove nope --json
        hosts nope
    """,
    "layouts": """
        layouts --help
        layouts
        layouts list --help
        layouts list --json
        layouts show --help
        layouts show grid
        layouts show default --json
        layouts show nope
        layouts show
        layouts open --help
        layouts open nope
        layouts open grid
        layouts nope
    """,
    "statusline": """
        statusline --help
        statusline
        statusline -A
        statusline --json
        statusline x
    """,
    "integrate": """
        integrate --help
        integrate
        integrate nope
        integrate tmux --help
        integrate tmux --dry-run --keys C-nope
        integrate tmux --uninstall
        integrate pi --help
        integrate pi --dry-run
        integrate pi --uninstall
        integrate claude --help
        integrate claude --dry-run
        integrate claude --uninstall
        integrate codex --help
        integrate codex --dry-run
        integrate codex --uninstall
        integrate claude --json
    """,
    "doctor": """
        doctor --help
        doctor x
        doctor --nonsense
    """,
    "prune": """
        prune --help
        prune --dry-run done
        prune done
        prune --json error
        prune nope
        prune open-lost
        TMUXAGENTS_KEEP_RUNS=nonsense prune
    """,
    "completion": """
        completion --help
        completion
        completion csh
        completion bash
        completion zsh
        completion fish
    """,
    "call": """
        call --help
        call
        call nope
        call subagent
        call subagent nonsense
        call subagent '{"task": ""}'
        call subagent '{"task": "x", "tasks": [], "preset": 1, "nonsense": 2}'
        call subagent '{"task": "x", "preset": "nope"}'
        call background_agent_status
        call background_agent_status '{"runId": "nope"}'
        call get_subagent_output '{"sessionId": "nope"}'
        call list_subagent_profiles
        call stop_agent '{"runId": "nope"}'
        call send_to_agent '{"runId": "done", "message": "x"}'
        call get_subagent_session '{}'
        call delegate_to_subagents '{"tasks": []}'
        call get_subagent_output '{"sessionId": "6651f6504dc4e425"}'
        call subagent '{"preset": "repo-guide", "task": "done One."}'
    """,
    "tools": """
        tools --help
        tools
        tools --json
        tools x
    """,
    "mcp": """
        mcp --help
        mcp --limit 0
        mcp x
        mcp
    """,
    "skill": """
        skill --help
        skill finder
    """,
    "schema": """
        schema --help
        schema
        schema nope
        schema inbox
    """,
}


@pytest.fixture
def desk(home: Home, tmp_path: Path) -> Iterator[Desk]:
    """The frozen home, where no run is at work on another machine, with presets, files and a private tmux."""
    known = frozen.thaw(home, here=True)
    runs = home.state / "runs"
    shutil.rmtree(runs / known.pop("elsewhere"))
    presets = home.agent_dir / "subagents"
    presets.mkdir()
    (presets / "repo-guide.md").write_text(MINE)
    (home.project / "notes.txt").write_text("one\ntwo\nthree\n")
    (home.project / "tasks.json").write_text('[{"task": "done One."}, {"task": "done Two.", "name": "two"}]')
    made = Desk(home, tmp_path / "sockets")
    yield made
    for run_id in known.values():  # their wrappers are numbers of another machine's processes
        shutil.rmtree(runs / run_id, ignore_errors=True)
    made.leave()


def test_each_verb_has_golden_texts() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tmuxagents", "--help"], capture_output=True, text=True, check=True
    )
    verbs = set(re.findall(r"^  ([a-z]+)(?:, [a-z]+)*  ", done.stdout, re.MULTILINE))
    assert verbs == set(COMMANDS) - {"tmuxagents"}
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(COMMANDS)


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_verb_prints_its_golden_text(desk: Desk, golden: Golden, verb: str) -> None:
    if verb == "presets":
        (desk.home.agent_dir / "subagents" / "flawed.md").write_text(FLAWED)
    (host,) = (desk.home.state / "hosts").iterdir()
    own = {str(desk.home.folder): frozen.PLACE, str(desk.sockets): "/SOCKETS", host.name: frozen.HOST}
    shown = "|".join(run_id[:8] for run_id in frozen.names().values())
    new = {rf"\b(?!{shown})[0-9a-f]{{8}}([0-9a-f]{{8}})?\b": "NEW-ID"}
    pages = frozen.Pages(desk.home, own | {sys.executable: "/PYTHON"} | SUBSTITUTIONS | new)
    for line in COMMANDS[verb].strip("\n").split("\n        "):
        words = shlex.split(line)
        variables = {}
        while words and re.match("[A-Z_]+=", words[0]):
            name, _, variables[name] = words.pop(0).partition("=")
        printed = pages.add(*words, variables=variables)
        if re.fullmatch(r"\{.*\}\n?", printed) and not printed.startswith('{"$schema"'):
            document = json.loads(printed)
            assert any(schema.is_valid(document) for schema in CLOSED.values()), printed
    golden(GOLDEN / f"{verb}.txt", pages.text)
