"""Rates of the head that are tried: the best one on dev is kept, written down, and what lies beyond it is named."""

import pytest

from dlfa_adapters.learning.ranges import at_the_edge
from dlfa_cli.options import rates


def test_the_best_one_is_in_the_run_and_its_neighbour_on_the_screen(start, tmp_path, caplog):
    tried = (1e-2, 1e-6, 1e-4)
    options = {"fuse_layer": 2, "learning_rate": None, "head_learning_rate": tried, "epochs": 20}
    run, _ = start("ner", tmp_path / "run", "features", **options)
    training = run.config["training"]
    assert list(training["rates_tried"]) == ["1e-06", "0.0001", "0.01"]
    assert max(training["rates_tried"], key=training["rates_tried"].get) == "0.01"
    assert training["head_learning_rate"] == 0.01
    assert at_the_edge("highest", 1e-2, tried) in caplog.text


@pytest.mark.parametrize(
    ("end", "rate", "wanted"),
    [("highest", 3e-2, (3e-3, 1e-2, 3e-2, 9e-2)), ("lowest", 3e-3, (1e-3, 3e-3, 1e-2, 3e-2))],
)
def test_what_is_said_can_be_typed(end, rate, wanted):
    said = at_the_edge(end, rate, [1e-2, 3e-3, 3e-2])
    assert said.startswith(f"The best learning rate of the head, {rate:g}, is the {end} of those tried; try --head-lr ")
    assert rates(said.split("--head-lr ")[1].split()[0].removesuffix("."), "--head-lr") == wanted
