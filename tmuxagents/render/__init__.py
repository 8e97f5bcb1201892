"""The one renderer of runs: events become blocks, blocks become rows of a terminal or a page of HTML."""
