"""The story of a run, read from its directory, also while the run goes on. Joins.

reading = StoryReader(run_dir, tool_calls.WHOLE, home=os.path.expanduser("~"))
reading.look()               # as often as needed; `reading.story` then has the new blocks
"""

from __future__ import annotations

import re
import time

from tmuxagents.render import rows, tool_calls
from tmuxagents.render.story import Story
from tmuxagents.runs.inspect import Follower

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tmuxagents.render.tool_calls import Limits
    from tmuxagents.runs.inspect import RunView

_WORD = re.compile(r"\w+")
_WIDE = 1000  # columns; wider than any terminal


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

    def has_words(self, lines: Iterable[str]) -> bool:
        """Say whether the story has all words of these lines, in which a word may be cut off or broken.

        A line that begins with an ellipsis does not count: it says how much is not shown in some width.
        """
        wide = rows.all_rows(self.story.blocks, _WIDE)
        text = "\n".join(" ".join("".join(words for _, words in row).split()) for row in wide)
        known = set(_WORD.findall(text))
        counted = [line for line in lines if not line.strip(" ·").startswith("…")]
        return all(word in known or word in text for line in counted for word in _WORD.findall(line))
