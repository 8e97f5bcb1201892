"""From a request to a wrapper that has answered: plan, check, prepare, open, hand over."""
