"""The verb `top`: its table, its detail, its keys, and the screen that textual draws."""
