"""Lists and calls the tools of a browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx

from ..mcp_messages import (
    HELLO,
    NOT_SENT,
    SESSION_HEADER,
    Tool,
    ToolResult,
    browser_unreachable,
    not_answered,
    refusal,
    result_of,
    tool_of,
)

CONNECT_SECONDS = 15.0


class Mcp:
    """MCP as far as a browser needs it: its tools. Raises OmicronError."""

    def __init__(self, http: httpx.Client, url: str, headers: Callable[[], Mapping[str, str]]) -> None:
        self._http = http
        self._url = url
        self._lease_headers = headers
        self._headers = {"accept": "application/json, text/event-stream, application/problem+json"}
        self._last_id = 0
        self.tools: Sequence[Tool] = ()
        self.instructions = ""

    def connect(self) -> None:
        hello, response = self._request("initialize", HELLO, CONNECT_SECONDS)
        self.instructions = hello.get("instructions", "")
        self._headers["mcp-protocol-version"] = hello["protocolVersion"]
        if SESSION_HEADER in response.headers:
            self._headers[SESSION_HEADER] = response.headers[SESSION_HEADER]
        self._post({"method": "notifications/initialized"}, CONNECT_SECONDS)
        tools: list[Tool] = []
        params: dict[str, str] = {}
        while True:
            page, _ = self._request("tools/list", params, CONNECT_SECONDS)
            tools += [tool_of(entry) for entry in page["tools"]]
            if "nextCursor" not in page:
                break
            params = {"cursor": page["nextCursor"]}
        self.tools = tuple(tools)

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None, timeout_seconds: float | None) -> ToolResult:
        params = {"name": name, "arguments": dict(arguments or {})}
        result, _ = self._request("tools/call", params, timeout_seconds)
        return ToolResult(
            result.get("content", []),
            result.get("isError", False),
            structured_content=result.get("structuredContent"),
            meta=result.get("_meta"),
        )

    def _request(
        self, method: str, params: Mapping[str, Any], timeout_seconds: float | None
    ) -> tuple[Mapping[str, Any], httpx.Response]:
        self._last_id += 1
        request_id = self._last_id
        response = self._post({"id": request_id, "method": method, "params": params}, timeout_seconds)
        return result_of(response, request_id, method), response

    def _post(self, message: Mapping[str, Any], timeout_seconds: float | None) -> httpx.Response:
        try:
            response = self._http.post(
                self._url,
                json={"jsonrpc": "2.0", **message},
                headers={**self._lease_headers(), **self._headers},
                timeout=httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
                follow_redirects=False,
            )
        except httpx.TransportError as error:
            sent = not isinstance(error, NOT_SENT)
            if sent and timeout_seconds is not None and isinstance(error, httpx.TimeoutException):
                raise not_answered(self._url, timeout_seconds) from error
            raise browser_unreachable(self._url, sent=sent) from error
        if not response.is_success:
            raise refusal(response)
        return response
