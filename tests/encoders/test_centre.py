"""Centred languages: what the encoder hands out, row by row, in cached states as in a model; what is refused."""

import threading
from types import SimpleNamespace

import pytest
import torch

from dlfa_adapters.encoders.centre import Centring
from dlfa_adapters.encoders.compute import compute_states
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.means_record import MeanOf, MeansRecord
from dlfa_adapters.ground.errors import ConfigError, RunError


@pytest.fixture
def means():
    random = torch.Generator().manual_seed(1)
    tensors = {language: torch.randn(5, 16, generator=random) for language in ("en", "de", "sw")}
    made_of = {language: MeanOf(10, 2, "text", {}, ["0"] * 5) for language in tensors}
    return LanguageMeans(MeansRecord({"name": "tiny", "num_hidden_layers": 4}, "pieces", 128, made_of), tensors)


@torch.no_grad()
def states(model, batch):
    outputs = model.base_model(**batch, output_hidden_states=True, return_dict=True)
    return [*outputs.hidden_states[:-1], outputs.last_hidden_state]


def test_rows_lose_the_means_of_their_languages_in_the_layers_that_are_read(tiny_model, family, batch, means):
    model = tiny_model(family)
    raw, centring = states(model, batch), Centring(means, (0, 2, 4))
    with centring.installed(model):
        with centring.reading(["de", "sw"]):
            several = states(model, batch)
        with centring.reading("de"):
            alone = states(model, batch)
    for k in range(5):
        taken = [means.of(language)[k] if k in (0, 2, 4) else torch.zeros(16) for language in ("de", "sw")]
        expected = torch.stack([raw[k][0] - taken[0], raw[k][1] - taken[1]])
        torch.testing.assert_close(several[k], expected, rtol=0, atol=1e-6)
        torch.testing.assert_close(alone[k], raw[k] - taken[0], rtol=0, atol=1e-6)
    assert all(torch.equal(a, b) for a, b in zip(states(model, batch), raw, strict=True))  # and it is gone


def test_the_last_state_alone(tiny_model, batch, means):
    """A head that reads nothing else does not ask for the others."""
    model, centring = tiny_model("bert"), Centring(means, (4,))
    raw = states(model, batch)
    with torch.no_grad(), centring.installed(model), centring.reading("en"):
        outputs = model.base_model(**batch)
        every = model.base_model(**batch, output_hidden_states=True)
    torch.testing.assert_close(outputs.last_hidden_state, raw[4] - means.of("en")[4], rtol=0, atol=1e-6)
    assert every.hidden_states[-1] is every.last_hidden_state


@pytest.mark.parametrize("layers", [(2, 4), (0, 1, 2, 3, 4), (4,)])
def test_cached_states_are_centred_when_they_are_handed_out(tiny_model, means, layers):
    rows = [SimpleNamespace(input_ids=ids) for ids in ([5, 6, 7, 8], [9, 10], [11, 12, 13], [14])]
    languages = ["de", "en", "sw", "de"]
    raw = compute_states(tiny_model("bert"), rows, 0, layers=layers, exact=True)
    before = raw.tokens.clone()
    found = Centring(means, (1,)).states(raw, languages)
    assert (found.layers, found.num_layers, found.width, found.device) == (layers, 4, 16, raw.device)
    assert found.lengths() == [4, 2, 3, 1]
    for i, language in enumerate(languages):
        expected = raw.tokens_of([i]) - means.of(language)[list(layers)]
        torch.testing.assert_close(found.tokens_of([i]), expected, rtol=0, atol=1e-6)
    mixed = torch.cat([found.tokens_of([i]) for i in (3, 0, 2)])
    assert torch.equal(found.tokens_of([3, 0, 2]), mixed)
    tensors, mask = found.batch([1, 0], layers[-1:])
    assert mask.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert not tensors[0, 0, 2:].any()  # padding stays zero
    assert torch.equal(raw.tokens, before)


def test_without_a_language_it_refuses_to_read(tiny_model, batch, means):
    model = tiny_model("bert")
    spoken = SimpleNamespace(language=None)
    centring = Centring(means, (2, 4), lambda: spoken.language)
    handle, raw = centring.install(model), states(tiny_model("bert"), batch)
    with pytest.raises(ConfigError, match="trained on centred languages, so it must be told the language"):
        states(model, batch)
    spoken.language = "de"
    torch.testing.assert_close(states(model, batch)[2], raw[2] - means.of("de")[2], rtol=0, atol=1e-6)
    with centring.reading("sw"):  # which is nearer
        torch.testing.assert_close(states(model, batch)[2], raw[2] - means.of("sw")[2], rtol=0, atol=1e-6)
    spoken.language = "fr"
    with pytest.raises(ConfigError, match="none of fr"):
        states(model, batch)
    with pytest.raises(ConfigError, match="none of fr"), centring.reading(["en", "fr"]):
        pass
    handle.remove()
    states(model, batch)


def test_each_thread_reads_its_own_language(tiny_model, batch, means):
    model, centring = tiny_model("bert"), Centring(means, (4,))
    raw, found, meet = states(model, batch), {}, threading.Barrier(3, timeout=60)

    def work(language):
        with centring.reading(language):
            meet.wait()
            found[language] = states(model, batch)[4]
            meet.wait()

    with centring.installed(model):
        threads = [threading.Thread(target=work, args=(language,)) for language in ("en", "de")]
        for thread in threads:
            thread.start()
        meet.wait()
        with pytest.raises(ConfigError, match="must be told the language"):  # this one has said nothing
            states(model, batch)
        meet.wait()
        for thread in threads:
            thread.join()
    for language in ("en", "de"):
        torch.testing.assert_close(found[language], raw[4] - means.of(language)[4], rtol=0, atol=1e-6)


def test_what_cannot_be_centred_is_refused(tiny_model, batch, means):
    model, centring = tiny_model("bert"), Centring(means, (4,))
    with centring.installed(model), centring.reading("en"):
        with pytest.raises(RunError, match="leave return_dict=False out"):
            model.base_model(**batch, return_dict=False)
        model.base_model._is_replica = True
        with pytest.raises(RunError, match="do not reach the threads of nn"):
            states(model, batch)
