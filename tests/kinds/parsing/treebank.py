"""A small treebank made of a grammar: trees that can be learned, with all that CoNLL-U has besides."""

import random

NOUNS = {"en": "cat dog fox cow hen".split(), "de": "kuh maus huhn wolf esel".split()}
VERBS = {"en": "sees bites likes".split(), "de": "sieht beisst mag".split()}
THE = {"en": ["the", "a"], "de": ["der", "ein"]}


def sentence(random_, language):
    """Words with part of speech, head and relation: DET NOUN VERB (DET NOUN) PUNCT, an object or a passive subject."""
    noun, verb, the = (random_.choice(table[language]) for table in (NOUNS, VERBS, THE))
    if random_.random() < 0.5:
        other = random_.choice(NOUNS[language])
        return [
            (the, "DET", 2, "det"),
            (noun, "NOUN", 3, "nsubj"),
            (verb, "VERB", 0, "root"),
            (THE[language][0], "DET", 5, "det"),
            (other, "NOUN", 3, "obj"),
            (".", "PUNCT", 3, "punct"),
        ]
    return [
        (the, "DET", 2, "det"),
        (noun, "NOUN", 3, "nsubj:pass"),
        (verb, "VERB", 0, "root"),
        (".", "PUNCT", 3, "punct"),
    ]


def sentences(count, language="en", seed=0):
    random_ = random.Random(seed)
    return [sentence(random_, language) for _ in range(count)]


def rows_of(words):
    return [
        f"{i}\t{word}\t_\t{upos}\t_\t_\t{head}\t{deprel}\t_\t_" for i, (word, upos, head, deprel) in enumerate(words, 1)
    ]


def conllu(trees, ids=True):
    """Sentences as CoNLL-U; the first has a range and an empty node."""
    lines = []
    for number, words in enumerate(trees):
        rows = rows_of(words)
        if number == 0:
            range_ = ["1-2", words[0][0] + words[1][0], *"________"]
            empty = [f"{len(words)}.1", "e", *"______", "0:exroot", "_"]
            rows = ["\t".join(range_), *rows, "\t".join(empty)]
        lines += [*([f"# sent_id = s{number}"] if ids else []), *rows, ""]
    return "\n".join(lines) + "\n"


def write(path, trees, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(conllu(trees, **options), "utf-8")
    return path


OPTIONS = {"language": "en", "fuse_layer": 2, "batch_size": 8, "learning_rate": 5e-3, "head_learning_rate": 5e-3}
"""Of a training that learns the grammar in some seconds."""


def toy_treebanks(folder):
    """UD's layout: a folder of treebanks, English with train and dev; one dev sentence longer than a training row."""
    write(folder / "UD_English-Toy" / "en_toy-ud-train.conllu", sentences(60, seed=1))
    long = [("the", "DET", 2, "det"), ("cat", "NOUN", 40, "nsubj")]
    long += [(".", "PUNCT", 40, "punct")] * 37 + [("sees", "VERB", 0, "root")]
    write(folder / "UD_English-Toy" / "en_toy-ud-dev.conllu", [*sentences(12, seed=2), long])
    write(folder / "UD_English-Toy" / "en_toy-ud-test.conllu", sentences(15, seed=3))
    write(folder / "UD_German-Toy" / "de_toy-ud-test.conllu", sentences(10, "de", seed=4))
    return folder
