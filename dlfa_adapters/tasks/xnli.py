"""Natural language inference: three classes, accuracy."""

from dlfa_adapters.tasks.base import Task

XNLI = Task(
    name="xnli",
    kind="classification",
    labels=("entailment", "neutral", "contradiction"),
    metric="accuracy",
    pair=True,
    parallel=True,
    fuse_layer_of_12=11,
    # The 15 languages of XNLI (Conneau et al. 2018, arXiv 1809.05053).
    languages=tuple("ar bg de el en es fr hi ru sw th tr ur vi zh".split()),
)
