"""The MCP server and the client of the official SDK, in both generations of the protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.harness import eventually
from tests.status.watchers import COMMAND
from tests.tools.parents import WORKS, Parent
from tmuxagents.tools import catalogue

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.desk import Desk

ERAS = ("auto", "legacy")


@pytest.fixture
def parent(desk: Desk) -> Parent:
    return Parent(desk)


def speak(parent: Parent, era: str, talk: Callable[[Any], Awaitable[None]], **options: Any) -> None:
    """Let a client talk to a server of its own."""
    (command,) = COMMAND
    environment = {key: str(value) for key, value in parent.desk.home.environment.items()}
    server = StdioServerParameters(
        command=command, args=["mcp"], env=environment, cwd=parent.desk.home.project
    )

    async def whole() -> None:
        async with Client(stdio_client(server), mode=era, **options) as client:
            await talk(client)

    asyncio.run(asyncio.wait_for(whole(), 90))


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_launches_looks_and_cancels(parent: Parent, era: str) -> None:
    async def talk(client: Any) -> None:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == [tool.name for tool in catalogue.TOOLS]
        told: list[str] = []

        async def hear(_progress: float, _total: float | None, message: str | None) -> None:
            told.append(message or "")

        task = 'begin\ntool read {"path":"a.py"}\nsleep 0.5\nanswer stop Fine.\nsettle'
        done = await client.call_tool("subagent", {"preset": "scout", "task": task}, progress_callback=hear)
        assert (done.is_error, done.content[0].text.endswith("\n\nFine.")) == (False, True)
        assert "Finished reading a.py" in told
        refused = await client.call_tool("subagnet", {})
        said = 'There is no tool "subagnet".\nhint: did you mean subagent?'
        assert (refused.is_error, refused.content[0].text) == (True, said)
        call = asyncio.create_task(
            client.call_tool("subagent", {"preset": "scout", "task": f"pid a\n{WORKS}"})
        )
        await asyncio.to_thread(eventually, lambda: "a" in parent.desk.home.recorded())
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        _, cancelled = sorted(parent.desk.runs(), key=lambda run_id: parent.meta(run_id)["createdAt"])
        assert (await asyncio.to_thread(parent.desk.result, cancelled))["reason"] == "parent"

    speak(parent, era, talk)


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_follows_a_background_run_to_its_answer(parent: Parent, era: str) -> None:
    logged: list[dict[str, Any]] = []

    async def hear(message: Any) -> None:
        logged.append(message.data)

    async def talk(client: Any) -> None:
        started = await client.call_tool("background_agent", {"preset": "scout", "task": "done Found."})
        run_id = started.structured_content["run"]["runId"]
        await asyncio.to_thread(parent.desk.result, run_id)
        looked = await client.call_tool("background_agent_status", {"runId": run_id})
        assert looked.content[0].text.endswith("\n\nFound.")
        listed = await client.list_resources()
        assert [str(one.uri).rpartition("/")[2] for one in listed.resources] == [
            *("output", "transcript", "result"),
        ]
        read = await client.read_resource(f"tmuxagents://runs/{run_id}/result")
        assert json.loads(read.contents[0].text)["output"] == "Found."
        assert len((await client.list_resource_templates()).resource_templates) == 3
        prompt = await client.get_prompt("review", {"task": "the parser"})
        assert "the parser" in prompt.messages[0].content.text
        while not logged:
            await client.list_resources()
            await asyncio.sleep(0.1)
        assert [told["runId"] for told in logged] == [run_id]

    speak(parent, era, talk, logging_callback=hear, log_level="info")


# The SDK warns that the protocol without sessions has another way.
@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_client_with_a_session_follows_the_resources_of_any_run(parent: Parent) -> None:
    told: list[Any] = []

    async def hear(message: Any) -> None:
        told.append(message)

    def updates() -> list[Any]:
        return [one for one in told if one.method == "notifications/resources/updated"]

    async def talk(client: Any) -> None:
        run_id = parent.desk.launch("-p", "scout", "begin\nsleep 2\nanswer stop Found.\nsettle")
        address = f"tmuxagents://runs/{run_id}/output"
        await client.subscribe_resource(address)
        changed = {"notifications/resources/updated", "notifications/resources/list_changed"}
        await asyncio.to_thread(eventually, lambda: changed <= {one.method for one in told})
        (updated,) = updates()
        assert str(updated.params.uri) == address
        assert (await client.read_resource(address)).contents[0].text == "Found."
        await client.subscribe_resource(
            f"tmuxagents://runs/{run_id}/result"
        )  # it has ended, so the notification comes at once
        await asyncio.to_thread(eventually, lambda: len(updates()) == 2)
        await client.unsubscribe_resource(address)
        with pytest.raises(MCPError, match="no run"):
            await client.subscribe_resource("tmuxagents://runs/ffff/output")

    speak(parent, "legacy", talk, message_handler=hear)


def test_a_client_without_a_session_listens_to_the_end_of_a_run(parent: Parent) -> None:
    async def talk(client: Any) -> None:
        task = {"preset": "scout", "task": "begin\nsleep 2\nanswer stop Found.\nsettle"}
        started = await client.call_tool("background_agent", task)
        address = f"tmuxagents://runs/{started.structured_content['run']['runId']}/result"
        async with client.listen(resource_subscriptions=[address], resources_list_changed=True) as heard:
            assert heard.honored.resource_subscriptions == [address]
            events = {type(await anext(heard)).__name__, type(await anext(heard)).__name__}
        assert events == {"ResourceUpdated", "ResourcesListChanged"}
        assert json.loads((await client.read_resource(address)).contents[0].text)["output"] == "Found."
        with pytest.raises(MCPError, match="There is no resource"):
            async with client.listen(resource_subscriptions=["file:///etc/passwd"]):
                pass

    speak(parent, "auto", talk)
