"""Runs as one self-contained page of HTML: no script, no font, no picture, no request. Pure.

The page's policy (`default-src 'none'`) enforces that, whatever a child has written. Folded parts are
`details` elements: a browser opens one when a search finds a word inside it.
"""

from __future__ import annotations

from typing import NamedTuple

from tmuxagents import records
from tmuxagents.render import inline, markdown, story, styles, tool_calls
from tmuxagents.text import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tmuxagents.render.markdown import Node
    from tmuxagents.render.story import Block

STYLE = """
:root{color-scheme:light dark;--ground:#fbfbfa;--raised:#f1f1ee;--line:#dcdcd6;--text:#1f2328;--dim:#6a707a;
--accent:#0b7285;--good:#2b7a3d;--bad:#c0362c;--head:#8a3ea8;--added:#e3f3e4;--removed:#fbe6e3}
@media (prefers-color-scheme:dark){:root{--ground:#16181d;--raised:#1e2127;--line:#32363f;--text:#d8dbe0;
--dim:#8b919c;--accent:#5cb8c0;--good:#8fbf6f;--bad:#e0717b;--head:#c387d6;--added:#1f3326;--removed:#3a2226}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:16px/1.6 system-ui,sans-serif}
main{max-width:60rem;margin:0 auto;padding:2rem 1.25rem}
code,pre,.phrase,.aside,.time,.sign,.meta{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
h1{font-size:1.5rem;line-height:1.2;margin:0}
h2,h3,h4,h5,h6{color:var(--head);font-size:1.1rem;margin:1.2em 0 .4em}
article+article{margin-top:4rem;padding-top:3rem;border-top:1px solid var(--line)}
header{margin-bottom:1.5rem}
.meta,.note,.thought,footer,.time,.aside{color:var(--dim);font-size:.85rem}
.meta{margin:.3rem 0 .8rem}
.task{white-space:pre-wrap;border-left:3px solid var(--accent);padding:.2rem 0 .2rem .9rem}
.said{margin:1.1rem 0}
.said>:first-child{margin-top:0}
.said>:last-child{margin-bottom:0}
.thought{font-style:italic;margin:1rem 0}
.note,.sent,.asks,.why{white-space:pre-wrap;margin:.5rem 0}
.asks{color:var(--head);font-weight:600}
.sent{border-left:3px solid var(--head);padding-left:.9rem}
.call{margin:.35rem 0;border:1px solid var(--line);border-radius:.5rem;background:var(--raised)}
.call,.said pre{font-size:.875rem}
.call>summary,div.call{display:flex;gap:.6rem;align-items:baseline;padding:.4rem .75rem}
.call>summary{cursor:pointer;list-style:none}
.call>summary::-webkit-details-marker{display:none}
.call>summary .phrase::after{content:" \\25b8";color:var(--dim)}
.call[open]>summary .phrase::after{content:" \\25be"}
.phrase{font-weight:600;overflow-wrap:anywhere}
.phrase b{color:var(--dim);font-weight:400}
.time{margin-left:auto;white-space:pre}
.code{white-space:nowrap}
.good .sign,.end.good strong,tr.good td:nth-child(2){color:var(--good)}
.bad .sign,.bad .aside,.end.bad strong,.why,tr.bad td:nth-child(2){color:var(--bad)}
.works .sign,.marker,tr.works td:nth-child(2){color:var(--accent)}
.call>pre{margin:0;padding:.5rem .75rem;border-top:1px solid var(--line)}
.call>pre>*{display:block;min-height:1.5em;text-decoration:none;white-space:pre-wrap;overflow-wrap:anywhere}
.call>pre ins{background:var(--added)}
.call>pre del{background:var(--removed)}
.call>pre i{color:var(--dim)}
pre{overflow-x:auto;line-height:1.5}
.said pre{background:var(--raised);border:1px solid var(--line);border-radius:.5rem;padding:.75rem}
p code,li code,td code,th code{color:var(--accent);font-size:.9em;overflow-wrap:anywhere}
a{color:var(--accent)}
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}
th,td{border-bottom:1px solid var(--line);padding:.35rem 1rem .35rem 0;text-align:left;vertical-align:top}
td.right,th.right{text-align:right}
td.centre,th.centre{text-align:center}
ul{list-style:none;margin:.6rem 0;padding:0}
li{display:flex;gap:.6rem}
blockquote{margin:.8rem 0;padding-left:1rem;border-left:3px solid var(--line);color:var(--dim)}
hr{border:0;border-top:1px solid var(--line)}
.end{margin-top:1.5rem;color:var(--dim)}
.runs{margin-bottom:3rem}
footer{max-width:60rem;margin:0 auto;padding:1rem 1.25rem 3rem}
"""


