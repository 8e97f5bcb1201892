"""Carry out one run: claim it, start the child, watch it, write how it ended. Joins."""

from __future__ import annotations

import os
import sys
import time

from tmuxagents import records
from tmuxagents.agents import find
from tmuxagents.cpython import ignoring
from tmuxagents.errors import TmuxAgentsError, Unusable
from tmuxagents.launch import handover
from tmuxagents.records import Exit, Verdict
from tmuxagents.runs import endings, events
from tmuxagents.runs.leftovers import LeftoverScope
from tmuxagents.settings import keys as settings_rules
from tmuxagents.settings import load
from tmuxagents.system import places, process, watcher_lock
from tmuxagents.text import safe
from tmuxagents.wrapper import claim as claiming
from tmuxagents.wrapper.child import Ladder, Start, end_left
from tmuxagents.wrapper.claim import Result, write_unbegun
from tmuxagents.wrapper.guards import Guards
from tmuxagents.wrapper.recorder import Recorder
from tmuxagents.wrapper.signals import Console, Signals, hang_up
from tmuxagents.wrapper.terminal import StoryWindow, Terminal
from tmuxagents.wrapper.waits import Before, enter_cwd, still_there
from tmuxagents.wrapper.watch import ChildWatch, WatchParts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tmuxagents.agents.base import Agent
    from tmuxagents.wrapper.claim import Claim
    from tmuxagents.wrapper.duplex import Talk
    from tmuxagents.wrapper.live import Live

_TERMINAL_LIMIT_S = 0.2
_READ_S = 0.2  # tmux (3.3a) sometimes loses the last words of a process that exits at once


def main(arguments: list[str]) -> None:
    """Run the wrapper of one run directory, and exit without Python's slow shutdown."""
    process.open_standard_streams()
    outer_umask = os.umask(0o077)
    # Signals first: a window that is closed right now must end the run, not kill the wrapper.
    signals = Signals()
    try:
        claim = claiming.claim(os.path.realpath(arguments[0]))
        terminal = Terminal()
        try:
            run = WrapperRun(claim, signals, terminal, outer_umask)
        except Exception:  # it cannot even begin: we write that result, since no other process can
            terminal.leave(_TERMINAL_LIMIT_S)
            write_unbegun(claim)
            handover.answer(claim.run_dir)
            raise
        code = run.carry_out()
    except TmuxAgentsError as error:
        code = _say(f"{error.message}\n" + (f"hint: {error.hint}\n" if error.hint else ""), error.exit_code)
    except OSError as error:
        code = _say(f"The run cannot be carried out: {error}.\n", Unusable.exit_code)
    os._exit(code)


def _say(text: str, code: int) -> int:
    with ignoring(OSError):
        os.write(2, safe.text(text).encode("utf-8", "replace"))
    time.sleep(_READ_S)
    return code


