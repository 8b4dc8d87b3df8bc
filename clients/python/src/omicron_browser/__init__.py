"""Leases isolated browsers for AI agents from a self-hosted omicron-browser."""

from ._async.lease import AsyncConnectedBrowser, AsyncLease
from ._async.sessions import AsyncBrowserSessions
from ._sync.lease import ConnectedBrowser, Lease
from ._sync.sessions import BrowserSessions
from .errors import OmicronError, PlaceInLine
from .mcp_messages import Tool, ToolResult

__version__ = "0.1.0"

__all__ = [
    "AsyncBrowserSessions",
    "AsyncConnectedBrowser",
    "AsyncLease",
    "BrowserSessions",
    "ConnectedBrowser",
    "Lease",
    "OmicronError",
    "PlaceInLine",
    "Tool",
    "ToolResult",
    "__version__",
]
