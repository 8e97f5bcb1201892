"""The file that makes pi load the extension: written, recognised, and removed if it is still ours."""

from __future__ import annotations

import pytest

from tmuxagents.integrate import own_text, pi

PATH = "/home/dev/.pi/agent/extensions/tmuxagents.ts"


def loading(*, tools: bool = True, path: str = PATH) -> str:
    command = ["/venv/bin/python", "-P", "-m", "tmuxagents"]
    return pi.text(path, extension="/venv/tmuxagents/extensions/pi/index.ts", command=command, tools=tools)


def written(*, tools: bool = True) -> bytes:
    return put(None, tools=tools, folders=2).text or b""


def put(before: bytes | None, *, folders: int = 0, path: str = PATH, tools: bool = True) -> own_text.Edited:
    text = loading(path=path, tools=tools)
    return own_text.put_file(before, text, (folders,), own_text.SCRIPT)


def test_it_names_the_extension_and_the_program_and_holds_neither() -> None:
    text = written().decode()
    assert 'const extension = "/venv/tmuxagents/extensions/pi/index.ts";' in text
    assert '"command": ["/venv/bin/python", "-P", "-m", "tmuxagents"], "tools": true' in text


def test_what_is_there_already_changes_nothing_and_other_options_do() -> None:
    assert put(written()).outcome == own_text.NOTHING
    edited = put(written(), tools=False)
    assert (edited.outcome, edited.text) == (own_text.DONE, written(tools=False))
    assert own_text.folders_of(edited.text) == (2,)  # those that were made for the first text


def test_it_says_which_extension_is_loaded() -> None:
    assert pi.extension_of(written()) == "/venv/tmuxagents/extensions/pi/index.ts"
    for text in (None, b"", b'const extension = "/x";\n', written().replace(b'"/venv', b'["/venv')):
        assert pi.extension_of(text) is None


def test_ours_is_taken_away() -> None:
    edited = own_text.take_file(written())
    assert (edited.outcome, edited.text) == (own_text.DONE, None)
    assert own_text.take_file(None).outcome == own_text.NOTHING


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (b"export default () => {};\n", own_text.FOREIGN),
        (b"", own_text.FOREIGN),
        (written() + b"// mine\n", own_text.FOREIGN),
        (written().replace(b"true", b"false"), own_text.CHANGED),
    ],
)
def test_what_is_not_ours_any_more_stays(text: bytes, outcome: str) -> None:
    for edited in (own_text.take_file(text), put(text)):
        assert (edited.outcome, edited.text) == (outcome, text)


def test_paths_of_any_letters_are_quoted() -> None:
    text = put(None, path='/home/a"b\\`${c}\n/é').text
    assert text is not None
    assert '"/home/a\\"b\\\\`${c}\\n/é"' in text.decode()


def test_what_an_earlier_version_wrote_is_ours() -> None:
    text = b"const extension = 1;\n\n// tmuxagents 8572a354, folders 3\n"
    assert (own_text.take_file(text).outcome, own_text.folders_of(text)) == (own_text.DONE, (3,))
