"""What the blocks of the documentation find when they run."""

import copy
import dataclasses
import functools
import json
import os

import datasets
import pytest
import torch
import transformers
from tiny_tokenizer import character_tokenizer

REAL = bool(os.environ.get("DLFA_DOCS_REAL"))
"""Run everything with the real offline encoder and whole samples, and compare figures too. Takes half an hour."""

HUB_NAMES = ("bert-base-multilingual-cased", "xlm-roberta-base")
"""Encoders that pages take from the hub: folders of these names in the working folder, which Transformers prefers."""


def tiny_encoder(folder, layers=12, positions=160):
    """A random BERT with as many layers as the real one, so that every layer that a page names exists."""
    tokenizer = character_tokenizer()
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=layers, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=positions,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="session")
def tiny_cache(tmp_path_factory):
    """A cache directory whose offline encoder is a tiny one: what a conversion leaves there, with other weights."""
    from dlfa_adapters.encoders import offline

    cache = tmp_path_factory.mktemp("cache")
    folder = cache / offline._FOLDER
    tiny_encoder(folder)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    (folder / offline._MANIFEST).write_text(json.dumps({"sizes": sizes}), "utf-8")
    return cache


@pytest.fixture(scope="session")
def small_trainings():
    """The first six items of each sample corpus, and one epoch where a page names none; the real ones take minutes."""
    from dlfa_adapters.data import sources
    from dlfa_adapters.demo import run_demo
    from dlfa_adapters.tuning import TUNINGS, encoder

    whole, read = sources._samples, functools.cache(sources.read_file)

    def first_six(path, reading):
        found = read(path, reading)
        return dataclasses.replace(found, items=list(map(copy.copy, found.items[:6])))

    def cut(*arguments):
        with pytest.MonkeyPatch.context() as within:
            within.setattr(sources, "read_file", first_six)
            return whole(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        if not REAL:
            patch.setattr(sources, "_samples", cut)
            patch.setitem(run_demo.__kwdefaults__, "epochs", 1)
            for owner, name in (*((tuning, "defaults") for tuning in TUNINGS.values()), (encoder, "BETO")):
                patch.setattr(owner, name, dataclasses.replace(getattr(owner, name), epochs=1, min_steps=0))
        yield


def load_panx(repo, config, split):
    """Stands for `datasets.load_dataset` of PAN-X, which is what pages take from the hub: ten sentences in Swahili."""
    from dlfa_adapters.data.places import sample_file
    from dlfa_adapters.data.readers import read_file
    from dlfa_adapters.tasks import NER

    assert (repo, config.split(".")[0]) == ("google/xtreme", "PAN-X"), f"there is no stand-in for {repo} {config}"
    items = read_file(sample_file("ner", "test", "sw")).items[:10]
    tags = [[NER.labels.index(tag) for tag in item.tags] for item in items]
    features = {"tokens": datasets.List(datasets.Value("string"))}
    features["ner_tags"] = datasets.List(datasets.ClassLabel(names=list(NER.labels)))
    columns = {"tokens": [item.words for item in items], "ner_tags": tags}
    return datasets.Dataset.from_dict(columns, features=datasets.Features(features))


@pytest.fixture(scope="session")
def reader_machine(tiny_cache, small_trainings):
    """The environment of a reader: the tiny encoder as the offline one, no hub, libraries' logging left alone."""
    import dlfa_cli.screen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load_dataset", load_panx)
        if not REAL:
            patch.setenv("DLFA_CACHE", str(tiny_cache))
        patch.setattr(dlfa_cli.screen, "quiet_libraries", lambda: None)  # it would silence the rest of the session
        yield
