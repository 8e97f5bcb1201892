"""What `top` shows of the frozen runs on screens of 60, 80, 120 and 200 columns (tests/data/golden/screens).

`scripts/golden` writes the files again.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from tests.nets import frozen
from tests.nets.test_golden import GOLDEN
from tests.top import screens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness import Home
    from tests.nets.frozen import Golden


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as here:
        here.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


async def screen(home: Home, size: tuple[int, int], *presses: str) -> str:
    """Return the screen after some keys, one after the other."""
    app = screens.top(home, everywhere=True)
    async with app.run_test(size=size) as person:
        await person.press(*presses)
        await person.pause()
        return "\n".join(screens.lines(app)) + "\n"


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 35), (200, 50)], ids=lambda size: str(size[0]))
def test_the_screen(home: Home, golden: Golden, size: tuple[int, int]) -> None:
    frozen.thaw(home, here=True)
    shown = asyncio.run(screen(home, size, "slash", *"error", "enter", "escape"))
    golden(GOLDEN / "screens" / f"top-{size[0]}.txt", shown)


def test_the_help(home: Home, golden: Golden) -> None:
    frozen.thaw(home, here=True)
    golden(GOLDEN / "screens" / "top-help.txt", asyncio.run(screen(home, (90, 36), "question_mark")))
