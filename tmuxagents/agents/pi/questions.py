"""The questions to an installed pi (version, models), its capabilities, its variables for API keys. Pure.

No wrapper imports this.
"""

from __future__ import annotations

import json
import re

from tmuxagents.agents import capabilities as can
from tmuxagents.agents.models import described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CAPABILITIES = can.Capabilities(
    seats=(can.STREAM, can.LIVE),
    lists_models=True,
    profiles=True,
    permissions=(),
    default_permission=None,
    system_prompt=(can.ADD, can.REPLACE),
    reads_tools=True,
    usage=can.OF_CALL,
    cost=can.ESTIMATED,
    oldest="0.87",
)
_RELEASE = re.compile(r"(?<![\w.])v?(\d{1,6})\.(\d{1,6})(\.\d{1,6})?([-+][0-9A-Za-z.+-]{1,40})?(?![\w.])")
_HEADER = ["provider", "model"]
_NOBODY = "No models available"
_CHOOSING = ("defaultProvider", "defaultModel", "enabledModels")  # the keys by which pi chooses a model


class PiQuestions(can.Questions):
    """The questions to an installed pi, and the parsers of its answers."""

    # This mode keeps the order of the configuration; the printed list is sorted.
    MODELS = ("--mode", "rpc", "--no-session")
    REQUEST = b'{"type":"get_available_models"}\n'
    LISTING = ("--list-models",)
    SETTINGS, FOLDER_SETTINGS = "settings.json", ".pi/settings.json"
    FILES = ("models.json", "auth.json", SETTINGS)
    # No network: only the installed version matters.
    QUIET = {"PI_SKIP_VERSION_CHECK": "1"}  # noqa: RUF012  (a constant)

    def version(self, text: bytes) -> str | None:
        """Return the version in an answer."""
        found = _RELEASE.search(text[: can.LONGEST].decode("utf-8", "replace"))
        return found[0].removeprefix("v") if found else None

    def is_old(self, release: str) -> bool:
        """Say whether a version is older than the oldest supported one."""
        found = _RELEASE.search(release)
        return found is None or (int(found[1]), int(found[2])) < self.OLDEST

    def models(self, line: bytes) -> list[dict[str, Any]] | None:
        """Return the models from a line of the RPC mode, in its order; None for any other line."""
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(answer, dict) or answer.get("command") != "get_available_models":
            return None
        data = answer.get("data")
        listed = data.get("models") if isinstance(data, dict) and answer.get("success") is True else None
        if not isinstance(listed, list):
            return None
        found = [row for row in map(_model, listed) if row is not None]
        # An unreadable list is not an empty one.
        return found if found or not listed else None

    def own_model(self, settings: bytes, of_folder: bytes) -> str | None:
        """Return the model that pi uses if none is named; None if the settings leave that open."""
        own, theirs = _object(settings), _object(of_folder)
        if own.get("enabledModels") or any(key in theirs for key in _CHOOSING):
            return None
        provider, model = own.get("defaultProvider"), own.get("defaultModel")
        return f"{provider}/{model}" if _is_id(provider, model) else None

    def listing(self, text: bytes) -> list[dict[str, Any]] | None:
        """Return the models of the printed list; None if the text is no such list, or no line is readable."""
        lines = text.decode("utf-8", "replace").splitlines()
        if any(line.startswith(_NOBODY) for line in lines):
            return []
        rows = [line.split() for line in lines if line.strip()]
        starts = [number for number, cells in enumerate(rows) if cells[:2] == _HEADER]
        if not starts:
            return None
        columns, below, found = rows[starts[0]], rows[starts[0] + 1 :], []
        for cells in below:
            if len(cells) == len(columns) and _is_id(*cells[:2]):
                row = dict(zip(columns, cells, strict=True))
                facts = {"reasoning": _yes(row.get("thinking")), "images": _yes(row.get("images"))}
                found.append(described(f"{cells[0]}/{cells[1]}", facts))
        return found if found or not below else None


def _object(text: bytes) -> dict[str, Any]:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}


def _yes(word: str | None) -> bool | None:
    return {"yes": True, "no": False}.get(word or "")


def _model(raw: Any) -> dict[str, Any] | None:
    if not isinstance(raw, dict) or not _is_id(raw.get("provider"), raw.get("id")):
        return None
    name, kinds = raw.get("name"), raw.get("input")
    facts = {
        "name": name[: can.LONGEST] if isinstance(name, str) and name else None,
        "contextWindow": _size(raw.get("contextWindow")),
        "maxTokens": _size(raw.get("maxTokens")),
        "reasoning": raw["reasoning"] if isinstance(raw.get("reasoning"), bool) else None,
        "images": "image" in kinds if isinstance(kinds, list) else None,
    }
    return described(f"{raw['provider']}/{raw['id']}", facts)


def _is_id(provider: Any, model: Any) -> bool:
    """Say whether two values can be the names of a provider and a model: printable, not too long."""
    words = (provider, model)
    return all(
        isinstance(word, str) and 0 < len(word) <= can.LONGEST and word.isprintable() for word in words
    )


def _size(raw: Any) -> int | None:
    return int(raw) if type(raw) in (int, float) and 0 < raw < 2**53 else None


_VARIABLES = {
    "ant-ling": "ANT_LING_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "azure-openai-responses": "AZURE_OPENAI_API_KEY",
    "baseten": "BASETEN_API_KEY",
    "cerebras": "CEREBRAS_API_KEY",
    "cloudflare-ai-gateway": "CLOUDFLARE_API_KEY",
    "cloudflare-workers-ai": "CLOUDFLARE_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "github-copilot": "COPILOT_GITHUB_TOKEN",
    "google": "GEMINI_API_KEY",
    "google-vertex": "GOOGLE_CLOUD_API_KEY",
    "groq": "GROQ_API_KEY",
    "huggingface": "HF_TOKEN",
    "kimi-coding": "KIMI_API_KEY",
    "meta": "META_API_KEY",
    "minimax": "MINIMAX_API_KEY",
    "minimax-cn": "MINIMAX_CN_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "moonshotai": "MOONSHOT_API_KEY",
    "moonshotai-cn": "MOONSHOT_API_KEY",
    "nvidia": "NVIDIA_API_KEY",
    "openai": "OPENAI_API_KEY",
    "opencode": "OPENCODE_API_KEY",
    "opencode-go": "OPENCODE_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "radius": "RADIUS_API_KEY",
    "together": "TOGETHER_API_KEY",
    "vercel-ai-gateway": "AI_GATEWAY_API_KEY",
    "xai": "XAI_API_KEY",
    "xiaomi": "XIAOMI_API_KEY",
    "zai": "ZAI_API_KEY",
}
_TOKENS = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN")


def variables(key: str, provider: str | None) -> dict[str, str]:
    """Return the variables that give pi a key; the provider's own variable only for a known provider."""
    given = {"PI_API_KEY": key}
    if provider in _VARIABLES:
        given[_VARIABLES[provider]] = key
    if provider == "anthropic":  # a token in the environment would take precedence
        given |= dict.fromkeys(_TOKENS, "")
    return given
