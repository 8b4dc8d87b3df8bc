"""Writes docs/reference/sdk-python.md from the package: `python reference.py`, or `--check` to compare only."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import griffe
from griffe2md import ConfigDict, render_object_docs

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "reference" / "sdk-python.md"

CLASSES = ["BrowserSessions", "Lease", "ConnectedBrowser", "OmicronError"]

HEAD = """\
# Python SDK

<!-- Written from clients/python by `npm run docs`. -->

Classes and methods of the package `omicron_browser`. [client-python.md](../client-python.md) has the guide. `AsyncBrowserSessions`,
`AsyncLease` and `AsyncConnectedBrowser` have the same methods as coroutines, and `aclose` in place of `close`. Types of `wire` are
`TypedDict`s with the fields of the schema of that name in [openapi.json](../openapi.json), which describes each.
"""

VALUES = """\
## Values

Types of arguments that take one of several values.
"""

CONFIG = ConfigDict(
    docstring_style="google",
    filters=["!^_"],
    heading_level=2,
    line_length=100,
    members_order="source",
    show_bases=False,
    show_object_full_path=False,
    show_root_full_path=False,
    show_root_members_full_path=False,
    show_signature_annotations=True,
    summary=False,
)


def page() -> str:
    package = griffe.load("omicron_browser", search_paths=[HERE / "src"], resolve_aliases=True)
    sessions = package["_sync.sessions"]
    values = [
        f"- `{name}`: " + ", ".join(f"`{value}`" for value in re.findall(r"'[^']*'", str(alias.value)))
        for name, alias in sessions.attributes.items()
        if str(alias.value).startswith("Literal[")
    ]
    classes = [render_object_docs(package[name], CONFIG).strip() for name in CLASSES]
    return "\n\n".join([HEAD.strip(), *classes, VALUES.strip(), "\n".join(values)]) + "\n"


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit(f"{PAGE.name} is not what the package says: npm run docs")
