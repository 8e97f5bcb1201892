"""The story of a run, read from its directory, also while the run goes on. Joins.

reading = StoryReader(run_dir, tool_calls.WHOLE, home=os.path.expanduser("~"))
reading.look()               # as often as needed; `reading.story` then has the new blocks
"""

from __future__ import annotations

import time

from tmuxagents.render import tool_calls
from tmuxagents.render.story import Story
from tmuxagents.runs.inspect import Follower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tmuxagents.render.tool_calls import Limits
    from tmuxagents.runs.inspect import RunView


class StoryReader:
    """Reads one run and keeps its story up to date."""

    def __init__(
        self,
        run_dir: str,
        limits: Limits = tool_calls.WINDOW,
        *,
        home: str = "",
        stamp: Callable[[float], str] | None = None,
    ) -> None:
        self.story = Story(limits, stamp)
        self._follower = Follower(run_dir, self.story.take)
        self.story.head(self._follower.plan, home)
        self._is_closed = False

    def has_news(self) -> bool:
        """Say, without reading, whether a look would find anything new."""
        return not self._is_closed and self._follower.has_news()

    def look(self) -> RunView:
        """Take in the events since the last look, and the end of the run; return its view."""
        run = self._follower.look()
        verdict = run.standing.verdict
        if verdict is not None and not self._is_closed:
            self._is_closed = True
            self.story.close(verdict, run.elapsed(time.time()), run.state)
        return run
