"""Mean-difference shift: the equation in every family and under every head, hooks that go, threads, refusals."""

import threading
from types import SimpleNamespace

import pytest
import torch
from adapters.composition import Stack
from peft import LoraConfig, get_peft_model
from transformers import BertForMaskedLM, BertForSequenceClassification, BertModel

from dlfa_adapters.encoders.cache import cached_states
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.means_record import MeanOf, MeansRecord
from dlfa_adapters.encoders.parts import encoder_of, layer_fingerprints
from dlfa_adapters.encoders.shift import Shift, shift_language
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError, UnsupportedModelError
from dlfa_adapters.models import DLFAForTokenClassification


def means_of(model):
    """Means of en, de and sw as if they had been computed of this model."""
    prints = layer_fingerprints(model)
    depth, random = len(prints) - 1, torch.Generator().manual_seed(1)
    tensors = {language: torch.randn(depth + 1, 16, generator=random) for language in ("en", "de", "sw")}
    made_of = {language: MeanOf(10, 2, "text", {}, prints) for language in tensors}
    return LanguageMeans(MeansRecord({"name": "tiny", "num_hidden_layers": depth}, "pieces", 128, made_of), tensors)


def hooks_in(model):
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


@torch.no_grad()
def states(model, batch):
    outputs = encoder_of(model)(**batch, output_hidden_states=True)
    return [*outputs.hidden_states[:-1], outputs.last_hidden_state]


def test_the_state_moves_by_alpha_times_target_minus_source(tiny_model, family, batch):
    """In every layer of every family: what is below stays to the bit, the layer moves, what is above follows."""
    model = tiny_model(family)
    means, raw = means_of(model), states(model, batch)
    for layer in (1, 2, 4):
        given = {"source": "de", "target": "en", "layer": layer, "alpha": 0.7}
        if family == "albert" and layer < 4:
            with pytest.raises(ConfigError, match=r"blocks of albert share their weights.*type 4, the last layer"):
                with shift_language(model, means, **given):
                    pass
            continue
        with shift_language(model, means, **given):
            moved = states(model, batch)
        vector = 0.7 * (means.of("en")[layer] - means.of("de")[layer])
        for k in range(layer):
            assert torch.equal(moved[k], raw[k])
        torch.testing.assert_close(moved[layer], raw[layer] + vector, rtol=0, atol=1e-6)
        assert all(not torch.allclose(moved[k], raw[k], atol=1e-3) for k in range(layer, 5))
        assert all(torch.equal(a, b) for a, b in zip(states(model, batch), raw, strict=True))


def test_the_blocks_above_read_the_shifted_state(tiny_model):
    """By hand, block after block of a plain BERT."""
    model = tiny_model("bert")
    encoder, means = BertModel(model.config).eval(), means_of(model)
    encoder.load_state_dict(model.base_model.state_dict(), strict=False)
    ids = torch.arange(5, 12)[None]
    vector = 1.5 * (means.of("en")[2] - means.of("sw")[2])
    with torch.no_grad():
        state = encoder.embeddings(ids)
        for number, block in enumerate(encoder.encoder.layer, 1):
            state = block(state)[0] + (vector if number == 2 else 0)
        with shift_language(encoder, means, source="sw", target="en", layer=2, alpha=1.5):
            found = encoder(ids)
    torch.testing.assert_close(found.last_hidden_state, state)
    torch.testing.assert_close(found.pooler_output, encoder.pooler(state))


def test_alpha_0_is_the_identity_to_the_bit(tiny_model, batch):
    model = tiny_model("bert")
    raw, before = states(model, batch), hooks_in(model)
    with shift_language(model, means_of(model), source="de", target="en", layer=2, alpha=0.0) as shift:
        assert hooks_in(model) == before
        assert all(torch.equal(a, b) for a, b in zip(states(model, batch), raw, strict=True))
    assert shift.identity == ""


