"""Durations as people write them, and as tables show them."""

from __future__ import annotations

import pytest

from tmuxagents.text import figures


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *[("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172800), ("1h0m5s", 3605), ("1.5h", 5400)],
        *[("600", 600), ("3.5", 3.5), ("0", 0), ("0s", 0), ("0.5s", 0.5)],
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert figures.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *["", "m", "5x", "-1", "-5m", "5m ", "5 m", "1m1h", "1m2m", "5m3", "1e3", "nan", "inf", ".", ".s"],
        *["1..5m", "٣m", "1" * 40, "1" * 40 + "s", "5f3a.12.1700", "soon"],
    ],
)
def test_all_else_is_no_duration(text: str) -> None:
    assert figures.parse_duration(text) is None


@pytest.mark.parametrize(
    ("seconds", "span", "age"),
    [
        (-1, "0s", "0s"),
        (7.9, "7s", "7s"),
        (65, "1m 05s", "1m"),
        (3599, "59m 59s", "59m"),
        (7380, "2h 03m", "2h"),
        (12 * 86400 + 4 * 3600, "12d 04h", "12d"),
    ],
)
def test_a_duration_is_shown(seconds: float, span: str, age: str) -> None:
    assert (figures.span(seconds), figures.age(seconds)) == (span, age)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(600, "10m"), (90, "1m 30s"), (3600, "1h"), (5, "5s"), (0.5, "0.5s"), (5400, "1h 30m")],
)
def test_a_limit_is_shown(seconds: float, text: str) -> None:
    assert figures.exact(seconds) == text
