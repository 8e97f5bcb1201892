"""How a page of runs looks, on light and dark ground. Pure."""

from __future__ import annotations

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
