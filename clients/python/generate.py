"""Writes what is generated in this package: `python generate.py`, or `--check` to compare only.

- `wire.py`: the documents of the API, from docs/openapi.json, by datamodel-code-generator
- `_sync/`: the synchronous classes, from the asynchronous ones in `_async/`
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = HERE / "src" / "omicron_browser"
OPENAPI = HERE.parent.parent / "docs" / "openapi.json"
REFERENCE = "#/components/schemas/"

SYNC = [
    (r"\basync def\b", "def"),
    (r"\basync with\b", "with"),
    (r"\basync for\b", "for"),
    (r"\baiter_lines\b", "iter_lines"),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"\baclose\b", "close"),
    (r"\baread\b", "read"),
    (r"\bAsynchronous\b", "Synchronous"),
]


def platform_document() -> dict[str, object]:
    """The part of the API that takes service tokens, with the schemas that it uses."""
    document = json.loads(OPENAPI.read_text())
    document["paths"] = {
        path: methods
        for path, methods in document["paths"].items()
        if any({"service": []} in operation.get("security", []) for operation in methods.values())
    }
    schemas = document["components"]["schemas"]
    used: set[str] = set()
    pending = [document["paths"]]
    while pending:
        names = set(re.findall(rf'"{REFERENCE}(\w+)"', json.dumps(pending.pop()))) - used
        used |= names
        pending += [schemas[name] for name in names]
    document["components"]["schemas"] = {name: as_answered(schemas[name]) for name in sorted(used)}
    return dict(document)


def as_answered(schema: object) -> object:
    """A newer controller may add fields, and times stay the text that they are."""
    if isinstance(schema, list):
        return [as_answered(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: as_answered(value)
        for name, value in schema.items()
        if not (name == "additionalProperties" and value is False) and not (name == "format" and value == "date-time")
    }


def wire() -> str:
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "openapi.json"
        document.write_text(json.dumps(platform_document()))
        written = Path(folder) / "wire.py"
        subprocess.run(
            [
                *(sys.executable, "-m", "datamodel_code_generator", "--input", str(document), "--output", str(written)),
                *("--input-file-type", "openapi", "--openapi-scopes", "schemas"),
                *("--output-model-type", "typing.TypedDict", "--target-python-version", "3.10"),
                *("--enum-field-as-literal", "all", "--use-standard-collections", "--use-union-operator"),
                *("--output-datetime-class", "datetime", "--disable-timestamp", "--formatters", "ruff-format"),
                *("--custom-file-header", '"""Documents of the API, written by generate.py from docs/openapi.json."""'),
            ],
            check=True,
            stderr=subprocess.DEVNULL,  # a hint about the names of the conditions
        )
        return written.read_text()


def synchronous(text: str) -> str:
    for pattern, replacement in SYNC:
        text = re.sub(pattern, replacement, text)
    return text


def formatted(text: str) -> str:
    ruff = [sys.executable, "-m", "ruff", "--quiet"]
    name = ["--stdin-filename", str(PACKAGE / "generated.py"), "-"]
    sorted_text = subprocess.run(
        [*ruff, "check", "--fix", "--select", "I", *name], input=text, capture_output=True, text=True, check=True
    )
    return subprocess.run(
        [*ruff, "format", *name], input=sorted_text.stdout, capture_output=True, text=True, check=True
    ).stdout


def generated() -> dict[Path, str]:
    files = {PACKAGE / "wire.py": formatted(wire())}
    for source in sorted((PACKAGE / "_async").glob("*.py")):
        if source.name != "runtime.py":
            files[PACKAGE / "_sync" / source.name] = formatted(synchronous(source.read_text()))
    return files


def main() -> int:
    files = generated()
    if "--check" not in sys.argv:
        for path, text in files.items():
            path.write_text(text)
        return 0
    stale = [path.name for path, text in files.items() if not path.exists() or path.read_text() != text]
    if stale:
        print(f"Not up to date: {', '.join(stale)}. Run `python clients/python/generate.py`.", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
