"""The biaffine head against its equations written out word by word; what masks hide; many heads as one."""

import math

import numpy as np
import pytest
import torch
from torch.func import functional_call, stack_module_state

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.parsing.biaffine import Biaffine, parsing_loss
from dlfa_adapters.kinds.parsing.options import BiaffineOptions

WIDTH, RELATIONS = 6, 4
WORD_IDS = torch.tensor([[0, 1, 1, 2, 3, 3, 3, 4, 0], [0, 2, 1, 1, 0, 0, 0, 0, 0]])  # word 2 of row 2 stands first
WORD_MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
UPOS = torch.tensor([[1, 0, 17, 3], [5, 5, 0, 0]])
ARCS = torch.tensor([[2, 0, 2, 3], [0, 1, -100, -100]])
RELS = torch.tensor([[1, 3, 0, 2], [3, -100, -100, -100]])
INF = float("inf")


def head(seed=0, **options):
    """A head whose weights are all other than zero."""
    torch.manual_seed(seed)
    module = Biaffine(WIDTH, RELATIONS, BiaffineOptions(**{"arc_size": 5, "rel_size": 3, **options}))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape) / 2)
    return module.eval()


@pytest.fixture
def states():
    return torch.randn(2, 9, WIDTH, generator=torch.Generator().manual_seed(1))


def by_hand(module, states, word_ids, word_mask, upos_ids=None):
    """Arc and relation scores of each row, in loops over words, float64."""
    weights = {name: parameter.detach().double().numpy() for name, parameter in module.named_parameters()}

    def mlp(name, state):
        hidden = weights[f"{name}.weight"] @ state + weights[f"{name}.bias"]
        return np.where(hidden > 0, hidden, 0.1 * hidden)

    rows = []
    for b in range(len(states)):
        count = int(word_mask[b].sum())
        words = []
        for w in range(1, count + 1):
            pieces = [states[b, p].double().numpy() for p in range(word_ids.shape[1]) if word_ids[b, p] == w]
            state = sum(pieces) / len(pieces)
            if upos_ids is not None:
                state = np.concatenate([state, weights["upos.weight"][upos_ids[b, w - 1]]])
            words.append(state)
        heads = [weights["root"], *words]
        arcs, rels = np.zeros((count, count + 1)), np.zeros((count, count + 1, RELATIONS))
        for i, dependent in enumerate(words):
            d, e = np.append(mlp("arc_dep", dependent), 1), np.append(mlp("rel_dep", dependent), 1)
            for j, other in enumerate(heads):
                h, g = mlp("arc_head", other), np.append(mlp("rel_head", other), 1)
                arcs[i, j] = d @ weights["arc_weight"] @ h
                for r in range(RELATIONS):
                    rels[i, j, r] = e @ weights["rel_weight"][r] @ g
        rows.append((arcs, rels))
    return rows


