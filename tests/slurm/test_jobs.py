"""What Slurm says of jobs, in its own words (22.05), and which endings those are."""

from __future__ import annotations

import pytest

from tmuxagents.errors import BadRequest
from tmuxagents.slurm import jobs
from tmuxagents.slurm.jobs import Job

pytestmark = pytest.mark.pure

RUN = "0123456789abcdef"


def line(
    state: str, reason: str = "None", status: str = "0", name: str = f"ta-{RUN}", number: str = "7"
) -> str:
    return f"{number:<20}{name:<40}{state:<24}{reason:<64}{status:<12}"


def one(state: str, reason: str = "None", status: str = "0") -> Job:
    return next(jobs.queue(line(state, reason, status)))


def test_a_queue_is_read_by_its_columns() -> None:
    text = "\n".join(
        [
            line("PENDING", "Nodes required for job are DOWN, DRAINED or reserved"),
            line("FAILED", "NonZeroExitCode", "768", name="other"),
            "slurm_load_jobs error: Invalid job id specified",
            line("RUNNING", status="²"),
        ]
    )
    waiting, other, running = jobs.queue(text)
    assert waiting == Job("7", f"ta-{RUN}", "PENDING", "Nodes required for job are DOWN, DRAINED or reserved")
    assert (waiting.run_id, other.run_id) == (RUN, None)
    assert (other.status, running.status) == (768, 0)
    assert (waiting.is_queued, running.is_queued, other.is_over, running.is_over) == (
        True,
        False,
        True,
        False,
    )
    assert (waiting.is_running, running.is_running) == (False, True)


@pytest.mark.parametrize(
    ("state", "ending"),
    [
        ("TIMEOUT", ("failed", "timeout")),
        ("DEADLINE", ("failed", "timeout")),
        ("OUT_OF_MEMORY", ("failed", "oom")),
        ("PREEMPTED", ("aborted", "preempted")),
        ("CANCELLED", ("aborted", "stopped")),
        ("REVOKED", ("aborted", "stopped")),
        ("NODE_FAIL", ("aborted", "lost")),
        ("BOOT_FAIL", ("aborted", "lost")),
        ("FAILED", None),
        ("COMPLETED", None),
    ],
)
def test_each_state_of_a_job_that_is_over_has_its_ending(state: str, ending: tuple[str, str] | None) -> None:
    job = one(state)
    assert job.is_over
    assert (None if job.cause is None else (job.cause.status, job.cause.reason)) == ending


def test_a_job_that_is_completing_is_not_over() -> None:
    assert not one("COMPLETING").is_over


SHOWN = (
    "JobId=2 JobName=ta-{run} UserId=root(0) GroupId=root(0) JobState={state} Reason={reason} "
    "Dependency=(null) Requeue={requeue} Restarts=0 ExitCode=0:0 PreemptEligibleTime=2026-11-20T04:38:54 "
    "PreemptTime={preempted} Comment=JobState=FAILED\n"
)


def shown(state: str, reason: str = "None", preempted: str = "None", requeue: int = 0) -> Job:
    job = jobs.shown(SHOWN.format(run=RUN, state=state, reason=reason, preempted=preempted, requeue=requeue))
    assert job is not None
    return job


@pytest.mark.parametrize(
    ("job", "ending"),
    [
        (shown("RUNNING"), None),
        (shown("COMPLETING"), jobs.CANCELLED),
        (shown("CANCELLED"), jobs.CANCELLED),
        (shown("COMPLETING", "TimeLimit"), jobs.TIME_LIMIT),
        (shown("COMPLETING", preempted="2026-11-20T04:38:54"), jobs.PREEMPTED),
        (shown("REQUEUED"), jobs.PREEMPTED),
        (shown("COMPLETING", requeue=1), jobs.PREEMPTED),
        (shown("OUT_OF_MEMORY", "OutOfMemory"), jobs.OUT_OF_MEMORY),
    ],
)
def test_a_wrapper_learns_why_it_is_asked_to_end(job: Job, ending: object) -> None:
    assert job.run_id == RUN
    assert job.called_off is ending


def test_what_is_no_job_is_none() -> None:
    assert jobs.shown("slurm_load_jobs error: Invalid job id specified") is None
    assert jobs.shown("JobId=7") == Job("7", "", "", "")


@pytest.mark.parametrize(("status", "how"), [("9", "signal 9"), ("768", "exit code 3")])
def test_a_job_without_a_wrapper_says_how_it_ended(status: str, how: str) -> None:
    said = one("FAILED", "NonZeroExitCode", status).never_came
    assert said == f"Slurm's job 7 ended without a wrapper (FAILED, NonZeroExitCode, {how})."


