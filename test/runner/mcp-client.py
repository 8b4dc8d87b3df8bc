"""An MCP client of Python: `mcp-client.py <kind> <url> <headers as JSON>`. Reads commands from stdin, one JSON object a line
(`{id, do: 'tools' | 'call' | 'cancel', ...}`), and writes `{id, value}` or `{id, error}` for each but `cancel`. The first line
that it writes is `{id: 0, value: <protocol version>}`: it is connected."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

CALL_SECONDS = 60


class Answers:
    """Methods that the three kinds of client have in common; they answer JSON."""

    def __init__(self, session, version):
        self.session = session
        self.version = version

    async def tools(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name, arguments):
        result = await self.session.call_tool(name, arguments)
        failed = getattr(result, "is_error", None) or getattr(result, "isError", None)
        return {"text": "\n".join(getattr(part, "text", "") for part in result.content), "isError": bool(failed)}

    async def cancel(self, task):
        task.cancel()


class AnswersOfV1(Answers):
    """A task that is cancelled tells the server nothing in 1.x: its caller does."""

    async def cancel(self, task):
        from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

        params = CancelledNotificationParams(requestId=self.session._request_id - 1)
        notification = CancelledNotification(method="notifications/cancelled", params=params)
        await self.session.send_notification(ClientNotification(notification))
        task.cancel()


class AnswersOfAgents(Answers):
    async def tools(self):
        return [tool.name for tool in await self.session.list_tools()]


@asynccontextmanager
async def mcp_1(url, headers):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url, headers=headers) as (read, write, _):
        async with ClientSession(read, write) as session:
            yield AnswersOfV1(session, (await session.initialize()).protocolVersion)


@asynccontextmanager
async def mcp_2(url, headers, mode="auto"):
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(headers=headers, timeout=CALL_SECONDS) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield Answers(client, client.protocol_version)


@asynccontextmanager
async def mcp_2_person(url, headers):
    """Its person opens every address, which is written as `{opened}`."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.types import ElicitResult

    async def opened(_context, params):
        write({"opened": params.url})
        return ElicitResult(action="accept")

    async with httpx2.AsyncClient(headers=headers, timeout=CALL_SECONDS) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, elicitation_callback=opened) as client:
            yield Answers(client, client.protocol_version)


def mcp_2_legacy(url, headers):
    return mcp_2(url, headers, mode="legacy")


@asynccontextmanager
async def agents(url, headers):
    from agents.mcp import MCPServerStreamableHttp

    params = {"url": url, "headers": headers}
    async with MCPServerStreamableHttp(params=params, client_session_timeout_seconds=CALL_SECONDS) as server:
        yield AnswersOfAgents(server, server.session.protocol_version)


def write(line):
    print(json.dumps(line), flush=True)


async def answer(number, work):
    try:
        write({"id": number, "value": await work})
    except asyncio.CancelledError:
        write({"id": number, "error": "cancelled"})
    except Exception as error:
        write({"id": number, "error": f"{type(error).__name__}: {error}"})


async def main(kind, url, headers):
    kinds = {"mcp_1": mcp_1, "mcp_2": mcp_2, "mcp_2_legacy": mcp_2_legacy, "mcp_2_person": mcp_2_person, "agents": agents}
    start = kinds[kind]
    async with start(url, json.loads(headers)) as client:
        write({"id": 0, "value": client.version})
        tasks = {}
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            command = json.loads(line)
            number = command["id"]
            if command["do"] == "cancel":
                await client.cancel(tasks[number])
            else:
                work = client.tools() if command["do"] == "tools" else client.call(command["name"], command["args"])
                tasks[number] = asyncio.create_task(answer(number, work))


asyncio.run(main(*sys.argv[1:]))
