"""The pi coding agent: its command line and its output."""
