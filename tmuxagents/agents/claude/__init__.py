"""Everything that only Claude Code needs."""
