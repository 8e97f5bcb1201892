"""The truth matrix: real agents through tmuxagents, each ending provoked, and what we say of it checked."""
