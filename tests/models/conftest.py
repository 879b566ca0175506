"""Fixtures for the plain models: encoders of every family that they cover, batches, and steps of SGD."""

import pytest
import torch
import transformers

from dlfa_adapters.models import DLFAForSequenceClassification, DLFAForTokenClassification, register_auto_classes

register_auto_classes()

FAMILIES = (
    "albert", "bert", "bert-generation", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mt5",
    "roberta", "xlm-roberta", "xmod",
)  # fmt: skip

_MODERNBERT = {
    "vocab_size": 100, "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1,
    "sep_token_id": 2, "global_attn_every_n_layers": 2, "local_attention": 8,
}  # fmt: skip
_MT5 = {"vocab_size": 100, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 4, "num_heads": 2}
_DRY = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@pytest.fixture(scope="session")
def encoder_config(tiny_config):
    """encoder_config("mt5"): like tiny_config, with the families that adapters has no heads for."""

    def build(family="bert", **changes):
        if family == "modernbert":
            return transformers.ModernBertConfig(**{**_MODERNBERT, **changes})
        if family == "mt5":
            return transformers.MT5Config(**{**_MT5, **changes})
        return tiny_config(family, **changes)

    return build


@pytest.fixture(scope="session")
def encoder(encoder_config):
    """encoder("bert"): the bare encoder as Transformers builds it, in eval mode; BERT's kind with its pooler."""

    def build(family="bert", seed=0, **changes):
        torch.manual_seed(seed)
        auto = transformers.AutoModelForTextEncoding if family == "mt5" else transformers.AutoModel
        return auto.from_config(encoder_config(family, **changes)).eval()

    return build


@pytest.fixture(scope="session")
def tagger(encoder):
    """tagger("bert", norm="layer"): a model of three labels without dropout in the encoder, fuse layer 2 of 4."""

    def build(family="bert", seed=0, **options):
        dry = _DRY if family == "bert" else {}
        model = encoder(family, seed, **dry)
        return DLFAForTokenClassification.from_encoder(
            model, options.pop("fuse_layer", 2), **{"num_labels": 3, "classifier_dropout": 0.0, **options}
        )

    return build


@pytest.fixture(scope="session")
def classifier(encoder):
    """classifier(num_labels=2): the same for texts."""

    def build(family="bert", seed=0, **options):
        model = encoder(family, seed, **(_DRY if family == "bert" else {}))
        return DLFAForSequenceClassification.from_encoder(
            model, options.pop("fuse_layer", 2), **{"num_labels": 3, "classifier_dropout": 0.0, **options}
        )

    return build


@pytest.fixture
def pieces():
    """Four sentences of 7 pieces, two of them padded on the right, with labels."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(5, 95, (4, 7), generator=generator)
    mask, labels = torch.ones_like(ids), torch.randint(0, 3, (4, 7), generator=generator)
    for row, length in ((1, 5), (3, 2)):
        ids[row, length:], mask[row, length:], labels[row, length:] = 1, 0, -100
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@pytest.fixture(scope="session")
def sgd():
    """sgd(model, batch, 5): steps of SGD with learning rate 0.1; the gradients of the last step by name."""

    def steps(model, batch, count=5):
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
        model.train()
        for _ in range(count):
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()
        model.eval()
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}

    return steps


@pytest.fixture
def logits(pieces):
    """logits(model): scores of the four sentences."""

    @torch.no_grad()
    def run(model, **changes):
        inputs = {name: value for name, value in pieces.items() if name != "labels"}
        return model(**{**inputs, **changes}).logits

    return run
