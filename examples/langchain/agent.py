"""One turn of a chat with LangChain: `python agent.py ada chat-1 "What are my orders at the bakery?"`."""

import asyncio
import os
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI
from omicron_browser import AsyncBrowserSessions


async def turn(sessions: AsyncBrowserSessions, user_id: str, conversation_id: str, message: str) -> str:
    async with await sessions.connect(user_id, conversation_id) as browser:
        lease = browser.lease
        server = {"transport": "streamable_http", "url": lease.mcp_url, "headers": dict(lease.headers)}
        async with MultiServerMCPClient({"browser": server}).session("browser") as session:
            agent = create_agent(
                ChatOpenAI(model=os.environ.get("MODEL", "gpt-4.1")),
                await load_mcp_tools(session),
                # the adapters drop the server's instructions, which name the user's credentials
                system_prompt=f"You use a browser for your user. {browser.instructions}",
            )
            answer = await agent.ainvoke({"messages": [{"role": "user", "content": message}]})
            return str(answer["messages"][-1].content)


async def main() -> None:
    url, secret = os.environ["OMICRON_CONTROLLER_URL"], os.environ["OMICRON_SERVICE_JWT_SECRET"]
    async with AsyncBrowserSessions(url, secret) as sessions:
        print(await turn(sessions, *sys.argv[1:4]))


if __name__ == "__main__":
    asyncio.run(main())