@pytest.mark.parametrize("layer", [1, 3, 4])
def test_there_and_back_again(tiny_model, batch, layer):
    model = tiny_model("xlm-roberta")
    means, raw = means_of(model), states(model, batch)
    with shift_language(model, means, source="de", target="en", layer=layer):
        with shift_language(model, means, source="en", target="de", layer=layer):
            back = states(model, batch)
        there = states(model, batch)
    for a, b in zip(raw, back, strict=True):
        torch.testing.assert_close(b, a, rtol=0, atol=1e-6)
    assert not torch.allclose(there[layer], raw[layer], atol=1e-2)


def test_two_shifts_nest(tiny_model, batch):
    """At two layers, in either order; at one layer their vectors add up."""
    model = tiny_model("bert")
    means = means_of(model)
    low = {"source": "de", "target": "en", "layer": 1, "alpha": 0.3}
    high = {"source": "sw", "target": "en", "layer": 3, "alpha": 2.0}
    with shift_language(model, means, **low), shift_language(model, means, **high):
        first = states(model, batch)
    with shift_language(model, means, **high), shift_language(model, means, **low):
        second = states(model, batch)
    with shift_language(model, means, **low):
        alone = states(model, batch)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    vector = 2.0 * (means.of("en")[3] - means.of("sw")[3])
    torch.testing.assert_close(first[3], alone[3] + vector)
    raw = states(model, batch)
    with shift_language(model, means, **low), shift_language(model, means, **{**high, "layer": 1}):
        both = states(model, batch)
    added = 0.3 * means.difference("de", "en", 1) + 2.0 * means.difference("sw", "en", 1)
    torch.testing.assert_close(both[1], raw[1] + added)


@pytest.mark.parametrize("layer", [2, 4])
def test_leaving_removes_every_hook_also_after_an_exception(tiny_model, batch, layer):
    model = tiny_model("bert")
    means, raw, before = means_of(model), states(model, batch), hooks_in(model)
    forwards = [vars(module).get("forward") for module in model.modules()]
    given = {"source": "de", "target": "en", "layer": layer}
    with shift_language(model, means, **given):
        assert hooks_in(model) == before + 1
    assert hooks_in(model) == before
    with pytest.raises(TypeError), shift_language(model, means, **given), shift_language(model, means, **given):
        states(model, {"no": "batch"})
    assert hooks_in(model) == before
    assert [vars(module).get("forward") for module in model.modules()] == forwards
    assert all(torch.equal(a, b) for a, b in zip(states(model, batch), raw, strict=True))


@pytest.mark.parametrize("layer", [2, 4])
def test_threads_do_not_see_each_others_shift(tiny_model, batch, layer):
    model = tiny_model("bert")
    means, raw = means_of(model), states(model, batch)
    alphas, alone, found, meet = (0.0, 0.5, 1.0, 2.0), {}, {}, threading.Barrier(5, timeout=60)
    for alpha in alphas:
        with shift_language(model, means, source="de", target="en", layer=layer, alpha=alpha):
            alone[alpha] = states(model, batch)

    def work(alpha):
        with shift_language(model, means, source="de", target="en", layer=layer, alpha=alpha):
            meet.wait()
            found[alpha] = states(model, batch)
            meet.wait()

    threads = [threading.Thread(target=work, args=(alpha,)) for alpha in alphas]
    for thread in threads:
        thread.start()
    meet.wait()
    outside = states(model, batch)  # while all four are in their contexts
    meet.wait()
    for thread in threads:
        thread.join()
    assert all(torch.equal(a, b) for a, b in zip(outside, raw, strict=True))
    for alpha in alphas:
        assert all(torch.equal(a, b) for a, b in zip(found[alpha], alone[alpha], strict=True)), alpha
    assert len({tuple(each[4].flatten().tolist()) for each in alone.values()}) == 4


def test_a_replica_of_data_parallel_is_refused(tiny_model, batch):
    """It would run in a thread of its own, and so without the shift."""
    model = tiny_model("bert")
    block = model.base_model.encoder.layer[1]
    block._is_replica = True
    with shift_language(model, means_of(model), source="de", target="en", layer=2):
        with pytest.raises(RunError, match=r"does not reach the threads of nn.DataParallel; use one GPU, or torchrun"):
            states(model, batch)


