"""Processes that have done nothing but `import dlfa_adapters`, for what must work in another process than a test's.

Importing takes five seconds of a processor, so it is done once: each process is a fork of one that has imported.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 600
"""Seconds that a process may take."""

DLFA = "from dlfa_cli.main import main; main()"

SERVER = """
import gc, json, os, sys, traceback
gc.disable()  # until all is imported
import torch
import dlfa_adapters
torch.set_num_threads(1)
gc.freeze()
gc.enable()


def work(code, arguments, environment, folder):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, (name, flags) in enumerate([("in", os.O_RDONLY), ("out", os.O_WRONLY), ("err", os.O_WRONLY)]):
        os.dup2(os.open(f"{sys.argv[1]}/{name}", flags), number)
    sys.argv = arguments
    try:
        exec(compile(code, arguments[0], "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


while line := sys.stdin.readline():
    if not (child := os.fork()):
        code = work(*json.loads(line))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Done:
    """How a process ended; the names are those of `subprocess.CompletedProcess`."""

    returncode: int
    stdout: str
    stderr: str


class FreshProcesses:
    """Starts one at a time.

    Attributes:
        folder: A folder for what goes in and comes out.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._child = 0
        self._server = subprocess.Popen([sys.executable, "-c", SERVER, str(folder)], text=True, **pipes)

    def start(self, code, *arguments, name="-c", input="", env=None) -> None:
        """Start code as `python -c CODE ARGUMENTS` would, in this folder and environment."""
        for stream in ("in", "out", "err"):
            (self.folder / stream).write_text(input if stream == "in" else "", "utf-8")
        environment = {**os.environ, **(env or {})}
        line = json.dumps([code, [name, *map(str, arguments)], environment, os.getcwd()])
        self._server.stdin.write(line + "\n")
        self._server.stdin.flush()
        self._child = int(self._server.stdout.readline())

    def send(self, number: int) -> bool:
        """Send a signal, or with 0 none, to what was started; whether it was still there."""
        try:
            os.kill(self._child, number)
        except ProcessLookupError:
            return False
        return True

    def wait(self) -> Done:
        """Wait for the end of what was started; what hangs is killed, and its exit code says so."""
        killer = threading.Timer(TIMEOUT, self.send, [signal.SIGKILL])
        killer.start()
        code = int(self._server.stdout.readline())
        killer.cancel()
        return Done(code, *((self.folder / stream).read_text("utf-8") for stream in ("out", "err")))

    def run(self, code, *arguments, **options) -> Done:
        """Start code, and wait for its end."""
        self.start(code, *arguments, **options)
        return self.wait()

    def dlfa(self, *arguments, **options) -> Done:
        """Run the command `dlfa`."""
        return self.run(DLFA, *arguments, name="dlfa", **options)

    def close(self) -> None:
        """End the process that forks."""
        self._server.communicate()
