"""Layouts: files that describe a tmux session; these modules check, open and update them."""
