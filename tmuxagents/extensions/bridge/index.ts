// Loaded into live children of tmuxagents: the interactive pi in a window. It tells the wrapper in the same window
// what pi does, in the lines of `pi --mode json`, and carries out what the wrapper orders. Nothing is decided here.
//
// Two FIFOs in the run directory, whose names the wrapper removes once they are open. Node opens files close-on-exec:
// no tool inherits them. What they lead to survives /reload and /new: it is kept on globalThis.

import { openSync, readFileSync, writeSync, constants } from "node:fs";
import { Socket } from "node:net";

type Fields = Record<string, any>;

interface Context {
	mode: string;
	cwd: string;
	ui: Dialogs & { onTerminalInput(handler: (data: string) => undefined): () => void };
	sessionManager: { getSessionId(): string };
	isIdle(): boolean;
	abort(): void;
	shutdown(): void;
}

type Dialog = (title: string, more?: any, options?: Fields) => Promise<unknown>;
type Dialogs = Record<"select" | "confirm" | "input", Dialog>;

interface Question {
	ask: string;
	kind: keyof Dialogs;
	options: string[];
	close(value: unknown): void;
}

interface Pi {
	on(event: string, handler: (event: Fields, context: Context) => void): void;
	sendUserMessage(text: string, options: { deliverAs: string; expandPromptTemplates: boolean }): void;
}

interface Message {
	inboxId: number;
	text: string;
	begins: boolean; // pi was idle: it is taken when the turn begins
	timer: NodeJS.Timeout;
}

interface State {
	folder: string;
	events?: number;
	pi?: Pi;
	context?: Context;
	orders: Fields[];
	pending?: Message;
	settlings: number;
	typed: boolean; // a person has typed something other than the answer to an extension's question
	left: boolean; // a person has pressed a key that leaves pi
	said?: string; // by a person, to an idle pi: reported when the turn begins
	asking: boolean;
	asked: number;
	question?: Question; // the dialog that is open, if it can be answered from elsewhere, too
	compacting: boolean;
}

const KEY = Symbol.for("tmuxagents.bridge");
const TAKEN_WITHIN_MS = 10_000;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

