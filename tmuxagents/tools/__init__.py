"""The tools that parents call: their catalogue and their code."""
