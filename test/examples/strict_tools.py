"""`strict_tools.py <tool-list.json>`: fails for a tool that openai-agents cannot make strict, or that a client cannot show."""

import json
import sys

from agents.strict_schema import ensure_strict_json_schema

# of Playwright MCP, which lists them as required
HAVE_DEFAULTS = {"scale", "level", "static", "deltaX", "deltaY"}

with open(sys.argv[1], encoding="utf-8") as file:
    lists = json.load(file)
for toolset, tools in lists.items():
    for tool in tools:
        where, schema = f"{toolset} {tool['name']}", tool["inputSchema"]
        required = HAVE_DEFAULTS.intersection(schema.get("required", []))
        assert not required, f"{where} requires {required}, which have defaults"
        assert tool["title"] and tool["annotations"], where
        strict = ensure_strict_json_schema(schema)
        assert strict["additionalProperties"] is False, where
