// The tools of the catalogue, registered as the program describes them; each call is handed to the program.

import type { AgentToolUpdateCallback, ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { drawCall, drawResult } from "./draw.ts";
import type { Json, Program } from "./program.ts";
import type { Runs } from "./runs.ts";

const LEAST_WIDTH = 60;
const MARGIN = 6; // what pi and the lines put around a row

export class Tools {
	private readonly pi: ExtensionAPI;
	private readonly program: Program;
	private readonly runs: Runs;
	private registered = "";
	private seen: string | undefined;
	private registering: Promise<void> = Promise.resolve();

	constructor(pi: ExtensionAPI, program: Program, runs: Runs) {
		this.pi = pi;
		this.program = program;
		this.runs = runs;
	}

	/** Registers the tools if there is a model for children, and again whenever the set of models is another. */
	register(ctx: ExtensionContext): Promise<void> {
		this.seen = seenBy(ctx);
		this.registering = this.ask();
		return this.registering;
	}

	/** Asks the program again only where pi itself sees other models than before. */
	async registerIfChanged(ctx: ExtensionContext): Promise<void> {
		if (seenBy(ctx) !== this.seen) this.register(ctx);
		await this.registering;
	}

	private async ask(): Promise<void> {
		let catalogue: Json;
		let offered: Json;
		try {
			[catalogue, offered] = await Promise.all([
				this.program.ask("tools", "--json"),
				this.program.ask("models", "--json"),
			]);
		} catch (error) {
			this.runs.warn(`tmuxagents has no tools here: ${(error as Error).message}`);
			return;
		}
		if (!catalogue?.available || !offered?.available || !catalogue.tools.length || !this.runs.isOpen) return;
		const ids: string[] = offered.models.map((model: { id: string }) => model.id);
		// What came before differs even where no model is known, and the tools take whatever is asked for.
		const key = `models: ${keyOf(ids)}`;
		if (key === this.registered) return;
		this.registered = key;
		for (const tool of catalogue.tools) this.registerOne(tool, ids);
	}

	private registerOne(tool: Json, ids: string[]): void {
		this.pi.registerTool({
			name: tool.name,
			label: tool.label,
			description: tool.description,
			parameters: withModels(tool.parameters, ids),
			execute: (_id, params, signal, onUpdate) => this.call(tool.name, params, signal, onUpdate),
			renderCall: (args, theme, { executionStarted }) => drawCall(tool.label ?? tool.name, args, theme, executionStarted),
			renderResult: (result, options, theme, { args }) => drawResult(result, options, theme, args),
		});
	}

	private async call(
		name: string,
		params: unknown,
		signal: AbortSignal | undefined,
		onUpdate: AgentToolUpdateCallback<unknown> | undefined,
	) {
		let result: Json;
		const rows = String(Math.max(LEAST_WIDTH, (process.stdout.columns ?? 0) - MARGIN));
		const call = this.program.start(["call", name, "-", "--stream", "--rows", rows], (line) => {
			this.runs.noteDelegated(line.details);
			// No model reads what comes before the result: the screen may have more of it.
			const content = line.view ? [{ type: "text" as const, text: line.view }] : line.content;
			if (line.type === "progress") onUpdate?.({ content, details: detailsOf(line) });
			else if (line.type === "result") result = line;
		});
		const cancel = () => call.stop();
		signal?.addEventListener("abort", cancel, { once: true });
		if (signal?.aborted) cancel();
		else call.writeLast(params);
		const { code, complaint } = await call.done;
		signal?.removeEventListener("abort", cancel);
		if (name === "background_agent" && result && !result.isError) this.runs.noteLaunched(result.details.run);
		this.runs.look();
		if (!result) throw new Error(complaint || `tmuxagents ended with ${code} and no result`);
		// pi takes a refusal for one only if it is thrown.
		if (result.isError) throw new Error(result.content.map((part: { text: string }) => part.text).join("\n"));
		return { content: result.content, details: detailsOf(result) };
	}
}

/** What pi keeps of a line: the details of the tool, and how its children look. */
function detailsOf(line: Json): Json {
	return { ...line.details, children: line.children ?? [] };
}

/** The models that pi itself sees. */
function seenBy(ctx: ExtensionContext): string {
	return keyOf(ctx.modelRegistry.getAvailable().map((model) => `${model.provider}/${model.id}`));
}

/** The same for the same set, whatever its order and letters; the list itself stays as it is. */
export function keyOf(ids: readonly string[]): string {
	return JSON.stringify(ids.map((id) => id.toLowerCase()).sort());
}

/** A copy of a schema in which every `model` is one of these, in their own order. */
export function withModels(schema: Json, ids: readonly string[], name = ""): Json {
	if (Array.isArray(schema)) return schema.map((part) => withModels(part, ids));
	if (schema === null || typeof schema !== "object") return schema;
	const copy = Object.fromEntries(Object.entries(schema).map(([key, of]) => [key, withModels(of, ids, key)]));
	return name === "model" && copy.type === "string" && ids.length ? { ...copy, enum: [...ids] } : copy;
}
