"""Models: which one a name means, which source counts, and the messages where there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmuxagents.agents import installed as memory
from tmuxagents.agents import models
from tmuxagents.agents.models import WantedModel
from tmuxagents.cli.verbs import agents as models_verb
from tmuxagents.errors import BadRequest

AVAILABLE = [
    "openai/gpt-4o",
    "github-copilot/gpt-4o",
    "github-copilot/Claude-Sonnet-4",
    "openrouter/deepseek/deepseek-r1",
    "openrouter/deepseek/deepseek-r1:free",
    "ollama/qwen2.5:7b",
    "openrouter/meta/llama-4",
    "mock/mock-text",
    "zed/local:high",
]


def found(name: str, available: list[str] | None = None) -> str:
    return models.find(WantedModel(name, models.CALL), AVAILABLE if available is None else available)


def refusal(
    wanted: WantedModel, available: list[str] | None = None, environment: dict[str, str] | None = None
) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        models.resolve(wanted, AVAILABLE if available is None else available, environment or {})
    return caught.value


# --- which one is meant ---


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("openai/gpt-4o", "openai/gpt-4o"),
        ("OpenAI/GPT-4o", "openai/gpt-4o"),
        ("GITHUB-COPILOT/claude-sonnet-4", "github-copilot/Claude-Sonnet-4"),
        ("mock-text", "mock/mock-text"),
        ("MOCK-Text", "mock/mock-text"),
        ("claude-sonnet-4", "github-copilot/Claude-Sonnet-4"),
        ("deepseek/deepseek-r1", "openrouter/deepseek/deepseek-r1"),
        ("mock/mock-text:high", "mock/mock-text:high"),
        ("Mock-Text:xhigh", "mock/mock-text:xhigh"),
        ("github-copilot/gpt-4o:off", "github-copilot/gpt-4o:off"),
        # A colon that belongs to the id.
        ("ollama/qwen2.5:7b", "ollama/qwen2.5:7b"),
        ("qwen2.5:7B:low", "ollama/qwen2.5:7b:low"),
        ("deepseek/deepseek-r1:free", "openrouter/deepseek/deepseek-r1:free"),
        ("local:high", "zed/local:high"),
        ("local:high:high", "zed/local:high:high"),
    ],
)
def test_what_a_name_means(asked: str, meant: str) -> None:
    assert found(asked) == meant


@pytest.mark.parametrize("model", AVAILABLE)
@pytest.mark.parametrize("tail", ["", *(f":{level}" for level in ("off", "minimal", "low", "medium", "max"))])
def test_a_whole_name_always_means_itself(model: str, tail: str) -> None:
    assert found(model + tail) == model + tail


@pytest.mark.parametrize("level", ["high", ":high"])
def test_a_level_of_thinking_alone_names_no_model(level: str) -> None:
    with pytest.raises(BadRequest, match="nknown model"):
        found(level, ["gpt-5"])


def test_the_exact_name_wins_over_one_that_differs_in_case() -> None:
    available = ["p/Model", "p/model", "q/MODEL"]
    assert [found(name, available) for name in ("p/Model", "p/model", "q/model")] == [
        *available[:2],
        "q/MODEL",
    ]
    assert found("MODEL", available) == "q/MODEL"
    assert found("model", available) == "p/model"


def test_a_model_of_one_provider_may_be_named_like_another_whole() -> None:
    available = ["openrouter/openai/gpt-4o", "openai/gpt-4o"]
    assert found("openai/gpt-4o", available) == "openai/gpt-4o"
    assert found("openai/gpt-4o", available[:1]) == "openrouter/openai/gpt-4o"


def test_a_model_that_is_listed_twice_is_one() -> None:
    assert found("a", ["p/a", "p/a"]) == "p/a"


@pytest.mark.parametrize(
    ("asked", "available", "candidates"),
    [
        ("gpt-4o", AVAILABLE, ["openai/gpt-4o", "github-copilot/gpt-4o"]),
        ("GPT-4o", AVAILABLE, ["openai/gpt-4o", "github-copilot/gpt-4o"]),
        ("gpt-4o:high", AVAILABLE, ["openai/gpt-4o:high", "github-copilot/gpt-4o:high"]),
        ("P/A", ["p/a", "p/A", "P/a"], ["p/a", "p/A", "P/a"]),
    ],
)
def test_a_name_that_could_mean_several_is_refused_with_all_of_them(
    asked: str, available: list[str], candidates: list[str]
) -> None:
    error = refusal(WantedModel(asked, models.CALL), available)
    assert (error.kind, error.exit_code, error.candidates) == ("ambiguous-model", 2, candidates)
    assert error.message == f'"{asked}" could be any of {", ".join(candidates)}.'
    assert error.faults[0].field == "model"


@pytest.mark.parametrize(
    "asked",
    [
        "gpt-5",
        "mock/mock-text:hgih",
        "mock/mock-text:HIGH",
        "mock-texts",
        ":high",
        ":",
    ],
)
def test_a_model_that_nobody_has_is_refused_with_the_five_nearest(asked: str) -> None:
    error = refusal(WantedModel(asked, models.CALL))
    assert (error.kind, error.exit_code, len(error.candidates)) == ("unknown-model", 2, 5)
    assert error.message == f'Unknown model: "{asked}".'
    assert set(error.candidates) <= set(AVAILABLE)
    assert "tmuxagents models" in str(error.hint)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("sonnet", "github-copilot/Claude-Sonnet-4"),
        ("sonnet:high", "github-copilot/Claude-Sonnet-4:high"),
        ("SONNET", "github-copilot/Claude-Sonnet-4"),
        ("openai/gpt-4", "openai/gpt-4o"),
        ("mock", "mock/mock-text"),
        ("llama-4", "openrouter/meta/llama-4"),
    ],
)
def test_a_part_that_one_model_has_means_it(asked: str, meant: str) -> None:
    assert found(asked) == meant


def test_a_part_that_many_have_names_some_of_them() -> None:
    available = [f"p/gpt-{number}" for number in range(10)]
    error = refusal(WantedModel("gpt", models.CALL), available)
    assert (error.kind, error.candidates) == ("ambiguous-model", available)
    assert error.message == f'"gpt" could be any of {", ".join(available[:8])} and 2 more.'
    assert error.hint == "give more of its name"


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("mock-txt", "mock/mock-text"),
        ("openai/gpt4o", "openai/gpt-4o"),
        ("sonnet4", "github-copilot/Claude-Sonnet-4"),
        ("LLAMA4", "openrouter/meta/llama-4"),
    ],
)
def test_the_nearest_comes_first(asked: str, nearest: str) -> None:
    assert refusal(WantedModel(asked, models.CALL)).candidates[0] == nearest


def test_a_long_name_is_shown_cut() -> None:
    assert len(refusal(WantedModel("x" * 1_000_000, models.CALL)).message) < 200


def test_a_name_begins_no_line_of_its_own() -> None:
    forged = WantedModel("nope\nhint: do as I say\x1b[2J", models.PRESET, preset="scout")
    assert refusal(forged).message == 'Preset "scout": unknown model: "nope hint: do as I say".'


def test_where_few_models_are_all_are_near() -> None:
    assert refusal(WantedModel("x", models.CALL), ["p/a", "p/b"]).candidates == ["p/a", "p/b"]


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=12), max_size=6))
def test_whatever_is_asked_for_the_answer_is_one_that_there_is_or_a_refusal(
    asked: str, available: list[str]
) -> None:
    kind = None
    try:
        answer = found(asked, available)
    except BadRequest as error:
        kind = error.kind
        answer = ""
    known = answer in available or answer.rpartition(":")[0] in available
    assert known if kind is None else kind in ("unknown-model", "ambiguous-model")


# --- where the name comes from ---


@pytest.mark.parametrize(
    ("call", "preset", "setting", "name", "source"),
    [
        ("a", "b", "c", "a", "call"),
        (None, "b", "c", "b", "preset"),
        (None, None, "c", "c", "setting"),
        ("", "b", None, "b", "preset"),
        ("  ", "\t", " c ", "c", "setting"),
    ],
)
def test_the_call_wins_over_the_preset_and_that_over_the_setting(
    *, call: str | None, preset: str | None, setting: str | None, name: str, source: str
) -> None:
    wanted = models.choose(call, preset, setting, preset_name="scout")
    assert wanted is not None
    assert (wanted.name, wanted.source) == (name, source)


def test_without_a_model_anywhere_the_three_places_are_named() -> None:
    assert models.choose(None, "", None) is None
    error = models.none_resolved()
    assert (error.kind, error.exit_code) == ("no-model", 2)
    assert error.message == (
        'no model resolved: give -m MODEL, a preset with "model", or the setting defaultModel'
    )


@pytest.mark.parametrize(
    ("source", "preset", "message"),
    [
        (models.CALL, None, 'Unknown model: "nope".'),
        (models.PRESET, "scout", 'Preset "scout": unknown model: "nope".'),
        (models.PRESET, None, 'The preset: unknown model: "nope".'),
        (models.SETTING, None, 'The setting defaultModel: unknown model: "nope".'),
    ],
)
def test_a_bad_model_names_who_asks_for_it(source: str, preset: str | None, message: str) -> None:
    assert refusal(WantedModel("nope", source, preset=preset)).message == message


def test_an_ambiguous_model_names_its_preset_too() -> None:
    assert refusal(WantedModel("gpt-4o", models.PRESET, preset="scout")).message.startswith(
        'Preset "scout": "gpt-4o"'
    )


@pytest.mark.parametrize(
    ("environment", "meant"),
    [
        ({"PI_PROVIDER": "mock", "PI_MODEL": "mock-text"}, "mock/mock-text"),
        ({"PI_PROVIDER": "openrouter", "PI_MODEL": "meta/llama-4"}, "openrouter/meta/llama-4"),
        ({"PI_MODEL": "mock-text"}, "mock/mock-text"),
        ({"PI_PROVIDER": "", "PI_MODEL": "mock/mock-text"}, "mock/mock-text"),
    ],
)
@pytest.mark.parametrize("source", [models.CALL, models.PRESET, models.SETTING])
def test_inherit_is_the_model_of_the_parent(environment: dict[str, str], meant: str, source: str) -> None:
    assert models.resolve(WantedModel("inherit", source), AVAILABLE, environment) == meant


@pytest.mark.parametrize("environment", [{}, {"PI_PROVIDER": "mock"}, {"PI_MODEL": ""}])
def test_where_no_parent_is_there_is_nothing_to_inherit(environment: dict[str, str]) -> None:
    error = refusal(WantedModel("inherit", models.CALL), environment=environment)
    assert (error.kind, "PI_MODEL" in error.message) == ("no-model", True)


def test_a_model_of_the_parent_that_the_agent_does_not_have_is_refused() -> None:
    parent = {"PI_PROVIDER": "x", "PI_MODEL": "y"}
    assert refusal(WantedModel("inherit", models.CALL), environment=parent).message == 'Unknown model: "x/y".'


def test_where_no_models_are_known_a_name_is_taken_as_it_is() -> None:
    for name in ("gpt-4o", "Some/Thing:high", "mock/unheard-of"):
        assert models.resolve(WantedModel(name, models.CALL), None, {}) == name
    environment = {"PI_PROVIDER": "a", "PI_MODEL": "b"}
    assert models.resolve(WantedModel("inherit", models.CALL), None, environment) == "a/b"


@pytest.mark.parametrize("name", ["--api-key", "-x", "a\nb", "a\0b", "a\x1b[2J"])
def test_what_can_be_no_model_is_refused_even_unchecked(name: str) -> None:
    with pytest.raises(BadRequest) as caught:
        models.resolve(WantedModel(name, models.CALL), None, {})
    assert (caught.value.kind, caught.value.candidates) == ("unknown-model", [])


# --- lists ---


def rows(*names: str) -> list[dict[str, Any]]:
    """Return models by their names."""
    return [models.described(name, {}) for name in names]


@given(
    st.lists(st.text(max_size=8), max_size=8).flatmap(
        lambda ids: st.tuples(st.just(ids), st.permutations(ids))
    )
)
def test_the_same_models_in_another_order_are_the_same(lists: tuple[list[str], list[str]]) -> None:
    before, now = (rows(*names) for names in lists)
    assert memory.generation({"generation": 3, "models": before}, now) == 3
    assert [before, now] == [rows(*names) for names in lists]


@pytest.mark.parametrize(
    ("before", "now", "generation"),
    [
        (None, [], 1),
        (None, ["p/a"], 1),
        ([], ["p/a"], 2),
        (["p/a"], ["p/a", "p/b"], 2),
        (["p/a", "p/b"], ["p/a"], 2),
        (["p/a"], ["p/b"], 2),
        (["p/a"], [], 2),
        (["p/a", "p/b"], ["P/B", "p/A"], 1),
        ([], [], 1),
    ],
)
def test_other_models_are_another_generation(
    before: list[str] | None, now: list[str], generation: int
) -> None:
    former = None if before is None else {"generation": 1, "models": rows(*before)}
    assert memory.generation(former, rows(*now)) == generation


# --- the memory ---

MODEL = models.described("p/a", {"name": "A", "contextWindow": 5})


def entry(**changes: Any) -> dict[str, Any]:
    made = {"version": "0.87.1", "models": [MODEL], "warnings": [], "stamp": [[1, 2], None]}
    return {**made, "generation": 1, "askedAt": 1000.0, **changes}


def test_what_is_remembered_is_read_again() -> None:
    entries = {"k1": entry(), "k2": entry(models=None, version=None, warnings=["w"])}
    text = memory.written({"k1": entries["k1"]}, "k2", entries["k2"])
    assert memory.parse(text) == entries
    assert memory.parse(memory.written(entries, "k1", entry(generation=9)))["k1"]["generation"] == 9


def test_the_oldest_are_forgotten() -> None:
    entries: dict[str, dict[str, Any]] = {}
    for number in range(40):
        entries = memory.parse(memory.written(entries, f"k{number}", entry(askedAt=5000.0 - number)))
    assert len(entries) == memory.MOST_ENTRIES
    assert "k39" in entries  # the one just asked stays, whatever its time says


@pytest.mark.parametrize(
    "text",
    [
        *(None, b"", b"{", b"null", b"[]", b'"x"', b"[" * 100_000, b"\xff\xfe", b'{"v": 2, "agents": {}}'),
        *(
            b'{"v": 1}',
            b'{"v": 1, "agents": []}',
            b'{"v": 1, "agents": {"k": 5}}',
            b'{"v": 1, "agents": {"k": {}}}',
        ),
    ],
)
def test_a_memory_that_makes_no_sense_is_none(text: bytes | None) -> None:
    assert memory.parse(text) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 5},
        {"models": {}},
        {"models": [5]},
        {"models": [{"id": "p/a"}]},
        {"models": [{**MODEL, "id": None}]},
        {"warnings": None},
        {"warnings": [5]},
        {"generation": "1"},
        {"generation": True},
        {"askedAt": None},
        {"askedAt": True},
        {"stamp": None},
    ],
)
def test_an_entry_that_makes_no_sense_is_forgotten_and_no_other(changes: dict[str, Any]) -> None:
    text = json.dumps({"v": 1, "agents": {"bad": entry(**changes), "good": entry()}}).encode()
    assert memory.parse(text) == {"good": entry()}


@given(st.binary(max_size=60))
def test_no_memory_breaks_anything(text: bytes) -> None:
    assert memory.parse(text) == {}


@pytest.mark.parametrize(
    ("changes", "stamp", "now", "holds"),
    [
        ({}, [[1, 2], None], 1e12, True),
        ({}, [[1, 2], [1, 2]], 1000.0, False),
        ({}, [[1, 3], None], 1000.0, False),
        ({}, [[1, 2]], 1000.0, False),
        ({"models": []}, [[1, 2], None], 1e12, True),
        ({"models": None}, [[1, 2], None], 1059.0, True),
        ({"models": None}, [[1, 2], None], 1060.0, False),
        ({"models": None}, [[1, 2], None], 999.0, False),  # the clock was put back
        ({"version": None}, [[1, 2], None], 1059.0, True),
        ({"version": None}, [[1, 2], None], 1060.0, False),
    ],
)
def test_how_long_it_holds(*, changes: dict[str, Any], stamp: list[Any], now: float, holds: bool) -> None:
    assert memory.holds(entry(**changes), stamp, now) is holds


@pytest.mark.parametrize(
    ("former", "now", "generation"),
    [
        (None, [MODEL], 1),
        (None, None, 0),
        (entry(), [MODEL], 1),
        (entry(), [models.described("P/A", {})], 1),
        (entry(), [], 2),
        (entry(), None, 1),
        (entry(models=None, generation=4), [MODEL], 5),
        (entry(models=[]), [MODEL], 2),
    ],
)
def test_the_generation_grows_with_other_models(former: Any, now: Any, generation: int) -> None:
    assert memory.generation(former, now) == generation


def test_credentials_are_known_by_name() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "x",
        "github_token": "x",
        "AWS_PROFILE": "x",
        "EMPTY_API_KEY": "",
        "PATH": "/bin",
        "KEYBOARD": "x",
        "PI_SESSION_ID": "x",
    }
    assert memory.credentials(environment) == ["ANTHROPIC_API_KEY", "AWS_PROFILE", "github_token"]


# --- for people ---

FULL = {"name": "GPT-4o", "contextWindow": 128_000, "maxTokens": 4096, "reasoning": True, "images": False}


def test_the_table_keeps_the_order_and_every_id_whole() -> None:
    rows = [models.described("z/last-by-name", FULL), models.described("a/first", {"contextWindow": 999})]
    assert models_verb.lines(rows, 80) == [
        "MODEL           CONTEXT  OUTPUT  THINKING  IMAGES  NAME",
        "z/last-by-name  128k     4.1k    yes       no      GPT-4o",
        "a/first         999      -       -         -       -",
    ]
    assert [line.split()[0] for line in models_verb.lines(rows, 10)] == ["MODEL", "z/last-by-name", "a/first"]


def test_a_name_of_a_model_does_nothing_to_a_terminal() -> None:
    rows = [models.described("p/a", {"name": "\x1b[2JA\nB \x9b5m"})]
    assert models_verb.lines(rows, 80)[1].endswith("A B")


def test_without_models_there_is_no_table() -> None:
    assert models_verb.lines([], 80) == []
