// /agents and /profile: the program leads the talk, one JSON line a step, and pi's own dialogs put it on the screen.

import { writeSync } from "node:fs";
import type { ExtensionAPI, ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import type { Json, Program } from "./program.ts";

const REMEMBERED_MS = 5000;

export function registerCommands(pi: ExtensionAPI, program: Program): void {
	pi.registerCommand("agents", {
		description: "Child agents of this session: attach, read, stop",
		handler: (_args, ctx) => talk(program, ctx, ["_agents"]),
	});
	pi.registerCommand("profile", {
		description: "Subagent profiles: list, show, create, edit, delete",
		getArgumentCompletions: completions(program),
		handler: (args, ctx) => talk(program, ctx, ["_profile", "--", args]),
	});
}

/** Asks what the program wants to be asked, until it has nothing more to say. */
async function talk(program: Program, ctx: ExtensionCommandContext, words: string[]): Promise<void> {
	const [verb, ...rest] = words;
	let steps = Promise.resolve();
	const talking = program.start([verb, ...(ctx.hasUI ? [] : ["--alone"]), ...rest], (line) => {
		steps = steps.then(async () => {
			if (line.say !== undefined) say(ctx, line);
			else talking.write({ answer: await ask(ctx, line) });
		});
	});
	const { code, complaint } = await talking.done;
	await steps;
	if (code !== 0) say(ctx, { say: complaint || `tmuxagents ended with ${code}`, level: "error" });
}

async function ask(ctx: ExtensionCommandContext, line: Json): Promise<Json> {
	switch (line.ask) {
		case "select":
			return (await ctx.ui.select(line.title, line.options)) ?? null;
		case "confirm":
			return await ctx.ui.confirm(line.title, line.text);
		case "editor":
			return (await ctx.ui.editor(line.title, line.text)) ?? null;
		default:
			return (await ctx.ui.input(line.title, line.text ?? undefined)) ?? null;
	}
}

function say(ctx: ExtensionCommandContext, line: Json): void {
	if (ctx.hasUI) ctx.ui.notify(line.say, line.level);
	// pi keeps stdout for the answer, or for its JSON lines: only beside an answer is there room for more.
	else writeSync(ctx.mode === "print" && line.level === "info" ? 1 : 2, `${line.say}\n`);
}

/** Verbs and names that begin so; asked anew only after a while, since every key asks. */
function completions(program: Program) {
	let words: Promise<string[]> | undefined;
	return async (prefix: string) => {
		words ??= program.ask("_profile", "--words").then(
			(answer) => answer.words,
			() => [],
		);
		setTimeout(() => (words = undefined), REMEMBERED_MS).unref();
		const found = (await words).filter((word) => word.startsWith(prefix));
		return found.length ? found.map((word) => ({ value: word, label: word })) : null;
	};
}
