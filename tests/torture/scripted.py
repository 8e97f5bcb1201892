"""The rows of the ending matrix that scripted children run (tests/children/scripted.py)."""

from __future__ import annotations

import signal

from tests.torture.endings import (
    LINGER,
    Ending,
    after_settling,
    ctrl_c_once,
    ctrl_c_twice,
    kill_wrapper,
    kill_wrapper_after_exit,
    to_child,
    to_wrapper,
)
from tmuxagents.records import ABORTED, COMPLETED, FAILED, LOST_MESSAGE

WORK = "begin\nanswer toolUse working\n"
IGNORES = "ignore SIGTERM SIGHUP SIGINT\n"
TIMEOUT = {"timeout": 2}
T_MESSAGE = "Timed out after 2s. Consider resuming with a longer timeout."
L_MESSAGE = "Loop detected: sub-agent is repeating the same tool calls"
U_MESSAGE = "The child ended without finishing its answer."
LOOP = 'tool read {"path":"a","range":[1,2]}\n' * 5

ENDINGS = [
    # normal ends
    Ending("done", "done fine", (COMPLETED, "done"), output="fine"),
    Ending("empty answer", "begin\nanswer stop\nsettle", (COMPLETED, "done")),
    Ending(
        "after retries",
        "begin\nanswer error 500: down\nretry 500: down\nbegin\nanswer stop fine\nsettle",
        (COMPLETED, "done"),
        output="fine",
    ),
    Ending("old pi", "begin\nanswer stop fine\nold_end", (COMPLETED, "done"), output="fine"),
    Ending(
        "begins again after settling",
        "done first\nsleep 0.3\nbegin\nanswer stop second\nsettle",
        (COMPLETED, "done"),
        output="second",
    ),
    Ending(
        "no newline at the end", 'begin\nanswer stop fine\nraw {"type":"agent_settled"}', (COMPLETED, "done")
    ),
    Ending(
        "lingers", f"done fine\n{LINGER}", (COMPLETED, "done"), ends="SIGTERM", lingered=True, output="fine"
    ),
    Ending(
        "lingers and ignores TERM",
        f"{IGNORES}done fine\n{LINGER}",
        (COMPLETED, "done"),
        ends="SIGKILL",
        lingered=True,
    ),
    Ending("a grandchild holds stdout", "found holder\ndone fine", (COMPLETED, "done")),
    Ending(
        "settled, then exit 3",
        "done fine\nexit 3",
        (FAILED, "exit"),
        "The child finished its answer, then exited with code 3.",
        ends=3,
        output="fine",
    ),
    Ending(
        "settled, then killed",
        "done fine\ndie SIGKILL",
        (FAILED, "signal"),
        "The child was killed by SIGKILL.",
        ends="SIGKILL",
    ),
    # the model failed
    Ending("error", "begin\nanswer error 401: no\nsettle", (FAILED, "error"), "401: no"),
    Ending(
        "error, then lingers",
        f"begin\nanswer error 401: no\nsettle\n{LINGER}",
        (FAILED, "error"),
        "401: no",
        ends="SIGTERM",
        lingered=True,
    ),
    Ending(
        "aborts itself",
        "begin\nanswer aborted\nsettle aborted",
        (FAILED, "error"),
        "The child aborted its answer.",
    ),
    Ending(
        "aborts itself, says why",
        "begin\nanswer error This operation was aborted\nsettle aborted",
        (FAILED, "error"),
        "This operation was aborted",
    ),
    Ending(
        "length",
        "begin\nanswer length half\nsettle",
        (FAILED, "length"),
        "The answer was cut at the model's output limit.",
        output="half",
    ),
    # it never finished
    Ending("nothing at all", "exit 0", (FAILED, "unfinished"), U_MESSAGE),
    Ending("never settled", "begin\nanswer stop fine", (FAILED, "unfinished"), U_MESSAGE),
    Ending("last answer at toolUse", "begin\nanswer toolUse half\nsettle", (FAILED, "unfinished"), U_MESSAGE),
    Ending(
        "exit 1 with words",
        "stderr one\nstderr No key found\nexit 1",
        (FAILED, "exit"),
        "No key found",
        ends=1,
    ),
    Ending("exit 1 without", "begin\nexit 1", (FAILED, "exit"), "The child exited with code 1.", ends=1),
    Ending("exit 143", f"{WORK}exit 143", (FAILED, "exit"), "The child exited with code 143.", ends=143),
    Ending(
        "KILL from outside",
        WORK + LINGER,
        (FAILED, "signal"),
        "The child was killed by SIGKILL.",
        ends="SIGKILL",
        fault=to_child(signal.SIGKILL, "assistant_text"),
    ),
    Ending(
        "SEGV from outside",
        WORK + LINGER,
        (FAILED, "signal"),
        "The child was killed by SIGSEGV.",
        ends="SIGSEGV",
        fault=to_child(signal.SIGSEGV, "assistant_text"),
    ),
    Ending(
        "crash", WORK + "die SIGABRT", (FAILED, "signal"), "The child was killed by SIGABRT.", ends="SIGABRT"
    ),
    # we end it
    Ending(
        "timeout",
        WORK + LINGER,
        (FAILED, "timeout"),
        T_MESSAGE,
        ends="SIGTERM",
        changes=TIMEOUT,
        extra={"TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0"},
    ),
    Ending(
        "timeout, ignores TERM",
        IGNORES + "found stubborn\n" + WORK + LINGER,
        (FAILED, "timeout"),
        T_MESSAGE,
        ends="SIGKILL",
        changes=TIMEOUT,
        extra={"TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0"},
    ),
    Ending("loop", f"begin\n{LOOP}{LINGER}", (FAILED, "loop"), L_MESSAGE, ends="SIGTERM"),
    Ending(
        "loop beats timeout",
        f"{IGNORES}begin\nsleep 0.3\n{LOOP}{LINGER}",
        (FAILED, "loop"),
        L_MESSAGE,
        ends="SIGKILL",
        changes={"timeout": 20},
    ),
    Ending(
        "stop",
        WORK + LINGER,
        (ABORTED, "stopped"),
        "Stopped.",
        ends="SIGTERM",
        fault=to_wrapper(signal.SIGTERM, signal.SIGCONT),
    ),
    Ending(
        "stop, exits 0",
        "on_term exit 0\n" + WORK + "sleep 300",
        (ABORTED, "stopped"),
        "Stopped.",
        ends=0,
        fault=to_wrapper(signal.SIGTERM),
    ),
    Ending(
        "stop, settles on TERM",
        "on_term settle\n" + WORK + "sleep 300",
        (ABORTED, "stopped"),
        "Stopped.",
        ends=0,
        fault=to_wrapper(signal.SIGTERM),
    ),
    Ending(
        "stop, a second later once more",
        IGNORES + WORK + LINGER,
        (ABORTED, "stopped"),
        "Stopped.",
        ends="SIGKILL",
        fault=to_wrapper(signal.SIGTERM, signal.SIGHUP, signal.SIGINT),
    ),
    Ending(
        "stop after settling",
        f"done fine\n{LINGER}",
        (COMPLETED, "done"),
        ends="SIGTERM",
        lingered=True,
        fault=after_settling(signal.SIGTERM),
    ),
    Ending(
        "hang-up after settling",
        f"done fine\n{LINGER}",
        (COMPLETED, "done"),
        ends="SIGTERM",
        lingered=True,
        fault=after_settling(signal.SIGHUP),
    ),
    Ending(
        "Ctrl-C twice", WORK + LINGER, (ABORTED, "stopped"), "Stopped.", ends="SIGTERM", fault=ctrl_c_twice
    ),
    Ending(
        "Ctrl-C once and other keys", WORK + "sleep 0.5\ndone fine", (COMPLETED, "done"), fault=ctrl_c_once
    ),
    Ending(
        "the parent cancels",
        WORK + LINGER,
        (ABORTED, "parent"),
        "The parent cancelled the call.",
        ends="SIGTERM",
        fault=to_wrapper(signal.SIGINT),
    ),
    Ending(
        "hang-up",
        WORK + LINGER,
        (ABORTED, "closed"),
        "The window was closed.",
        ends="SIGTERM",
        fault=to_wrapper(signal.SIGHUP),
    ),
    # it never began
    Ending(
        "no such program",
        "done",
        (FAILED, "spawn"),
        "Failed to spawn sub-agent process",
        ends=1,
        extra={"TMUXAGENTS_PI": "/nowhere/pi"},
    ),
    Ending(
        "not executable",
        "done",
        (FAILED, "spawn"),
        "Failed to spawn sub-agent process",
        ends=1,
        extra={"TMUXAGENTS_PI": "/etc/hostname"},
    ),
    Ending(
        "a folder",
        "done",
        (FAILED, "spawn"),
        "Failed to spawn sub-agent process",
        ends=1,
        extra={"TMUXAGENTS_PI": "/etc"},
    ),
    Ending(
        "cwd is gone",
        "done",
        (FAILED, "spawn"),
        "The working directory changed.",
        ends=None,
        changes={"cwd": "/nowhere/at/all"},
    ),
    # the wrapper is lost
    Ending(
        "wrapper killed",
        WORK + LINGER,
        (ABORTED, "lost"),
        LOST_MESSAGE,
        ends=None,
        fault=kill_wrapper("assistant_text"),
        concluded=True,
    ),
    Ending(
        "wrapper killed at the start",
        LINGER,
        (ABORTED, "lost"),
        LOST_MESSAGE,
        ends=None,
        fault=kill_wrapper("run_started"),
        concluded=True,
    ),
    Ending(
        "wrapper killed after settling",
        f"done fine\n{LINGER}",
        (COMPLETED, "done"),
        ends=None,
        output="fine",
        note="wrapper lost",
        fault=kill_wrapper("settled"),
        concluded=True,
    ),
    Ending(
        "wrapper killed before the result",
        "found stubborn\ndone fine",
        (COMPLETED, "done"),
        ends=0,
        output="fine",
        note="wrapper lost",
        fault=kill_wrapper_after_exit,
        concluded=True,
    ),
    # what it leaves, and what it does to its own run
    Ending(
        "founds processes",
        "found tool\nfound nohup\nfound stranger\nfound double-fork\nfound stubborn\ndone fine",
        (COMPLETED, "done"),
    ),
    Ending(
        "founds services",
        "service tmux\nservice ssh-agent\nfound other-run\nfound watcher\nfound tool\ndone fine",
        (COMPLETED, "done"),
        left=("tmux", "tmux-window", "ssh-agent", "other-run"),
    ),
    Ending(
        "founds services, stopped",
        f"service tmux\nservice ssh-agent\nfound stranger\n{WORK}{LINGER}",
        (ABORTED, "stopped"),
        "Stopped.",
        ends="SIGTERM",
        left=("tmux", "tmux-window", "ssh-agent"),
        fault=to_wrapper(signal.SIGTERM),
    ),
    Ending(
        "founds services, wrapper killed",
        f"service tmux\nfound tool\n{WORK}{LINGER}",
        (ABORTED, "lost"),
        LOST_MESSAGE,
        ends=None,
        left=("tmux", "tmux-window"),
        fault=kill_wrapper("assistant_text"),
        concluded=True,
    ),
    Ending("forges its result", "forge\nbegin\nanswer error 401: no\nsettle", (FAILED, "error"), "401: no"),
    Ending(
        "forges its result and lingers",
        f"begin\nanswer error 401: no\nsettle\nforge\n{LINGER}",
        (FAILED, "error"),
        "401: no",
        ends="SIGTERM",
        lingered=True,
    ),
    Ending(
        "removes the lock",
        "remove run.lock\nbegin\nanswer length half\nsettle",
        (FAILED, "length"),
        "The answer was cut at the model's output limit.",
    ),
    Ending(
        "forges and removes the lock",
        "remove run.lock\nforge\nexit 4",
        (FAILED, "exit"),
        "The child exited with code 4.",
        ends=4,
    ),
    Ending(
        "removes wrapper.json",
        f"remove wrapper.json\nforge\n{WORK}sleep 0.3\nexit 4",
        (FAILED, "exit"),
        "The child exited with code 4.",
        ends=4,
    ),
    Ending("removes its run", "remove everything\ndone fine", (COMPLETED, "done"), output="fine"),
    # what a child may say that is not as it should be
    Ending(
        "calls numbered anew in each answer",
        "begin\n"
        + 'json {"type":"message_end","message":{"role":"assistant","stopReason":"toolUse","content":'
        '[{"type":"toolCall","id":"call_0","name":"ls","arguments":{"path":"x"}}]}}\n'
        'json {"type":"tool_execution_start","toolCallId":"call_0","toolName":"ls","args":{"path":"x"}}\n'
        'json {"type":"tool_execution_end","toolCallId":"call_0","toolName":"ls","result":{}}\n' * 6 + LINGER,
        (FAILED, "loop"),
        L_MESSAGE,
        ends="SIGTERM",
    ),
    Ending(
        "loops and settles in one breath",
        f"begin\n{LOOP}done fine\n{LINGER}",
        (FAILED, "loop"),
        L_MESSAGE,
        ends="SIGTERM",
    ),
    Ending(
        "figures that nobody can reckon with",
        "begin\n"
        + "".join(
            'json {"type":"message_end","message":{"role":"assistant","stopReason":"stop","usage":{"input":'
            f'{figure}}},"content":[{{"type":"text","text":"fine"}}]}}}}\n'
            for figure in ("9" * 4000, "1.5", "NaN", "-1", "1e999")
        )
        + "settle",
        (COMPLETED, "done"),
        output="fine",
    ),
    Ending(
        "the end of its last turn is lost",
        "begin\nanswer stop fine\n"
        'json {"type":"message_end","message":{"role":"assistant","stopReason":"length"}}\nsettle',
        (FAILED, "length"),
        "The answer was cut at the model's output limit.",
    ),
    Ending(
        "somebody talks into its lines",
        'begin\nanswer stop fine\nraw progress 50%\njson {"type":"message_end","message":{"role":"assistant",'
        '"stopReason":"error","errorMessage":"500"}}\nraw progress 60%\nsettle',
        (FAILED, "error"),
        "500",
    ),
    Ending(
        "a turn ends after it settled",
        f'done fine\njson {{"type":"turn_end","message":{{"stopReason":"toolUse"}}}}\n{LINGER}',
        (COMPLETED, "done"),
        ends="SIGTERM",
        lingered=True,
        output="fine",
    ),
    Ending(
        "begins again on our TERM",
        "on_term begin\ndone fine\nsleep 300",
        (COMPLETED, "done"),
        lingered=True,
        output="fine",
    ),
    Ending("a month of time", "done fine", (COMPLETED, "done"), changes={"timeout": 2_592_000}),
    Ending("text that was quadratic to clean", "flood c1 400\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending(
        "begins again, then its wrapper is killed",
        f"done fine\nsleep 0.3\nbegin\npid again\n{LINGER}",
        (ABORTED, "lost"),
        LOST_MESSAGE,
        ends=None,
        fault=kill_wrapper("resumed"),
        concluded=True,
    ),
    Ending(
        "listens, sheds its marker, and its wrapper is killed",
        f"listen\n{WORK}{LINGER}",
        (ABORTED, "lost"),
        LOST_MESSAGE,
        ends=None,
        fault=kill_wrapper("assistant_text"),
        concluded=True,
    ),
    Ending(
        "founds a service in another network",
        "service tmux-apart\ndone fine",
        (COMPLETED, "done"),
        left=("tmux-apart",),
    ),
    Ending("puts folders in our way", "block\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending(
        "removes its events",
        f"{WORK}remove events.jsonl\nremove meta.json\nsleep 0.3\ndone fine",
        (COMPLETED, "done"),
        output="fine",
    ),
    Ending(
        "becomes another user",
        f"begin\nanswer toolUse x\nbecome_nobody\n{LINGER}",
        (FAILED, "timeout"),
        T_MESSAGE,
        ends="SIGTERM",
        changes=TIMEOUT,
        extra={"TMUXAGENTS_EXTEND_TIMEOUT_DEBOUNCE": "0"},
    ),
    # floods
    Ending("a million snapshots", "flood updates 1000000\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending("a flood on stderr", "flood stderr 20000\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending("both pipes flooded", "flood both 10000\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending("a line of 200 MB", "flood line 200\ndone fine", (COMPLETED, "done"), output="fine"),
    Ending(
        "bytes that are no text", "raw \\xff\\xfe\\x00{{{\\n\ndone fine", (COMPLETED, "done"), output="fine"
    ),
]
HEAVY = ("a million snapshots", "a flood on stderr", "both pipes flooded", "a line of 200 MB")
