"""opencode: its command line and its output."""
