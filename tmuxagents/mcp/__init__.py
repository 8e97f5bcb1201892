"""The MCP server: the protocol, and a process for each call."""
