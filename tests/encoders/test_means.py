"""Means of languages: against the mean of all states at once, in constant memory, and files that fit one encoder."""

import gc
import json
import weakref

import numpy as np
import pytest
import torch
from adapters.composition import Stack
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import BertForMaskedLM, BertModel

from dlfa_adapters.encoders import means as means_module
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.means import CountedRow, LanguageMeans, mean_states
from dlfa_adapters.encoders.means_record import MeanOf, MeansRecord, read_record
from dlfa_adapters.encoders.parts import layer_fingerprints
from dlfa_adapters.ground.errors import ConfigError, DataError, RunError


def rows_of(number, longest=32, seed=0):
    """Rows of 3 to `longest` pieces; the first and the last one do not count."""
    random = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(number):
        length = int(torch.randint(3, longest + 1, (1,), generator=random))
        ids = torch.randint(5, 95, (length,), generator=random).tolist()
        rows.append(CountedRow(ids, None, [0.0, *[1.0] * (length - 2), 0.0]))
    return rows


def means_of(model, **vectors):
    """Means as if they had been computed: vectors of (layers, width) by language."""
    prints = layer_fingerprints(model)
    encoder = {"name": "tiny", "num_hidden_layers": len(prints) - 1, "hidden_size": 16}
    made_of = {language: MeanOf(10, 2, "text", {}, prints) for language in vectors}
    return LanguageMeans(MeansRecord(encoder, "pieces", 128, made_of), vectors)


@pytest.fixture
def means(tiny_model):
    random = torch.Generator().manual_seed(1)
    vectors = {language: torch.randn(5, 16, generator=random) for language in ("en", "de", "sw")}
    return means_of(tiny_model("bert"), **vectors)


def test_the_streaming_mean_is_the_direct_one_of_100_000_tokens(tiny_model):
    model, rows = tiny_model("bert"), rows_of(6100)
    counted = sum(sum(row.weights) for row in rows)
    assert counted > 90_000
    assert sum(len(row.input_ids) for row in rows) > 100_000
    found, count = mean_states(model, iter(rows), 0)
    assert count == counted
    states = compute_states(model, rows, 0, exact=True).tokens.numpy().astype(np.float64)
    inside = np.concatenate([row.weights for row in rows]).astype(bool)
    expected = states[inside].mean(0)
    assert np.abs(found.numpy() - expected).max() < 1e-6
    assert np.abs(found.numpy() - states.mean(0)).max() > 1e-3  # what does not count is told apart


def test_weights_are_those_of_a_mean(tiny_model):
    model, rows = tiny_model("bert"), rows_of(3, longest=8)
    weighted = [row._replace(weights=[0.5 * (i + 1) for i in range(len(row.input_ids))]) for row in rows]
    found, count = mean_states(model, weighted, 0, max_tokens=9)
    states = compute_states(model, rows, 0, exact=True).tokens.double()
    weights = torch.tensor([w for row in weighted for w in row.weights], dtype=torch.float64)
    expected = (weights[:, None, None] * states).sum(0) / weights.sum()
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-6)
    assert count == weights.sum().item()


def test_memory_does_not_depend_on_how_much_text_there_is(tiny_model):
    """Rows are made when they are needed and forgotten, and so are their states."""

    class Pieces(list):
        """Can be referred to weakly."""

    alive, most = set(), []

    def rows(number):
        for i in range(number):
            ids = Pieces([5, 6, 7])
            alive.add(i)
            weakref.finalize(ids, alive.discard, i)
            most.append(len(alive))
            yield CountedRow(ids, None, [1.0, 1.0, 1.0])

    tensors = []

    def count_tensors(done):
        tensors.append(sum(1 for each in gc.get_objects() if type(each) is torch.Tensor and each.dim() == 3))

    model = tiny_model("bert")
    mean_states(model, rows(6 * means_module._AT_ONCE), 0, on_progress=count_tensors)
    assert max(most) <= 2 * means_module._AT_ONCE  # those that are done, and the next ones
    assert len(tensors) >= 4
    assert max(tensors) <= min(tensors) + 1


def test_nothing_to_count(tiny_model):
    with pytest.raises(DataError, match="expected text, of which a mean is made, but there is none"):
        mean_states(tiny_model("bert"), [], 0)
    row = CountedRow([5, 6], None, [0.0, 0.0])
    with pytest.raises(DataError, match="but there is none"):
        mean_states(tiny_model("bert"), [row], 0)


def test_states_that_are_no_numbers(tiny_model):
    model = tiny_model("bert")
    with torch.no_grad():
        model.base_model.encoder.layer[1].output.dense.bias[0] = float("nan")
    with pytest.raises(RunError, match="not finite numbers"):
        mean_states(model, rows_of(2), 0)


def test_files_come_back(means, tmp_path):
    path = tmp_path / "means.safetensors"
    means.save(path)
    read = LanguageMeans.read(path)
    assert read.record == means.record == read_record(path)
    assert read.path == path
    assert read.digest == means.digest
    for language, tensor in means.tensors.items():
        assert torch.equal(read.of(language), tensor)
    assert path.stat().st_size < 20_000


