"""Without a DLFA head nothing differs from plain `adapters`: one script, with and without the library imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "stock_use.py"


pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forks")


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """started("imported"): the script, which forks a process for each line that it gets; and its errors."""
    scripts = {}

    def start(way):
        if way not in scripts:
            errors = tmp_path_factory.mktemp("errors") / way
            with errors.open("w") as file:
                scripts[way] = subprocess.Popen(
                    [sys.executable, str(SCRIPT), way],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True,
                ), errors  # fmt: skip
        return scripts[way]

    yield start
    for script, _ in scripts.values():
        script.communicate()


@pytest.fixture(scope="module")
def use(started, tmp_path_factory):
    """use("imported", load=folder): what a process of its own saw, and its folder."""

    def run(way, load=None):
        out = tmp_path_factory.mktemp(way)
        script, errors = started(way)
        script.stdin.write("\t".join(map(str, filter(None, (out, load)))) + "\n")
        script.stdin.flush()
        assert script.stdout.readline() == "0\n", errors.read_text()[-3000:]
        return json.loads((out / "seen.json").read_text()), out

    return run


@pytest.fixture(scope="module")
def plain(use):
    return use("plain")


@pytest.fixture(scope="module")
def imported(use):
    return use("imported")


@pytest.fixture(scope="module")
def loaded_plain(plain, use):
    return use("plain", plain[1])


def test_stock_heads_give_the_same(plain, imported):
    assert imported[0] == plain[0]
    assert {"methods/mam", "fuse", "names lm", "losses", "files"} <= set(plain[0])


def test_plain_adapters_loads_what_was_saved_with_the_library_imported(plain, imported, loaded_plain, use):
    loaded, _ = use("plain", imported[1])
    theirs, _ = loaded_plain
    assert loaded == theirs
    for place in ("methods/seq_bn", "methods/lora", "methods/prefix_tuning"):
        assert loaded[place][0] == plain[0][place][0]
    assert not any(loaded[place] for place in loaded if place.endswith("missing"))


def test_the_library_loads_what_plain_adapters_saved(plain, loaded_plain, use):
    assert use("imported", plain[1])[0] == loaded_plain[0]
