"""Tests of the tmux edge, on the real tmux and on the fake."""