_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_SIGNS = {story.WORKS: "▸", story.GOOD: "✓", story.BAD: "✗"}
_TAGS = {styles.BOLD: "strong", styles.ITALIC: "em", styles.STRIKE: "del", styles.CODE: "code"}
_LINES = {
    tool_calls.ADDED: "ins",
    tool_calls.REMOVED: "del",
    tool_calls.GAP: "i",
    tool_calls.SAME: "span",
    tool_calls.OUTPUT: "span",
}


class RunPage(NamedTuple):
    """One run of a page: its key in addresses, its name, its status, and its blocks."""

    key: str
    name: str
    status: str
    blocks: Sequence[Block]


def page(runs: Sequence[RunPage], made: str) -> str:
    """Return the page of some runs, with a table on top if there are several; `made` is the page's date."""
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{text(title)} · tmuxagents</title><style>{STYLE}</style></head><body>"
    )
    table = _table(runs) if len(runs) > 1 else ""
    parts = []
    for run in runs:
        blocks = "\n".join(map(_block, run.blocks))
        parts.append(f'<article id="run-{text(run.key)}">{blocks}</article>')
    foot = f"<footer>tmuxagents · {text(made)}</footer></body></html>\n"
    return "\n".join([head, f"<main>{table}", *parts, "</main>", foot])


def text(words: str) -> str:
    """Return words escaped for HTML."""
    return words.translate(_ESCAPED)


