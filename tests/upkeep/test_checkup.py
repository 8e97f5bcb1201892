"""Doctor's judgements: versions, room, settings, keys, lines."""

from __future__ import annotations

import pytest

from tmuxagents.text.checks import OK, Check, broken, warning
from tmuxagents.upkeep import checks


def states(check: Check) -> tuple[str, bool]:
    """Return the state of a check, and whether it has a hint: a check has one only if something is wrong."""
    assert (check.state == OK) == (check.hint is None)
    assert check.document() == {
        "name": check.name,
        "state": check.state,
        "message": check.message,
        "hint": check.hint,
    }
    return check.state, check.hint is not None


@pytest.mark.parametrize(
    ("said", "version"),
    [
        (b"v22.19.0\n", ("22.19.0", (22, 19))),
        (b"ripgrep 13.0.0\n-SIMD -AVX", ("13.0.0", (13, 0))),
        (b"fdfind 8.6", ("8.6", (8, 6))),
        (b"", None),
        (b"\xff nonsense", None),
        (None, None),
    ],
)
def test_versions_are_found_in_what_programs_say(
    said: bytes | None, version: tuple[str, tuple[int, int]] | None
) -> None:
    assert checks.version(said) == version


@pytest.mark.parametrize(
    ("path", "said", "state"),
    [
        ("/n", b"v22.19.0", "ok"),
        ("/n", b"v24.0.1", "ok"),
        ("/n", b"v22.18.9", "warning"),
        ("/n", None, "warning"),
        (None, None, "broken"),
    ],
)
def test_node(path: str | None, said: bytes | None, state: str) -> None:
    assert states(checks.program("node", path, said))[0] == state


@pytest.mark.parametrize(
    ("said", "rg", "fd"),
    [
        (b"x 13.0.0", "ok", "ok"),
        (b"x 8.7.0", "ok", "ok"),
        (b"x 8.6.0", "ok", "warning"),
        (None, "warning", "warning"),
    ],
)
def test_programs_of_pi(said: bytes | None, rg: str, fd: str) -> None:
    assert states(checks.program("rg", "/x", said))[0] == rg
    assert states(checks.program("fd", "/x", said))[0] == fd
    assert states(checks.program("rg", None, None))[0] == "warning"
    assert states(checks.program("fd", None, None))[0] == "warning"


@pytest.mark.parametrize(
    ("free", "files", "state"),
    [
        (10**12, 5, "ok"),
        (10**12, None, "ok"),
        (100 * checks.MEGABYTE - 1, None, "warning"),
        (checks.MEGABYTE, None, "warning"),
        (checks.MEGABYTE - 1, None, "broken"),
        (10**12, 0, "broken"),
    ],
)
def test_room_on_the_disk(free: int, files: int | None, state: str) -> None:
    assert states(checks.space("/x", free, files))[0] == state


def test_settings_that_were_changed_are_told_with_their_source() -> None:
    rows = [("a", 1, "default"), ("b", "x", "project"), ("c", 2, "environment")]
    assert checks.settings(rows).message == "b x (project), c 2 (environment)"
    assert checks.settings(rows[:1]).message == "all at their defaults"


def test_a_check_is_one_inert_line() -> None:
    assert Check("tmux", "it is\n\x1b[31mthere.").line() == "ok       tmux: it is there."
    assert warning("fd", "It is old", "get another").line() == ("warning  fd: It is old. Fix: get another")
    assert broken("x", "No", None).line() == "broken   x: No. Fix: see the message"


