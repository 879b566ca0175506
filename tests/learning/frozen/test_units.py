"""States of words and texts alone: those that a linear classifier on all tokens reads, and nothing lost."""

from types import SimpleNamespace

import pytest
import torch

from dlfa_adapters.encoders.load import load_encoder
from dlfa_adapters.learning.dataset import examples_of
from dlfa_adapters.learning.frozen import HeadSpec, OnStates, Rate, compute_states, predict_ids, train_heads, units
from dlfa_adapters.learning.frozen.units import unit_states
from dlfa_adapters.learning.settings import Settings
from dlfa_adapters.tasks import NER, classification_task

WORDS = [["Anna", "met", "Bob"], [], ["in", "Rome", "or", "Oslo"], ["abcdefgh"] * 40]
TAGS = [["B-PER", "O", "B-PER"], [], ["O", "B-LOC", "O", "B-LOC"], ["O"] * 40]
SHORT = Settings().changed(max_length=40, context=16)


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return load_encoder(str(tiny_folder))


def both(encoder, task, inputs, gold):
    examples = examples_of(task, inputs, gold, encoder.tokenizer, SHORT)
    pad = encoder.tokenizer.pad_token_id
    return OnStates.of(examples, compute_states(encoder.model, examples.rows, pad)), unit_states(
        encoder.model, examples, pad
    )


def test_words_have_the_states_of_their_first_pieces(encoder):
    whole, units = both(encoder, NER, WORDS, TAGS)
    assert sum(units.states.lengths()) == 47
    assert len(units.windows) > 4  # the long sentence is in several
    for data in (whole, units):
        assert data.tags == TAGS
    rows = range(len(units.windows))
    a, b = whole.batch(rows), units.batch(rows)
    assert torch.equal(a.states[:, :, a.positions], b.states[:, :, b.positions])
    assert torch.equal(a.places, b.places)
    assert sorted(b.places.tolist()) == list(range(47))


def test_texts_have_the_state_of_their_first_token(encoder):
    task = classification_task("mood", ["bad", "good"])
    whole, units = both(encoder, task, [("fine", None), ("so so", None), ("ugh", None)], ["good", "good", "bad"])
    assert units.states.lengths() == [1, 1, 1]
    firsts = torch.stack([whole.states.tokens_of([i])[0] for i in range(3)])
    assert torch.equal(units.states.tokens_of([0, 1, 2]), firsts)


def test_a_linear_head_learns_the_same(encoder):
    """On one batch an epoch, whose order then does not matter."""
    whole, units = both(encoder, NER, WORDS, TAGS)
    spec = HeadSpec.of("3", fusion="layer", fuse_layer=(3,))
    trained = [
        train_heads(
            [spec], data, None, NER.labels, lambda tags, labels: None, epochs=4, batch_size=99, rates=[Rate(0.1)]
        )
        for data in (whole, units)
    ]
    (a,), (b,) = trained
    for name, weight in a.state_dict.items():
        assert torch.allclose(weight, b.state_dict[name], atol=1e-5)
    assert torch.equal(predict_ids([a], whole, NER.labels), predict_ids([b], units, NER.labels))


def test_a_gpu_keeps_no_more_than_half_of_what_is_free(monkeypatch):
    """13 tokens, 5 states of 8 values in 16 bits are 1040 bytes."""
    config = SimpleNamespace(num_hidden_layers=4, hidden_size=8)
    model = SimpleNamespace(base_model=SimpleNamespace(device="cuda", config=config))
    for free, expected in ((2080, "cuda"), (2079, "cpu")):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device, free=free: (free, 0))
        assert units._room(model, 13, None).type == expected
    assert units._room(model, 13, [1, 2]).type == "cuda"
    model.base_model.device = "cpu"
    assert units._room(model, 10**12, None).type == "cpu"
