"""The file that makes pi load the extension: written, known again, and taken out if it is still ours."""

from __future__ import annotations

import pytest

from tmuxagents.integrate import own_text, pi
from tmuxagents.integrate.pi import Loading


def loading(*, tools: bool = True, path: str = "/home/dev/.pi/agent/extensions/tmuxagents.ts") -> Loading:
    command = ["/venv/bin/python", "-P", "-m", "tmuxagents"]
    return Loading(path, extension="/venv/tmuxagents/extensions/pi/index.ts", command=command, tools=tools)


def written(*, tools: bool = True) -> bytes:
    text = pi.put(None, loading(tools=tools), folders=2).text
    assert text is not None
    return text


def test_it_names_the_extension_and_the_program_and_holds_neither() -> None:
    text = written().decode()
    assert 'const extension = "/venv/tmuxagents/extensions/pi/index.ts";' in text
    assert '"command": ["/venv/bin/python", "-P", "-m", "tmuxagents"], "tools": true' in text


def test_what_is_there_already_changes_nothing_and_other_options_do() -> None:
    assert pi.put(written(), loading(), folders=0).outcome == own_text.NOTHING
    edited = pi.put(written(), loading(tools=False), folders=0)
    assert (edited.outcome, edited.text) == (own_text.DONE, written(tools=False))
    assert pi.folders_of(edited.text) == 2  # as they were made with the first


def test_it_says_which_extension_is_loaded() -> None:
    assert pi.extension_of(written()) == "/venv/tmuxagents/extensions/pi/index.ts"
    for text in (None, b"", b'const extension = "/x";\n', written().replace(b'"/venv', b'["/venv')):
        assert pi.extension_of(text) is None


def test_ours_is_taken_away() -> None:
    edited = pi.take(written())
    assert (edited.outcome, edited.text) == (own_text.DONE, None)
    assert pi.take(None).outcome == own_text.NOTHING


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
    for edited in (pi.take(text), pi.put(text, loading(), folders=0)):
        assert (edited.outcome, edited.text) == (outcome, text)


def test_paths_of_any_letters_are_quoted() -> None:
    text = pi.put(None, loading(path='/home/a"b\\`${c}\n/é'), folders=0).text
    assert text is not None
    assert '"/home/a\\"b\\\\`${c}\\n/é"' in text.decode()


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({}, "/home/dev/.pi/agent"),
        ({"PI_CODING_AGENT_DIR": "/etc/pi/"}, "/etc/pi"),
        ({"PI_CODING_AGENT_DIR": "~/own"}, "/home/dev/own"),
        ({"PI_AGENT_DIR": "/elsewhere"}, "/home/dev/.pi/agent"),  # pi does not know that one
    ],
)
def test_it_goes_where_pi_itself_looks(environment: dict[str, str], folder: str) -> None:
    assert pi.agent_dir(environment, "/home/dev") == folder
