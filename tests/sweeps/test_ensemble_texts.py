"""Pairs of texts: labels, token types and the first piece, as `train` has them."""

import torch

from dlfa_adapters.kinds.encoded import Row
from dlfa_adapters.learning.dataset import examples_of
from dlfa_adapters.learning.ensemble import start_ensemble
from dlfa_adapters.learning.ensemble.data import DeviceRows, Questions
from dlfa_adapters.learning.frozen import HeadSpec
from dlfa_adapters.learning.settings import make_settings
from dlfa_adapters.tasks import XNLI

CPU = torch.device("cpu")


def test_losses_and_answers_are_those_of_the_model(tiny_folder):
    from dlfa_adapters.encoders import load_encoder

    encoder = load_encoder(str(tiny_folder))
    labels = ["entailment", "neutral", "contradiction", "neutral"]
    pairs = [("Anna met Bob", "Bob"), ("far", "New York"), ("Rome fell", "b c"), ("a", "Q")]
    examples = examples_of(XNLI, pairs, labels, encoder.tokenizer, make_settings())
    examples.rows = [
        Row(row.input_ids, [i % 2 for i, _ in enumerate(row.input_ids)], row.labels) for row in examples.rows
    ]
    specs = [HeadSpec.of(name="last", fusion="last"), HeadSpec.of(name="D_1", fuse_layer=(1,), norm="layer", seed=3)]
    ensemble = start_ensemble(encoder.model, specs, XNLI, examples.rows, 0, CPU)
    [batch] = DeviceRows(examples.rows, 0, CPU).batches([range(4)])
    questions = Questions(examples, 0, CPU)
    answers = questions.ask(2, lambda batch: ensemble.logits(batch, training=False), "fp32")
    inputs = examples.collator(0)(examples.rows)
    for member, spec in enumerate(specs):
        torch.manual_seed(spec.seed)
        encoder.model.add_dlfa_head(
            "xnli",
            fusion=spec.head.fusion,
            fuse_layer=spec.head.layers or None,
            norm=spec.head.fusion_options.norm,
            layers=1,
            overwrite_ok=True,
        )
        with torch.no_grad():
            out = encoder.model.eval()(**inputs)
            logits = ensemble.logits(batch, training=False)[member]
        torch.testing.assert_close(logits, out.logits, rtol=0, atol=1e-5)
        assert answers[member].tolist() == out.logits.argmax(-1).tolist()
    gold = torch.tensor([row.labels for row in examples.rows])
    torch.testing.assert_close(
        torch.stack(
            [torch.nn.functional.cross_entropy(found, gold) for found in ensemble.logits(batch, training=False)]
        ),
        _losses_without_dropout(ensemble, batch),
    )


def _losses_without_dropout(ensemble, batch):
    ensemble.heads.dropout = 0.0
    ensemble.encoder.config.hidden_dropout_prob = ensemble.encoder.config.attention_probs_dropout_prob = 0.0
    return ensemble.losses(batch)
