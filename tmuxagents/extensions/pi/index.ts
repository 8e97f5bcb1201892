// tmuxagents inside pi. It decides nothing: it asks the program `tmuxagents`, and shows the answers.
//
//   program.ts   starts the program, and reads the JSON lines that it writes
//   tools.ts     the tools, as `tools --json` and `models --json` say; each call is one `call TOOL - --stream`
//   runs.ts      the background runs of this session: entries, footer, notices
//   commands.ts  /agents and /profile
//   draw.ts      how all this looks, in the colours of pi's theme

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { registerCommands } from "./commands.ts";
import { Program } from "./program.ts";
import { Runs } from "./runs.ts";
import { Tools } from "./tools.ts";

export interface Options {
	/** The program, as words: what `tmuxagents integrate pi` was called with. */
	command?: string[];
	/** False leaves the tools out: each schema is part of every request to the model. */
	tools?: boolean;
}

/** The package that this lies in: its skill and its prompts are pi's to offer, too. */
const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export default function (pi: ExtensionAPI, options: Options = {}): void {
	if (isChild(process.env)) return;
	const program = new Program(options.command ?? [process.env.TMUXAGENTS_COMMAND || "tmuxagents"]);
	const runs = new Runs(pi, program);
	const tools = options.tools === false ? undefined : new Tools(pi, program, runs);
	registerCommands(pi, program);

	pi.on("resources_discover", () => ({
		skillPaths: [join(PACKAGE, "skills")],
		promptPaths: [join(PACKAGE, "prompts")],
	}));
	pi.on("session_start", (event, ctx) => {
		program.belongTo(ctx);
		runs.begin(ctx, event.reason);
		// Not awaited, so that pi's start does not wait for Python. The first request waits, below.
		void tools?.register(ctx);
	});
	// /login or another extension may have added a model since; the check costs nothing.
	pi.on("before_agent_start", async (_event, ctx) => tools?.registerIfChanged(ctx));
	pi.on("model_select", (_event, ctx) => program.belongTo(ctx));
	pi.on("tool_result", (event) => {
		// A shell may have launched a run, too; most have not, and each check is a process.
		if (event.toolName === "bash" && String(event.input.command).includes("tmuxagents")) runs.look();
	});
	pi.on("session_shutdown", () => {
		runs.end();
		program.end();
	});
}

/** A child gets nothing of this, not even a question to the program, unless its nesting is open. */
function isChild(environment: NodeJS.ProcessEnv): boolean {
	return environment.PI_SUBAGENTS_CHILD === "1" && !(Number(environment.TMUXAGENTS_NESTING) >= 1);
}
