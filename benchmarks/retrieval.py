"""Ranks among neighbours in blocks: processor time and memory by size, beside the whole matrix where that fits.

    python benchmarks/retrieval.py --sizes 10000 20000 50000 --whole 20000 --out speed-retrieval-cpu.json

Each size is a process of its own: as many random vectors of width 384 on both sides, the second ones near the first,
and one call of `neighbour_ranks`, which gives the ranks by cosine and by CSLS in both directions. `whole` computes the
same from the matrix of all cosines. Memory is what the process took at most beyond what it had with its vectors.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measuring import finish, machine

WIDTH, NOISE = 384, 4.0


def ranks_of_whole(first: Any, second: Any, pairs: Any, neighbours: int = 10) -> dict[str, Any]:
    """The same ranks as those of `neighbour_ranks` from the matrix of all cosines, as it is written down."""
    import torch

    x, y = (torch.nn.functional.normalize(side, dim=1) for side in (first, second))
    cosines = x @ y.T
    near_x, near_y = (each.topk(neighbours, dim=1).values.mean(1) for each in (cosines, cosines.T))
    ranks = {}
    for name in ("cosine", "csls"):
        scores = cosines if name == "cosine" else 2 * cosines - near_x[:, None] - near_y
        own = scores[pairs[:, 0], pairs[:, 1]]
        by_side = [(scores >= own[:, None]).sum(1), (scores >= own).sum(0)]
        ranks[name] = torch.stack(by_side, dim=1)
    return ranks


def measure(size: int, how: str) -> dict[str, Any]:
    """Time and memory of a size, in this process."""
    import torch

    from dlfa_adapters.analysis.retrieval.neighbours import neighbour_ranks

    torch.set_num_threads(1)
    random = torch.Generator().manual_seed(0)
    first = torch.randn(size, WIDTH, generator=random)
    second = first + NOISE * torch.randn(size, WIDTH, generator=random)
    pairs = torch.arange(size).repeat(2, 1).T
    torch.randn(256, 256) @ torch.randn(256, 256)
    before, start = _peak(), time.process_time()
    ranks = (neighbour_ranks if how == "blocks" else ranks_of_whole)(first, second, pairs)
    found = {name: float((each == 1).double().mean()) for name, each in ranks.items()}
    return {"seconds": time.process_time() - start, "memory": _peak() - before, "found": found}


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure every size, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 20_000, 50_000])
    parser.add_argument("--whole", type=int, nargs="*", default=[10_000, 20_000], help="sizes for the whole matrix")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(int(args.one[0]), args.one[1])))
        return
    rows, results = [], []
    for size, how in [(size, "blocks") for size in args.sizes] + [(size, "whole") for size in args.whole]:
        command = [sys.executable, __file__, "--one", str(size), how]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        result = json.loads(ran.stdout.splitlines()[-1])
        found = " / ".join(f"{100 * share:.2f}" for share in result["found"].values())
        rows.append([how, f"{size:,}", f"{result['seconds']:.0f}", f"{result['memory'] / 1e9:.2f}", found])
        results.append({"how": how, "size": size, **result})
        print(rows[-1], file=sys.stderr, flush=True)
    header = ["", "vectors a side", "processor s", "memory, GB", "found by cosine / CSLS, %"]
    told = {"benchmark": "Ranks among neighbours", "machine": machine(), "arguments": vars(args)}
    finish({**told, "header": header, "rows": rows, "results": results}, args.out)


if __name__ == "__main__":
    main()
