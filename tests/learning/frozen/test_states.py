"""States of a frozen encoder: those of the model, in the order of the windows, whatever the batching."""

import copy

import torch

from dlfa_adapters.encoders.states import states_of
from dlfa_adapters.learning.frozen import StreamedStates, compute_states


def test_states_are_the_models_and_in_order(encoder, tagged):
    for i, window in enumerate(tagged.windows):
        ids = torch.tensor([window.input_ids])
        with torch.no_grad():
            out = encoder.model.base_model(ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
        states, mask = tagged.states.batch([i], range(4))
        assert mask.sum() == ids.numel()
        for k in range(3):
            torch.testing.assert_close(states[k, 0], out.hidden_states[k][0], rtol=0, atol=5e-3)  # kept in 16 bits
        torch.testing.assert_close(states[3, 0], out.last_hidden_state[0], rtol=0, atol=5e-3)


def test_the_last_state_is_the_one_that_the_encoder_gives_out(encoder, tagged):
    """An encoder may norm it once more, so that it is not the last of its hidden states."""
    model, windows = copy.deepcopy(encoder.model), tagged.windows[:1]

    def norm_once_more(module, inputs, output):
        output.last_hidden_state = torch.nn.functional.layer_norm(3 * output.last_hidden_state + 1, (16,), eps=0.1)
        return output

    plain = states_of(model, windows, 0, range(4))
    model.base_model.register_forward_hook(norm_once_more)
    normed = states_of(model, windows, 0, range(4))
    assert torch.equal(normed[:, :3], plain[:, :3])
    expected = torch.nn.functional.layer_norm(3 * plain[:, 3] + 1, (16,), eps=0.1)
    torch.testing.assert_close(normed[:, 3], expected)
    assert not torch.allclose(normed[:, 3], plain[:, 3], atol=1e-3)


def test_batches_are_padded_with_zeros_and_masked(tagged):
    order = [2, 0, 1]
    states, mask = tagged.states.batch(order, [1, 3])
    lengths = tagged.states.lengths()
    assert states.shape[:3] == (2, 3, max(lengths[i] for i in order))
    for row, i in enumerate(order):
        assert mask[row].tolist() == [1] * lengths[i] + [0] * (mask.shape[1] - lengths[i])
        assert states[:, row, lengths[i] :].abs().sum() == 0
        alone, _ = tagged.states.batch([i], [1, 3])
        assert torch.equal(states[:, row, : lengths[i]], alone[:, 0])


def test_the_token_budget_changes_nothing_but_rounding(encoder, tagged):
    small = compute_states(encoder.model, tagged.windows, encoder.tokenizer.pad_token_id, max_tokens=40)
    torch.testing.assert_close(small.tokens.float(), tagged.states.tokens.float(), rtol=0, atol=5e-3)
    assert small.offsets == tagged.states.offsets


def test_every_word_has_one_position_and_one_place(tagged):
    batch = tagged.batch(list(range(len(tagged.windows))))
    total = sum(len(sentence) for sentence in tagged.words)
    assert len(batch.positions) == total == tagged.counts.words_total
    assert tagged.counts.n_giant == 1  # the word of 60 letters
    assert sorted(batch.places.tolist()) == list(range(total))
    pieces = [piece for window in tagged.windows for piece in window.input_ids]
    firsts = [w.input_ids[start] for w in tagged.windows for start, _ in w.pieces]
    assert [pieces[i] for i in batch.positions.tolist()] == firsts
    gold = [
        tagged.tags[tagged.windows[i].sentence][word]
        for i in range(len(tagged.windows))
        for word in tagged.windows[i].words
    ]
    in_order = [""] * total
    for place, tag in zip(batch.places.tolist(), gold, strict=True):
        in_order[place] = tag
    assert tagged.by_sentence(in_order) == tagged.tags


def test_a_batch_without_padding_is_the_padded_one(tagged):
    order = [2, 0, 1]
    batch = tagged.batch(order)
    states, mask, positions = batch.padded()
    expected, expected_mask = tagged.states.batch(order, range(4))
    assert torch.equal(states, expected)
    assert torch.equal(mask, expected_mask)
    flat = states.flatten(1, 2)
    assert torch.equal(flat[:, positions], batch.states[:, :, batch.positions].transpose(1, 2))
    torch.testing.assert_close(
        batch.states @ batch.mean, (expected.sum(2) / mask.sum(1, keepdim=True)).transpose(1, 2), rtol=0, atol=1e-6
    )


def test_states_too_large_for_float16_are_the_same_kept_and_computed_anew(encoder, tagged):
    model, windows = copy.deepcopy(encoder.model), tagged.windows
    with torch.no_grad():
        next(block for _, block in model.iter_layers()).output.LayerNorm.weight[3] = 1e5
    kept, streamed = compute_states(model, windows, 0), StreamedStates(model, windows, 0, tagged.states.layers)
    everything = range(len(windows))
    assert kept.tokens_of(everything).max() > torch.finfo(torch.float16).max
    torch.testing.assert_close(streamed.tokens_of(everything), kept.tokens_of(everything), rtol=1e-2, atol=1e-2)


def test_progress_counts_every_window(encoder, tagged):
    done = []
    compute_states(encoder.model, tagged.windows, 0, max_tokens=40, on_progress=done.append)
    assert sum(done) == len(tagged.windows)
