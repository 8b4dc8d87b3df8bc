"""An API with one endpoint per chat turn: `uvicorn app:app`. The next turn of a chat finds the tabs of the one before."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse
from omicron_browser import AsyncBrowserSessions, OmicronError
from pydantic import BaseModel


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    url, secret = os.environ["OMICRON_CONTROLLER_URL"], os.environ["OMICRON_SERVICE_JWT_SECRET"]
    async with AsyncBrowserSessions(url, secret) as sessions:  # one for the process
        app.state.sessions = sessions
        yield


app = FastAPI(lifespan=lifespan)


class Turn(BaseModel):
    message: str


class Reply(BaseModel):
    text: str
    session_id: str


def user_of(x_user: Annotated[str | None, Header()] = None) -> str:
    """Stands for the login of your API: the id of the user whom it has checked."""
    if x_user is None:
        raise HTTPException(401, "log in first")
    return x_user


@app.post("/v1/chats/{conversation_id}/turns")
async def run_turn(
    conversation_id: str, turn: Turn, request: Request, user_id: Annotated[str, Depends(user_of)]
) -> Reply:
    sessions: AsyncBrowserSessions = request.app.state.sessions
    async with await sessions.connect(user_id, conversation_id) as browser:
        lease = browser.lease
        async with MCPServerStreamableHttp(
            params={"url": lease.mcp_url, "headers": dict(lease.headers)},
            client_session_timeout_seconds=90,
        ) as server:
            agent = Agent(
                name="Browser",
                model=os.environ.get("MODEL", "gpt-4.1"),
                instructions=f"You use a browser for your user. {browser.instructions}",
                mcp_servers=[server],
            )
            result = await Runner.run(agent, turn.message, max_turns=30)
            return Reply(text=str(result.final_output), session_id=lease.session_id)


@app.delete("/v1/chats/{conversation_id}/browser", status_code=204)
async def close_browser(conversation_id: str, request: Request, user_id: Annotated[str, Depends(user_of)]) -> None:
    """The chat is over: its browser ends now, and its video is stored."""
    sessions: AsyncBrowserSessions = request.app.state.sessions
    page = await sessions.list(user_id=user_id, conversation_id=conversation_id)
    for session in page["sessions"]:
        await sessions.end(session["session_id"], user_id=user_id)


@app.exception_handler(OmicronError)
async def browser_error(_request: Request, error: OmicronError) -> JSONResponse:
    """429 and 503 of the controller are the API's own, with the time after which to try again."""
    headers = {} if error.retry_after_seconds is None else {"retry-after": str(error.retry_after_seconds)}
    return JSONResponse({"code": error.code, "message": str(error)}, error.status, headers)
