"""The words for the changes of an integration: a diff of planned ones, lines for those that were made."""

from __future__ import annotations

from tmuxagents.integrate import plan
from tmuxagents.integrate.plan import FILE, SERVER, Change, Integration, LeftAlone, Step


def test_a_file_is_shown_as_a_diff_with_the_end_of_its_last_line() -> None:
    change = Change(FILE, "/h/.tmux.conf", before="a\nb", after="a\nb\nc\n")
    assert list(plan.diff([change])) == [
        *("--- /h/.tmux.conf", "+++ /h/.tmux.conf", "@@ -1,2 +1,3 @@", " a", "-b"),
        *("\\ No newline at end of file", "+b", "+c"),
    ]


def test_a_file_that_is_made_or_removed_is_nothing_on_the_other_side() -> None:
    made, removed = (
        Change(FILE, "/f", before=before, after=after) for before, after in ((None, "x\n"), ("x\n", None))
    )
    assert list(plan.diff([made])) == ["--- /dev/null", "+++ /f", "@@ -0,0 +1 @@", "+x"]
    assert list(plan.diff([removed])) == ["--- /f", "+++ /dev/null", "@@ -1 +0,0 @@", "-x"]


def test_only_line_feeds_end_a_line() -> None:
    change = Change(FILE, "/f", before="a\x0cb\u2028c\n", after="a\x0cb\u2028d\n")
    assert list(plan.diff([change]))[3:] == ["-a\x0cb\u2028c", "+a\x0cb\u2028d"]


def test_options_of_one_server_are_shown_together() -> None:
    changes = [
        Change(SERVER, "/s", name="length", before="40", after="140"),
        Change(SERVER, "/s", name="@ours", before=None, after="x"),
        Change(SERVER, "/t", name="@ours", before="x", after=None),
    ]
    assert list(plan.diff(changes)) == [
        *("--- tmux server /s", "+++ tmux server /s", "-length 40", "+length 140", "+@ours x"),
        *("--- tmux server /t", "+++ tmux server /t", "-@ours x"),
    ]


def test_what_was_done_is_one_line_each() -> None:
    changes = [
        Change(FILE, "/f", before=None, after="x"),
        Change(FILE, "/f", before="x", after="y"),
        Change(FILE, "/f", before="x", after=None),
        Change(SERVER, "/s", name="@ours", before=None, after="x"),
        Change(SERVER, "/s", name="@ours", before="x", after=None),
    ]
    assert list(map(plan.done_line, changes)) == [
        *("made /f", "changed /f", "removed /f"),
        *("set @ours on the tmux server at /s", "unset @ours on the tmux server at /s"),
    ]


def test_what_is_left_says_why() -> None:
    assert plan.left_line(LeftAlone(FILE, "/f", None, "so")) == "left /f alone: so"
    assert plan.left_line(LeftAlone(SERVER, "/s", "@x", "so")) == "left @x on the tmux server at /s alone: so"


def test_the_documents_of_both() -> None:
    change = Change(SERVER, "/s", name="@x", before=None, after="y")
    assert change._asdict() == {"where": "server", "path": "/s", "name": "@x", "before": None, "after": "y"}
    assert LeftAlone(FILE, "/f", None, "so")._asdict() == {
        "where": "file",
        "path": "/f",
        "name": None,
        "why": "so",
    }


def test_an_integration_is_all_of_its_steps() -> None:
    found = Integration("tmux", uninstall=True)
    file, server = Step(FILE, "/f"), Step(SERVER, "/s")
    found.steps += [file, server]
    file.change(None, "x", None)
    server.change("@x", "y", None)
    server.leave("@z", "so")
    found.warnings.append("look")
    document = found.document(dry_run=True)
    assert [change["path"] for change in document["changes"]] == ["/f", "/s"]
    assert document["left"] == [{"where": "server", "path": "/s", "name": "@z", "why": "so"}]
    rest = {key: document[key] for key in ("v", "target", "uninstall", "dryRun", "warnings")}
    assert rest == {"v": 1, "target": "tmux", "uninstall": True, "dryRun": True, "warnings": ["look"]}
