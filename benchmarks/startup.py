"""How long things take to start: the import against that of `adapters`, and commands that need no model.

    python benchmarks/startup.py --out startup.json

Every command is a process of its own; they run in turn, and the ratio is the median over the rounds. Processor time is
user and system time together; the first round, which fills the file cache, is not counted. Targets: `import
dlfa_adapters` at most 1.15 times `from adapters import AutoAdapterModel`, `dlfa --help` under half a second.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from measuring import as_ratio, finish, machine

PEER = "from adapters import AutoAdapterModel"
SENTENCE = "Anna\tB-PER\nmet\tO\nBob\tB-PER\n"


def commands(folder: Path) -> dict[str, Sequence[str]]:
    """What to start, by name; the first is the peer of the second."""
    data = folder / "data.tsv"
    data.write_text(f"{SENTENCE}\n" * 20, "utf-8")
    python = sys.executable
    return {
        PEER: (python, "-c", PEER),
        "import dlfa_adapters": (python, "-c", "import dlfa_adapters"),
        "import torch": (python, "-c", "import torch"),
        "dlfa --help": (python, "-m", "dlfa_cli", "--help"),
        "dlfa data check FILE": (python, "-m", "dlfa_cli", "data", "check", str(data)),
    }


def start(command: Sequence[str]) -> tuple[float, float]:
    """Processor and wall-clock seconds of one process."""
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after, wall = os.times(), time.perf_counter() - began
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, wall


def main() -> None:
    """Start everything in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    order = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        sides = commands(Path(folder))
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        for number in range(args.rounds + 1):
            for name in order.sample(list(sides), len(sides)):
                times = start(sides[name])
                if number:
                    seconds[name].append(times)
    cpu = {name: [times[0] for times in rows] for name, rows in seconds.items()}
    wall = {name: [times[1] for times in rows] for name, rows in seconds.items()}
    rows = [
        [f"`{name}`", f"{median(cpu[name]):.2f}", f"{median(wall[name]):.2f}", as_ratio(cpu[name], cpu[PEER])]
        for name in sides
    ]
    header = ["command", "CPU, s", "wall clock, s", "CPU against the first"]
    told = {"benchmark": "Starting", "machine": machine(), "arguments": vars(args)}
    finish({**told, "header": header, "rows": rows, "seconds": seconds}, args.out)


if __name__ == "__main__":
    main()
