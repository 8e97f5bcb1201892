"""Live agents that report their work by hooks: the hook, and the base of their bridges."""
