"""Ways in for parents that are programs: the tools of the catalogue over MCP."""
