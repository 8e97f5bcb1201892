"""A session manager for child agents, with tmux at its centre. Pure."""

__version__ = "0.1.0"
