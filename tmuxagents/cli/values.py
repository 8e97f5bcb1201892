"""The kinds of values that options take, durations and status words; the option --format. Joins."""

from __future__ import annotations

import contextlib

import click

from tmuxagents import records
from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DurationType(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic from click 8.3 on
    """A duration in seconds, written as 90s, 5m, 1h30m, or as a figure."""

    name = "duration"

    def __init__(self, least: float = 0) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return it in seconds."""
        if isinstance(value, float):
            return value
        seconds = figures.parse_duration(value)
        if seconds is None:
            with contextlib.suppress(ValueError):
                seconds = float(value)
        if seconds is None or not seconds >= 0:
            self.fail(f"{value!r} is not a duration: write it like {figures.DURATIONS}.", param, ctx)
        if seconds < self._least:
            self.fail(f"{value!r} is less than {figures.exact(self._least)}.", param, ctx)
        return seconds


class _Statuses(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic from click 8.3 on
    """One or several status words, with commas between them."""

    name = "statuses"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return them as a tuple."""
        words = value if isinstance(value, tuple) else tuple(value.split(","))
        for word in words:
            if word not in records.STATUSES:
                self.fail(f"{word!r} is not one of {', '.join(records.STATUSES)}.", param, ctx)
        return words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:  # noqa: ARG002  (click's signature)
        """Offer the status words."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  (only for a shell that asks)

        return [CompletionItem(word) for word in records.STATUSES if word.startswith(incomplete)]


DURATION = DurationType()
STATUSES = _Statuses()
FORMAT = click.option(
    "--format", "template", metavar="TEMPLATE", help="Print a line for each by a template, as '{{.name}}'."
)
