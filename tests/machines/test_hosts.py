"""The file of the hosts: what is written is read again, damage is told, a wrong name has similar ones."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.apart import at_once
from tmuxagents.errors import BadRequest, Unusable
from tmuxagents.machines import hosts
from tmuxagents.machines.hosts import Host

if TYPE_CHECKING:
    from pathlib import Path

BOX = Host("box", "ssh", "box", ("/far/bin/tmuxagents",), "/far/state", "1.0", 3, "/src", "pi")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


@pytest.mark.parametrize("name", ["box", "me@box.example.org", "_", "a-b.c", "slurm1", "x" * 100])
def test_a_name_of_ssh_is_a_name(name: str) -> None:
    assert hosts.is_name(name)


@pytest.mark.parametrize(
    "name", ["", "-oProxyCommand=x", ".", "a/b", "a b", "slurm", "slurm@x", "a:b", "é", "x" * 101]
)
def test_what_would_be_something_else_is_none(name: str) -> None:
    assert not hosts.is_name(name)


def test_there_are_none_without_a_file(environment: dict[str, str]) -> None:
    assert hosts.read_hosts(environment) == {}


def test_what_is_written_is_read(environment: dict[str, str], tmp_path: Path) -> None:
    other = BOX._replace(name="other", max_running=None, cwd=None, agent=None)
    hosts.write_host(BOX, environment)
    hosts.write_host(other, environment)
    hosts.write_host(BOX._replace(version="2.0"), environment)
    assert hosts.read_hosts(environment) == {"box": BOX._replace(version="2.0"), "other": other}
    path = tmp_path / ".config/tmuxagents/hosts.json"
    assert path.stat().st_mode & 0o777 == 0o600
    hosts.remove_host("box", environment)
    hosts.remove_host("box", environment)
    assert list(hosts.read_hosts(environment)) == ["other"]


def test_the_folder_can_be_elsewhere_and_a_link(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "config").mkdir()
    (tmp_path / "config/tmuxagents").symlink_to(tmp_path / "kept")
    environment["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    hosts.write_host(BOX, environment)
    assert (tmp_path / "kept/hosts.json").is_file()
    assert hosts.find_host("box", environment) == BOX


def test_none_is_lost_when_many_are_added_at_once(environment: dict[str, str]) -> None:
    at_once([lambda n=n: hosts.write_host(BOX._replace(name=f"box{n}"), environment) for n in range(8)])
    assert len(hosts.read_hosts(environment)) == 8


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "it is no JSON"),
        ("[]", 'it has no "hosts"'),
        ('{"v":1,"hosts":[]}', 'it has no "hosts"'),
        ('{"v":2,"hosts":{}}', 'its "v" is not 1'),
        ('{"v":1,"hosts":{"-x":{}}}', '"-x" is no host'),
        ('{"v":1,"hosts":{"x":1}}', '"x" is no host'),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_damaged_file_is_told(environment: dict[str, str], tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / ".config/tmuxagents/hosts.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(Unusable, match="is not used") as caught:
        hosts.read_hosts(environment)
    assert why in caught.value.message
    assert str(path) in caught.value.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(
            ("engine", "carrier-pigeon"),
            ("destination", "-oProxyCommand=x"),
            ("destination", 1),
            ("command", []),
        ),
        *(("command", [1]), ("command", "x"), ("home", ""), ("version", None), ("maxRunning", 0)),
        *(("maxRunning", True), ("cwd", 1), ("agent", [])),
        *(
            ("command", ["a\0b"]),
            ("command", ["\ud800"]),
            ("home", "/\0"),
            ("cwd", "\0"),
            ("agent", "\ud800"),
        ),
    ],
)
def test_a_host_with_one_thing_wrong_is_refused(key: str, value: Any) -> None:
    entry = hosts.document(BOX) | {key: value}
    with pytest.raises(ValueError, match=f'"box" has no usable "{key}"'):
        hosts.parse_hosts(json.dumps({"v": 1, "hosts": {"box": entry}}))


def test_a_file_that_others_can_write_is_not_believed(environment: dict[str, str], tmp_path: Path) -> None:
    hosts.write_host(BOX, environment)
    os.chmod(tmp_path / ".config/tmuxagents/hosts.json", 0o666)
    with pytest.raises(Unusable, match="others can write it"):
        hosts.read_hosts(environment)


def test_an_unknown_name_is_refused_with_similar_ones(environment: dict[str, str]) -> None:
    with pytest.raises(BadRequest, match=r'Unknown host: "box". Known hosts: \(none\)') as caught:
        hosts.find_host("box", environment)
    assert (caught.value.kind, caught.value.hint) == ("unknown-host", "tmuxagents hosts add box")
    hosts.write_host(BOX, environment)
    with pytest.raises(BadRequest) as caught:
        hosts.find_host("boxx", environment)
    assert caught.value.candidates == ["box"]
    assert caught.value.hint == "did you mean box? A new one: tmuxagents hosts add boxx"
    with pytest.raises(BadRequest) as caught:
        hosts.find_host("-x", environment)
    assert caught.value.hint == "tmuxagents hosts add NAME"
