"""`dlfa doctor`: says what is there and what is missing, whatever is broken, and never waits for long."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path

import pytest
from huggingface_hub import constants
from packaging.requirements import Requirement
from typer.testing import CliRunner

from dlfa_adapters.ground import environment
from dlfa_cli import doctor, probe
from dlfa_cli.main import app

FOUND = {
    "torch": {
        "version": "2.13.0+cu130", "cuda": "13.0", "mps": False, "threads": 8, "driver": True,
        "devices": [{"name": "NVIDIA X", "memory": 24 * 2**30, "free": 23 * 2**30, "bf16": True}],
    },
    "library": {"version": "9.9", "folder": "/x"},
    "offline": {"state": "ready in /c"},
    "hub": {"endpoint": "https://hub", "reachable": True, "reason": ""},
    "caches": [{"name": "dlfa_adapters", "folder": "/c", "bytes": 3 * 2**20, "whole": False}],
}  # fmt: skip


def run(monkeypatch, *arguments, **found):
    monkeypatch.setattr(doctor, "_probe", lambda: {**FOUND, **found})
    done = CliRunner().invoke(app, ["doctor", *arguments], catch_exceptions=False)
    return done.exit_code, done.stdout


def test_a_healthy_machine(monkeypatch):
    code, out = run(monkeypatch)
    assert code == 0
    for expected in (
        "NVIDIA X, 24 GiB (23 free), bf16 yes; CPU with 8 threads", "https://hub: answers", "ready in /c",
        "more than 3 MiB in /c", metadata.version("torch"), metadata.version("adapters"),
        "All that dlfa needs is there.",
    ):  # fmt: skip
        assert expected in " ".join(out.split()), expected


def test_json_holds_all(monkeypatch):
    code, out = run(monkeypatch, "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found) == set(FOUND) | {"python", "packages", "extras", "problems", "missing"}
    assert found["packages"]
    assert all(row["fits"] for row in found["packages"])


def test_what_is_missing_is_told_with_what_to_type(monkeypatch):
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name == "optuna" else metadata.version(name))
    requirements = [*doctor._requirements(), Requirement('optuna>=4; extra == "tune"')]
    monkeypatch.setattr(doctor, "_requirements", lambda: requirements)
    monkeypatch.setattr(doctor, "_extra_names", lambda: ["tune", "dev"])
    torch = {**FOUND["torch"], "devices": [], "version": "2.13.0+cpu"}
    hub = {"endpoint": "https://hub", "reachable": False, "reason": "does not answer (ConnectionError)"}
    code, out = run(monkeypatch, torch=torch, hub=hub)
    out = " ".join(out.split())
    assert code == 0
    assert "`dlfa tune` needs optuna; type: pip install 'dlfa-adapters[tune]'" in out
    assert "no GPU; CPU with 8 threads" in out
    assert "This machine has an NVIDIA driver, but PyTorch finds no GPU" in out
    assert "The hub does not answer" in out
    assert "dev" not in [row["name"] for row in doctor._extras()]


def test_what_nothing_works_without_is_exit_code_2(monkeypatch):
    needed = [Requirement("torch>=99"), Requirement("no-such-package>=1"), Requirement('x; extra == "demo"')]
    monkeypatch.setattr(doctor, "_requirements", lambda: needed)
    broken = {"library": {"error": "ImportError: no\nline"}, "caches": {"error": "x"}, "offline": {"error": "y"}}
    code, out = run(monkeypatch, **broken)
    out = " ".join(out.split())
    assert code == 2
    assert f"torch>=99 is needed, but {metadata.version('torch')} is installed; type: pip install 'torch>=99'" in out
    assert "no-such-package>=1 is needed, but it is not installed" in out
    assert "dlfa_adapters cannot be imported: ImportError: no" in out
    assert "All that dlfa needs" not in out


@pytest.mark.parametrize(
    ("program", "seconds", "said"),
    [
        ("import time; time.sleep(60)", 0.2, "nothing after 0.2 s"),
        ("import os; os.kill(os.getpid(), 6)", 20, "exit code -6"),
        ("raise ImportError('libcuda')", 20, "ImportError: libcuda"),
        ("print('no json')", 20, "exit code 0"),
    ],
)
def test_a_probe_that_hangs_or_crashes(program, seconds, said, monkeypatch):
    monkeypatch.setattr(doctor, "_SECONDS", seconds)
    monkeypatch.setattr(doctor, "PROBE", ["-c", program])
    found = doctor._probe()
    assert found["torch"] == {"error": said}
    assert set(found) == set(FOUND)


def test_the_probe_itself(monkeypatch, tmp_path):
    monkeypatch.setenv("DLFA_CACHE", str(tmp_path))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * 1000)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    found = json.loads(json.dumps(probe.probe()))
    assert set(found) == set(FOUND)
    assert not [name for name, part in found.items() if "error" in part]
    [ours] = [cache for cache in found["caches"] if cache["name"] == "dlfa_adapters"]
    assert 1000 <= ours["bytes"] < 2000
    assert (found["hub"]["reachable"], found["hub"]["reason"]) == (None, "not asked: HF_HUB_OFFLINE is set")


class Refuses(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(401)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def hub(monkeypatch):
    """hub("answers" | "silent" | "nobody"): the address of the hub is a port of this machine."""
    servers = []

    def start(kind):
        if kind == "answers":
            server = HTTPServer(("127.0.0.1", 0), Refuses)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers.append(server.shutdown)
            port = server.server_port
        else:
            server = socket.socket()
            server.bind(("127.0.0.1", 0))
            port = server.getsockname()[1]
            server.listen() if kind == "silent" else server.close()
            servers.append(server.close)
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(probe, "NETWORK_SECONDS", 0.3)
        monkeypatch.setattr(environment, "_SECONDS", 0.3)
        environment.hub_answers.cache_clear()

    from huggingface_hub.utils import reset_sessions

    reset_sessions()
    yield start
    for stop in servers:
        stop()
    environment.hub_answers.cache_clear()
    reset_sessions()


@pytest.mark.parametrize(("kind", "answers"), [("answers", True), ("silent", False), ("nobody", False)])
def test_whether_the_hub_answers(kind, answers, hub):
    hub(kind)
    found = probe._hub()
    assert found["reachable"] is answers
    assert found["reason"].startswith("" if answers else "does not answer")
    assert environment.hub_answers() is answers
    assert environment.only_cached("xlm-roberta-base") is not answers
    assert environment.only_cached(str(Path(__file__).parent)) is False


def test_every_extra_that_users_need_has_its_purpose():
    import re

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    [table] = re.findall(r"^\[project\.optional-dependencies\]\n(.*?)^\[", text, re.DOTALL | re.MULTILINE)
    extras = set(re.findall(r"^([a-z0-9-]+) = \[", table, re.MULTILINE))
    assert extras - set(doctor.DEVELOPERS) == set(doctor.EXTRAS)