@pytest.mark.parametrize(
    ("things", "words"),
    [(["a"], "a"), (["a", "b", "c"], "a, b, c"), (["a", "b", "c", "d", "e"], "a, b, c and 2 more")],
)
def test_only_some_of_many_are_named(things: list[str], words: str) -> None:
    assert checks.some(things) == words


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('{"providers":{"a":{"baseUrl":"http://x","apiKey":"sk-1"}}}', True),
        ('{"providers": {"a": {\n  "baseUrl": "http://x", "apiKey": "sk-1"\n}}}', True),
        ('{"a": [[{"b": {"apiKey":\n"sk-1"}}]]}', True),
        ('{"a": {"\\u0061piKey": "sk-1"}}', True),
        ('\ufeff{"a": {"apiKey": "sk-1"}}', True),
        ('{"a": {"headers": {"Authorization": "Bearer sk-1"}}}', True),
        ('{"a": {"headers": {"X-Initiator": "agent"}}}', False),
        ('{"a": {"apiKey": ""}, "b": {"apiKey": null}, "c": {"apiKey": 1}}', False),
        ('{"a": {"apiKey": "$ANTHROPIC_API_KEY"}, "b": {"apiKey": "${KEY}"}}', False),
        ('{"a": {"apiKey": "!pass show key"}, "b": {"headers": {"Authorization": "Bearer $KEY"}}}', False),
        ('{"a": {"apiKey": "!pass show key"}, "b": {"apiKey": "sk-1"}}', True),
        ('{"a": "apiKey: it is a text", "b": "\\"apiKey\\": \\"x\\""}', False),
        ('{"a": {"b": 1, "apiKey": "sk-1",}} // a comma that JSON does not allow', True),
        ('{"a": {"apiKey": "$KEY"}} // "apiKey": "sk-old"', True),
        ('{"a": {"apiKey": "$KEY"}} // none', False),
        ('{"a": {"apiKey": "sk-1"', True),
        ("[" * 100_000 + '{"apiKey": "sk-1"}' + "]" * 100_000, True),
        ("[" * 100_000 + "]" * 100_000, False),
        ("", False),
        ("null", False),
        ("\xff", False),
    ],
)
def test_a_key_is_found_wherever_it_stands_in_a_json_file(text: str, *, holds: bool) -> None:
    assert checks.holds_key(text.encode("utf-8")) is holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("---\nname: p\napiKey: sk-1\n---\n", True),
        ("---\n{name: p, apiKey: sk-1}\n---\n", True),
        ('---\nname: p\n"apiKey": sk-1\n---\n', True),
        ("---\nname: [p\napiKey: sk-1\n---\n", True),
        ("---\nname: p\napiKey:\n---\n", False),
        ("---\nname: p\n---\napiKey: is what you look for\n", False),
        ("no header, but apiKey: x", False),
    ],
)
def test_a_key_is_found_in_the_header_of_a_profile(text: str, *, holds: bool) -> None:
    assert checks.header_holds_key(text.encode()) is holds


@pytest.mark.parametrize(
    ("path", "text", "holds"),
    [
        ("/a/auth.json", b"{}", True),  # pi writes it when a person logs in
        ("/a/auth.json", None, False),
        ("/a/my-auth.json", b"{}", False),
        ("/a/models.json", b'{"apiKey": "sk-1"}', True),
        ("/a/p.md", b"---\nname: p\napiKey: sk-1\n---\n", True),
        ("/a/p.md", b'{"apiKey": "sk-1"}', False),
    ],
)
def test_the_name_of_a_file_says_where_a_key_would_be(path: str, text: bytes | None, *, holds: bool) -> None:
    assert checks.file_holds_key(path, text) is holds


@pytest.mark.parametrize(
    ("loaded", "there", "state", "words"),
    [
        ("/own.ts", True, "ok", "loads the extension of this tmuxagents"),
        ("/other.ts", True, "warning", "Loads the extension of another tmuxagents: /other.ts"),
        (
            "/gone.ts",
            False,
            "warning",
            "Looks for tmuxagents at /gone.ts, and nothing is there",
        ),
    ],
)
def test_which_extension_pi_loads(loaded: str, *, there: bool, state: str, words: str) -> None:
    check = checks.extension(loaded, "/own.ts", there=there)
    assert (check.state, check.message) == (state, words)
