"""What an installed tmuxagents over there reports about its agents."""

from __future__ import annotations

import pytest

from tmuxagents.machines import install


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b'{"agents":[{"name":"pi","installed":true},{"name":"qwen","installed":false}]}', ["pi"]),
        (b'{"agents":[1,{"name":2,"installed":true},{"installed":true}]}', []),
        (b'{"agents":{}}', None),
        (b"[]", None),
        (b"Welcome", None),
        (b"[" * 100_000, None),
    ],
)
def test_only_an_answer_about_agents_is_taken(text: bytes, names: list[str] | None) -> None:
    found = install.parse_agents(text)
    assert (None if found is None else [one["name"] for one in found]) == names
