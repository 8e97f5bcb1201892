"""Live agents that tell by hooks what they do: the hook, the bridge, and what every reader of them needs."""