// What a terminal says by itself: answers, focus, mouse. A key in such a form is recognised first.
const KEYS = /^\x1b$|\x1b\[200~|\x1b\[\d+(?::\d*)*(?:;[\d:]*)*u|\x1b\[27;\d+;\d+~/;
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|O[ -~])/g;
const isTyped = (data: string) => KEYS.test(data) || /[^\x00-\x1f\x7f]|[\r\n]/.test(data.replace(SEQUENCES, ""));
const isLeaving = (data: string) => data.includes("\x03") || data.includes("\x04");

function tell(state: State, record: Fields): void {
	let rest: Buffer;
	try {
		rest = Buffer.from(`${JSON.stringify(record)}\n`);
	} catch {
		return; // not JSON: no verdict depends on it
	}
	while (state.events !== undefined && rest.length > 0) {
		try {
			rest = rest.subarray(writeSync(state.events, rest));
		} catch (error) {
			if ((error as { code?: string }).code === "EAGAIN") Atomics.wait(sleeper, 0, 0, 5);
			else state.events = undefined; // the wrapper is gone
		}
	}
}

function connect(state: State, context: Context): void {
	const open = (name: string, how: number) => openSync(`${state.folder}/${name}`, how | constants.O_NONBLOCK);
	state.events = open("live-events.fifo", constants.O_WRONLY);
	const orders = new Socket({ fd: open("live-orders.fifo", constants.O_RDONLY), readable: true, writable: false });
	let rest = "";
	orders.setEncoding("utf8");
	orders.on("error", () => {});
	orders.on("data", (piece: unknown) => {
		const lines = (rest + String(piece)).split("\n");
		rest = lines.pop() ?? "";
		const orders: Fields[] = lines.filter(Boolean).map((line) => JSON.parse(line));
		orders.filter((order) => order.order === "answer").forEach((order) => answer(state, order));
		state.orders.push(...orders.filter((order) => order.order !== "answer"));
		carryOut(state);
	});
	orders.unref();
	tell(state, { type: "session", version: 3, id: context.sessionManager.getSessionId(), cwd: context.cwd });
}

function carryOut(state: State): void {
	while (!state.pending && !state.compacting && state.orders.length > 0) {
		const order = state.orders.shift() as Fields;
		if (order.order === "task") say(state, { ...order, inboxId: 0, text: readFileSync(`${state.folder}/prompt.txt`, "utf8") });
		else if (order.order === "say") say(state, order);
		else if (order.order === "abort") abort(state, order.inboxId);
		else if (order.order === "leave") leave(state, order.settlings);
	}
}

function say(state: State, order: Fields): void {
	const timer = setTimeout(() => {
		state.pending = undefined; // not taken, and never reported as taken
		carryOut(state);
	}, TAKEN_WITHIN_MS);
	timer.unref();
	state.pending = { inboxId: order.inboxId, text: order.text, begins: false, timer };
	state.pi?.sendUserMessage(order.text, { deliverAs: order.kind ?? "steer", expandPromptTemplates: order.order === "task" });
}

function taken(state: State): void {
	if (!state.pending) return;
	clearTimeout(state.pending.timer);
	tell(state, { type: "bridge_taken", inboxId: state.pending.inboxId });
	state.pending = undefined;
	setImmediate(() => carryOut(state));
}

function abort(state: State, inboxId: number): void {
	state.context?.abort();
	tell(state, { type: "bridge_taken", inboxId });
}

// All extensions have the same dialogs. Each ends with the first answer: a person's, or that of an order.
function share(state: State, ui: Dialogs): void {
	for (const kind of ["select", "confirm", "input"] as const) {
		const original = ui[kind] as Dialog & { shared?: boolean };
		if (typeof original !== "function" || original.shared) continue;
		const shared: Dialog = async (title, more, options) => {
			if (state.question) return original(title, more, options);
			const closing = new AbortController();
			const signals = [closing.signal, ...(options?.signal ? [options.signal as AbortSignal] : [])];
			const ask = String((state.asked += 1));
			state.question = { ask, kind, options: kind === "select" ? more : [], close: (value) => closing.abort({ value }) };
			try {
				const said = await original(title, more, { ...options, signal: AbortSignal.any(signals) });
				return closing.signal.aborted ? closing.signal.reason.value : said;
			} finally {
				state.question = undefined;
			}
		};
		ui[kind] = Object.assign(shared, { shared: true });
	}
}

function answer(state: State, order: Fields): void {
	const question = state.question;
	if (!question || question.ask !== order.ask) return; // answered by now
	tell(state, { type: "bridge_answer", ask: order.ask, answer: order.answer, by: order.by });
	if (question.kind === "confirm") question.close(order.answer === "allow");
	else if (question.kind === "select") question.close(question.options.find((option) => option === order.answer));
	else question.close(order.answer === "deny" ? undefined : order.answer);
}

// Only if nothing has happened since the wrapper decided that pi is done: else it will hear of that, and decide anew.
function leave(state: State, settlings: number): void {
	if (state.typed || state.settlings !== settlings) return;
	if (state.context?.isIdle()) state.context.shutdown();
	else setTimeout(() => leave(state, settlings), 20).unref();
}

function pressed(state: State, data: string): void {
	if (state.asking) return; // answers to a question: whose child it is, they do not change
	if (!state.typed && isTyped(data)) {
		state.typed = true;
		tell(state, { type: "bridge_person", typed: true });
	}
	if (!state.left && isLeaving(data)) {
		state.left = true;
		tell(state, { type: "bridge_person", typed: false });
	}
}

function heard(state: State, event: Fields): void {
	const queued = event.streamingBehavior !== undefined;
	if (event.source === "interactive") {
		if (queued) tell(state, { type: "bridge_input", text: event.text });
		else state.said = event.text;
	} else if (event.source === "extension" && event.text === state.pending?.text) {
		if (queued) taken(state);
		else if (state.pending) state.pending.begins = true;
	}
}

function began(state: State): void {
	if (state.said !== undefined) tell(state, { type: "bridge_input", text: state.said });
	state.said = undefined;
	if (state.pending?.begins) taken(state);
	tell(state, { type: "agent_start" });
}

function onCompaction(pi: Pi, state: State): void {
	const set = (compacting: boolean) => () => {
		state.compacting = compacting;
		if (!compacting) setImmediate(() => carryOut(state));
	};
	pi.on("session_before_compact", set(true));
	pi.on("session_compact", set(false));
	pi.on("session_compact_failed", set(false));
}

export default function (pi: Pi) {
	const kept = globalThis as unknown as Record<symbol, State | undefined>;
	const folder = process.env.TMUXAGENTS_BRIDGE;
	delete process.env.TMUXAGENTS_BRIDGE; // tools have no use for it
	if (!kept[KEY] && !folder) return;
	const state = (kept[KEY] ??= {
		folder: folder as string,
		orders: [],
		settlings: 0,
		typed: false,
		left: false,
		asking: false,
		asked: 0,
		compacting: false,
	});

	pi.on("session_start", (_event, context) => {
		if (context.mode !== "tui") return;
		state.pi = pi;
		state.context = context;
		context.ui.onTerminalInput((data) => void pressed(state, data));
		share(state, context.ui);
		if (state.events === undefined) connect(state, context);
	});
	pi.on("session_shutdown", (event) => {
		tell(state, { type: "bridge_shutdown", reason: event.reason });
		// On a terminal, pi would end with a command of its own to resume: the wrapper shows the one that makes a run.
		if (event.reason === "quit") Object.assign(process.stdout, { isTTY: false });
	});
	pi.on("input", (event) => heard(state, event));
	pi.on("ui_prompt_start", (event) => {
		state.asking = true;
		const shared = state.question?.kind === event.kind ? state.question : undefined;
		const more = shared ? { ask: shared.ask, options: shared.options } : {};
		tell(state, { type: "bridge_asks", kind: event.kind, title: event.title ?? null, ...more });
	});
	pi.on("ui_prompt_end", (event) => {
		state.asking = false;
		tell(state, { type: "bridge_answered", kind: event.kind });
	});
	onCompaction(pi, state);

	// The lines of JSON mode. Streaming snapshots without what grows with each: they only show that it works.
	pi.on("agent_start", () => began(state));
	pi.on("turn_start", () => tell(state, { type: "turn_start" }));
	pi.on("message_update", ({ assistantMessageEvent: { type, contentIndex, delta } }) =>
		tell(state, { type: "message_update", assistantMessageEvent: { type, contentIndex, delta } }),
	);
	pi.on("message_end", ({ message }) => tell(state, { type: "message_end", message }));
	pi.on("tool_execution_start", ({ toolCallId, toolName, args }) =>
		tell(state, { type: "tool_execution_start", toolCallId, toolName, args }),
	);
	pi.on("tool_execution_update", ({ toolCallId, toolName }) =>
		tell(state, { type: "tool_execution_update", toolCallId, toolName }),
	);
	pi.on("tool_execution_end", ({ toolCallId, toolName, result, isError, durationMs }) =>
		tell(state, { type: "tool_execution_end", toolCallId, toolName, result, isError, durationMs }),
	);
	pi.on("turn_end", ({ message, toolResults }) => tell(state, { type: "turn_end", message, toolResults }));
	pi.on("agent_end", () => tell(state, { type: "agent_end", willRetry: false })); // the last word is agent_settled
	pi.on("agent_settled", ({ aborted }) => {
		state.settlings += 1;
		tell(state, { type: "agent_settled", aborted: aborted === true });
	});
}
