"""One turn of a chat with openai-agents: `python agent.py ada chat-1 "What are my orders at the bakery?"`."""

import asyncio
import os
import sys

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp
from omicron_browser import AsyncBrowserSessions, AsyncConnectedBrowser


def browser_server(browser: AsyncConnectedBrowser) -> MCPServerStreamableHttp:
    return MCPServerStreamableHttp(
        params={"url": browser.lease.mcp_url, "headers": dict(browser.lease.headers)},
        client_session_timeout_seconds=90,  # 5 by default; a login may take 60
        cache_tools_list=True,
    )


async def turn(sessions: AsyncBrowserSessions, user_id: str, conversation_id: str, message: str) -> str:
    async with await sessions.connect(user_id, conversation_id) as browser, browser_server(browser) as server:
        agent = Agent(
            name="Browser",
            model=os.environ.get("MODEL", "gpt-4.1"),
            # openai-agents drops the server's instructions, which name the user's credentials
            instructions=f"You use a browser for your user. {browser.instructions}",
            mcp_servers=[server],
            mcp_config={"convert_schemas_to_strict": True},
        )
        result = await Runner.run(agent, message, max_turns=30)
        return str(result.final_output)


async def main() -> None:
    url, secret = os.environ["OMICRON_CONTROLLER_URL"], os.environ["OMICRON_SERVICE_JWT_SECRET"]
    async with AsyncBrowserSessions(url, secret) as sessions:
        print(await turn(sessions, *sys.argv[1:4]))


if __name__ == "__main__":
    asyncio.run(main())
