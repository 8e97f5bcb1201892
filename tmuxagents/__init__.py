"""A session manager that runs coding agents in tmux windows. Pure."""

__version__ = "0.1.0"
