"""A table of a TOML file is found by its header and taken out, and nothing else."""

from __future__ import annotations

import tomllib

import pytest

from tmuxagents.integrate import parents

OURS = b'[mcp_servers.tmuxagents]\ncommand = "x"\nargs = [\n  "mcp",\n]\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (OURS, b""),
        (b"a = 1\n\n" + OURS, b"a = 1\n\n"),
        (OURS + b"\n# next\n[b]\nc = 1\n", b"\n# next\n[b]\nc = 1\n"),
        (b"[b]\r\n" + OURS.replace(b"\n", b"\r\n") + b"[[c]]\r\n", b"[b]\r\n[[c]]\r\n"),
        (OURS + b"[mcp_servers.tmuxagents.tools.x]\nmode = 1\n[b]\n", b"[b]\n"),
        (b"[mcp_servers.tmuxagents2]\n" + OURS, b"[mcp_servers.tmuxagents2]\n"),
        (b"# >>> tmuxagents 12345678 >>>\n" + OURS + b"# <<< tmuxagents <<<\n", b""),
        (b"[b] # [mcp_servers.tmuxagents]\nc = 1\n", b"[b] # [mcp_servers.tmuxagents]\nc = 1\n"),
    ],
)
def test_only_the_table_goes(before: bytes, after: bytes) -> None:
    assert parents.without(before, "mcp_servers.tmuxagents") == after
    tomllib.loads(after.decode())
