"""Part-of-speech tagging: the 17 universal tags, accuracy."""

from dlfa_adapters.tasks.base import Task

POS = Task(
    name="pos",
    kind="tagging",
    labels=tuple("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()),
    metric="accuracy",
    fuse_layer_of_12=10,
    # XTREME's 33 languages (Hu et al. 2020, arXiv 2003.11080, Table 1).
    languages=tuple(
        "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th tl tr ur vi yo zh".split()
    ),
)
