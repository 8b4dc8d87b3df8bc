"""Runs programs in forks of this process, which has their libraries loaded: a framework takes seconds of a core to import.

Its arguments are the modules to load. Each line of its standard input is a program, `{"args", "cwd", "stdout", "stderr"}`, of which it answers the
process id in a line and, once the program has ended, the exit code.
"""

import importlib
import json
import os
import runpy
import sys
from pathlib import Path


def become(program: dict) -> None:
    """Makes this process what `python ARGS` would be."""
    os.chdir(program["cwd"])
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(program[name], os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    is_module = program["args"][0] == "-m"
    sys.argv = program["args"][1:] if is_module else program["args"]
    sys.path[0] = program["cwd"] if is_module else str(Path(sys.argv[0]).parent)
    if is_module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
    sys.exit()


for module in sys.argv[1:]:
    importlib.import_module(module)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        become(json.loads(line))
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