def test_the_mean_difference_is_target_minus_source(means):
    """D_{L1 -> L2} = R_{L2} - R_{L1}."""
    expected = means.tensors["en"][3] - means.tensors["de"][3]
    assert torch.equal(means.difference("de", "en", 3), expected)
    with pytest.raises(ConfigError, match="means of en, de, sw, but none of fr; add them with: dlfa"):
        means.difference("fr", "en", 3)
    with pytest.raises(ConfigError, match="a layer from 1 to 4 of this encoder, got 5"):
        means.difference("de", "en", 5)


def test_what_is_no_file_of_means(means, tmp_path):
    path = tmp_path / "means.safetensors"
    for read in (LanguageMeans.read, read_record):
        with pytest.raises(DataError, match="expected a file of language means, but there is none of this name"):
            read(path)
    save_file({"a": torch.ones(1)}, path)
    with pytest.raises(DataError, match="as dlfa analyze means writes one, but this is none"):
        read_record(path)
    path.write_text("no tensors", "utf-8")
    with pytest.raises(DataError, match="but this is none"):
        read_record(path)
    means.save(path)
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(RunError, match="is damaged"):
        LanguageMeans.read(path)


def test_a_later_version(means, tmp_path):
    path = tmp_path / "means.safetensors"
    told = {**means.record.as_dict(), "format": 2}
    save_file({"en": torch.ones(1)}, path, {"about": json.dumps(told)})
    with pytest.raises(RunError, match="has language means format 2, this version reads format 1"):
        read_record(path)


def test_means_fit_the_layers_whose_weights_are_theirs(means, tiny_model):
    """Freezing the lower blocks leaves their states as they were."""
    model = tiny_model("bert")
    means.check_fits(model, range(5), ["en", "de"])
    with torch.no_grad():
        model.base_model.encoder.layer[2].output.dense.weight.mul_(1.1)
    means.check_fits(model, (0, 1, 2), ["en", "de"])
    for layer in (3, 4):
        with pytest.raises(ConfigError, match=f"the mean of en in layer {layer} is of tiny with fingerprint"):
            means.check_fits(model, [layer], ["en"])
    with pytest.raises(ConfigError, match=r"layer 2 is of tiny.*make means of this model with: dlfa analyze means"):
        means.check_fits(tiny_model("bert", seed=1), [2], ["en"])
    with pytest.raises(ConfigError, match="this model has no such layer there"):
        means.check_fits(tiny_model("bert", num_hidden_layers=3), [4], ["en"])


def test_plain_and_peft_models_have_the_encoder_of_adapters(means, tiny_model, tiny_config):
    plain = BertModel(tiny_config("bert"), add_pooling_layer=False).eval()
    plain.load_state_dict(tiny_model("bert").base_model.state_dict(), strict=False)
    means.check_fits(plain, range(5), ["en"])
    masked = BertForMaskedLM(tiny_config("bert"))
    masked.bert.load_state_dict(plain.state_dict())
    means.check_fits(masked, range(5), ["en"])
    wrapped = get_peft_model(masked, LoraConfig(target_modules=["query"]))
    means.check_fits(wrapped, [0], ["en"])
    means.check_fits(wrapped, range(5), [], others=["en"])
    with pytest.raises(ConfigError, match="layer 1"):
        means.check_fits(wrapped, [1], ["en"])


def test_fingerprints_know_the_adapters_that_are_active(tiny_model):
    model = tiny_model("bert")
    before = layer_fingerprints(model)
    assert len(set(before)) == 5
    for name in ("de", "ner"):
        model.add_adapter(name, config="seq_bn")
    assert layer_fingerprints(model) == before
    model.set_active_adapters("de")
    of_de = layer_fingerprints(model)
    model.set_active_adapters(Stack("de", "ner"))
    stacked = layer_fingerprints(model)
    assert [each.partition("+")[0] for each in stacked] == before
    assert of_de[0] == stacked[0] == before[0]  # adapters stand in blocks
    assert len({before[1], of_de[1], stacked[1]}) == 3
    model.delete_adapter("ner")
    model.set_active_adapters("de")
    assert layer_fingerprints(model) == of_de


def test_a_layer_depends_on_what_is_below_it(tiny_model, family):
    """Whatever weight changes: the fingerprint of a layer changes where its state does."""
    ids, model = torch.arange(5, 12)[None], tiny_model(family)
    with torch.no_grad():
        before, prints = model.base_model(ids, output_hidden_states=True).hidden_states, layer_fingerprints(model)
        for name, weight in model.base_model.named_parameters():
            if "adapter_fusion" in name or "pooler" in name or name.startswith("prompt_tuning"):
                continue
            as_it_was = weight.clone()
            weight.add_(torch.randn(weight.shape))
            after = model.base_model(ids, output_hidden_states=True).hidden_states
            moved = [not torch.equal(a, b) for a, b in zip(before, after, strict=True)]
            changed = [a != b for a, b in zip(prints, layer_fingerprints(model), strict=True)]
            assert all(c for m, c in zip(moved, changed, strict=True) if m), name
            weight.copy_(as_it_was)
    assert layer_fingerprints(model) == prints


def test_languages_are_added(means, tiny_model):
    more = means_of(tiny_model("bert"), fr=torch.ones(5, 16), en=torch.zeros(5, 16))
    both = means.with_languages(more)
    assert list(both.record.languages) == ["en", "de", "sw", "fr"] == list(both.tensors)
    assert not both.of("en").any()
    with pytest.raises(ConfigError, match="or the weights differ; write them to another file"):
        means.with_languages(means_of(tiny_model("bert", seed=1), fr=torch.ones(5, 16)))
