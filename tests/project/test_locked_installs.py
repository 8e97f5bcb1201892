"""What scripts/ installs is what its locks name, to the byte: another file of the same version is refused."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shlex
import subprocess
import tarfile
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness import REPOSITORY, real_pi

if TYPE_CHECKING:
    from collections.abc import Iterator

DIST_INFO = "thing-1.0.dist-info"
WHEEL = {
    "thing.py": "",
    f"{DIST_INFO}/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
    f"{DIST_INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{DIST_INFO}/RECORD": "",
}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Make a folder as scripts/environment.sh fills it, with the Python and the Node of these tests."""
    made, there = tmp_path / "dev", Path(real_pi()).parents[1]
    for folder in ("bin", "log", "cache"):
        (made / folder).mkdir(parents=True)
    (made / "lock").touch()
    for name in ("venv", "node", "bin/node"):
        (made / name).symlink_to(there / name)
    return made


def carried_out(environment: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Call a function of scripts/environment.sh."""
    script = f". {shlex.quote(f'{REPOSITORY}/scripts/environment.sh')} && {shlex.join(words)}"
    own = {"PATH": "/usr/bin:/bin", "HOME": str(environment), "TMUXAGENTS_DEV_DIR": str(environment)}
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env=own | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_network_that_does_not_answer_is_given_up(environment: Path) -> None:
    line = "environment_patience=0.3; logged pip patiently sleep 600"
    done = carried_out(environment, "eval", line)
    said = f"bash: pip was not over after 0.3; all it said is in {environment}/log/pip.log\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_a_wheel_that_is_not_the_locked_one_is_not_installed(environment: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in WHEEL.items():
            archive.writestr(name, text)
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": "/dev/null"}
    lock, target = tmp_path / "lock.txt", tmp_path / "target"
    words = ("install_locked", "thing", str(lock), "--target", str(target))
    for line in (f"thing==1.0 --hash=sha256:{right[::-1]}", "thing==1.0"):
        lock.write_text(f"{line}\n")
        done = carried_out(environment, *words, **offline)
        assert (done.returncode, "hash" in done.stderr.lower()) == (1, True), done.stderr
        assert not (target / "thing.py").exists()
    lock.write_text(f"thing==1.0 --hash=sha256:{right}\n")
    done = carried_out(environment, *words, **offline)
    assert (done.returncode, (target / "thing.py").exists()) == (0, True), done.stderr


# --- npm --------------------------------------------------------------------------------------------------


@contextmanager
def registry(tarball: bytes) -> Iterator[str]:
    """Serve one package, as a registry does that tells no more of it than where it lies."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            where = f"http://{self.headers['Host']}/thing.tgz"
            version = {"name": "thing", "version": "1.0.0", "dist": {"tarball": where}}
            told = {"name": "thing", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
            body = tarball if self.path.endswith(".tgz") else json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            serving.join()


def package(script: str) -> bytes:
    """Return a package of npm's that wants a program run when it is installed."""
    text = json.dumps({"name": "thing", "version": "1.0.0", "scripts": {"postinstall": script}}).encode()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return made.getvalue()


def test_a_package_that_is_not_the_locked_one_is_not_installed_and_none_has_its_script_run(
    environment: Path, tmp_path: Path
) -> None:
    mark, target, lock = tmp_path / "mark", tmp_path / "target", tmp_path / "lock"
    tarball = package(f"echo run >{mark}")
    asked = {"name": "x", "dependencies": {"thing": "1.0.0"}}
    lock.mkdir()
    (lock / "package.json").write_text(json.dumps(asked))
    with registry(tarball) as url:
        alone = {
            "npm_config_registry": url,
            "npm_config_userconfig": "/dev/null",
            "npm_config_fetch_retries": "0",  # it would wait 70 s before it gives up
            "no_proxy": "127.0.0.1",
        }
        for content, status in ((b"another", 1), (tarball, 0)):
            integrity = f"sha512-{base64.b64encode(hashlib.sha512(content).digest()).decode()}"
            there = {"version": "1.0.0", "integrity": integrity, "hasInstallScript": True}
            locked = {"name": "x", "lockfileVersion": 3, "packages": {"": asked, "node_modules/thing": there}}
            (lock / "package-lock.json").write_text(json.dumps(locked))
            done = carried_out(environment, "npm_locked", "x", str(lock), str(target), **alone)
            assert done.returncode == status, done.stderr
            assert ("integrity" in done.stderr.lower()) == (status == 1), done.stderr
            assert (target / "node_modules" / "thing").exists() == (status == 0)
    assert not mark.exists()
