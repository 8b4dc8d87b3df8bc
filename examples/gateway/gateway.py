"""An MCP gateway, FastMCP, that leases the browser of each conversation: `python gateway.py 9100` serves /mcp on that port."""

import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.server.dependencies import get_http_headers
from fastmcp.server.providers.proxy import FastMCPProxy
from omicron_browser import AsyncBrowserSessions

sessions = AsyncBrowserSessions(os.environ["OMICRON_CONTROLLER_URL"], os.environ["OMICRON_SERVICE_JWT_SECRET"])


async def browser() -> Client[StreamableHttpTransport]:
    """Where a request goes. Its call renews the lease, and one after the lease's end gets a new browser."""
    given = get_http_headers()
    user_id, conversation_id = given["x-user"], given["x-conversation"]  # stand for what your gateway's login checked
    async with await sessions.acquire(user_id, conversation_id) as lease:
        return Client(StreamableHttpTransport(lease.mcp_url, headers=dict(lease.headers)))


if __name__ == "__main__":
    FastMCPProxy(client_factory=browser, name="platform").run(
        transport="http", port=int(sys.argv[1]), show_banner=False
    )
