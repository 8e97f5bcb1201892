"""Gemini CLI: its command line and its output."""
