"""The tmux edge: no tmux, an old one, one that is not ours."""

from __future__ import annotations

import os
import shlex
import socket
import stat
from typing import TYPE_CHECKING

import pytest

from tests.apart import NOBODY, Apart, apart, become_somebody, enter_user_namespace, let_in
from tests.harness import eventually
from tests.tmux.worlds import Real, an_order, home, new_run
from tmuxagents import tmux
from tmuxagents.errors import Unusable
from tmuxagents.tmux import runner, servers, windows

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_hangs")


def with_stub(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    monkeypatch.setattr(runner, "_client", None)
    monkeypatch.setattr(runner, "_known", {})
    folder = folder / "stub"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    if program:
        (folder / "tmux").write_text(f"#!/bin/sh\n{program}\n")
        (folder / "tmux").chmod(0o755)


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("", "tmux-missing"),
        ("echo tmux 2.6", "tmux-old"),
        ("echo tmux 3.0a", "tmux-old"),
        ("echo tmux 3.2", "tmux-old"),
        ("echo tmux next-3.2", "tmux-old"),
        ("echo something else", "tmux-old"),
        ("exit 1", "tmux-old"),
    ],
)
def test_a_tmux_that_is_missing_or_old_is_refused_before_anything_starts(
    nowhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, kind: str
) -> None:
    with_stub(tmp_path, monkeypatch, program)
    with pytest.raises(Unusable) as raised:
        tmux.Tmux(nowhere).windows.open(an_order(new_run()), home())
    assert raised.value.kind == kind
    assert raised.value.hint
    assert not os.path.exists(nowhere)


@pytest.mark.parametrize("version", ["3.2a", "3.3a", "3.10", "4.0", "next-3.9", "master", "3.5-rc"])
def test_a_tmux_that_is_new_enough_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    with_stub(tmp_path, monkeypatch, f"echo called >>{tmp_path}/calls; echo tmux {version}")
    assert [tmux.client_version() for _ in range(3)] == [version] * 3
    assert (tmp_path / "calls").read_text() == "called\n"