def test_dlfa_heads_read_shifted_states(tiny_model, batch):
    """On adapters, over LoRA and a language adapter; at the fused layer, below it and at the last."""
    model = tiny_model("bert")
    for name, config in (("de", "seq_bn"), ("ner", "lora")):
        model.add_adapter(name, config=config)
    model.add_dlfa_head("ner", head_type="tagging", num_labels=3, fuse_layer=2)
    model.set_active_adapters(Stack("de", "ner"))
    for parameter in model.parameters():
        parameter.data.add_(0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    model.eval()
    means, head = means_of(model), model.heads["ner"]
    with torch.no_grad():
        plain = model(**batch).logits
        for layer in (1, 2, 4):
            with shift_language(model, means, source="de", target="en", layer=layer):
                logits, shifted = model(**batch).logits, states(model, batch)
            fused = head.fusion(shifted[2], shifted[4], attention_mask=batch["attention_mask"])
            torch.testing.assert_close(logits, head.inner[-1](fused))
            assert not torch.allclose(logits, plain, atol=1e-3)
        assert torch.equal(model(**batch).logits, plain)
    model.set_active_adapters("ner")
    with pytest.raises(ConfigError, match="make means of this model"):  # another adapter, other states
        with shift_language(model, means, source="de", target="en", layer=2):
            pass


def test_masked_language_models_write_from_shifted_states(tiny_config, batch):
    """With PEFT's LoRA around them or without."""
    torch.manual_seed(0)
    model = BertForMaskedLM(tiny_config("bert")).eval()
    for wrapped in (model, get_peft_model(model, LoraConfig(target_modules=["query"], init_lora_weights=False)).eval()):
        means = means_of(wrapped)
        for layer in (2, 4):
            with torch.no_grad(), shift_language(wrapped, means, source="en", target="de", layer=layer, alpha=2.0):
                logits, last = wrapped(**batch).logits, states(wrapped, batch)[-1]
            torch.testing.assert_close(logits, model.cls(last))


def test_plain_models_of_this_library_and_stock_heads(tiny_model, tiny_config, batch):
    torch.manual_seed(0)
    plain = DLFAForTokenClassification.from_encoder(BertModel(tiny_config("bert")), fuse_layer=2, num_labels=3)
    stock = BertForSequenceClassification(tiny_config("bert")).eval()
    adapted = tiny_model("bert")
    adapted.add_classification_head("topic", num_labels=2)
    with torch.no_grad():
        for model in (plain, stock, adapted):
            before = model(**batch)[0]
            for layer in (2, 4):  # at the last one a pooler reads the shifted state
                with shift_language(model, means_of(model), source="de", target="en", layer=layer):
                    assert not torch.allclose(model(**batch)[0], before, atol=1e-3)
                    as_tuple = model(**batch, return_dict=False)[0]
                    torch.testing.assert_close(as_tuple, model(**batch)[0])
            assert torch.equal(model(**batch)[0], before)


def test_a_pooler_pools_the_shifted_state(tiny_config, batch):
    encoder = BertModel(tiny_config("bert")).eval()
    with torch.no_grad(), shift_language(encoder, means_of(encoder), source="de", target="en", layer=4):
        outputs, (last, pooled) = encoder(**batch), encoder(**batch, return_dict=False)
        states = encoder(**batch, output_hidden_states=True)
    assert states.hidden_states[-1] is states.last_hidden_state
    torch.testing.assert_close(outputs.pooler_output, encoder.pooler(outputs.last_hidden_state))
    torch.testing.assert_close((last, pooled), (outputs.last_hidden_state, outputs.pooler_output))


def test_gradients_are_those_of_the_shifted_model(tiny_config, batch):
    """With gradient checkpointing the blocks run a second time in the backward pass."""
    torch.manual_seed(0)
    model = BertForMaskedLM(tiny_config("bert", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)).train()
    gradients = []
    for checkpointing in (False, True):
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        model.zero_grad()
        with shift_language(model, means_of(model), source="de", target="en", layer=2):
            model(**batch, labels=batch["input_ids"]).loss.backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b)


def test_half_precision_stays(tiny_model, batch):
    model = tiny_model("bert")
    means = means_of(model)
    shift = Shift.between(means, "de", "en", 2)
    model.to(torch.bfloat16)
    with shift.applied(model):
        moved = states(model, batch)
    assert {each.dtype for each in moved} == {torch.bfloat16}


