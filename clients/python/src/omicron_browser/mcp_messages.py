"""Messages of MCP 2025-11-25 over Streamable HTTP, as far as listing and calling tools needs them.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from .errors import SERVER_ERROR, OmicronError, error_of, problem_in

PROTOCOL_VERSION = "2025-11-25"
SESSION_HEADER = "mcp-session-id"
HELLO = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": {},
    "clientInfo": {"name": "omicron-browser", "version": "0.1.0"},
}
#: JSON-RPC: the request was at fault (invalid request, unknown method, invalid params).
REQUEST_ERRORS = (-32600, -32601, -32602)


@dataclass(frozen=True)
class Tool:
    """A tool that an agent can call. `input_schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True)
class ToolResult:
    """`content` as MCP has it; `text` is what a model reads. `is_error`: the tool failed, and `text` says why.

    `structured_content` and `meta` (MCP's `_meta`) are what programs read; None: the answer has none.
    """

    content: Sequence[Mapping[str, Any]]
    is_error: bool
    structured_content: Mapping[str, Any] | None = None
    meta: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        return "\n".join(part["text"] for part in self.content if part.get("type") == "text")


def tool_of(entry: Mapping[str, Any]) -> Tool:
    return Tool(entry["name"], entry.get("description", ""), entry["inputSchema"])


def result_of(response: httpx.Response, request_id: int, method: str) -> Mapping[str, Any]:
    """The result of a request. Raises OmicronError for a JSON-RPC error, and for what is not MCP."""
    url = str(response.url)
    for message in messages_of(response):
        if not isinstance(message, dict) or message.get("id") != request_id:
            continue
        error = message.get("error")
        if isinstance(error, dict):
            wrong = error.get("code") in REQUEST_ERRORS
            code, status = ("invalid_request", 400) if wrong else ("internal_error", SERVER_ERROR)
            raise OmicronError(code, f"{method}: {error.get('message')}", status=status)
        result = message.get("result")
        if isinstance(result, dict):
            return result
    raise OmicronError(
        "internal_error",
        f"The answer of {url} to {method} was not understood; check that it is the address of an MCP endpoint.",
        status=SERVER_ERROR,
    )


def messages_of(response: httpx.Response) -> list[object]:
    """One JSON-RPC message, or the `data` of each event of a stream."""
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    documents = [data_of(event) for event in re.split(r"\r?\n\r?\n", response.text)] if is_stream else [response.text]
    try:
        return [json.loads(document) for document in documents if document]
    except ValueError:
        return []


def data_of(event: str) -> str:
    """https://html.spec.whatwg.org/multipage/server-sent-events.html"""
    lines = re.split(r"\r?\n", event)
    return "\n".join(line[len("data:") :].lstrip() for line in lines if line.startswith("data:"))


#: Of requests that were never sent, so that nothing ran.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def not_answered(mcp_url: str, seconds: float) -> OmicronError:
    return OmicronError(
        "browser_unreachable",
        f"The browser at {mcp_url} did not answer within {seconds:g} s. The call may have had its effect: look at the page"
        " before you repeat it.",
    )


def browser_unreachable(mcp_url: str, *, sent: bool = True) -> OmicronError:
    """A call that was sent may have run: it is not for this client to repeat."""
    if not sent:
        return OmicronError(
            "browser_unreachable",
            f"The browser at {mcp_url} cannot be reached, and nothing was done; acquire the lease again, and check that"
            " this machine reaches that address.",
        )
    return OmicronError(
        "browser_unreachable",
        f"The connection to the browser at {mcp_url} broke. A call that was running may have had its effect: acquire"
        " the lease again, and look at the page before you repeat it.",
    )


def not_carried_out(error: OmicronError) -> bool:
    """The runner refused the call, or there was none any more."""
    return error.code == "lease_ended" or (
        error.code == "browser_unreachable" and isinstance(error.__cause__, NOT_SENT)
    )


def refusal(response: httpx.Response) -> OmicronError:
    url = str(response.url)
    problem = problem_in(response.text)
    if problem is not None:
        return error_of(problem, unknown="internal_error")
    if response.status_code >= SERVER_ERROR:
        return browser_unreachable(url)
    return OmicronError(
        "internal_error",
        f"{url} answered {response.status_code}; acquire the lease again, and check that it is the address of an MCP"
        " endpoint.",
        status=SERVER_ERROR,
    )