def test_a_server_that_is_older_than_its_client_is_refused(
    real: Real, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as replaced:
        with_stub(tmp_path, replaced, "echo 3.1c")
        with pytest.raises(Unusable, match=r"3\.1c") as raised:
            real.tmux.identity()
    assert raised.value.kind == "tmux-old"


def test_a_tmux_that_hangs_is_unanswered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(tmp_path, monkeypatch, "exec /bin/sleep 60")
    monkeypatch.setattr(runner, "LIMIT_S", 0.3)
    with pytest.raises(tmux.Unanswered):
        tmux.client_version()


@pytest.mark.parametrize(
    "words",
    [
        "error connecting to /x/s (Permission denied)",
        "error connecting to /x/s (Operation not permitted)",
        "error creating /x/s (Permission denied)",
    ],
)
def test_a_socket_that_we_may_not_use_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    with_stub(tmp_path, monkeypatch, f"echo '{words}' >&2; exit 1")
    with pytest.raises(tmux.Denied, match="/x/s") as raised:
        tmux.Tmux("/x/s").identity()
    assert "/x/s" in str(raised.value.hint)


def test_a_socket_with_too_long_a_path_is_said(tmp_path: Path) -> None:
    (tmp_path / ("x" * 120)).mkdir()
    with pytest.raises(tmux.Denied, match="too long") as raised:
        tmux.Tmux(f"{tmp_path}/{'x' * 120}/s").windows.open(an_order(new_run()), home())
    assert "TMUX_TMPDIR" in str(raised.value.hint)


def test_servers_of_another_age_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(tmp_path, monkeypatch, "echo 'protocol version mismatch (client 8, server 7)' >&2; exit 1")
    with pytest.raises(Unusable, match="different versions") as raised:
        tmux.Tmux("/x/s").identity()
    assert raised.value.kind == "tmux-old"


def test_a_program_that_cannot_be_started_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(tmp_path, monkeypatch, "exit 0")
    (tmp_path / "stub" / "tmux").write_bytes(b"\x7fELF of another machine")
    with pytest.raises(Unusable, match="cannot be started") as raised:
        tmux.client_version()
    assert raised.value.kind == "tmux-unreachable"


def test_a_server_that_only_ever_dies_is_given_up(
    nowhere: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = "echo server exited unexpectedly >&2; exit 1"
    with_stub(tmp_path, monkeypatch, f'[ "$2" = -V ] && echo tmux 3.3a && exit\n{dying}')
    monkeypatch.setattr(windows, "_LIMIT_S", 0.2)
    with pytest.raises(tmux.NoServer):
        tmux.Tmux(nowhere).windows.open(an_order(new_run()), home())


def test_what_libtmux_is_told_is_told_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_stub(tmp_path, monkeypatch, '[ "$2" = -V ] && echo tmux 3.3a && exit\necho odd >&2; exit 1')
    with pytest.raises(tmux.TmuxRefused, match="odd"):
        tmux.Tmux("/x/s").windows.find(new_run())


def test_tmux_has_its_own_words_for_what_it_refuses(real: Real) -> None:
    with pytest.raises(tmux.TmuxRefused, match="nosuch"):
        real.tmux.options.write("nosuch", "x")
    long = ["/bin/echo", "x" * 20_000]
    with pytest.raises(tmux.TmuxRefused, match="too long") as raised:
        real.tmux.windows.open(an_order(new_run(), long), home())
    assert raised.value.kind == "window"


def test_the_folder_of_sockets_is_made_as_tmux_makes_it(tmp_path: Path) -> None:
    path = f"{tmp_path}/tmux-1/tmuxagents"
    servers.make_folder(path)
    assert os.stat(os.path.dirname(path)).st_mode & 0o7777 == 0o700
    servers.make_folder(path)
    os.chmod(os.path.dirname(path), 0o777)
    with pytest.raises(Unusable, match="Others"):
        servers.make_folder(path)
    with pytest.raises(Unusable, match="There can be no tmux socket"):
        servers.make_folder(f"{tmp_path}/a/b/c")


def test_a_path_that_is_too_long_for_a_socket_is_refused_and_denied_to_nobody() -> None:
    longest = f"/{'s' * 106}"
    servers.refuse_impossible(longest)
    with pytest.raises(Unusable, match="File name too long") as raised:
        servers.refuse_impossible(f"{longest}s")
    assert raised.value.kind == "tmux-unreachable"
    assert (servers.is_denied(f"{longest}s"), servers.listening(f"{longest}s")) == (False, None)


def test_a_server_of_another_user_is_refused(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() == 0:
        os.chown(real.socket, 12345, 12345)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    monkeypatch.setattr(runner, "_known", {})
    with pytest.raises(Unusable, match="belongs to another user"):
        real.tmux.identity()


def test_a_server_of_another_user_at_a_socket_of_ours_is_refused(tmp_path: Path) -> None:
    shared, ours = tmp_path / "shared", tmp_path / "ours"
    shared.mkdir()
    let_in(shared)
    shared.chmod(0o1777)
    ours.mkdir(mode=0o700)

    def listen() -> None:
        become_somebody()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(shared / "made"))
            listening.listen()
            (shared / "made").rename(shared / "s")
            listening.accept()[0].recv(1)

    with Apart(listen):
        eventually((shared / "s").exists)
        (shared / "s").rename(ours / "s")
        os.chown(ours / "s", os.getuid(), os.getgid())
        if os.getuid() == 0:
            with pytest.raises(Unusable, match="belongs to another user"):
                tmux.Tmux(f"{ours}/s").identity()
        else:
            servers.refuse_foreign(f"{ours}/s")


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_the_folders_above_a_socket_are_looked_at(tmp_path: Path, mode: int) -> None:
    above = tmp_path / "above"
    (above / "sockets").mkdir(parents=True)
    above.chmod(mode)
    if mode & stat.S_ISVTX:
        servers.refuse_foreign(f"{above}/sockets/s")
        with pytest.raises(FileNotFoundError):
            servers.refuse_foreign(f"{above}/missing/s")
        with pytest.raises(tmux.NoServer):  # tmux is not even asked
            tmux.Tmux(f"{above}/missing/s").identity()
        if os.getuid() == 0:
            os.chown(above, 12345, 12345)
    if not mode & stat.S_ISVTX or os.getuid() == 0:
        with pytest.raises(Unusable, match="Others could put"):
            servers.refuse_foreign(f"{above}/sockets/s")


def test_a_folder_of_sockets_is_no_link_and_one_above_may_be(tmp_path: Path) -> None:
    (tmp_path / "real" / "sockets").mkdir(parents=True)
    (tmp_path / "real" / "link").symlink_to("sockets")
    (tmp_path / "above").symlink_to("real")
    servers.refuse_impossible(f"{tmp_path}/above/sockets/s")
    assert tmux.Tmux(f"{tmp_path}/above/sockets/s").socket == f"{tmp_path}/real/sockets/s"
    assert tmux.Tmux(f"{tmp_path}/above/x/../sockets/s").socket == f"{tmp_path}/real/sockets/s"
    with pytest.raises(Unusable, match="it is a link"):
        servers.refuse_impossible(f"{tmp_path}/above/link/s")
    with pytest.raises(Unusable, match="it is a link"):
        tmux.Tmux(f"{tmp_path}/above/link/s").identity()


def test_in_a_sandbox_that_does_not_know_root_the_folders_of_root_are_still_roots(tmp_path: Path) -> None:
    let_in(tmp_path)
    if os.getuid() == 0:
        os.chown(tmp_path, NOBODY, NOBODY)

    def act() -> None:
        become_somebody()
        user, group = os.getuid(), os.getgid()
        enter_user_namespace(f"1000 {user} 1", f"1000 {group} 1")
        assert os.stat("/").st_uid not in (0, os.getuid())
        servers.refuse_foreign(f"{tmp_path}/s")

    apart(act)


@pytest.mark.parametrize(
    ("meant", "said"),
    [
        ("x $HOME y", r"x \$HOME y"),
        (r"\$HOME", r"\\$HOME"),
        ("${HOME} $_x", r"\${HOME} \$_x"),
        (r"$ $( $1 \$ \$(x) $", r"$ $( $1 \$ \$(x) $"),
        ("$é$a$b$", r"$é\$a\$b$"),
        ("", ""),
    ],
)
def test_what_tmux_3_4_prints_is_read_as_it_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meant: str, said: str
) -> None:
    for version, read in (("3.4", meant), ("3.3a", said), ("3.5", said)):
        with monkeypatch.context() as replaced:
            folder = tmp_path / version
            folder.mkdir()
            with_stub(folder, replaced, f"printf '%s\\n' {version} {shlex.quote(said)}")
            assert runner.Runner(f"{folder}/socket").ask(["list-keys"]) == [read]
