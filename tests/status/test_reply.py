"""Which text of a live child replies to a message: tables of events."""

from __future__ import annotations

import pytest

from tmuxagents.runs import events
from tmuxagents.runs.events import Event
from tmuxagents.status.send import ReplyFinder

SETTLED = events.settled(aborted=False)
RUN = events.run_started({"pid": 1})


def sent(number: int, kind: str = "steer") -> Event:
    return events.message_sent(number, kind, "x")


def says(text: str, reason: str = "stop") -> list[Event]:
    return [events.assistant_text(text), events.turn_end(reason)]


def found(*log: Event | list[Event], number: int = 1) -> tuple[str | None, bool, bool]:
    finder = ReplyFinder()
    finder.number = number
    for entry in log:
        for event in entry if isinstance(entry, list) else [entry]:
            finder.take(event)
    return finder.text, finder.is_finished, finder.is_over


@pytest.mark.parametrize(
    ("log", "reply"),
    [
        ([RUN, sent(1)], (None, False, False)),
        ([RUN, *says("first"), SETTLED, sent(1), *says("second"), SETTLED], ("second", True, True)),
        # Taken while the child works: the turn that ends next began before.
        ([RUN, sent(1), *says("", "toolUse"), *says("second"), SETTLED], ("second", True, True)),
        ([RUN, sent(1), *says("first"), *says("second"), SETTLED], ("second", True, True)),
        ([RUN, sent(1), *says("first"), *says("second"), *says("third"), SETTLED], ("second", True, True)),
        # Two messages: each has its own reply.
        ([RUN, sent(1), sent(2), *says("", "toolUse"), *says("two"), *says("three")], ("two", True, True)),
        ([RUN, sent(2), sent(1), *says("", "toolUse"), *says("two"), *says("three")], ("three", True, True)),
        (
            [RUN, sent(1, "followUp"), sent(2), *says("one"), *says("two"), *says("three")],
            ("three", True, True),
        ),
        ([RUN, sent(1), sent(2, "followUp"), *says("", "toolUse"), *says("two")], ("two", True, True)),
        ([RUN, events.human_input("x"), sent(1), *says("a"), *says("b"), *says("c")], ("c", True, True)),
        # The second one is read before the first is answered: both have one reply.
        (
            [RUN, sent(1), sent(2), *says("", "toolUse"), *says("so", "toolUse"), *says("both")],
            ("both", True, True),
        ),
        # Broken off, cut, or never answered.
        ([RUN, *says("first"), SETTLED, sent(1), *says("half", "length"), SETTLED], ("half", False, True)),
        ([RUN, *says("first"), SETTLED, sent(1), SETTLED], (None, False, True)),
        ([RUN, *says("first"), SETTLED, sent(1), events.assistant_text("so far")], ("so far", False, False)),
        ([RUN, *says("first"), SETTLED, sent(1, "stop"), SETTLED], (None, False, False)),
        # A child can write any line into its events.
        ([RUN, sent(1), Event("assistant_text", {"text": 5}), *says("", "toolUse")], (None, False, False)),
    ],
    ids=range(16),
)
def test_the_reply_is_what_the_child_says_once_it_has_read_the_message(
    log: list[Event], reply: tuple[str | None, bool, bool]
) -> None:
    assert found(*log) == reply
