"""A leased browser with plain `mcp`, and no model: `python look.py ada chat-1 https://example.com`."""

import asyncio
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from omicron_browser import AsyncBrowserSessions


async def look(sessions: AsyncBrowserSessions, user_id: str, conversation_id: str, url: str) -> str:
    async with (
        await sessions.acquire(user_id, conversation_id) as lease,
        httpx2.AsyncClient(headers=dict(lease.headers), timeout=90) as http,
        Client(streamable_http_client(lease.mcp_url, http_client=http)) as client,
    ):
        result = await client.call_tool("browser_navigate", {"url": url})
        return "\n".join(part.text for part in result.content if part.type == "text")


async def main() -> None:
    url, secret = os.environ["OMICRON_CONTROLLER_URL"], os.environ["OMICRON_SERVICE_JWT_SECRET"]
    async with AsyncBrowserSessions(url, secret) as sessions:
        print(await look(sessions, *sys.argv[1:4]))


if __name__ == "__main__":
    asyncio.run(main())
