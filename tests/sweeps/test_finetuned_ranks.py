"""Two processes share the runs of a sweep: each run is trained once, and both have all rows."""

import json
import os
import socket

import pytest
from finetuned_data import prepared, still_folder
from test_finetuned import assert_same

from dlfa_adapters.ground.environment import see_one_gpu
from dlfa_adapters.sweeps.finetuned import finetuned_sweep
from dlfa_adapters.sweeps.finetuned.ranks import without_launcher

PROCESSES = """
import json, os, sys, torch
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from finetuned_data import prepared
from dlfa_adapters.sweeps.finetuned import finetuned_sweep
from dlfa_adapters.sweeps.trainings import RowFiles

def work(model, out):
    wrote, write = [], RowFiles.write
    RowFiles.write = lambda self, number, row: (wrote.append(number), write(self, number, row))
    told = {}
    for tuning, seeds in (("full", 2), ("freeze:1", 1)):
        wrote.clear()
        rows = finetuned_sweep(prepared(model, out, tuning, seeds), out / tuning[:4], at_once=2)
        told[tuning] = {"wrote": list(wrote), "rows": len(rows), "grouped": torch.distributed.is_initialized()}
    sweep = prepared(model, out, "freeze:1", 2, head_learning_rates=(1e-6, 3e-2))
    wrote.clear()
    told["tried"] = {"rows": len(finetuned_sweep(sweep, out / "tried")), "wrote": len(wrote)}
    Path(out, f"told-{os.environ['RANK']}.json").write_text(json.dumps(told))

children = []
for rank in "01":
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = rank
    if not (child := os.fork()):
        try:
            work(sys.argv[2], Path(sys.argv[3]))
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


@pytest.fixture(scope="module")
def still(tiny_folder, tmp_path_factory):
    return still_folder(tiny_folder, tmp_path_factory.mktemp("still") / "encoder")


def test_two_processes_share_the_runs(still, tmp_path, request, fresh):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    done = fresh.run(PROCESSES, request.path.parent, still, tmp_path, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    told = [json.loads((tmp_path / f"told-{rank}.json").read_text()) for rank in range(2)]
    for tuning, runs in (("full", 6), ("freeze:1", 3)):
        assert sorted(told[0][tuning]["wrote"] + told[1][tuning]["wrote"]) == list(range(runs))
        assert all(rank[tuning]["rows"] == runs and not rank[tuning]["grouped"] for rank in told)
    assert all(rank["full"]["wrote"] for rank in told)  # neither has done all of it
    # of three models: each at two rates, the better of which is taken over, and with the second seed
    assert sum(rank["tried"]["wrote"] for rank in told) == 3 * 2 + 3 + 3
    assert [rank["tried"]["rows"] for rank in told] == [6, 6]
    sweep = prepared(still, tmp_path, seeds=2)
    notes = []
    shared = finetuned_sweep(sweep, tmp_path / "full", note=notes.append)
    assert notes == ["0 runs, 0 at once; 6 are there already."]
    assert_same(shared, finetuned_sweep(sweep, tmp_path / "one process", at_once=3))


def test_the_launcher_is_hidden_and_comes_back(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with without_launcher():
        assert "RANK" not in os.environ
        assert "WORLD_SIZE" not in os.environ
    assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("1", "2")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}, "1"),
        ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "4,6"}, "6"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}, None),
        ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": "4"}, "4"),
        ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": ""}, ""),
        ({}, None),
    ],
)
def test_each_process_sees_its_own_gpu(given, expected, monkeypatch):
    for name in ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    see_one_gpu()
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == expected
