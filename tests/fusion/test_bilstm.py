"""The LSTM between fusion and classifier reads real tokens alone, in their order, whatever the padding and its side."""

import pytest
import torch

from dlfa_adapters.fusion import BiLSTM, make_bilstm

from .batches import pad, random_sentences, unpad

LENGTHS = (4, 1, 7)


@pytest.fixture
def lstm():
    torch.manual_seed(0)
    return BiLSTM(8, hidden=3).double().eval()


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("length", [7, 12])
def test_each_sentence_is_read_as_if_it_were_alone(lstm, side, length):
    sentences = random_sentences(0, LENGTHS, 8)
    states, mask = pad(sentences, length, side, fill=5.0)
    found = lstm(states, mask)
    assert found.shape == (3, length, 6)
    assert (found[mask == 0] == 0).all()
    for row, sentence in zip(unpad(found, mask), sentences, strict=True):
        torch.testing.assert_close(row, lstm.lstm(sentence[None])[0][0])
        torch.testing.assert_close(row, lstm(sentence[None])[0])
        assert len(sentence) == 1 or not torch.allclose(row, lstm(sentence.flip(0)[None])[0])  # the order matters


def test_padding_may_stand_anywhere(lstm):
    [sentence] = random_sentences(1, (3,), 8)
    states = torch.full((1, 6, 8), 9.0, dtype=torch.float64)
    states[0, [1, 2, 4]] = sentence
    mask = torch.tensor([[0, 1, 1, 0, 1, 0]])
    torch.testing.assert_close(lstm(states, mask)[0, [1, 2, 4]], lstm(sentence[None])[0])


def test_a_row_without_tokens_does_no_harm(lstm):
    states, mask = pad(random_sentences(0, (4, 2), 8))
    mask[1] = 0
    lstm.train()(states, mask)[0].sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in lstm.parameters())
    assert all(parameter.grad.abs().max() > 0 for parameter in lstm.parameters())


def test_weights_are_drawn_anew(lstm):
    before = {name: value.clone() for name, value in lstm.state_dict().items()}
    lstm.reset_parameters()
    assert not any(torch.equal(value, before[name]) for name, value in lstm.state_dict().items())


def test_a_linear_classifier_has_none():
    assert make_bilstm("linear", 8, 256, 0.1) is None
    assert make_bilstm("bilstm", 8, 5, 0.0).lstm.hidden_size == 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("crf", 8, 5, 0.1), "classifier must be one of linear, bilstm; got 'crf'."),
        (("bilstm", 8, 0, 0.1), "lstm_hidden must be a whole number from 1 up, got 0; type lstm_hidden=256."),
        (("bilstm", 8, 5, 1.0), "lstm_dropout must lie in 0..1, 1 left out, got 1.0; type lstm_dropout=0.1."),
    ],
)
def test_refusals(values, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make_bilstm(*values)
