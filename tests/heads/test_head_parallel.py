"""Parallel and BatchSplit: the slicing rule, against single runs, over methods; and what is refused."""

import pytest
import torch
from adapters import (
    AdapterSetup,
    BatchSplit,
    CompacterConfig,
    DoubleSeqBnInvConfig,
    IA3Config,
    LoRAConfig,
    LoReftConfig,
    MAMConfig,
    Parallel,
    ParBnConfig,
    PrefixTuningConfig,
    PromptTuningConfig,
    SeqBnConfig,
    Stack,
    UniPELTConfig,
)

from dlfa_adapters.ground.errors import ConfigError

METHODS = {
    "seq_bn": SeqBnConfig(reduction_factor=4),
    "double_seq_bn": "double_seq_bn",
    "par_bn": ParBnConfig(reduction_factor=4),
    "seq_bn_inv": "seq_bn_inv",
    "double_seq_bn_inv": DoubleSeqBnInvConfig(reduction_factor=4),
    "compacter": CompacterConfig(phm_dim=2, reduction_factor=4),
    "lora": LoRAConfig(r=2, init_weights="bert"),
    "ia3": IA3Config(),
    "vera": "vera",
    "dora": LoRAConfig(r=2, use_dora=True),
    "prefix": PrefixTuningConfig(prefix_length=3, bottleneck_size=8),
    "prompt": PromptTuningConfig(prompt_length=3),
    "reft": LoReftConfig(r=1, prefix_positions=1, suffix_positions=1),
    "mam": MAMConfig(),
    "unipelt": UniPELTConfig(),
    "leave_out": SeqBnConfig(reduction_factor=4, leave_out=[0, 1]),
}
WRONG_UPSTREAM = {  # what stock heads get wrong, or raise on, with the adapters a and b (and l below them)
    "par_bn": {"P", "S(l,P)", "P(S,S)", "P(S,1)", "S(l,P(S,1))"},
    "seq_bn": {"P(S,S)", "B(S,S)", "P(S,1)", "S(l,P(S,1))", "B(S,1)"},
    "leave_out": {"P(S,S)", "B(S,S)", "P(S,1)", "S(l,P(S,1))", "B(S,1)"},
    "seq_bn_inv": {"P", "B", "P(S,S)", "B(S,S)", "P(S,1)", "S(l,P(S,1))", "B(S,1)"},
    "double_seq_bn_inv": {"P", "B", "P(S,1)", "B(S,1)"},
    "dora": {"P", "B", "S(l,P)", "P(S,S)", "S(l,B)", "B(S,S)", "P(S,1)", "S(l,P(S,1))", "B(S,1)"},
    "prefix": {"P(S,1)", "S(l,P(S,1))", "B(S,1)"},
    "mam": {"P(S,1)", "S(l,P(S,1))", "B(S,1)"},
    "prompt": {"P", "B", "S(l,P)", "P(S,S)", "P(S,1)", "S(l,P(S,1))", "B(S,1)"},
    "reft": {"P", "B", "S(l,P)", "P(S,S)", "P(S,1)", "S(l,P(S,1))", "B(S,1)"},
    "unipelt": {"P", "S(l,P)", "P(S,S)", "B(S,S)", "P(S,1)", "S(l,P(S,1))", "B(S,1)"},
}
REFUSED_THOUGH_RIGHT = {  # upstream's prompts and ReFT of a and b are not applied at all here, alone or together
    "prompt": {"S(l,B)", "B(S,S)"},
    "reft": {"S(l,B)", "B(S,S)"},
}


def unequal(a, b):
    """Channels of two depths."""
    ones = {"batch_sizes": [1, 1]}
    return {
        "P(S,1)": (Parallel(Stack("l", a), b), Stack("l", a), b),
        "S(l,P(S,1))": (Stack("l", Parallel(Stack("m", a), b)), Stack("l", "m", a), Stack("l", b)),
        "B(S,1)": (BatchSplit(Stack("l", a), b, **ones), Stack("l", a), b),
    }


