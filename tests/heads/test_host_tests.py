"""The host's own tests, with and without the library imported: every one must end the same way.

They are not on the package index (the sdist of adapters has none) and are not copied here. Where a checkout is, its
folder in `DLFA_HOST_TESTS` runs those that `host_tests.txt` names:

    git clone --depth 1 --branch v1.3.0 https://github.com/adapter-hub/adapters
    DLFA_HOST_TESTS=adapters pytest tests/heads/test_host_tests.py
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

IDS = [
    line
    for line in (Path(__file__).parent / "host_tests.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


SAME_NUMBERS = """
import random, zlib, torch

def pytest_runtest_setup(item):
    seed = zlib.crc32(item.nodeid.encode())
    random.seed(seed)
    torch.manual_seed(seed)
"""
"""A plugin: some tests of the host hold for most random numbers, not for all."""


def pytest_in(checkout, *arguments, plugins=""):
    """pytest in the checkout, in a process of its own, with nothing of this project's configuration."""
    path = os.pathsep.join([str(checkout), str(Path(__file__).parents[2]), str(plugins)])
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=no", *arguments],
        cwd=checkout, env={**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def chosen(checkout):
    """The tests of the list that there are, those of training left out."""
    files = {node.partition("::")[0] for node in IDS}
    listed = pytest_in(checkout, "--collect-only", *sorted(f for f in files if (checkout / f).is_file())).stdout
    return [
        node
        for node in listed.splitlines()
        if any(node.startswith(f"{entry}::") for entry in IDS) and "train" not in node.rpartition("::")[2]
    ]


def outcomes(checkout, out, nodes, *options):
    """What became of every test: passed, skipped, failure or error, by its name."""
    out.with_suffix(".txt").write_text("\n".join(nodes), "utf-8")
    (out.parent / "same_numbers.py").write_text(SAME_NUMBERS, "utf-8")
    files = [f"--junitxml={out.with_suffix('.xml')}", f"@{out.with_suffix('.txt')}"]
    pytest_in(checkout, "-p", "same_numbers", *options, *files, plugins=out.parent)
    found = {}
    for case in ElementTree.parse(out.with_suffix(".xml")).iter("testcase"):
        ended = [child.tag for child in case if child.tag in ("skipped", "failure", "error")]
        found[f"{case.get('classname')}.{case.get('name')}"] = ended[0] if ended else "passed"
    return found


def test_the_hosts_tests_end_the_same_way(tmp_path):
    checkout = os.environ.get("DLFA_HOST_TESTS")
    if not checkout or not (Path(checkout) / "tests").is_dir():
        pytest.skip("DLFA_HOST_TESTS names no checkout of adapters, whose tests are not on the package index")
    checkout = Path(checkout).resolve()
    nodes = chosen(checkout)
    plain = outcomes(checkout, tmp_path / "plain", nodes)
    imported = outcomes(checkout, tmp_path / "imported", nodes, "-p", "dlfa_adapters")
    counts = Counter(plain.values())
    print(f"{len(nodes)} tests of the host: {dict(counts)}")
    assert len(plain) == len(imported) == len(nodes)
    assert counts["passed"] > len(nodes) / 2, counts
    assert {name: (end, imported.get(name)) for name, end in plain.items() if imported.get(name) != end} == {}
