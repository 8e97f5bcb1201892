// The background runs of this session. `tmuxagents _follow` looks after them while any is active, and says what
// to write into the session, to show in the footer and to tell. Here it is written, shown and told.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { drawActive } from "./draw.ts";
import type { Json, Program, Running } from "./program.ts";

const DELEGATED = "pi-subagents";
const LAUNCHED = "pi-subagents:bg-run";
const CHANGED = "pi-subagents:bg-update";
const DONE = "pi-subagents:bg-done";

export class Runs {
	private readonly pi: ExtensionAPI;
	private readonly program: Program;
	private ctx: ExtensionContext | undefined;
	private follower: Running | undefined;
	private unanswered = false;
	private startedAt = 0;
	/** The runs that have their entry, so that none has two: the tool's answer and the follower may both tell. */
	private readonly entered = new Set<string>();

	constructor(pi: ExtensionAPI, program: Program) {
		this.pi = pi;
		this.program = program;
	}

	/** Takes up what the session remembers; a new one remembers nothing. */
	begin(ctx: ExtensionContext, reason: string): void {
		this.ctx = ctx;
		this.startedAt = Date.now() / 1000;
		const entries = reason === "new" ? [] : this.entries();
		const known = entries.filter((entry) => entry.customType === LAUNCHED && typeof entry.data?.runId === "string");
		for (const entry of known) this.entered.add(entry.data.runId);
		const others = known.filter((entry) => entry.data.owner !== this.program.owner);
		this.program.takeOver(others.map((entry) => entry.data.runId));
		ctx.ui.setStatus("tmuxagents", undefined);
		this.showActive([]);
		// At a first start there is nothing to take up, and no process is worth finding that out.
		if (known.length || reason === "reload" || reason === "resume") this.look();
	}

	/** Starts a check now, after anything that may have launched a run. */
	look(): void {
		if (!this.ctx) return;
		this.unanswered = true;
		if (this.follower) this.follower.write({});
		else this.follow();
	}

	private follow(): void {
		const follower = this.program.start(["_follow"], (line) => {
			this.unanswered = false;
			if (this.follower === follower) this.take(line);
		});
		this.follower = follower;
		this.unanswered = false;
		follower.write({ entries: this.entries(), since: this.startedAt });
		void follower.done.then(({ code, complaint }) => {
			if (this.follower !== follower) return;
			this.follower = undefined;
			this.showActive([]);
			if (code !== 0) this.warn(`tmuxagents does not follow its runs any more: ${complaint || code}`);
			// It leaves when nothing is active; what was launched in that very moment is another's to follow.
			else if (this.unanswered) this.follow();
		});
	}

	/** One line of the follower: an entry for a new run or a change, the footer, and whom to tell what. */
	private take(line: Json): void {
		if (line.run) this.noteLaunched(line.run);
		if (line.update) this.enter(CHANGED, line.update);
		if (line.status) this.ctx?.ui.setStatus("tmuxagents", line.status);
		if (line.active) this.showActive(line.active);
		if (!line.notice) return;
		if (this.ctx?.hasUI) this.ctx.ui.notify(line.notice.text, line.notice.level);
		const message = { customType: DONE, content: line.notice.message, display: true, details: line.update };
		this.guarded(() => this.pi.sendMessage(message, { triggerTurn: false }));
	}

	private showActive(rows: Json): void {
		if (!this.ctx?.hasUI) return;
		this.ctx.ui.setWidget("tmuxagents", rows.length ? (_tui, theme) => drawActive(rows, theme) : undefined);
	}

	noteLaunched(run: Json): void {
		if (this.entered.has(run.runId)) return;
		this.entered.add(run.runId);
		this.enter(LAUNCHED, run);
	}

	/** An entry for each task of delegate_to_subagents that has ended, right after its end. */
	noteDelegated(details: Json): void {
		for (const { lines, allMessages, ...task } of details?.windows ?? []) {
			if (task.status === "running" || this.entered.has(task.runId)) continue;
			this.entered.add(task.runId);
			this.enter(DELEGATED, task);
		}
	}

	/** Lets go of everything: pi would wait for a process that is still there. */
	end(): void {
		this.ctx = undefined;
		const follower = this.follower;
		this.follower = undefined;
		follower?.stop();
	}

	/** Whether the session is still there: what was asked before its end may be answered after it. */
	get isOpen(): boolean {
		return this.ctx !== undefined;
	}

	warn(text: string): void {
		if (!this.ctx) return;
		if (this.ctx.hasUI) this.ctx.ui.notify(text, "warning");
		else console.error(text);
	}

	private entries(): { customType: string; data: Json }[] {
		const found: { customType: string; data: Json }[] = [];
		for (const entry of this.ctx?.sessionManager.getEntries() ?? []) {
			if (entry.type === "custom" && entry.customType.startsWith(DELEGATED)) {
				found.push({ customType: entry.customType, data: entry.data });
			}
		}
		return found;
	}

	private enter(type: string, data: Json): void {
		this.guarded(() => this.pi.appendEntry(type, data));
	}

	/** If the session cannot be written, go on; if it has gone, do not complain. */
	private guarded(act: () => void): void {
		if (!this.ctx) return;
		try {
			act();
		} catch (error) {
			this.warn(`tmuxagents could not write to the session: ${(error as Error).message}`);
		}
	}
}
