"""The entry point of the command. Verbs that must start fast are answered before click is imported.

Joins.
"""

from __future__ import annotations

import gc
import os
import sys

_WITH_RUN_DIR = 3
_WITH_TEXT = {"launch", "run", "send", "resume", "call", "presets", "_profile"}  # take text from the user
_MANY = 100_000  # objects before Python collects garbage: a start makes thousands, and hardly any garbage


def main() -> None:
    """Run the command line."""
    try:
        _main()
    except KeyboardInterrupt:  # before the command line's own boundary exists
        os._exit(130)


def _main() -> None:
    if not _WITH_TEXT.isdisjoint(sys.argv):
        _hide_words()
    gc.set_threshold(_MANY)
    # Open each stream that the caller has closed, so that none of our files gets its number.
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004  (stdin, stdout, stderr)
        pass
    os.close(handle)
    home = os.environ.get("TMUXAGENTS_HOME")
    if home and not home.startswith("/"):  # our processes have other working directories
        os.environ["TMUXAGENTS_HOME"] = os.path.abspath(home)
    if "TMUXAGENTS_FAULT" in os.environ:  # a test wants things to fail
        from tmuxagents.system import fault_injection  # noqa: PLC0415  (for tests only)

        fault_injection.install(os.environ)
    if len(sys.argv) == _WITH_RUN_DIR and sys.argv[1] == "_wrap" and not sys.argv[2].startswith("-"):
        from tmuxagents.wrapper import become_wrapper  # noqa: PLC0415  (for one verb only)

        become_wrapper(sys.argv[2])
    from tmuxagents.cli import main as cli_main  # noqa: PLC0415  (a wrapper needs none of it)
    from tmuxagents.cli import printing, quick  # noqa: PLC0415  (a wrapper needs none of it)

    try:
        printing.check(printing.OUT)
    except Exception as error:  # noqa: BLE001  (the boundary handles all; without arguments it prints to stderr)
        from tmuxagents.cli import boundary  # noqa: PLC0415  (click)

        os._exit(boundary.fail(error, ()))
    code = quick.answer(sys.argv[1:])
    if code is not None:
        os._exit(code)
    try:
        cli_main()
    except SystemExit as error:
        # Python's own exit takes longer than many answers. We skip it if it has nothing left to do.
        if _is_idle() and isinstance(error.code, int):
            os._exit(error.code)
        sys.exit(error.code if isinstance(error.code, int) else None)


def _hide_words() -> None:
    """Hide the words after the verb in our command line, which every user can read while we run.

    Names of options stay. If /proc does not allow the change, all words stay, and `doctor` reports that.
    """
    try:
        with open("/proc/self/cmdline", "rb", 0) as file:
            line = file.read()
        with open("/proc/self/stat", "rb", 0) as file:
            start = int(file.read().rpartition(b")")[2].split()[45])  # arg_start, see proc(5)
        words = line.split(b"\0")[:-1]
        verb = next(at for at, word in enumerate(sys.argv) if word in _WITH_TEXT) + len(words) - len(sys.argv)
        # The name of an option stays. Dots replace the rest of each word, which does not become longer.
        for at, word in enumerate(words[verb + 1 :], verb + 1):
            short = word[:2] if word.startswith(b"-") else b""
            name = word.partition(b"=")[0] if word.startswith(b"--") else short
            letters = name.replace(b"-", b"")
            if letters and not letters.isalpha():
                name = b""
            words[at] = name + b"..."[: len(word) - len(name)]
        with open("/proc/self/mem", "r+b", 0) as memory:
            memory.seek(start)
            if memory.read(len(line)) == line:
                memory.seek(start)
                memory.write(b"\0".join(words).ljust(len(line), b"\0"))
    except (OSError, ValueError, IndexError):
        return


def _is_idle() -> bool:
    """Say whether Python's exit has nothing left to do: no buffered output, no other thread."""
    threading = sys.modules.get("threading")
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return False
    return threading is None or threading.active_count() == 1


if __name__ == "__main__":
    main()
