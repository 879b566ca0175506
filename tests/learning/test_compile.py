"""`compile=True` compiles the fusion, once for batches of all sizes, and trains the same weights."""

import functools

import pytest
import torch


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("tuning", ["full", "lora", "peft-lora"])
def test_the_fusion_is_compiled_and_the_weights_are_the_same(tuning, start, logits, tmp_path, monkeypatch):
    options = {"fuse_layer": 2, "epochs": 2, "batch_size": 2, "precision": "fp32"}
    _, plain = start("ner", tmp_path / "plain", tuning, **options)
    _, begun = start("ner", tmp_path / "begun", tuning, **{**options, "max_steps": 1, "learning_rate": 1e-9})
    untrained = logits(begun.encoder.model, begun.encoder.tokenizer)
    graphs, seen = [], torch.compile

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", functools.partial(seen, backend=count, fullgraph=True))
    _, compiled = start("ner", tmp_path / "compiled", tuning, compile=True, **options)
    assert 2 <= len(graphs) <= 6  # training and dev, a batch of one sentence and of more; not one for each length
    want, got = (logits(plan.encoder.model, plan.encoder.tokenizer) for plan in (plain, compiled))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-3)  # biases under a batch norm follow noise
    assert not torch.allclose(got, untrained, atol=0.1)
