"""Qwen Code: its command line, its output, and the talk with it."""
