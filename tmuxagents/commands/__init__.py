"""One plain function a verb: the order of its steps. No click, no printing."""
