"""Where pi looks for an API key: the variable of each provider."""

from __future__ import annotations

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
    """Return the variables that give pi a key; the provider's own only if that is known."""
    given = {"PI_API_KEY": key}
    if provider in _VARIABLES:
        given[_VARIABLES[provider]] = key
    if provider == "anthropic":  # a token that is in the environment would count before the key
        given |= dict.fromkeys(_TOKENS, "")
    return given
