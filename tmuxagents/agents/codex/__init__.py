"""OpenAI's Codex: its command line, its app server, and the output of both."""
