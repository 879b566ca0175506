"""Named entity recognition: WikiANN/PAN-X tags, span F1."""

from dlfa_adapters.tasks.base import Task

NER = Task(
    name="ner",
    kind="tagging",
    labels=("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"),
    metric="span_f1",
    fuse_layer_of_12=8,
    # XTREME's 40 languages (Hu et al. 2020, arXiv 2003.11080, Table 1).
    languages=tuple(
        "af ar bg bn de el en es et eu fa fi fr he hi hu id it ja jv ka kk ko ml mr ms my nl pt ru sw ta te th tl tr "
        "ur vi yo zh".split()
    ),
)