def test_a_wait_is_told_with_the_reason_of_slurm() -> None:
    assert jobs.waiting_words("Resources") == "waits in Slurm's queue (Resources)"
    assert jobs.waiting_words("None") == "waits in Slurm's queue"


@pytest.mark.parametrize(
    ("word", "fault"),
    [
        ("--gres=gpu:1", None),
        ("-p", None),
        ("main", None),
        ("--account=a", None),
        ("--partition=x", None),
        ("", None),
        ("--array=1-3", "cannot be set: a run is one job"),
        ("--arr", "cannot be set: a run is one job"),
        ("--ar=1-3", "cannot be set: a run is one job"),
        ("--wait-all-nodes=1", None),
        ("-a1-3", "cannot be set: a run is one job"),
        ("-QHa1-3", "cannot be set: a run is one job"),
        *(("-QH", None), ("-koff", None)),
        ("--job-name=x", "cannot be set: the name leads back to the run"),
        ("a\nb", "has a control character"),
    ],
)
def test_options_that_would_break_a_run_are_refused(word: str, fault: str | None) -> None:
    assert jobs.option_fault(word) == fault


LAUNCHER = {
    "PATH": "/bin",
    "A_KEY": "secret",
    "LC_ALL": "C",
    "SLURM_CONF": "/c",
    "SLURM_JOB_ID": "1",
    "SLURM_STEP_ID": "0",
    "SBATCH_ARRAY_INX": "1-3",
    "SBATCH_ACCOUNT": "a",
}


def test_slurm_gets_no_secret_and_nothing_that_multiplies_a_job() -> None:
    given = jobs.for_slurm(LAUNCHER)
    assert given == {name: LAUNCHER[name] for name in LAUNCHER if name not in ("A_KEY", "SBATCH_ARRAY_INX")}


def test_a_child_in_a_job_has_the_launchers_environment_and_the_jobs() -> None:
    job = jobs.for_slurm(LAUNCHER) | {
        "SLURM_JOB_ID": "7",
        "CUDA_VISIBLE_DEVICES": "0",
        "PWD": "/",
        "SHLVL": "1",
    }
    del job["SLURM_STEP_ID"]
    child = jobs.in_job({**LAUNCHER, "PWD": "/here"}, {**job, "PATH": "/bin"})
    assert (child["A_KEY"], child["SLURM_JOB_ID"], child["CUDA_VISIBLE_DEVICES"]) == ("secret", "7", "0")
    assert (child["PWD"], child["SLURM_CONF"], child["PATH"]) == ("/here", "/c", "/bin")
    assert not {"SLURM_STEP_ID", "SHLVL"} & set(child)


def test_sbatch_is_told_what_no_option_may_change() -> None:
    words = jobs.words(RUN, log="/l", partition="gpu")
    assert {"--no-requeue", f"ta-{RUN}", "/l", "gpu"} <= set(words)
    assert {"/dev/null"} <= set(jobs.words(RUN, log="/l%j", partition=None))


def test_the_script_becomes_the_wrapper() -> None:
    assert jobs.script("", "python /x") == "#!/bin/sh\nexec python /x\n"
    assert jobs.script("--mem=1G", "python /x") == "#!/bin/sh\n#SBATCH --mem=1G\nexec python /x\n"


# --- what Slurm's commands say when they fail -------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "message", "heard"),
    [
        (
            "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
            "Slurm cannot be reached: Batch job submission failed: Socket timed out on send/recv operation.",
            True,
        ),
        (
            "squeue: error: slurm_receive_msg: Zero Bytes were transmitted or received",
            "Slurm cannot be reached: slurm_receive_msg: Zero Bytes were transmitted or received.",
            False,
        ),
        ("", "Slurm cannot be reached: it says nothing.", False),
    ],
)
def test_slurm_is_silent(said: str, message: str, *, heard: bool) -> None:
    why = jobs.refusal("sbatch", said)
    assert isinstance(why, jobs.SlurmSilent)
    assert (why.message, why.heard, why.kind) == (message, heard, "unreachable")


def test_slurm_refuses_a_job_in_its_last_words() -> None:
    said = "sbatch: error: invalid partition specified: nope\nsbatch: error: Invalid partition name\x1b[2J."
    why = jobs.refusal("sbatch", said)
    assert (type(why), why.kind) == (BadRequest, "bad-argument")
    assert why.message.startswith("Slurm's sbatch refuses: Invalid partition name")
    assert "\x1b" not in why.message