def compositions(a, b):
    ones = {"batch_sizes": [1, 1]}
    return {
        **unequal(a, b),
        "P": (Parallel(a, b), a, b),
        "B": (BatchSplit(a, b, **ones), a, b),
        "S(l,P)": (Stack("l", Parallel(a, b)), Stack("l", a), Stack("l", b)),
        "S(l,B)": (Stack("l", BatchSplit(a, b, **ones)), Stack("l", a), Stack("l", b)),
        "P(S,S)": (Parallel(Stack("l", a), Stack("l", b)), Stack("l", a), Stack("l", b)),
        "B(S,S)": (BatchSplit(Stack("l", a), Stack("l", b), **ones), Stack("l", a), Stack("l", b)),
    }


def build(tiny_model, shake, config, family="bert", heads=("dlfa", "dlfa"), **options):
    model = tiny_model(family)
    for name in "ablm":
        model.add_adapter(name, config=config)
    for name in "ab":
        if family != "bert-generation":
            model.add_tagging_head(f"stock_{name}", num_labels=3)
        model.add_dlfa_head(f"head_{name}", 1, "tagging", num_labels=3, **options)
    return shake(model)


def rows(batch, *index):
    return {key: value[list(index)] for key, value in batch.items()}


def run(model, kind, setup, batch, **kwargs):
    """Both heads in a composition; for a single run the head of the last adapter."""
    model.active_head = None
    model.set_active_adapters(setup)
    if isinstance(setup, (str, Stack)) and not any(isinstance(c, (Parallel, BatchSplit)) for c in _children(setup)):
        model.active_head = f"{kind}_{setup if isinstance(setup, str) else setup.last()}"
        return model(**batch, **kwargs).logits
    block = next(c for c in [setup, *_children(setup)] if isinstance(c, (Parallel, BatchSplit)))
    heads = [f"{kind}_a", f"{kind}_b"]
    model.active_head = BatchSplit(*heads, batch_sizes=block.batch_sizes) if isinstance(block, BatchSplit) else heads
    return model(**batch, **kwargs)


def _children(setup):
    return [] if isinstance(setup, str) else list(setup.children)


def singles(model, kind, key, alone_a, alone_b, batch):
    by_rows = [rows(batch, 0), rows(batch, 1)] if "B" in key else [batch, batch]
    return [run(model, kind, alone, part) for alone, part in zip((alone_a, alone_b), by_rows, strict=True)]


def same(outputs, references):
    return all(
        o.logits.shape == r.shape and torch.allclose(o.logits, r, atol=1e-5, rtol=0)
        for o, r in zip(outputs.head_outputs, references, strict=True)
    )


def compare(model, key, batch, wrong, refused):
    """Note what stock heads get wrong and what we refuse; what we do not refuse must be right."""
    setup, alone_a, alone_b = compositions("a", "b")[key]
    try:
        if not same(run(model, "stock", setup, batch), singles(model, "stock", key, alone_a, alone_b, batch)):
            wrong.add(key)
    except (RuntimeError, ValueError, KeyError):
        wrong.add(key)
    try:
        ours = run(model, "head", setup, batch)
    except ConfigError:
        refused.add(key)
    else:
        assert same(ours, singles(model, "head", key, alone_a, alone_b, batch)), key
        first, second = (output.logits[:1] for output in ours.head_outputs)
        assert not torch.allclose(first, second, atol=1e-3), key


@pytest.mark.parametrize("method", METHODS)
def test_equal_to_single_runs_for_every_method_for_which_stock_heads_are(method, tiny_model, shake, batch):
    model = build(tiny_model, shake, METHODS[method])
    wrong, refused = set(), set()
    for key in compositions("a", "b"):
        compare(model, key, batch, wrong, refused)
    assert wrong == WRONG_UPSTREAM.get(method, set())
    assert refused == wrong | REFUSED_THOUGH_RIGHT.get(method, set())


