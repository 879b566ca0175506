"""A head trained on states, put on the model, gives the logits that it gave on states."""

import pytest
import torch

from dlfa_adapters.kinds.loss import Accuracy as accuracy
from dlfa_adapters.kinds.tagging.tagger import Tagger
from dlfa_adapters.learning.features import add_trained_head
from dlfa_adapters.learning.frozen import HeadSpec, predict_heads, train_heads
from dlfa_adapters.learning.frozen.module import FusionClassifier
from dlfa_adapters.tasks import NER

SPECS = [
    HeadSpec.of(name="last", fusion="last"),
    HeadSpec.of(name="D_2", fuse_layer=(2,), gate="attention"),
    HeadSpec.of(name="mix", fusion="scalar_mix"),
    HeadSpec.of(name="layer", fusion="layer", fuse_layer=(1,)),
    HeadSpec.of(name="nested", fuse_layer=(2, 1), branches="local", norm="none"),
]


@pytest.fixture(scope="module")
def trained(tagged):
    return train_heads(SPECS, tagged, tagged, NER.labels, accuracy, epochs=20, learning_rate=1e-2, batch_size=3)


@pytest.mark.parametrize("which", range(len(SPECS)), ids=[spec.name for spec in SPECS])
def test_model_logits_equal_the_heads_own(which, trained, tagged, encoder):
    head = trained[which]
    add_trained_head(encoder.model, "ner", head, NER.labels)
    assert encoder.model.active_head == "ner"
    module = FusionClassifier(head.spec, 16, 3, 7).eval()
    module.load_state_dict(head.state_dict)
    ids = torch.tensor([tagged.windows[0].input_ids])
    mask = torch.ones_like(ids)
    with torch.no_grad():
        out = encoder.model.base_model(ids, attention_mask=mask, output_hidden_states=True)
        every = [*out.hidden_states[:-1], out.last_hidden_state]
        states = torch.stack([every[k] for k in head.spec.head.states(3)])
        expected = module(states, mask, torch.arange(ids.numel()))
        logits = encoder.model(input_ids=ids, attention_mask=mask).logits
    torch.testing.assert_close(logits[0], expected, rtol=0, atol=1e-5)


def test_the_tagger_gives_the_tags_of_the_sweep(trained, tagged, encoder):
    add_trained_head(encoder.model, "ner", trained[1], NER.labels)
    tagger = Tagger(encoder.model, encoder.tokenizer, NER.labels, max_length=32, context=16)
    assert tagger.predict(tagged.words) == predict_heads(trained, tagged, NER.labels)[1]
    assert tagger.counts.words_total == sum(map(len, tagged.words))
