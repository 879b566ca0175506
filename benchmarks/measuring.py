"""What the benchmarks share: the name of the machine, timings in turn, ratios pair by pair, rows, tables.

    python benchmarks/measuring.py head.json evaluation.json

prints the tables of files that the benchmarks wrote with `--out`.
"""

import argparse
import json
import os
import platform
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

Times = dict[str, list[float]]


def machine(device: str = "cpu") -> dict[str, str]:
    """What the figures depend on: processor, cores, GPU, and the versions of what does the work."""
    from importlib.metadata import version

    import torch

    found = {
        "processor": _processor(),
        "cores": f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}",
        "threads": str(torch.get_num_threads()),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers", "adapters")},
    }
    return {"gpu": torch.cuda.get_device_name(), **found} if device == "cuda" else found


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def in_turn(
    sides: Mapping[str, Callable[[], object]], rounds: int, *, device: str = "cpu", warmup: int = 1, repeat: int = 1
) -> Times:
    """Seconds that each side takes, one after the other in every round, in an order that changes.

    On the CPU it is processor time, which neighbours on the machine disturb least; on a GPU it is the time until the
    GPU is done.

    Args:
        sides: What to time, by name.
        rounds: How often.
        device: `cpu` or `cuda`.
        warmup: Rounds that are not counted.
        repeat: Calls in one measurement.

    Returns:
        Seconds a call, a list with an entry for each round.
    """
    import torch

    times: Times = {name: [] for name in sides}
    order = random.Random(0)
    for number in range(warmup + rounds):
        for name in order.sample(list(sides), len(sides)):
            start = _now(device)
            for _ in range(repeat):
                sides[name]()
            if device == "cuda":
                torch.cuda.synchronize()
            if number >= warmup:
                times[name].append((_now(device) - start) / repeat)
    return times


def _now(device: str) -> float:
    return time.process_time() if device == "cpu" else time.perf_counter()


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """The median of the ratios of each round, and their quartiles."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    return median(ratios), low, high


def as_ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """`1.03 (1.02 to 1.05)`: median and quartiles."""
    middle, low, high = ratio(ours, theirs)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def milliseconds(times: Sequence[float]) -> str:
    """The median, in milliseconds."""
    return f"{1000 * median(times):.2f}"


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def finish(result: dict[str, Any], out: Path | None) -> None:
    """Print the table of a result, and write it all if asked to.

    Args:
        result: `benchmark`, `machine`, `header`, `rows`, and whatever else is worth keeping.
        out: A JSON file.
    """
    print(as_markdown(result))
    if out is not None:
        names = json.dumps(result, default=lambda value: value.name)  # of files and folders, not where they are
        out.write_text(names + "\n", "utf-8")


def as_markdown(result: Mapping[str, Any]) -> str:
    """Name, machine and table."""
    told = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    return f"**{result['benchmark']}**: {told}\n\n{table(result['header'], result['rows'])}\n"


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of JSON lines, those that failed left out; none where there is no file."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [row for line in lines if "error" not in (row := json.loads(line))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    for file in parser.parse_args().files:
        print(as_markdown(json.loads(file.read_text("utf-8"))))
