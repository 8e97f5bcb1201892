"""The pi coding agent: how it is called, and what its output means."""
