"""Paraphrase identification: PAWS-X, two classes, accuracy."""

from dlfa_adapters.tasks.base import Task

PAWSX = Task(
    name="pawsx",
    kind="classification",
    labels=("0", "1"),
    metric="accuracy",
    pair=True,
    parallel=True,
    fuse_layer_of_12=6,
    # The 7 languages of PAWS-X (Yang et al. 2019, arXiv 1908.11828).
    languages=tuple("de en es fr ja ko zh".split()),
)
