"""GitHub Copilot CLI: its command line and its output."""
