"""What scripts/bench makes of its figures: verdicts, tables, the page between its marks, the chart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from scripts.benchmark import chart, report, table
from scripts.benchmark.__main__ import PARTS
from scripts.benchmark.table import Figure

if TYPE_CHECKING:
    from pathlib import Path

SPACE = "{http://www.w3.org/2000/svg}"
MET = table.ratio(1, "`poll`, 100 live", 5.0, 10.0, goal=2.2, of="F")
MISSED = Figure(16, "CPU <of> all", "", "30 % of a core", 30.0, 25.0, "%")
PLAIN = Figure(1, "told for its own sake", "", "1", 1.0)
CURVE = Figure(18, "`poll` by live children", "", "1: 2.10, 500: 4.50 F", 2.1, points=((1, 2.1), (500, 4.5)))
AT_REST = Figure(18, "watcher at rest: CPU", "", "1: 0.02 % of a core", 1.0, points=((1, 0.02),))
PEER = Figure(20, "pm2 (npm): `pm2 ls`", "`poll` 13 ms", "100 ms; at rest 0 %, 60 MB", 7.7)
GONE = Figure(20, "other (pip)", "", "not measured: pip left with 1", 0.0)
ALL = [MET, MISSED, PLAIN, CURVE, AT_REST, PEER, GONE]


def test_a_goal_is_met_or_not_and_where_there_is_none_nothing_is_said() -> None:
    assert [figure.met for figure in (MET, MISSED, PLAIN)] == [True, False, None]
    assert MET.cells()[2:] == ("F 5.00 ms", "10.0 ms", "2.00 x", "≤ 2.20 x", "yes")
    assert (MISSED.cells()[-1], PLAIN.cells()[-2:]) == ("**no**", ("", ""))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0.00"), (0.0123, "0.012"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"), (1234.5, "1,234")],
)
def test_a_figure_has_as_many_digits_as_mean_anything(value: float, shown: str) -> None:
    assert table.number(value) == shown


def test_what_json_keeps_is_read_again_as_it_was() -> None:
    assert [Figure.of(json.loads(json.dumps(figure.document()))) for figure in ALL] == ALL


def test_each_row_of_the_table_of_goals_is_measured_by_somebody() -> None:
    assert set().union(*PARTS.values()) == set(range(1, 21))


def test_goals_growth_and_peers_are_tables_of_their_own() -> None:
    goals, growth, peers = report.tables(ALL)
    assert [line.split("|")[1].strip() for line in goals.splitlines()[2:]] == ["1", "16", "1"]
    assert growth.count("\n") == len([CURVE, AT_REST]) + 1
    assert "| pm2 (npm): `pm2 ls`" in peers
    assert "| 7.70 x " in peers
    assert "not measured: pip left with 1" in peers
    assert report.tables([MET]) == [goals_of(MET)]


def goals_of(figure: Figure) -> str:
    return table.markdown([table.HEAD, figure.cells()])


def test_the_page_gets_its_figures_between_its_marks_and_twice_is_once(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"# What it costs\n\n{report.BEGIN}\nyesterday\n{report.END}\n\nThe rest.\n")
    for _ in range(2):
        report.write("2 cores", ALL, page)
    said = page.read_text()
    assert said.startswith(
        f"# What it costs\n\n{report.BEGIN}\n\nMeasured 2 cores: 1 of 2 goals met; in row 16 one is missed."
    )
    assert said.endswith(f"\n\n{report.END}\n\nThe rest.\n")
    assert "yesterday" not in said
    assert ET.parse(page.with_suffix(".svg")).getroot().tag == f"{SPACE}svg"


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("# Mine\n")
    with pytest.raises(RuntimeError):
        report.write("2 cores", ALL, page)
    assert page.read_text() == "# Mine\n"


def test_the_page_of_this_project_has_its_marks() -> None:
    said = report.PAGE.read_text()
    assert (said.count(report.BEGIN), said.count(report.END)) == (1, 1)
    assert said.index(report.BEGIN) < said.index(report.END)


def test_the_chart_has_a_bar_for_each_goal_and_a_line_for_each_curve() -> None:
    root = ET.fromstring(chart.picture(ALL))
    colours = [mark.attrib["fill"] for mark in root.iter(f"{SPACE}rect")][1:]
    assert colours == [chart._GREEN, chart._RED]
    (curve,) = root.iter(f"{SPACE}polyline")
    assert len(curve.attrib["points"].split()) == len(CURVE.points)
    texts = [mark.text for mark in root.iter(f"{SPACE}text")]
    assert {"120 %", "91 %", "16 CPU <of> all", "poll 4.50", "500"} <= set(texts)


def test_all_of_the_chart_is_inside_of_it() -> None:
    far = [Figure(2, "far off", "", "9", 90.0, 1.0), *ALL]
    root = ET.fromstring(chart.picture(far))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for mark in root.iter():
        across, down = float(mark.attrib.get("x", 0)), float(mark.attrib.get("y", 0))
        assert 0 <= across + float(mark.attrib.get("width", 0)) <= width
        assert 0 <= down + float(mark.attrib.get("height", 0)) <= height
    assert ET.fromstring(chart.picture([])).tag == f"{SPACE}svg"