@pytest.mark.parametrize("method", ["seq_bn", "lora", "prefix"])
def test_parallel_and_batch_split_in_every_family(family, method, tiny_model, shake, batch):
    if family.startswith("deberta") and method == "lora":
        model = build(tiny_model, shake, METHODS[method], family)
        with pytest.raises(ConfigError, match=r"LoRA layers of DeBERTa .* activate the adapters one at a time"):
            run(model, "head", Parallel("a", "b"), batch)
        return
    model = build(tiny_model, shake, METHODS[method], family)
    for key in ("P", "B"):
        setup, alone_a, alone_b = compositions("a", "b")[key]
        if (family, method, key) == ("distilbert", "prefix", "B"):
            continue  # DistilBERT's prefixes depend on whether the batch has padding, in single runs too: see below
        assert same(run(model, "head", setup, batch), singles(model, "head", key, alone_a, alone_b, batch)), key


@pytest.mark.parametrize("method", ["lora", "ia3"])
def test_lora_of_deberta_v2_with_maps_of_its_own_for_positions(method, tiny_model, shake, batch):
    """Where the maps of tokens do not serve relative positions too, LoRA follows the composition."""
    model = tiny_model("deberta-v2", share_att_key=False)
    for name in "ablm":
        model.add_adapter(name, config=METHODS[method])
    for name in "ab":
        model.add_dlfa_head(f"head_{name}", 1, "tagging", num_labels=3)
    shake(model)
    for key, (setup, alone_a, alone_b) in compositions("a", "b").items():
        assert same(run(model, "head", setup, batch), singles(model, "head", key, alone_a, alone_b, batch)), key


def test_distilbert_prefixes_depend_on_batch_mates_upstream(tiny_model, shake, batch):
    """Why the case above is left out: a stock head alone gives two results for one sentence."""
    model = build(tiny_model, shake, METHODS["prefix"], "distilbert")
    together = run(model, "stock", "a", batch)[:1]
    assert not torch.allclose(together, run(model, "stock", "a", rows(batch, 0)), atol=1e-4)


