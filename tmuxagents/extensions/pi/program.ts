// The program `tmuxagents` as a process: JSON in on stdin, JSON lines out. Nothing of it outlives the session.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

// biome-ignore lint/suspicious/noExplicitAny: what the program writes is checked where it is written
export type Json = any;

const MOST_STDERR = 4000;

/** One process of the program. */
export class Running {
	/** Its exit code and what it said on stderr, once it has ended and every line was heard. */
	readonly done: Promise<{ code: number | null; complaint: string }>;
	private readonly child: ChildProcessWithoutNullStreams;

	constructor(argv: string[], cwd: string, environment: NodeJS.ProcessEnv, hear: (line: Json) => void) {
		this.child = spawn(argv[0], argv.slice(1), { cwd, env: environment });
		// It may end before it has read all: that it says why is enough.
		this.child.stdin.on("error", () => {});
		let complaint = "";
		this.child.stderr.on("data", (piece) => {
			complaint = (complaint + piece).slice(-MOST_STDERR);
		});
		const lines = createInterface({ input: this.child.stdout, crlfDelay: Infinity });
		lines.on("line", (line) => {
			const document = parse(line);
			if (document !== undefined) hear(document);
		});
		const heard = new Promise<void>((resolve) => lines.once("close", () => resolve()));
		const ended = new Promise<number | null>((resolve) => {
			this.child.once("error", (error) => {
				complaint = `${argv[0]}: ${error.message}`;
				lines.close();
				resolve(null);
			});
			this.child.once("close", (code) => resolve(code));
		});
		this.done = Promise.all([ended, heard]).then(([code]) => ({ code, complaint: complaint.trim() }));
	}

	/** Writes a document, and leaves stdin open: that it closes tells the program that we have gone. */
	write(document: Json): void {
		if (this.child.stdin.writable) this.child.stdin.write(`${JSON.stringify(document)}\n`);
	}

	/** Writes a document, and nothing after it. */
	writeLast(document: Json): void {
		this.child.stdin.end(JSON.stringify(document));
	}

	/** Asks it to end; a call ends its children first. */
	stop(): void {
		this.child.stdin.end();
		this.child.kill("SIGTERM");
	}
}

export class Program {
	private readonly running = new Set<Running>();
	private readonly environment: NodeJS.ProcessEnv = { ...process.env };
	private readonly words: string[];
	private cwd = process.cwd();

	constructor(words: string[]) {
		this.words = words;
	}

	/** The caller's variables for the program: the same that pi sets for the shells of its bash tool. */
	belongTo(ctx: ExtensionContext): void {
		this.cwd = ctx.cwd;
		this.environment.PI_SESSION_ID = ctx.sessionManager.getSessionId();
		this.environment.PI_SESSION_FILE = ctx.sessionManager.getSessionFile() ?? "";
		this.environment.PI_PROVIDER = ctx.model?.provider ?? "";
		this.environment.PI_MODEL = ctx.model?.id ?? "";
		this.environment.AI_AGENT = "pi";
		this.environment.PI_CODING_AGENT = "true";
	}

	/** Runs of another session that this one has taken over, as a fork does: they count here, too. */
	takeOver(runIds: string[]): void {
		this.environment.TMUXAGENTS_RUNS = runIds.join(" ");
	}

	get owner(): string | undefined {
		return this.environment.TMUXAGENTS_OWNER || this.environment.PI_SESSION_ID;
	}

	start(args: string[], hear: (line: Json) => void): Running {
		const started = new Running([...this.words, ...args], this.cwd, this.environment, hear);
		this.running.add(started);
		void started.done.then(() => this.running.delete(started));
		return started;
	}

	/** The last document that it prints; undefined if there was none. */
	async ask(...args: string[]): Promise<Json | undefined> {
		let answer: Json | undefined;
		const asked = this.start(args, (line) => {
			answer = line;
		});
		asked.writeLast({});
		const { complaint } = await asked.done;
		if (answer === undefined) throw new Error(complaint || `${this.words.join(" ")} said nothing`);
		return answer;
	}

	end(): void {
		for (const one of this.running) one.stop();
	}
}

function parse(line: string): Json | undefined {
	try {
		return JSON.parse(line);
	} catch {
		return undefined;
	}
}
