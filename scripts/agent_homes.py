"""A private home in which a real agent asks our model server: one table of variables and files.

No brand needs a login here, no request leaves the machine, and nobody's own home is seen or changed. Tries
are few and waits are short where a brand can be asked for that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

KEY = "no-key-is-needed"
MODEL = "mock-text"
QUIET = {"DO_NOT_TRACK": "1", "LANG": "C.UTF-8", "TERM": "xterm"}
CODEX_CONFIG = """model = "{model}"
model_provider = "mock"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 2
stream_max_retries = 2
supports_websockets = false
"""


@dataclass(frozen=True)
class Brand:
    """How a brand finds the model server: `{url}` is its address without a path, `{model}` the model."""

    package: str  # what scripts/agents installs; pi is there already
    program: str
    model: str = MODEL
    variables: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # below the home
    batch: tuple[str, ...] = ()  # its own command line for one task on stdin, with every permission
    limit: dict[str, str] = field(default_factory=dict)  # files with which it stops after two turns
    levels: bool = True  # it knows levels of permission
    settings: dict[str, Any] = field(default_factory=dict)  # agents.NAME of tmuxagents, where it needs some


def settings(**members: Any) -> str:
    """Write a settings file."""
    return json.dumps(members, indent=1) + "\n"


def limited(text: str) -> str:
    """Let a settings file stop its agent after two turns."""
    return settings(**{**json.loads(text), "model": {"maxSessionTurns": 2}})


CLAUDE = {
    "ANTHROPIC_BASE_URL": "{url}",
    "ANTHROPIC_API_KEY": KEY,
    "ANTHROPIC_MODEL": "claude-sonnet-4-5",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "IS_SANDBOX": "1",  # else root may not bypass permissions
}
CODEX = {"MOCK_KEY": KEY, "OPENAI_API_KEY": KEY, "CODEX_API_KEY": KEY}
CLAUDE_ASKS_NOTHING = settings(  # before its screen opens: all that a person is asked once
    hasCompletedOnboarding=True,
    bypassPermissionsModeAccepted=True,
    customApiKeyResponses={"approved": [KEY[-20:]], "rejected": []},
    projects={"{home}/project": {"hasTrustDialogAccepted": True}},
)
OPENCODE = settings(
    share="disabled",
    autoupdate=False,
    model=f"mock/{MODEL}",
    provider={
        "mock": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "mock",
            "options": {"baseURL": "{url}/v1", "apiKey": KEY},
            "models": {
                MODEL: {
                    "name": "mock",
                    "cost": {"input": 3, "output": 15, "cache_read": 0.3},
                    "limit": {"context": 128000, "output": 8000},
                    "tool_call": True,
                    "reasoning": True,
                    "interleaved": {"field": "reasoning_content"},
                }
            },
        }
    },
)
CALM: dict[str, Any] = {
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "disableAutoUpdate": True},
    "telemetry": {"enabled": False},
}
COPILOT_TRUSTS = settings(trusted_folders=["{home}/project"])  # else its screen asks a person first
GEMINI = settings(security={"auth": {"selectedType": "gemini-api-key"}}, **CALM)
QWEN = settings(security={"auth": {"selectedType": "openai"}}, **CALM)
BRANDS = {
    "pi": Brand("pi", "pi", f"mock/{MODEL}", {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}, levels=False),
    "claude": Brand(
        "claude",
        "claude",
        "claude-sonnet-4-5",
        CLAUDE,
        {".claude.json": CLAUDE_ASKS_NOTHING},
        batch=("-p", "--output-format=stream-json", "--verbose", "--permission-mode=bypassPermissions"),
    ),
    "codex": Brand(
        "codex",
        "codex",
        variables=CODEX,
        files={".codex/config.toml": CODEX_CONFIG},
        batch=("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-"),
    ),
    "opencode": Brand(
        "opencode",
        "opencode",
        f"mock/{MODEL}",
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        },
        {".config/opencode/opencode.json": OPENCODE},
        batch=("run", "--format=json", "--auto"),
    ),
    "gemini": Brand(
        "gemini",
        "gemini",
        "gemini-2.5-flash",
        {
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_TELEMETRY_ENABLED": "false",
        },
        {".gemini/settings.json": GEMINI},
        limit={".gemini/settings.json": limited(GEMINI)},
        batch=(
            "--output-format=stream-json",
            "--skip-trust",
            "--approval-mode=yolo",
            "-m",
            "gemini-2.5-flash",
        ),
    ),
    "qwen": Brand(
        "qwen",
        "qwen",
        variables={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "{url}/v1", "OPENAI_MODEL": MODEL},
        files={".qwen/settings.json": QWEN},
        limit={".qwen/settings.json": limited(QWEN)},
        batch=("--output-format=stream-json", "--auth-type=openai", "--approval-mode=yolo"),
    ),
    "copilot": Brand(
        "copilot",
        "copilot",
        variables={
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": "{url}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": MODEL,
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_WIRE_API": "completions",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "1000000",  # else it refuses a long prompt itself
        },
        files={".copilot/config.json": COPILOT_TRUSTS},
        batch=("--output-format=json", "--allow-all-tools"),
    ),
    "claude-acp": Brand("claude-acp", "claude-agent-acp", "", CLAUDE, settings={"type": "acp"}),
    "codex-acp": Brand(
        "codex-acp",
        "codex-acp",
        "",
        CODEX,
        {".codex/config.toml": CODEX_CONFIG.replace("{model}", MODEL)},
        settings={"type": "acp"},
    ),
}
BRANDS |= {  # the same programs over ACP: tmuxagents knows their launch lines by these names
    f"{name}-acp": replace(BRANDS[name], model=model, settings={"type": "acp"}, batch=())
    for name, model in {
        "gemini": "gemini-2.5-pro",
        "qwen": "",
        "opencode": f"mock/{MODEL}",
        "copilot": "",
    }.items()
}


LOCKS = Path(__file__).with_name("locks")


def version(name: str) -> str:
    """Return the version of a brand that scripts/agents installs, out of its lock."""
    lock = LOCKS / BRANDS[name].package / "package.json"
    return str(next(iter(json.loads(lock.read_text(encoding="utf-8"))["dependencies"].values())))


def furnish(brand: Brand, home: Path, url: str, *, limit: bool = False) -> dict[str, str]:
    """Write the files of a brand into a home; return the variables that lead it to the server at `url`."""
    root = url.removesuffix("/v1")

    def filled(text: str) -> str:
        return text.replace("{url}", root).replace("{model}", brand.model).replace("{home}", str(home))

    for name, text in (brand.files | (brand.limit if limit else {})).items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled(text), encoding="utf-8")
    own = {key: filled(value) for key, value in brand.variables.items()}
    return {**QUIET, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **own}