def test_cached_states_are_known_by_their_shift(tiny_model, tmp_path):
    model = tiny_model("bert")
    means, rows = means_of(model), [SimpleNamespace(input_ids=[5, 6, 7, 8]), SimpleNamespace(input_ids=[9, 10])]
    path, computed = tmp_path / "states.safetensors", []

    def cached(*given):
        computed.clear()
        changes = [Shift.between(means, *given)] if given else []
        found = cached_states(path, model, rows, 0, (2, 4), computed.append, changes).tokens.clone()
        expected = compute_states(model, rows, 0, layers=(2, 4), changes=changes).tokens
        assert torch.equal(found, expected)
        before = path.stat().st_mtime_ns
        cached_states(path, model, rows, 0, (2, 4), None, changes)
        assert path.stat().st_mtime_ns == before  # the same are taken
        return found

    given = [(), ("de", "en", 2, 1.0), ("de", "en", 2, 0.5), ("de", "en", 1, 1.0), ("de", "sw", 2, 1.0)]
    found = [cached(*each) for each in given]
    assert len({tuple(each.flatten().tolist()) for each in found}) == len(given)
    unshifted = cached()
    written = path.stat().st_mtime_ns
    cached_states(path, model, rows, 0, (2, 4), None, [Shift.between(means, "de", "en", 2, 0.0)])
    assert path.stat().st_mtime_ns == written  # by nothing: the same states
    assert torch.equal(unshifted, found[0])
    vector = torch.ones(16)
    assert len({Shift(v, layer).identity for v in (vector, 2 * vector) for layer in (1, 2)}) == 4


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"layer": 0}, "A shift is at a layer from 1 to 4 of this encoder, got 0"),
        ({"layer": 5}, "A shift is at a layer from 1 to 4 of this encoder, got 5"),
        ({"source": "fr"}, "means of en, de, sw, but none of fr"),
        ({"target": "fr"}, "means of en, de, sw, but none of fr"),
        ({"alpha": float("nan")}, "alpha must be a finite number, got nan"),
        ({"alpha": float("inf")}, "alpha must be a finite number, got inf"),
    ],
)
def test_what_cannot_be(tiny_model, given, sentence):
    model = tiny_model("bert")
    before = hooks_in(model)
    with pytest.raises(ConfigError, match=sentence):
        with shift_language(model, means_of(model), **{"source": "de", "target": "en", "layer": 2, **given}):
            pass
    assert hooks_in(model) == before


def test_means_of_another_encoder(tiny_model, tmp_path):
    means, given = means_of(tiny_model("bert", seed=1)), {"source": "de", "target": "en", "layer": 2}
    with pytest.raises(ConfigError, match=r"layer 2 is of tiny with fingerprint .*make means of this model"):
        with shift_language(tiny_model("bert"), means, **given):
            pass
    means.save(tmp_path / "means.safetensors")
    with shift_language(tiny_model("bert", seed=1), tmp_path / "means.safetensors", **given):
        pass
    with pytest.raises(DataError, match="there is none of this name"):
        with shift_language(tiny_model("bert"), tmp_path / "no.safetensors", **given):
            pass


def test_compiled_models_are_refused(tiny_model):
    """They would go on as they were compiled, without a word."""
    model = tiny_model("bert")
    means, given = means_of(model), {"source": "de", "target": "en", "layer": 2}
    with pytest.raises(ConfigError, match="A compiled model does not look at shifts"):
        with shift_language(torch.compile(model), means, **given):
            pass
    model.base_model.encoder.layer[3].compile()
    with pytest.raises(ConfigError, match="A compiled model does not look at shifts"):
        with shift_language(model, means, **given):
            pass


def test_encoders_that_collect_their_states_out_of_sight(tiny_model, monkeypatch):
    model = tiny_model("bert")
    monkeypatch.setattr(type(model.base_model), "_can_record_outputs", {"hidden_states": object})
    with pytest.raises(UnsupportedModelError, match="'bert' collects its states before anything can be added to them"):
        with shift_language(model, means_of(model), source="de", target="en", layer=2):
            pass
