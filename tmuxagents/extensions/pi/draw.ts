// How calls, children and background runs look inside pi: what the program says, in the colours of pi's theme.

import type { AgentToolResult, Theme, ThemeColor, ToolRenderResultOptions } from "@earendil-works/pi-coding-agent";
import { type Component, truncateToWidth } from "@earendil-works/pi-tui";
import type { Json } from "./program.ts";

/** A part of a row: words such as `bold cyan`, and a text. */
type Span = [string, string];

const COLOURS: Record<string, ThemeColor> = {
	green: "success",
	red: "error",
	cyan: "accent",
	magenta: "warning",
	blue: "mdLink",
	dim: "muted",
};
const MOST_TASKS = 8;
const MOST_LINES = 10;
const MOST_ACTIVE = 6;

/** Lines of any width, each cut to that of the screen. */
class DrawnLines implements Component {
	private readonly lines: string[];

	constructor(lines: string[]) {
		this.lines = lines;
	}

	render(width: number): string[] {
		return this.lines.map((line) => truncateToWidth(line, width));
	}

	invalidate(): void {}
}

/** The line of a call: its title, names and tasks. */
export function drawCall(label: string, args: Json, theme: Theme, started: boolean): Component {
	const title = theme.fg("toolTitle", theme.bold(label));
	if (!Array.isArray(args?.tasks)) return new DrawnLines([`${title}  ${subject(args, theme)}`.trimEnd()]);
	const count = `${title}  ${theme.fg("accent", `${args.tasks.length} tasks`)}`;
	if (started) return new DrawnLines([count]); // the result has a line for each
	const tasks = args.tasks.slice(0, MOST_TASKS).map((task: Json) => `  ${subject(task, theme)}`.trimEnd());
	const more = args.tasks.length - tasks.length;
	const rest = more > 0 ? [theme.fg("muted", `  … ${more} more`)] : [];
	return new DrawnLines([count, ...tasks, ...rest]);
}

function subject(args: Json, theme: Theme): string {
	const words = [args?.name, args?.preset, args?.profile, args?.run].filter((word) => typeof word === "string");
	const who = [...new Set(words)].map(flat).join(" ");
	const what = flat(args?.task ?? args?.prompt ?? args?.text ?? "");
	return [who && theme.fg("accent", who), what && theme.fg("muted", what)].filter(Boolean).join("  ");
}

/** What came of a call: a line for each child, and below it what it does or why it failed; opened, all it did. */
export function drawResult(
	result: AgentToolResult<Json>,
	options: ToolRenderResultOptions,
	theme: Theme,
	args: Json,
): Component {
	const children: Json[] | undefined = result.details?.children;
	if (!children?.length) return drawText(result, options, theme);
	const lines = children.flatMap((child, number) => {
		const asked = args?.tasks?.[number]; // a single task is in the line of the call
		const task = flat(asked?.task ?? asked?.prompt ?? "");
		return drawChild(child, task, options.expanded, theme);
	});
	const opens = !options.expanded && children.some((child) => child.rows.length);
	return new DrawnLines(opens ? [...lines, theme.fg("dim", "  Ctrl-O shows what they did")] : lines);
}

function drawChild(child: Json, task: string, expanded: boolean, theme: Theme): string[] {
	const head: Span[] = [
		[child.style, `${child.sign} `],
		["bold", child.name],
		["dim", child.facts && `  ${child.facts}`],
		["", task && `  ${task}`],
	];
	const below: Span[][] = [];
	if (child.doing) below.push([["dim", `  ${child.doing}`]]);
	if (child.why) below.push([["red", `  ${child.why}`]]);
	const rows: Span[][] = expanded ? child.rows.map((row: Span[]) => [["", "  "], ...row]) : [];
	return [head, ...below, ...rows].map((row) => paint(row, theme));
}

function drawText(result: AgentToolResult<Json>, { expanded }: ToolRenderResultOptions, theme: Theme): Component {
	const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
	const lines = text.split("\n").map((line) => theme.fg("toolOutput", line));
	const shown = expanded ? lines : lines.slice(0, MOST_LINES);
	const more = lines.length - shown.length;
	return new DrawnLines(more > 0 ? [...shown, theme.fg("dim", `… ${more} more lines, Ctrl-O shows them`)] : shown);
}

/** The background runs above the editor, a line each. */
export function drawActive(rows: Span[][], theme: Theme): Component {
	const more = rows.length - MOST_ACTIVE;
	const lines = rows.slice(0, MOST_ACTIVE).map((row) => paint(row, theme));
	return new DrawnLines(more > 0 ? [...lines, theme.fg("dim", `… ${more} more: /agents`)] : lines);
}

function paint(row: Span[], theme: Theme): string {
	return row.map(([style, text]) => paintSpan(style, text, theme)).join("");
}

function paintSpan(style: string, text: string, theme: Theme): string {
	if (!text) return "";
	let painted = text;
	for (const word of style.split(" ")) {
		if (word in COLOURS) painted = theme.fg(COLOURS[word], painted);
		else if (word === "bold") painted = theme.bold(painted);
		else if (word === "italic") painted = theme.italic(painted);
		else if (word === "underline") painted = theme.underline(painted);
		else if (word === "strike") painted = theme.strikethrough(painted);
	}
	return painted;
}

/** A text on one line, without what a terminal would obey. */
function flat(text: unknown): string {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
	return String(text).replace(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();
}