PAIRS = {
    "lora of two ranks": (METHODS["lora"], LoRAConfig(r=8, init_weights="bert"), True),
    "bottlenecks of two sizes": (METHODS["seq_bn"], SeqBnConfig(reduction_factor=8), True),
    "two bottleneck layouts": (METHODS["seq_bn"], "double_seq_bn", False),
    "prefixes of two lengths": (METHODS["prefix"], PrefixTuningConfig(prefix_length=5, bottleneck_size=8), False),
    "bottleneck and lora": (METHODS["seq_bn"], METHODS["lora"], False),
    "bottleneck and parallel bottleneck": (METHODS["seq_bn"], METHODS["par_bn"], False),
    "lora in two places": (METHODS["lora"], LoRAConfig(r=2, output_lora=True, init_weights="bert"), False),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_two_configurations_side_by_side(pair, tiny_model, shake, batch):
    config_a, config_b, works = PAIRS[pair]
    model = tiny_model()
    for name, config in (("a", config_a), ("b", config_b)):
        model.add_adapter(name, config=config)
        model.add_dlfa_head(f"head_{name}", 1, "tagging", num_labels=3)
    shake(model)
    for key in ("P", "B"):
        setup, alone_a, alone_b = compositions("a", "b")[key]
        if works:
            assert same(run(model, "head", setup, batch), singles(model, "head", key, alone_a, alone_b, batch))
        else:
            with pytest.raises(ConfigError, match="differ in method, place or prefix length"):
                run(model, "head", setup, batch)


OUTSIDE = {  # the adapter l below the block, the adapters a and b in it, and what stock heads get wrong
    ("lora", "seq_bn"): set(),
    ("dora", "seq_bn"): set(),
    ("prompt", "seq_bn"): set(),
    ("par_bn", "seq_bn"): set(),
    ("prefix", "lora"): set(),
    ("seq_bn", "mam"): set(),
    ("seq_bn", "double_seq_bn"): set(),
    ("seq_bn", "leave_out"): {"S(l,P)", "S(l,B)"},
    ("leave_out", "seq_bn"): set(),
    ("double_seq_bn", "seq_bn"): {"S(l,P)", "S(l,B)"},
    ("seq_bn", "lora"): {"S(l,P)", "S(l,B)"},
    ("seq_bn", "par_bn"): {"S(l,P)"},
    ("unipelt", "seq_bn"): {"S(l,P)"},
    ("lora", "dora"): {"S(l,P)", "S(l,B)"},
}


@pytest.mark.parametrize(("outer", "inner"), OUTSIDE)
def test_another_method_outside_the_block(outer, inner, tiny_model, shake, batch):
    model = tiny_model()
    for name, method in (("l", outer), ("a", inner), ("b", inner)):
        model.add_adapter(name, config=METHODS[method])
    for name in "ab":
        model.add_tagging_head(f"stock_{name}", num_labels=3)
        model.add_dlfa_head(f"head_{name}", 1, "tagging", num_labels=3)
    shake(model)
    wrong, refused = set(), set()
    for key in ("S(l,P)", "S(l,B)"):
        compare(model, key, batch, wrong, refused)
    assert wrong == refused == OUTSIDE[outer, inner]


def test_refused_when_activated_in_one_sentence(tiny_model):
    model = tiny_model()
    for name in "ab":
        model.add_adapter(name, config="seq_bn_inv")
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
    model.set_active_adapters("a")
    for activate in (model.set_active_adapters, model.train_adapter):
        with pytest.raises(ConfigError, match=r"Parallel\[a, b\].*first adapter's invertible.*one at a time\.$"):
            activate(Parallel("a", "b"))
        assert model.active_adapters == Stack("a")  # and nothing has changed


def test_stock_heads_alone_are_not_refused(tiny_model):
    model = tiny_model()
    for name in "ab":
        model.add_adapter(name, config="seq_bn_inv")
        model.add_tagging_head(name, num_labels=3)
    model.set_active_adapters(Parallel("a", "b"))
    assert model.active_head == ["a", "b"]


def test_activation_by_adapter_names(tiny_model, shake, batch):
    """Heads called like the adapters follow `set_active_adapters`, and the slices come in the order of the setup."""
    model = tiny_model()
    for name in "ab":
        model.add_adapter(name, config="seq_bn")
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
    shake(model)
    model.set_active_adapters("a")
    alone = model(**batch).logits
    model.set_active_adapters(Parallel("b", "a"))
    torch.testing.assert_close(model(**batch).head_outputs[1].logits, alone, atol=1e-5, rtol=0)


def test_states_below_the_first_adapted_layer_belong_to_every_channel(tiny_model, shake, batch):
    model = build(tiny_model, shake, SeqBnConfig(reduction_factor=4, leave_out=[0, 1]))
    model.active_head = None
    model.set_active_adapters(Parallel("a", "b"))
    states = model.bert(**batch, output_hidden_states=True).hidden_states
    assert [len(state) for state in states] == [2, 2, 2, 4, 4]
    for layer in range(5):
        for name in "ab":
            model.add_dlfa_head(f"head_{name}", layer, "tagging", num_labels=3, overwrite_ok=True)
        for key in ("P", "S(l,P)"):
            setup, alone_a, alone_b = compositions("a", "b")[key]
            assert same(run(model, "head", setup, batch), singles(model, "head", key, alone_a, alone_b, batch))


def test_batch_of_as_many_sentences_as_channels_is_not_mistaken(tiny_model, shake, batch):
    """With B = 1 and N = 2 a quotient of sizes cannot tell [1, 1, 1, 2, 2] from two sentences."""
    model = build(tiny_model, shake, SeqBnConfig(reduction_factor=4, leave_out=[0, 1]))
    setup, alone_a, alone_b = compositions("a", "b")["P"]
    one = rows(batch, 1)
    assert same(run(model, "head", setup, one), singles(model, "head", "P", alone_a, alone_b, one))


@pytest.mark.parametrize("key", ["P", "B", "S(l,P)", "S(l,B)"])
def test_in_a_context(key, tiny_model, shake, batch):
    model = build(tiny_model, shake, METHODS["seq_bn"])
    setup, alone_a, alone_b = compositions("a", "b")[key]
    references = singles(model, "head", key, alone_a, alone_b, batch)
    heads = ["head_a", "head_b"]
    model.set_active_adapters("l")
    model.active_head = "stock_a"
    block = setup if key in "PB" else setup.children[-1]
    heads = BatchSplit(*heads, batch_sizes=[1, 1]) if isinstance(block, BatchSplit) else heads
    before = dict(model.config.id2label)
    with AdapterSetup(setup, head_setup=heads):
        assert same(model(**batch), references)
        assert not isinstance(model(**batch, return_dict=False).head_outputs[0], dict)
    assert model.active_head == "stock_a"
    assert model.config.id2label == before


def test_refused_in_a_context_at_the_call(tiny_model, batch):
    model = tiny_model()
    for name in "ab":
        model.add_adapter(name, config=METHODS["dora"])
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
    with AdapterSetup(Parallel("a", "b")), pytest.raises(ConfigError, match="DoRA"):
        model(**batch)


@pytest.mark.parametrize("key", ["P", "B"])
def test_return_dict_false(key, tiny_model, shake, batch):
    model = build(tiny_model, shake, METHODS["seq_bn"])
    setup = compositions("a", "b")[key][0]
    labels = torch.tensor([[0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 1, 1, -100, -100]])
    named = run(model, "head", setup, batch, labels=labels)
    plain = model(**batch, labels=labels, return_dict=False)
    for output, values in zip(named.head_outputs, plain.head_outputs, strict=True):
        assert isinstance(values, tuple)
        assert len(values) == 2
        assert torch.equal(values[0], output.loss)
        assert torch.equal(values[1], output.logits)


@pytest.mark.parametrize("head_type", ["tagging", "classification", "multilabel_classification", "question_answering"])
def test_batch_split_cuts_mask_and_labels(head_type, tiny_model, shake, batch):
    """Each head's loss is that of its own rows; a mask of other rows would change tagging, pooling and statistics."""
    model = tiny_model()
    for name in "ab":
        model.add_adapter(name, config="seq_bn")
        model.add_dlfa_head(f"head_{name}", 1, head_type, num_labels=2)
    shake(model)
    inputs = {
        "tagging": {"labels": torch.tensor([[0, 1, 1, 0, 1, 0, 0], [1, 0, 1, 1, 0, -100, -100]])},
        "classification": {"labels": torch.tensor([0, 1])},
        "multilabel_classification": {"labels": torch.tensor([[0.0, 1.0], [1.0, 1.0]])},
        "question_answering": {"start_positions": torch.tensor([1, 2]), "end_positions": torch.tensor([4, 3])},
    }[head_type]
    output = run(model, "head", BatchSplit("a", "b", batch_sizes=[1, 1]), batch, **inputs)
    losses = []
    for i, name in enumerate("ab"):
        model.set_active_adapters(name)
        model.active_head = f"head_{name}"
        losses.append(model(**rows({**batch, **inputs}, i)).loss)
    for head_output, loss in zip(output.head_outputs, losses, strict=True):
        torch.testing.assert_close(head_output.loss, loss, atol=1e-5, rtol=0)
    torch.testing.assert_close(output.loss, sum(losses), atol=1e-5, rtol=0)


def test_batch_split_of_multiple_choice_counts_questions(tiny_model, shake):
    """Rows are choices, labels are questions: with 2 choices 4 rows have 2 labels."""
    model = tiny_model()
    for name in "ab":
        model.add_adapter(name, config="seq_bn")
        model.add_dlfa_head(f"head_{name}", 1, "multiple_choice", num_choices=2)
    shake(model)
    ids, labels = torch.randint(5, 95, (2, 2, 6)), torch.tensor([1, 0])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
    output = run(model, "head", BatchSplit("a", "b", batch_sizes=[2, 2]), inputs)
    for i, name in enumerate("ab"):
        model.set_active_adapters(name)
        model.active_head = f"head_{name}"
        alone = model(**rows(inputs, i))
        torch.testing.assert_close(output.head_outputs[i].logits, alone.logits, atol=1e-5, rtol=0)
        torch.testing.assert_close(output.head_outputs[i].loss, alone.loss, atol=1e-5, rtol=0)


def test_stock_and_dlfa_head_side_by_side(tiny_model, shake, batch):
    model = build(tiny_model, shake, METHODS["seq_bn"])
    references = [run(model, "stock", "a", batch), run(model, "head", "b", batch)]
    model.set_active_adapters(Parallel("a", "b"))
    model.active_head = ["stock_a", "head_b"]
    assert same(model(**batch), references)


def test_input_that_is_replicated_already(tiny_model, shake, batch):
    """`adapter_input_parallelized` of adapters: N * B rows come in."""
    model = build(tiny_model, shake, METHODS["seq_bn"])
    setup, alone_a, alone_b = compositions("a", "b")["P"]
    references = singles(model, "head", "P", alone_a, alone_b, batch)
    twice = {key: torch.cat([value, value]) for key, value in batch.items()}
    assert same(run(model, "head", setup, twice, adapter_input_parallelized=True), references)


def test_one_head_for_a_batch_split_of_languages(tiny_model, shake, batch):
    model = build(tiny_model, shake, METHODS["seq_bn"])
    references = []
    for i, name in enumerate("ab"):
        model.set_active_adapters(name)
        references.append(model(**rows(batch, i), head="head_a").logits)
    model.set_active_adapters(BatchSplit("a", "b", batch_sizes=[1, 1]))
    torch.testing.assert_close(model(**batch, head="head_a").logits, torch.cat(references), atol=1e-5, rtol=0)


def test_wrong_numbers_are_named(tiny_model, batch):
    model = tiny_model()
    for name in "ab":
        model.add_adapter(name, config="seq_bn")
        model.add_dlfa_head(name, 1, "tagging", num_labels=3)
    model.set_active_adapters(Parallel("a", "b"))
    with pytest.raises(ConfigError, match=r"Parallel runs 2 channels, but there is 1 head for them \(a\); activate"):
        model(**batch, head="a")
    model.set_active_adapters(None)
    model.active_head = BatchSplit("a", "b", batch_sizes=[1, 2])
    with pytest.raises(
        ConfigError, match=r"in all 3, but the batch has 2 sentences; type batch_sizes that add up to 2"
    ):
        model(**batch)


@pytest.mark.parametrize("combine", ["prefix", "prefix_after_bos"])
def test_prompt_tuning_extends_the_mask_on_the_left(combine, tiny_model, shake, batch):
    model = tiny_model()
    model.add_adapter("p", config=PromptTuningConfig(prompt_length=3, combine=combine))
    model.add_dlfa_head("head", 1, "tagging", num_labels=3)
    shake(model).set_active_adapters("p")
    labels = torch.tensor([[0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 1, 1, -100, -100]])
    model.heads["head"].fusion.train()  # batch statistics, so that the mask makes a difference
    output = model(**batch, labels=labels)
    states = model.bert(**batch, output_hidden_states=True)
    mask = torch.cat([torch.ones(2, 3, dtype=torch.long), batch["attention_mask"]], 1)
    head = model.heads["head"]
    fused = head.fusion(states.hidden_states[1], states.last_hidden_state, attention_mask=mask)
    expected = head.inner[1](fused)
    torch.testing.assert_close(output.logits, expected, atol=1e-5, rtol=0)
    loss = torch.nn.functional.cross_entropy(expected[:, 3:].reshape(-1, 3), labels.reshape(-1), ignore_index=-100)
    torch.testing.assert_close(output.loss, loss, atol=1e-5, rtol=0)
    unmasked = head.inner[1](head.fusion(states.hidden_states[1], states.last_hidden_state))
    assert not torch.allclose(unmasked, expected, atol=5e-5)
