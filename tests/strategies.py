"""What hypothesis makes up for these tests: values that JSON can hold, events as a child may send them."""

from typing import Any

from hypothesis import strategies as st

from tmuxagents.runs.events import Event

# Types and fields of the contract; a child may send any of them with anything in it, in any order.
TYPES = (
    *("run_started", "assistant_text", "thinking", "tool_call", "tool_result", "usage", "retry"),
    *("human_input", "message_sent", "turn_end", "settled", "needs_input", "input_given", "left_behind"),
    *("queued", "resumed", "stderr", "child_exited", "session_started", "denied"),
)
FIELDS = (
    *("pid", "pidStartTime", "wrapperPid", "pane", "window", "agentVersion", "text", "callId", "toolName"),
    *("args", "isError", "durationMs", "input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"),
    *("attempt", "maxAttempts", "delayMs", "errorMessage", "inboxId", "kind", "stopReason", "aborted"),
    *("attended", "comm", "why", "position", "exitCode", "signal", "session", "model", "reasoning"),
    *("costKind", "basis"),
)
ENVELOPE = ("v", "seq", "at", "type")


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)

    return st.recursive(leaves, grown, max_leaves=4)


_plain = st.none() | st.booleans() | st.integers() | st.text(max_size=30)
json_values = nested(_plain | st.floats(allow_nan=False, allow_infinity=False))
# Besides: figures that JSON has no words for, texts with controls, sequences and halves of characters.
_rough = st.sampled_from(
    ["\x1b]52;c;eA==\x07", "\x1b[31m", "\x9b31m", "\n", "\r\n", "\0", "\ud800", "\u202e"]
)
rough_text = st.lists(_rough | st.text(max_size=5), max_size=5).map("".join)
wild_values = nested(_plain | st.floats() | st.just(10**400) | rough_text)

moments = st.floats(min_value=0, max_value=4e9).map(lambda at: round(at, 3))


known_types = st.sampled_from(TYPES)


def events(
    values: st.SearchStrategy[Any], types: st.SearchStrategy[str] | None = None
) -> st.SearchStrategy[Event]:
    """Events of known types, or others, with known and unknown fields that hold any of these values."""
    names = st.sampled_from(FIELDS) | st.text(max_size=8).filter(lambda name: name not in ENVELOPE)
    return st.builds(
        Event,
        known_types if types is None else types,
        st.dictionaries(names, values, max_size=4),
        seq=st.integers(min_value=0),
        at=moments,
    )


json_events = events(json_values, known_types | st.text(max_size=12))
wild_events = events(wild_values, known_types | st.text(max_size=12))

GONE = object()  # as a value: the key or the entry is taken away


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to everything inside a JSON value."""
    if isinstance(value, dict):
        inside = [(key, value[key]) for key in value]
    elif isinstance(value, list):
        inside = list(enumerate(value))
    else:
        return []
    return [way for key, inner in inside for way in ((*here, key), *paths(inner, (*here, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a JSON value with another one at the end of the path."""
    key, *rest = path
    changed = dict(value) if isinstance(value, dict) else list(value)
    if not rest and new is GONE:
        del changed[key]
    else:
        changed[key] = replaced(value[key], tuple(rest), new) if rest else new
    return changed
