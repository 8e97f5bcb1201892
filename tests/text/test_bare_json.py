"""JSON in an interpreter that has not imported the package json, such as a wrapper's."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.harness import REPOSITORY

pytestmark = pytest.mark.usefixtures("nothing_hangs")


@pytest.mark.parametrize(
    "text", ["", " ", "{", '{"a":', "[1,]", "x", '"a', '"\\x"', '{"a" 1}', "1 2", "nul", "\udcff"]
)
def test_without_the_package_around_it_what_is_no_json_is_refused_too(text: str) -> None:
    line = (
        "import sys; sys.path.append(sys.argv[1]); from tmuxagents.text import jsonline\n"
        "try: jsonline.decode(sys.argv[2])\n"
        "except ValueError: print({'json', 're'} & set(sys.modules))"
    )
    argv = [sys.executable, "-I", "-S", "-c", line, str(REPOSITORY), text]
    imported = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    if sys.version_info >= (3, 12):  # the scanner imports the class of its error
        assert imported
    else:
        assert imported == "set()\n"
