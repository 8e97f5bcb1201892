// pi as its extension sees it, in the hands of a test: each JSON line on stdin is carried out, and each thing that
// the extension does is a JSON line on stdout. Nothing is decided here.
//
//   node pi_host.mjs EXTENSION SESSION    with node's own stripping of types
//
//   {"emit": EVENT, "of": {…}}   {"models": [ID…]}   {"call": TOOL, "params": {…}}   {"abort": true}
//   {"refuse": true}: from now on no entry can be written
//   {"draw": TOOL, "args": {…}, "result": {…}, "expanded": false}: how its call and its result look, a colour as <it>
//
// PI_PACKAGES is the folder where the real pi's packages are installed: pi lends them to its extensions.

import { registerHooks } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [extension, session] = process.argv.slice(2);
registerHooks({
	resolve(name, context, next) {
		const lent = name.startsWith("@earendil-works/");
		return next(name, lent ? { ...context, parentURL: pathToFileURL(`${process.env.PI_PACKAGES}/lent.mjs`).href } : context);
	},
});
const tagged = (tag) => (text) => `<${tag}>${text}</>`;
const theme = {
	fg: (colour, text) => tagged(colour)(text),
	...Object.fromEntries(["bold", "italic", "underline", "strikethrough"].map((look) => [look, tagged(look)])),
};
const drawn = (component) => component?.render(10000) ?? [];
const say = (what, of = {}) => process.stdout.write(`${JSON.stringify({ what, ...of })}\n`);
const handlers = {};
const tools = {};
const entries = [];
let models = [];
let refuses = false;
let abort = new AbortController();

const pi = {
	on: (event, handler) => (handlers[event] ??= []).push(handler),
	registerTool(tool) {
		tools[tool.name] = tool;
		say("tool", { name: tool.name, parameters: tool.parameters });
	},
	registerCommand: (name) => say("command", { name }),
	appendEntry(customType, data) {
		if (refuses) throw new Error("no space left on device");
		entries.push({ type: "custom", customType, data });
		say("entry", { customType, data });
	},
	sendMessage: (message, options) => say("message", { message, options }),
};
const ctx = {
	cwd: process.cwd(),
	mode: "tui",
	hasUI: true,
	ui: {
		notify: (text, level) => say("notify", { text, level }),
		setStatus: (key, text) => say("status", { key, text: text ?? null }),
		setWidget: (key, make) => say("widget", { key, lines: drawn(make?.({}, theme)) }),
	},
	sessionManager: { getSessionId: () => session, getSessionFile: () => undefined, getEntries: () => entries },
	modelRegistry: { getAvailable: () => models },
};

const acts = {
	emit: async (event, { of = {} }) => {
		for (const handler of handlers[event] ?? []) await handler({ type: event, ...of }, ctx);
	},
	models: (ids) => {
		models = Object.freeze(ids.map((id) => Object.freeze({ provider: id.split("/")[0], id: id.split("/")[1] })));
	},
	call: async (name, { params }) => {
		const update = (partial) => say("update", { text: partial.content[0].text });
		abort = new AbortController();
		try {
			const result = await tools[name].execute("call-1", params, abort.signal, update, ctx);
			say("result", { text: result.content[0].text, details: result.details });
		} catch (error) {
			say("thrown", { text: error.message });
		}
	},
	draw: (name, { args, result, expanded = false, started = false }) => {
		const { renderCall, renderResult } = tools[name];
		const options = { expanded, isPartial: false };
		const call = drawn(renderCall(args, theme, { executionStarted: started }));
		say("drawn", { call, result: drawn(renderResult(result, options, theme, { args })) });
	},
	abort: () => abort.abort(),
	refuse: () => {
		refuses = true;
	},
};

(await import(extension)).default(pi);
for await (const line of createInterface({ input: process.stdin })) {
	const wanted = JSON.parse(line);
	const [act] = Object.keys(wanted);
	const carriedOut = Promise.resolve(acts[act](wanted[act], wanted)).then(() => say("done", { act }));
	if (act !== "call") await carriedOut;
}
