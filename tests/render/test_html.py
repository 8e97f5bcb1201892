"""Runs as a page of HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tmuxagents.records import Verdict
from tmuxagents.render import html, tool_calls
from tmuxagents.render.html import RunPage
from tmuxagents.render.story import Story
from tmuxagents.runs import events
from tmuxagents.runs.documents import plan_of

if TYPE_CHECKING:
    from tmuxagents.runs.events import Event

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
VOID = {"meta", "br", "hr"}


class Tags(HTMLParser):
    """Reads a page strictly: each tag that opens is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def said(text: str) -> str:
    """Return the HTML of an answer, in its element."""
    story = Story()
    story.take(events.assistant_text(text))
    page = html.page([RunPage("1", "x", "running", story.blocks)], "now")
    found = re.search(r'<div class="said">(.*?)</div></article>', page, re.DOTALL)
    assert found is not None
    read(page)
    return found[1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b & c", "<p>a &lt; b &amp; c</p>"),
        ("one\ntwo", "<p>one<br>two</p>"),
        ("# Head\n###### Deep", "<h2>Head</h2>\n<h6>Deep</h6>"),
        ("**b** *i* ~~s~~ `c`", "<p><strong>b</strong> <em>i</em> <del>s</del> <code>c</code></p>"),
        ("***x***", "<p><strong><em>x</em></strong></p>"),
        ("```py\na < b\n\nc\n```", "<pre><code>a &lt; b\n\nc</code></pre>"),
        ("> a", "<blockquote><p>a</p></blockquote>"),
        ("---", "<hr>"),
        (
            "- a\n- **b**\n  - c\n\n1. one",
            (
                '<ul class="points"><li><span class="marker">•</span><div>a</div></li>'
                '<li><span class="marker">•</span><div><strong>b</strong>'
                '<ul class="points"><li><span class="marker">•</span><div>c</div></li></ul></div></li></ul>\n'
                '<ul class="numbered"><li><span class="marker">1.</span><div>one</div></li></ul>'
            ),
        ),
        (
            "-\n- # h",
            (
                '<ul class="points"><li><span class="marker">•</span><div></div></li>'
                '<li><span class="marker">•</span><div><h2>h</h2></div></li></ul>'
            ),
        ),
        (
            "- - a\n  - b",
            (
                '<ul class="points"><li><span class="marker">•</span><div>'
                '<ul class="points"><li><span class="marker">•</span><div>a</div></li>'
                '<li><span class="marker">•</span><div>b</div></li></ul></div></li></ul>'
            ),
        ),
        (
            "|a|b|\n|-|-:|\n|`x`|1|",
            (
                '<table><thead><tr><th class="left">a</th><th class="right">b</th></tr></thead>'
                '<tbody><tr><td class="left"><code>x</code></td><td class="right">1</td></tr></tbody></table>'
            ),
        ),
        (
            "[t](https://a.de?x=1&y) b",
            '<p><a href="https://a.de?x=1&amp;y" rel="noopener noreferrer">t</a> b</p>',
        ),
        ("[t](javascript:alert)", "<p>t</p>"),
        (
            '[t](https://a.de"onclick=x)',
            '<p><a href="https://a.de&quot;onclick=x" rel="noopener noreferrer">t</a></p>',
        ),
    ],
)
def test_an_answer_becomes_html(text: str, shown: str) -> None:
    assert said(text) == shown


def whole() -> Story:
    story = Story(tool_calls.WHOLE)
    story.head(
        plan_of(
            {"runId": "1" * 16, "name": None, "agent": "pi", "cwd": "/x", "task": HOSTILE, "preset": HOSTILE}
        )
    )
    happened = [
        events.thinking(HOSTILE),
        events.tool_call("1", "bash", {"command": HOSTILE}),
        events.tool_result(
            "1", "bash", is_error=True, text="no\nCommand exited with code 3", duration_ms=2000
        ),
        events.tool_call("2", "edit", {"path": "a", "oldText": HOSTILE, "newText": "new"}),
        events.tool_result("2", "edit", is_error=False, text="", duration_ms=None),
        events.tool_call("3", "bash", {"command": "make"}),
        events.tool_result("3", "bash", is_error=False, text="fine", duration_ms=None),
        events.tool_call("4", "web", {"q": HOSTILE}),
        events.tool_result("4", "web", is_error=False, text="", duration_ms=None),
        *(events.stderr(HOSTILE), events.needs_input("confirm", HOSTILE), events.human_input(HOSTILE)),
        events.assistant_text(HOSTILE),
        events.tool_call("5", "read", {"path": "open"}),
    ]
    for number, event in enumerate(happened):
        event.at = 1000.0 + number
        story.take(event)
    return story


def test_a_page_needs_nothing_else_and_nothing_in_it_is_obeyed() -> None:
    story = whole()
    story.close(Verdict("failed", "error", HOSTILE), 12.0)
    page = html.page([RunPage("1" * 16, HOSTILE, "failed", story.blocks)], "2026-11-19")
    tags = read(page)
    names = {tag for tag, _ in tags.found}
    assert not names & {"script", "img", "link", "iframe", "object", "form", "base", "svg", "video", "audio"}
    assert {name for _, attributes in tags.found for name in attributes} <= {
        *("class", "id", "lang", "charset", "http-equiv", "content", "name", "open", "rel", "href"),
    }
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'" in page
    assert "url(" not in html.STYLE
    assert "@import" not in html.STYLE
    assert "".join(tags.words).count(HOSTILE) >= 10


def test_calls_fold_and_what_matters_is_open() -> None:
    story = whole()
    story.close(Verdict("failed", "error", HOSTILE), 12.0)
    page = html.page([RunPage("1" * 16, "x", "failed", story.blocks)], "now")
    folding = re.findall(r'<details class="call (\w+)"( open)?>', page)
    assert folding == [("bad", " open"), ("good", " open"), ("good", "")]
    assert '<span class="aside code">exit 3</span><span class="time">2.0s 0:02</span>' in page
    assert "<ins>+ new</ins>" in page
    assert '<div class="call good"><span class="sign">✓</span>' in page
    assert '<div class="call bad"><span class="sign">✗</span>' in page
    assert '<strong>failed</strong> (error) in 12s<div class="why">' in page


def test_several_runs_have_a_table_on_top() -> None:
    done, works = whole(), whole()
    done.close(Verdict("completed", "done"), 12.0)
    pages = [
        RunPage("1", "one <1>", "completed", done.blocks),
        RunPage("2", "two", "running", [*works.blocks, *works.open]),
        RunPage("3", "three", "failed", []),
    ]
    page = html.page(pages, "now")
    read(page)
    assert "<title>3 runs · tmuxagents</title>" in page
    assert (
        '<tr class="good"><td><a href="#run-1">one &lt;1&gt;</a></td><td>completed</td><td>12s</td>' in page
    )
    assert (
        '<tr class="works"><td><a href="#run-2">two</a></td><td>running</td><td></td><td></td></tr>' in page
    )
    assert '<tr class="bad"><td><a href="#run-3">three</a></td>' in page
    assert page.count("<article id=") == 3
    assert '<div class="call works"><span class="sign">▸</span>' in page


@given(st.lists(strategies.wild_events, max_size=5), st.text("ab<>&\"'`*_[](): \n#-|1.", max_size=60))
def test_whatever_a_child_sends_is_a_page(what: list[Event], text: str) -> None:
    story = Story(tool_calls.WHOLE)
    for event in [*what, events.assistant_text(text)]:
        story.take(event)
    read(html.page([RunPage("1", text, "running", story.blocks)], "now"))
