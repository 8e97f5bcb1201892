// Loaded into children of tmuxagents that an agent launched with a model of GitHub Copilot, and into no others.
// Copilot counts a request as a person's if its last message has the role "user", as every task of a child has.
// This marks each of these requests as begun by an agent. Other providers' requests stay as they are.

interface Context {
	model?: { provider: string };
}

interface Pi {
	on(
		event: "before_provider_headers",
		handler: (event: { headers: Record<string, string | null> }, context: Context) => void,
	): void;
}

export default function (pi: Pi) {
	if (process.env.PI_SUBAGENTS_COPILOT_INITIATOR !== "agent") return;
	pi.on("before_provider_headers", (event, context) => {
		if (context.model?.provider === "github-copilot") event.headers["X-Initiator"] = "agent";
	});
}