class WrapperRun:
    """One run in the hands of its wrapper."""

    def __init__(self, claim: Claim, signals: Signals, terminal: Terminal, outer_umask: int) -> None:
        handed = claim.handed
        self._run_dir = claim.run_dir
        self._plan = claim.plan
        self._environment: Mapping[str, str] = handed.environment if handed else dict(os.environ)
        self._settings = load.load(self._environment, claim.plan.project)
        self._terminal = terminal
        width = settings_rules.preview_width(self._settings, self._terminal.columns)
        window = StoryWindow(self._terminal, self._environment)
        self._recorder = Recorder(claim.run_dir, claim.plan, claim.wrapper, window, width=width)
        self._console = Console(recorder=self._recorder, signals=signals, terminal=terminal)
        self._scope = LeftoverScope(
            run_id=claim.plan.run_id,
            uid=os.getuid(),
            wrapper=os.getpid(),
            keep=claim.plan.keep_background,
            since=claim.wrapper["startTime"],
        )
        self._claim = claim
        limits = process.raise_limits()
        self._starting = Start(claim, self._environment, self._settings, umask=outer_umask, limits=limits)
        self._result = Result(claim, recorder=self._recorder, signals=signals)
        self._begun = time.monotonic()
        self._lingered = False
        self._slot: int | None = None
        self._answered = handed is None
        self._queued = handed is not None and handed.queued

    def carry_out(self) -> int:
        """Start the child, watch it, end its leftovers, write the result; return our exit status."""
        try:
            self._ensure_watcher()  # before orphans become our children
            process.become_subreaper()
            agent = find(self._plan.agent, self._plan.agent_kind)
            verdict = enter_cwd(self._claim)
            if verdict is None:
                before = Before(self._claim, self._console, self._answer_launcher)
                folder = places.of_host(places.own_home(self._environment), process.host())
                verdict = before.wait(folder, int(self._settings.numbers["maxRunning"]))
                verdict, self._slot = verdict or still_there(self._claim), before.slot
            if verdict is None:
                verdict = self._run_child(agent) if agent is not None else endings.NOT_SPAWNED.verdict()
        except Exception:  # noqa: BLE001  (our own fault must neither cost the result nor leave processes)
            verdict = self._after_our_fault()
        if self._queued:
            from tmuxagents.slurm import commands  # noqa: PLC0415  (few runs are jobs)

            verdict = commands.with_slurms_reason(verdict, self._environment)
        now = time.monotonic()
        duration = now - self._begun
        with ignoring(OSError, ImportError):  # the result is written even without a free descriptor
            process.become_subreaper(on=False)
            self._ensure_watcher()
        self._recorder.close(verdict, duration)
        if self._plan.driver == records.LIVE and self._starting.tried:
            called = self._plan.name or self._plan.run_id[:8]
            self._recorder.hint(f"Open it again with: tmuxagents attach --resume {called}")
        self._recorder.flush(now, last=True)
        self._recorder.title(f"{verdict.status} ({verdict.reason})")
        self._ring()
        # All that takes time comes before the result, since the run counts as running while we live.
        self._terminal.show_rest(_TERMINAL_LIMIT_S)
        self._result.write(verdict, duration, lingered=self._lingered)
        self._answer_launcher()  # if no child was started, the launcher still waits
        self._terminal.leave(0.0)
        return 0 if verdict.status == records.COMPLETED else 1

    def _ensure_watcher(self) -> None:
        """Start a watcher: it shows the run, and concludes it if we are killed.

        Not for a job of Slurm: a watcher on its node would inform no person, and outlive the job.
        """
        if self._queued:
            return
        watcher_lock.ensure(os.path.dirname(os.path.dirname(self._run_dir)), self._environment)

    def _answer_launcher(self) -> None:
        """Confirm to the launcher that the run is ours. By now, the files hold all that it will print."""
        if not self._answered:
            self._answered = True
            handover.answer(self._run_dir)

    def _after_our_fault(self) -> Verdict:
        """End the child; return the ending that its events prove, as for a killed wrapper.

        If the agent has refused the plan before anything was started, that is not our fault.
        """
        self._terminal.take_back()
        error = sys.exc_info()[1]
        refusal = error.message if isinstance(error, TmuxAgentsError) else None
        words = refusal or repr(error)
        if refusal is None:
            with ignoring(OSError, ImportError):  # perhaps no module can be read
                import traceback  # noqa: PLC0415  (a healthy run never gets here)

                words = traceback.format_exc()
        self._recorder.hint(safe.text(words))
        if not self._starting.tried:
            os.close(self._claim.prompt)  # the prompt is not read now, and the result may need a descriptor
            return (endings.misconfigured(refusal) if refusal else endings.NOT_SPAWNED).verdict()
        end_left(self._scope, self._recorder, hard=True)
        return endings.conclude(self._recorder.state)

    def _run_child(self, agent: Agent) -> Verdict:
        """Start the child and see it to its end; return the ending of the run."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._recorder.head(at, self._environment.get("HOME", ""))
        numbers = self._settings.numbers
        live: Live | None = None
        talk: Talk | None = None  # with a batch child whose stdin stays open
        how = agent.live() if self._plan.driver == records.LIVE else None
        if how is not None:
            from tmuxagents.wrapper.live import Live  # noqa: PLC0415  (a batch run pays nothing for it)

            limit_s = numbers["askTimeout"]
            live = Live(
                self._claim, how, self._terminal, slot=self._slot, ring=self._ring, ask_limit_s=limit_s
            )
            if not live.borrow():
                return live.refusal()
        elif (talker := agent.talker(self._plan, self._run_dir)) is not None:
            from tmuxagents.wrapper.duplex import Talk  # noqa: PLC0415  (as for live runs)

            talk = Talk(talker, self._claim, ask_limit_s=numbers["askTimeout"])
        started = self._starting.start(agent, live, talk)
        if started is None:
            if live is not None:
                live.take_back()
            return endings.NOT_SPAWNED.verdict()
        child, pipes = started
        self._begun = time.monotonic()
        self._recorder.begin_logs()
        self._recorder.event(events.run_started(self._starting.started_fields(child)))
        self._recorder.flush(self._begun)
        self._answer_launcher()
        guards = Guards(
            started_at=self._begun,
            timeout_s=self._plan.timeout or 0.0,  # a sound plan has one
            debounce_s=numbers["extend_timeout_debounce"],
            loop_count=int(numbers["looping_tool_count"]),
        )
        ladder = Ladder(child, self._scope)
        parts = WatchParts(child=child, pipes=pipes, console=self._console, guards=guards, ladder=ladder)
        return self._watch_child(agent, parts, live, talk)

    def _watch_child(self, agent: Agent, parts: WatchParts, live: Live | None, talk: Talk | None) -> Verdict:
        """Watch the child until it ends, then end its leftovers; return the ending of the run."""
        ladder = parts.ladder
        reader = talk.talker if talk else agent.reader(self._plan, self._run_dir)
        reader.note_session(self._starting.logged)
        if live is not None:
            watch: ChildWatch = live.watch(parts, begun_at=self._begun)
        else:
            watch = talk.watch(parts) if talk else ChildWatch(parts, reader)
        ending = watch.run()
        if live is not None:
            # We print no line after the child, which has shown everything in the window itself.
            self._recorder.flush(time.monotonic(), last=True)
            live.take_back()
        if watch.lacks_usage:  # a leftover may be the agent itself, if the child only started it
            end_left(self._scope, self._recorder, hard=ladder.killed)
            watch.note_written()
        if ending is not None:
            self._recorder.event(events.child_exited(ending.exit_code, ending.signal))
        self._recorder.flush(time.monotonic())  # we may be killed while leftovers take their time
        if not watch.lacks_usage:
            end_left(self._scope, self._recorder, hard=ladder.killed)
        self._lingered = ladder.begun and ladder.cause is None
        cause = ladder.cause
        if cause is endings.WINDOW_CLOSED:
            cause = hang_up(self._claim.wrapper["tmux"])
        how, state = ending or Exit(None), self._recorder.state
        if live is not None:
            live.remove_files()
            return live.verdict(state, how, cause=cause, lingered=self._lingered)
        return endings.verdict(
            state, how, cause=cause, lingered=self._lingered, exit_counts=reader.exit_counts
        )

    def _ring(self) -> None:
        """Ring the window's bell, only once: when the run settles in a person's hands, or when it ends."""
        if self._settings.notify != "off":
            self._terminal.ring()
