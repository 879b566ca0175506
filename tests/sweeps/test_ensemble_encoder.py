"""Stacked encoders compute what the encoder computes, and hold no more of its vocabulary than they need."""

import pytest
import torch

from dlfa_adapters.learning.ensemble.encoder import FAMILIES, StackedEncoder, why_not_stackable
from dlfa_adapters.learning.ensemble.vocabulary import Vocabulary


def stacked(model, pieces, members=3):
    words = model.base_model.embeddings.word_embeddings
    return StackedEncoder(model, members, Vocabulary(words.weight, pieces, [words.padding_idx]))


@pytest.mark.parametrize("name", FAMILIES)
def test_states_are_the_encoders(name, tiny_model, batch):
    model = tiny_model(name, **({"embedding_size": 16} if name == "electra" else {}))
    ids, mask = batch["input_ids"], batch["attention_mask"]
    ids[1, 5:] = model.config.pad_token_id
    ids[0, 2] = model.config.pad_token_id  # RoBERTa's positions do not count a piece that looks like padding
    types = torch.arange(7).expand(2, 7) % model.config.type_vocab_size
    encoder = stacked(model, ids[1].tolist())  # the pieces of the first text are in no training data
    for given in (None, types):
        with torch.no_grad():
            out = model.base_model(ids, attention_mask=mask, token_type_ids=given, output_hidden_states=True)
            states = encoder.states(ids, mask.bool(), given, depth=4, training=False)
        assert len(states) == 5
        for own, expected in zip(states, out.hidden_states, strict=True):
            for member in range(3):
                torch.testing.assert_close(own[member][mask.bool()], expected[mask.bool()], rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_come_back_as_they_went_in(name, tiny_model):
    model = tiny_model(name, **({"embedding_size": 16} if name == "electra" else {}))
    state, own = stacked(model, [7, 8]).state_dict(1), model.base_model.state_dict()
    assert {key for key in own if "pooler" not in key and "prompt" not in key} == set(state)
    assert all(torch.equal(tensor, own[key]) for key, tensor in state.items())


def test_rows_that_no_member_has_shrink_as_weight_decay_shrinks_them():
    table = torch.randn(10, 4, generator=torch.Generator().manual_seed(0))
    vocabulary = Vocabulary(table, [3, 7, 3], [1])
    assert vocabulary.ids.tolist() == [1, 3, 7]
    rows = vocabulary.start().expand(2, 3, 4) + torch.tensor([1.0, 2.0]).view(2, 1, 1)  # members have moved
    vocabulary.decay([0.5, 1.0])
    vocabulary.decay([0.8, 0.9])
    found = vocabulary.embed(rows, torch.tensor([[7, 2]]), all_occur=False)
    for member, left in ((0, 0.4), (1, 0.9)):
        torch.testing.assert_close(found[member, 0, 0], table[7] + member + 1)
        torch.testing.assert_close(found[member, 0, 1], left * table[2])
        whole = vocabulary.whole(rows[member], member)
        torch.testing.assert_close(whole[[1, 3, 7]], table[[1, 3, 7]] + member + 1)
        torch.testing.assert_close(whole[[0, 2, 4, 5, 6, 8, 9]], left * table[[0, 2, 4, 5, 6, 8, 9]])


def test_dropout_is_drawn_for_each_member_and_only_in_training(tiny_model, batch):
    encoder = stacked(tiny_model(), range(100))
    ids = batch["input_ids"]
    training = encoder.states(ids, None, None, depth=4, training=True)[-1]
    assert not torch.equal(training[0], training[1])
    asked = encoder.states(ids, None, None, depth=4, training=False)[-1]
    assert torch.equal(asked[0], asked[1])


def test_what_cannot_be_stacked_says_why(tiny_model):
    assert why_not_stackable(tiny_model("bert")) is None
    assert "type 'distilbert'" in str(why_not_stackable(tiny_model("distilbert")))
    assert "projected" in str(why_not_stackable(tiny_model("electra")))
    assert "absolute positions" in str(why_not_stackable(tiny_model("bert", position_embedding_type="relative_key")))
