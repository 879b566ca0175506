"""The metrics are in the package: nothing fetched, no folder made; and which metric a task has."""

import os
import subprocess
import sys

import pytest

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds import ClassificationAccuracy, SpanF1, TokenAccuracy, XtremePosF1, metrics_for
from dlfa_adapters.tasks import NER, PAWSX, POS, XNLI, Task

SCRIPT = """
import gc, socket
gc.disable()  # importing takes most of the time
def refuse(*args, **kwargs):
    raise AssertionError("a metric opened a connection")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
from dlfa_adapters.kinds import ClassificationAccuracy, SpanF1, TokenAccuracy, XtremePosF1
tags = [["B-PER", "O"]]
print(SpanF1().compute(predictions=tags, references=tags)["span_f1_strict"],
      TokenAccuracy().compute(predictions=tags, references=tags)["accuracy"],
      XtremePosF1().compute(predictions=tags, references=tags)["xtreme_f1"],
      ClassificationAccuracy().compute(predictions=["a"], references=["a"])["accuracy"])
gc.freeze()
"""


def test_offline_and_without_touching_the_cache(tmp_path):
    home = tmp_path / "cache"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1", "HF_HOME": str(home)}
    environment.pop("HF_METRICS_CACHE", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1.0"] * 4
    assert not list(home.rglob("*f1*"))
    assert not list(home.rglob("*.arrow"))


def test_batches_are_added_as_with_every_metric_of_evaluate():
    metric = SpanF1()
    metric.add_batch(predictions=[["B-PER"]], references=[["B-PER"]])
    metric.add(prediction=["O"], reference=["B-LOC"])
    assert metric.compute()["span_f1_lenient"] == 2 / 3
    assert metric.name == "span_f1"


def test_a_metric_can_keep_its_data_on_disk(tmp_path):
    metric = TokenAccuracy(keep_in_memory=False, cache_dir=str(tmp_path))
    assert metric.compute(predictions=[["X"]], references=[["X"]])["accuracy"] == 1.0
    assert (tmp_path / "token_accuracy").is_dir()


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (NER, [SpanF1]),
        (POS, [TokenAccuracy, XtremePosF1]),
        (XNLI, [ClassificationAccuracy]),
        (PAWSX, [ClassificationAccuracy]),
        (Task(name="chunks", kind="tagging", labels=("O",), metric="accuracy"), [TokenAccuracy]),
    ],
)
def test_the_metrics_of_a_task(task, expected):
    assert [type(metric) for metric in metrics_for(task)] == expected


def test_a_metric_that_does_not_fit_is_refused():
    task = Task(name="topic", kind="classification", labels=("a",), metric="span_f1")
    with pytest.raises(ConfigError, match=r"got 'span_f1' for classification; type metric='accuracy'"):
        metrics_for(task)