def close(found, expected):
    torch.testing.assert_close(found.double(), torch.as_tensor(expected), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("upos_size", [0, 2])
def test_scores_are_the_equations(upos_size, states):
    module = head(upos_size=upos_size)
    upos = UPOS if upos_size else None
    arcs, rels = module(states, word_ids=WORD_IDS, word_mask=WORD_MASK, upos_ids=upos)
    assert arcs.shape == (2, 4, 5)
    assert rels.shape == (2, 4, 5, RELATIONS)
    for b, (by_arc, by_rel) in enumerate(by_hand(module, states, WORD_IDS, WORD_MASK, upos)):
        count = len(by_arc)
        close(arcs[b, :count, : count + 1], by_arc)
        close(rels[b, :count, : count + 1], by_rel)
    hidden = arcs == -INF
    assert hidden.tolist() == [
        [[False] * 5] * 4,
        [[False, False, False, True, True]] * 2 + [[False, True, True, True, True]] * 2,
    ]


def test_the_state_of_a_word_is_the_mean_of_the_pieces_that_are_marked(states):
    module = head()
    first = torch.where(torch.tensor([1, 1, 0, 1, 1, 0, 0, 1, 1]) == 1, WORD_IDS, 0)[:1]
    alone = torch.stack([states[0, p] for p in (1, 3, 4, 7)])[None]
    marked = module(states[:1], word_ids=first, word_mask=WORD_MASK[:1])
    for found, expected in zip(marked, module(alone), strict=True):
        torch.testing.assert_close(found, expected)
    mean = torch.stack([states[0, 1:3].mean(0), states[0, 3], states[0, 4:7].mean(0), states[0, 7]])[None]
    for found, expected in zip(
        module(states[:1], word_ids=WORD_IDS[:1], word_mask=WORD_MASK[:1]), module(mean), strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_loss_is_two_means_over_the_words_with_a_head(states):
    module = head()
    rows = by_hand(module, states, WORD_IDS, WORD_MASK)
    total = 0.0
    for b, i in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]:
        arcs, rels = rows[b]
        gold, relation = int(ARCS[b, i]), int(RELS[b, i])
        total += math.log(np.exp(arcs[i]).sum()) - arcs[i, gold]
        if relation >= 0:
            total += math.log(np.exp(rels[i, gold]).sum()) - rels[i, gold, relation]
    scores = module(states, word_ids=WORD_IDS, word_mask=WORD_MASK)
    loss = module.loss(scores, labels_arcs=ARCS, labels_rels=RELS)
    assert loss.item() == pytest.approx(total / 6, rel=1e-5)
    # The relation of a word whose head is not learned is not learned either.
    more = RELS.clone()
    more[1, 2] = 1
    assert torch.equal(module.loss(scores, labels_arcs=ARCS, labels_rels=more), loss)


def test_nothing_to_learn_is_a_loss_of_0_without_a_gradient(states):
    module = head()
    nothing = torch.full_like(ARCS, -100)
    loss = parsing_loss(*module(states, word_ids=WORD_IDS, word_mask=WORD_MASK), nothing, nothing)
    loss.backward()
    assert loss.item() == 0
    assert all((p.grad == 0).all() for p in module.parameters())


@pytest.mark.parametrize("upos_size", [0, 2])
def test_every_weight_and_every_marked_piece_gets_a_gradient(upos_size, states):
    module = head(upos_size=upos_size)
    states.requires_grad_()
    scores = module(states, word_ids=WORD_IDS, word_mask=WORD_MASK, upos_ids=UPOS if upos_size else None)
    module.loss(scores, labels_arcs=ARCS, labels_rels=RELS).backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name
    assert torch.equal((states.grad != 0).any(-1), WORD_IDS > 0)


def padded(left, right, words):
    """The first row's ids and masks among padding."""
    ids = torch.nn.functional.pad(WORD_IDS[:1], (left, right))
    return ids, torch.nn.functional.pad(WORD_MASK[:1], (0, words))


@pytest.mark.parametrize(("left", "right", "words"), [(0, 3, 0), (3, 0, 0), (0, 0, 2), (2, 2, 3)])
def test_padding_changes_no_score_and_no_loss(left, right, words, states):
    module = head()
    ids, mask = padded(left, right, words)
    noise = torch.full((1, left + right, WIDTH), 1e3)
    longer = torch.cat([noise[:, :left], states[:1], noise[:, left:]], 1)
    short = module(states[:1], word_ids=WORD_IDS[:1], word_mask=WORD_MASK[:1])
    long = module(longer, word_ids=ids, word_mask=mask)
    for found, expected in zip(long, short, strict=True):
        torch.testing.assert_close(found[:, :4, :5], expected)
    assert (long[0][:, :4, 5:] == -INF).all()
    labels = [torch.nn.functional.pad(each[:1], (0, words), value=-100) for each in (ARCS, RELS)]
    torch.testing.assert_close(parsing_loss(*long, *labels), parsing_loss(*short, ARCS[:1], RELS[:1]))


def test_a_row_alone_and_in_a_batch(states):
    module = head()
    both = module(states, word_ids=WORD_IDS, word_mask=WORD_MASK)
    alone = module(states[1:, :4], word_ids=WORD_IDS[1:, :4], word_mask=WORD_MASK[1:, :2])
    for found, expected in zip(both, alone, strict=True):
        torch.testing.assert_close(found[1:, :2, :3], expected)


def test_a_sentence_of_one_word(states):
    module = head()
    ids, mask = torch.tensor([[0, 1, 0]]), torch.tensor([[True]])
    arcs, rels = module(states[:1, :3], word_ids=ids, word_mask=mask)
    assert arcs.shape == (1, 1, 2)
    assert rels.shape == (1, 1, 2, RELATIONS)
    [(by_arc, by_rel)] = by_hand(module, states[:1, :3], ids, mask)
    close(arcs[0], by_arc)
    close(rels[0], by_rel)
    assert module.loss((arcs, rels), labels_arcs=torch.tensor([[0]]), labels_rels=torch.tensor([[3]])) > 0


def test_a_prompt_before_the_pieces_speaks_for_no_word(states):
    module = head()
    prompt = torch.full((2, 3, WIDTH), 5.0)
    without = module(states, word_ids=WORD_IDS, word_mask=WORD_MASK)
    for found, expected in zip(
        module(torch.cat([prompt, states], 1), word_ids=WORD_IDS, word_mask=WORD_MASK), without, strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_without_word_ids_each_piece_is_a_word(states):
    module = head()
    mask = torch.tensor([[1] * 9, [0, 0, 1, 1, 1, 1, 1, 1, 1]])
    arcs, _ = module(states, mask)
    assert arcs.shape == (2, 9, 10)
    assert (arcs[1, 5] == -INF).tolist() == [False, True, True] + [False] * 7
    alone, _ = module(states[1:, 2:])
    torch.testing.assert_close(arcs[1:, 2:, 3:], alone[:, :, 1:])


def test_dropout_takes_the_same_units_from_all_words_and_none_in_eval_mode(states):
    module = head(mlp_dropout=0.5)
    inputs = {"word_ids": WORD_IDS, "word_mask": WORD_MASK}
    first = module(states, **inputs)
    assert all(torch.equal(a, b) for a, b in zip(first, module(states, **inputs), strict=True))
    module.train()
    torch.manual_seed(0)
    assert not torch.equal(module(states, **inputs)[1], first[1])
    hidden = module._mlp(module.arc_dep, torch.randn(3, 7, WIDTH), 1)
    assert ((hidden == 0) == (hidden[:, :1] == 0)).all()
    assert 0 < (hidden[:, :, :-1] == 0).float().mean() < 1
    assert (hidden[:, :, -1] == 1).all()
    twins = module._mlp(module.arc_dep, states[:1, :1].expand(2, 1, -1))
    assert not torch.equal(twins[0], twins[1])


def test_it_starts_without_a_preference():
    module = Biaffine(WIDTH, RELATIONS, BiaffineOptions()).eval()
    arcs, rels = module(torch.randn(1, 3, WIDTH))
    assert not arcs.any()
    assert not rels.any()
    square = module.arc_dep.weight  # orthogonal
    torch.testing.assert_close(square @ square.T, torch.eye(WIDTH))


@pytest.mark.parametrize("training", [False, True])
def test_heads_of_one_architecture_are_computed_as_one(training, states):
    heads = [head(seed).train(training) for seed in range(3)]
    parameters, buffers = stack_module_state(heads)
    labels = {"labels_arcs": ARCS, "labels_rels": RELS}

    def learn(parameters, buffers, states):
        inputs = {"word_ids": WORD_IDS, "word_mask": WORD_MASK}
        scores = functional_call(heads[0], (parameters, buffers), (states,), inputs)
        return heads[0].loss(scores, **labels), *scores

    every = torch.stack([states, 2 * states, -states])
    given = every.clone()
    together = torch.vmap(learn, randomness="different")(parameters, buffers, every)
    assert torch.equal(every, given)
    if training:  # each draws its own units
        assert len({loss.item() for loss in together[0]}) == 3
        return
    for i, module in enumerate(heads):
        scores = module(every[i], word_ids=WORD_IDS, word_mask=WORD_MASK)
        for found, expected in zip(together, (module.loss(scores, **labels), *scores), strict=True):
            torch.testing.assert_close(found[i], expected)


def test_sizes_are_those_of_the_paper_but_not_above_the_width_of_the_states():
    sizes = {width: BiaffineOptions().on(width) for width in (64, 768)}
    assert [(s.arc_size, s.rel_size) for s in sizes.values()] == [(64, 64), (500, 100)]
    assert BiaffineOptions(arc_size=900).on(64).arc_size == 900
    assert Biaffine(WIDTH, RELATIONS, BiaffineOptions(rel_size=2)).options == {
        "arc_size": WIDTH, "rel_size": 2, "mlp_dropout": 0.33, "upos_size": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arc_size": 0}, "arc_size must be a whole number from 1 up, got 0"),
        ({"rel_size": True}, "rel_size must be a whole number from 1 up, got True"),
        ({"upos_size": -1}, "upos_size must be a whole number from 0 up, got -1"),
        ({"mlp_dropout": 1.0}, r"mlp_dropout must lie in 0..1, 1 left out, got 1.0"),
    ],
)
def test_options_that_cannot_work(options, message):
    with pytest.raises(ValueError, match=message):
        BiaffineOptions(**options).on(WIDTH)


def test_inputs_that_do_not_belong_together(states):
    module, tagged = head(), head(upos_size=2)
    with pytest.raises(ConfigError, match="word_mask is missing"):
        module(states, word_ids=WORD_IDS)
    with pytest.raises(ConfigError, match="word_ids is missing"):
        module(states, word_mask=WORD_MASK)
    with pytest.raises(ConfigError, match=r"a word for each piece, \(2, 8\).*got word_ids \(2, 9\)"):
        module(states[:, :8], word_ids=WORD_IDS, word_mask=WORD_MASK)
    with pytest.raises(ConfigError, match=r"needs upos_ids of shape \(2, 4\), and got none"):
        tagged(states, word_ids=WORD_IDS, word_mask=WORD_MASK)
    with pytest.raises(ConfigError, match=r"needs upos_ids of shape \(2, 4\), and got shape \(2, 3\)"):
        tagged(states, word_ids=WORD_IDS, word_mask=WORD_MASK, upos_ids=UPOS[:, :3])
    scores = module(states, word_ids=WORD_IDS, word_mask=WORD_MASK)
    with pytest.raises(ConfigError, match=r"a number for each word, \(2, 4\), and got \(2, 3\) and \(2, 4\)"):
        module.loss(scores, labels_arcs=ARCS[:, :3], labels_rels=RELS)
