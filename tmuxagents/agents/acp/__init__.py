"""Agents that speak the Agent Client Protocol: one talker for all of them, and a small table of quirks."""
