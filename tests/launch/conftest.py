"""A desk at which the real pi works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness import real_pi

if TYPE_CHECKING:
    from tests.desk import Desk
    from tests.harness import ModelServer


@pytest.fixture
def real(desk: Desk, models: ModelServer) -> Desk:
    """Return a desk with the real pi and without a default model."""
    environment = desk.home.environment
    environment |= {"TMUXAGENTS_PI": real_pi(), "PI_CODING_AGENT_DIR": str(models.agent_dir)}
    environment["TMUXAGENTS_DEFAULT_MODEL"] = ""
    return desk
