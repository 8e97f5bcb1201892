"""Qwen Code: its command line, its output, and the messages to it."""
