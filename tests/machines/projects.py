"""Git projects for tests: one here, and the home of another machine that an `ssh` of ours leads to."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness import PATH
from tmuxagents.machines import code, leavings
from tmuxagents.machines.checkout import Project
from tmuxagents.machines.hosts import Host

if TYPE_CHECKING:
    from tmuxagents.machines.refs import Code, Left

# What the real one does, as far as tmuxagents and git need it: the last word is a line for a shell elsewhere.
_SSH = """#!/bin/sh
for line; do :; done
cd {far} || exit 255
[ -e {far}/cut ] && {{ echo "ssh: connect to host box port 22: Connection timed out" >&2; exit 255; }}
exec env -i HOME={far} PATH={path} TMUXAGENTS_HOME={far}/state sh -c "$line"
"""


class Ground:
    """A project here, and a far machine that is only another home."""

    def __init__(self, folder: Path) -> None:
        self.here, self.far, self.bin = folder / "here", folder / "far", folder / "bin"
        self.project = self.here / "Some Project"
        for made in (self.project, self.far, self.bin):
            made.mkdir(parents=True)
        self.environment = {
            "HOME": str(self.here),
            "PATH": f"{self.bin}:{PATH}",
            "XDG_RUNTIME_DIR": str(self.here),
        }
        program = Path(sys.executable).with_name("tmuxagents")
        self.host = Host("box", "ssh", "box", (str(program),), str(self.far / "state"), "0")
        self.lead_by(_SSH.format(far=shlex.quote(str(self.far)), path=shlex.quote(PATH)))
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")

    def lead_by(self, script: str) -> None:
        """Let another program be the way to the far machine."""
        (self.bin / "ssh").write_text(script)
        (self.bin / "ssh").chmod(0o755)

    def git(self, *words: str, folder: Path | str | None = None, check: bool = True) -> str:
        """Run git as a person does, or as the child over there."""
        where = folder or self.project
        home = self.far if str(where).startswith(str(self.far)) else self.here
        done = subprocess.run(
            ["git", *words],
            cwd=where,
            env={"HOME": str(home), "PATH": PATH, "LC_ALL": "C.UTF-8"},
            capture_output=True,
            check=False,
            text=True,
            errors="surrogateescape",
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.rstrip("\n")

    def commit(self, *, folder: Path | str | None = None, **files: str) -> str:
        """Write files and commit all there is."""
        where = Path(folder or self.project)
        for name, text in files.items():
            (where / name).write_text(text)
        self.git("add", "--all", folder=where)
        self.git("commit", "--quiet", "--allow-empty", "-m", "one more", folder=where)
        return self.git("rev-parse", "HEAD", folder=where)

    def look(self, folder: Path | None = None) -> code.Looked:
        """Look at what would go there."""
        found = code.look(str(folder or self.project), self.environment)
        assert found is not None
        return found

    def send(self, run_id: str = "run1", folder: Path | None = None) -> tuple[Code, Path]:
        """Send the project for a run; return the folder to work in."""
        found = self.look(folder).code
        return found, Path(code.send(found, run_id, self.host, self.environment))

    def bring(self, found: Code, run_id: str = "run1") -> Left:
        """Bring back what a run left."""
        return code.bring_back(found, run_id, self.host, self.environment)

    def remove(self, found: Code, run_id: str = "run1") -> list[str]:
        """Remove a run's checkout over there if all of it has come back; else return what has not."""
        project = self.there(found)
        kept = leavings.missing(project, run_id)
        if not kept:
            project.remove(run_id)
        return kept

    def there(self, found: Code) -> Project:
        """Return the project as it lies on the far machine."""
        return Project(
            found.key,
            self.host.home,
            {"HOME": str(self.far), "PATH": PATH, "TMUXAGENTS_HOME": self.host.home},
        )

    def state(self) -> dict[str, str]:
        """Return all that nobody may change here: branches, HEAD, index, configuration, files."""
        return {
            "refs": self.git("for-each-ref", "refs/heads", "refs/remotes", "refs/tags", "refs/stash"),
            "head": (self.project / ".git/HEAD").read_text(),
            "index": self.git("ls-files", "--stage", "--debug"),
            "config": (self.project / ".git/config").read_text(),
            "status": self.git("status", "--porcelain", "-z"),
            "fetched": str((self.project / ".git/FETCH_HEAD").exists()),
        }
