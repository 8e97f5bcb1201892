"""Layouts of tmux: files that describe a session, checked, opened and kept filled."""
