"""Questions on a live child's own screen, answered from elsewhere: with the real pi and its extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hands import Live, soon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.desk import Desk
    from tests.harness import ModelServer

ASKS = """
export default function (pi: any) {
	pi.on("agent_start", async (_event: any, ctx: any) => {
		const colour = await ctx.ui.select("Which colour?", ["Red", "Blue"]);
		const sure = await ctx.ui.confirm("Sure?", "It cannot be undone.");
		const name = await ctx.ui.input("What name?");
		const never = await ctx.ui.confirm("Again?", "A second time.");
		pi.appendEntry("answers", { colour, sure, name: name ?? null, never });
	});
}
"""


@pytest.fixture
def live(desk: Desk, models: ModelServer) -> Iterator[Live]:
    made = Live(desk, models)
    folder = desk.home.agent_dir / "extensions"
    folder.mkdir()
    (folder / "asks.ts").write_text(ASKS)
    yield made
    made.leave()


def asked(live: Live, run_id: str, count: int) -> str:
    """Wait until this number of questions is asked; return the last one."""
    soon(lambda: len(live.events(run_id, "needs_input")) == count)
    return str(live.events(run_id, "needs_input")[-1]["text"])


def test_an_answer_from_elsewhere_closes_the_dialog_and_so_does_a_persons(live: Live) -> None:
    run_id = live.launch("#say:Thanks.")
    assert asked(live, run_id, 1) == "Which colour?"
    (ask,) = live.run(run_id)["asks"]
    assert [option["id"] for option in ask["options"]] == ["Red", "Blue"]
    soon(lambda: "Which colour?" in live.screen(run_id))
    assert live.desk("answer", run_id, "blue").stdout.endswith("(Which colour?; by a person).\n")
    assert asked(live, run_id, 2) == "Sure?"
    assert live.desk("answer", run_id, "allow").returncode == 0
    assert asked(live, run_id, 3) == "What name?"
    soon(lambda: "What name?" in live.screen(run_id))
    live.press(run_id, "M", "e", "Enter")
    assert asked(live, run_id, 4) == "Again?"
    assert live.desk("answer", run_id, "4", "deny").returncode == 0
    assert live.how(run_id) == ("completed", "done")
    given = [(one["answer"], one["by"]) for one in live.events(run_id, "input_given")]
    assert given == [
        ("Blue", "a person"),
        ("allow", "a person"),
        (None, "a person on its screen"),
        ("deny", "a person"),
    ]
    assert not live.events(run_id, "settled")[0]["attended"]
    session = (live.desk.folder(run_id) / "child-session.jsonl").read_text()
    assert '{"colour":"Blue","sure":true,"name":"Me","never":false}' in session
    late = live.desk("answer", run_id, "allow")
    assert (late.returncode, "has ended: it asks nothing" in late.stderr) == (4, True)


def test_the_clock_denies_what_nobody_answers_unless_a_person_has_the_child(live: Live) -> None:
    variables = {"TMUXAGENTS_ASK_TIMEOUT": "1"}
    alone = live.launch("#say:Thanks.", variables=variables)
    theirs = live.launch("#say:Thanks.", variables=variables | {"TMUXAGENTS_ASK_TIMEOUT": "30"})
    assert live.how(alone) == ("completed", "done")
    given = [(one["answer"], one["by"]) for one in live.events(alone, "input_given")]
    assert given == [("deny", "the clock")] * 4
    for answer in ("Red", "deny", "x", "deny"):
        asked(live, theirs, len(live.events(theirs, "input_given")) + 1)
        assert live.desk("answer", theirs, answer).returncode == 0
    assert live.how(theirs) == ("completed", "done")