def _table(runs: Sequence[RunPage]) -> str:
    rows = []
    for run in runs:
        end = next((block for block in run.blocks if block.kind == story.END), None)
        lasted = figures.lasted(end.lasted or 0.0) if end is not None else ""
        used = " · ".join(words for _, words in end.parts) if end is not None else ""
        look = (
            "good" if run.status == records.COMPLETED else "bad" if run.status in records.ENDED else "works"
        )
        cells = (f'<a href="#run-{text(run.key)}">{text(run.name)}</a>', text(run.status), lasted, text(used))
        rows.append(f'<tr class="{look}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "<tr><th>run</th><th>status</th><th>time</th><th>used</th></tr>"
    return f'<table class="runs"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table>'


def _block(block: Block) -> str:
    match block.kind:
        case story.HEAD:
            fields = dict(block.parts)
            meta = [fields[name] for name in ("agent", "model", "preset", "cwd") if fields[name]]
            about = " · ".join(f"<span>{text(words)}</span>" for words in meta)
            task = f'<div class="task">{text(block.words)}</div>'
            return f'<header><h1>{text(fields["name"])}</h1><p class="meta">{about}</p>{task}</header>'
        case story.CALL:
            return _call(block)
        case story.SAID:
            return f'<div class="said">{_nodes(markdown.parse(block.words))}</div>'
        case story.END:
            reason = f" ({text(block.label)})" if block.label else ""
            used = "".join(f" · {text(part)}" for _, part in block.parts)
            why = f'<div class="why">{text(block.aside)}</div>' if block.aside else ""
            ending = f"{records.SIGNS[block.words]} <strong>{text(block.words)}</strong>{reason}"
            lasted = figures.lasted(block.lasted or 0.0)
            return f'<div class="end {block.state}">{ending} in {lasted}{used}{why}</div>'
    before = {story.ASKS: "Waits for a person: ", story.SENT: f"{block.label}: "}.get(block.kind, "")
    return f'<div class="{block.kind}">{text(before + block.words)}</div>'


def _call(block: Block) -> str:
    phrase = f"<b>$</b> {text(block.words)}" if block.label == "bash" else text(block.words)
    aside = f"exit {block.code}" if block.code is not None else block.aside
    lasted = figures.lasted(block.lasted) if block.lasted else ""
    line = (
        f'<span class="sign">{_SIGNS[block.state]}</span><span class="phrase">{phrase}</span>'
        f'<span class="{"aside" if block.code is None else "aside code"}">{text(aside)}</span>'
        f'<span class="time">{lasted} {text(block.stamp or figures.clock(block.since))}</span>'
    )
    if not block.parts:
        return f'<div class="call {block.state}">{line}</div>'
    body = "".join(
        f"<{_LINES[what]}>{text(tool_calls.SIGNS.get(what, '') + words)}</{_LINES[what]}>"
        for what, words in block.parts
    )
    is_open = " open" if block.state == story.BAD or block.label in ("edit", "write") else ""
    return (
        f'<details class="call {block.state}"{is_open}><summary>{line}</summary><pre>{body}</pre></details>'
    )


# --- markdown ---------------------------------------------------------------------------------------------


def _nodes(nodes: Sequence[Node]) -> str:
    groups: list[tuple[str, list[str]]] = []  # the items of one list, or another node by itself
    for node in nodes:
        kind = ""
        if node.kind == markdown.ITEM:
            kind = "numbered" if node.text[:1].isdigit() else "points"
        if not kind or not groups or groups[-1][0] != kind:
            groups.append((kind, []))
        groups[-1][1].append(_node(node))
    parts = [(kind, "".join(inside)) for kind, inside in groups]
    return "\n".join(f'<ul class="{kind}">{inside}</ul>' if kind else inside for kind, inside in parts)


def _node(node: Node) -> str:
    match node.kind:
        case markdown.CODE:
            return f"<pre><code>{text(chr(10).join(node.lines))}</code></pre>"
        case markdown.QUOTE:
            return f"<blockquote>{_nodes(node.nodes)}</blockquote>"
        case markdown.RULE:
            return "<hr>"
        case markdown.ITEM:
            inside = _nodes(node.nodes)
            if node.nodes and node.nodes[0].kind == markdown.PARAGRAPH:  # it needs no element of its own
                inside = _inline(node.nodes[0].text) + _nodes(node.nodes[1:])
            return f'<li><span class="marker">{text(node.text)}</span><div>{inside}</div></li>'
        case markdown.TABLE:
            rows = []
            for number, row in enumerate(node.cells):
                tag = "td" if number else "th"
                cells = (
                    f'<{tag} class="{align}">{_inline(cell)}</{tag}>'
                    for cell, align in zip(row, node.aligns, strict=True)
                )
                rows.append(f"<tr>{''.join(cells)}</tr>")
            return f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"
    tag = f"h{min(6, node.level + 1)}" if node.kind == markdown.HEADING else "p"
    return f"<{tag}>{_inline(node.text)}</{tag}>"


def _inline(words: str) -> str:
    found = []
    for piece in inline.pieces(words):
        if piece.target == "-":  # the address beside a link, for terminals
            continue
        inside = text(piece.text).replace("\n", "<br>")
        for word in reversed(piece.style.split()):
            tag = _TAGS.get(word)
            inside = f"<{tag}>{inside}</{tag}>" if tag else inside
        if inline.is_address(piece.target):
            inside = f'<a href="{text(piece.target)}" rel="noopener noreferrer">{inside}</a>'
        found.append(inside)
    return "".join(found)
