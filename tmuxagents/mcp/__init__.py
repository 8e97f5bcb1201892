"""The MCP server: the protocol, and one process per call."""
