"""What a machine sends that is broken, or means harm: it is refused, and the runs here stay readable."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness import eventually
from tests.machines.pair import LONG_S, Pair
from tmuxagents.runs import directory

if TYPE_CHECKING:
    from collections.abc import Iterator

SAYS = """import json, sys
answers = json.load(open(sys.argv[1]))
verb = sys.argv[3]
if verb == "launch":
    print(json.dumps({"hello": 1}), flush=True)
    asked = json.loads(sys.stdin.readline())
    plan = {**answers["plan"], "runId": asked["runId"]}
    plan = json.dumps(plan) if answers["meta"] is None else answers["meta"]
    receipt = {"v": 1, "runId": asked["runId"], "home": "/", "runDir": "/", "meta": plan, "warnings": 7}
    print(json.dumps({**receipt, **answers["receipt"]}), flush=True)
for line in sys.stdin if verb == "follow" else ():
    run = json.loads(line)["run"]
    for head, text in [[{"beat": True}, ""], *answers["frames"]]:
        head = {"run": run, **head} if "beat" not in head else head
        sys.stdout.write(json.dumps({**head, "size": len(text)}) + "\\n" + text)
        sys.stdout.flush()
"""


class Liar:
    """A machine on which another program has the place of tmuxagents."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        run_id = pair.launch("done fine")
        pair.result(run_id)
        self.plan = json.loads((pair.near_dir(run_id) / directory.META).read_text())
        self._kept = pair.lab.folder / "kept"
        self._program = pair.lab.bin / "tmuxagents-there"
        shutil.copy(self._program, self._kept)
        self._answers = pair.lab.folder / "answers.json"
        says = pair.lab.folder / "says.py"
        says.write_text(SAYS)
        words = shlex.join([sys.executable, str(says), str(self._answers)])
        pair.lab.program("tmuxagents-there", f'exec {words} "$@"')
        pair.kill(pair.mirrors())

    def says(
        self,
        *frames: tuple[dict[str, Any], str],
        meta: str | None = None,
        receipt: dict[str, Any] | None = None,
    ) -> None:
        answers = {"plan": self.plan, "meta": meta, "receipt": receipt or {}, "frames": frames}
        self._answers.write_text(json.dumps(answers))

    def launch(self) -> str:
        done = self.pair("launch", "--on", "box", "done fine")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def go(self) -> None:
        self.pair.kill(self.pair.mirrors())
        shutil.copy(self._kept, self._program)


@pytest.fixture(scope="module")
def installed(machines: Pair) -> Iterator[Liar]:
    made = Liar(machines)
    yield made
    made.go()


@pytest.fixture
def liar(installed: Liar, models: object) -> Liar:  # noqa: ARG001  (no pure test)
    return installed


@pytest.mark.parametrize(
    ("meta", "receipt"),
    [
        ("rubbish", {}),
        ("", {}),
        ("\ud800", {}),
        (None, {"meta": None}),
        ("{}", {}),
        ('{"v":1,"runId":"0123456789abcdef","task":"x"}', {}),
    ],
)
def test_a_receipt_without_a_plan_of_the_run_is_refused(
    liar: Liar, meta: str | None, receipt: dict[str, Any]
) -> None:
    liar.says(meta=meta, receipt=receipt)
    before = set(liar.pair.desk.made())
    done = liar.pair("launch", "--on", "box", "done fine")
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert "box answered with no plan of this run" in done.stderr
    assert set(liar.pair.desk.made()) == before


def test_an_odd_frame_ends_the_connection_and_not_the_mirror(liar: Liar) -> None:
    liar.says(({"file": ["events.jsonl"]}, ""))
    run_id = liar.launch()
    # What a mirror starts looks like it for a moment.
    (mirror,) = eventually(lambda: len(found := liar.pair.mirrors()) == 1 and found, LONG_S)
    liar.says(
        ({"file": directory.META, "whole": True}, "rubbish"),
        ({"file": directory.RESULT, "whole": True}, '{"status":"failed","reason":"\x1b[2J"}'),
    )
    assert liar.pair.how(run_id) == ("aborted", "lost")
    assert mirror in liar.pair.mirrors()  # odd frames have not ended it
    assert liar.pair.result(run_id)["errorMessage"] == "box has sent no result that can be read."
    assert liar.pair.run(run_id)["name"] == liar.plan["name"]  # the plan that could not be read is not kept
