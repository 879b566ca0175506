"""The plain parser: what it computes, saves and refuses, in every form that a plain model has."""

import json

import pytest
import torch
from huggingface_hub import ModelCard
from peft import (
    AdaLoraConfig,
    IA3Config,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptEncoderConfig,
    PromptTuningConfig,
    get_peft_model,
)
from tiny_tokenizer import character_tokenizer
from transformers import AutoTokenizer, Trainer, TrainingArguments, pipeline

from dlfa_adapters.ground.errors import ConfigError, DataError, RunError
from dlfa_adapters.kinds.parsing.tree import Arc, check_tree
from dlfa_adapters.models import (
    AutoModelForDependencyParsing,
    Card,
    DLFAForDependencyParsing,
    load_lora,
    lora_config,
    merge_lora,
    save_lora,
)
from dlfa_adapters.tuning.convert import to_adapters, to_plain

WORDS = {
    "word_ids": torch.tensor([[0, 1, 1, 2, 3, 4, 0], [0, 1, 2, 2, 0, 0, 0]]),
    "word_mask": torch.tensor([[True] * 4, [True, True, False, False]]),
}
LABELS = {
    "labels_arcs": torch.tensor([[2, 0, 2, 3], [0, 1, -100, -100]]),
    "labels_rels": torch.tensor([[1, 2, 0, 1], [2, 0, -100, -100]]),
}
DRY = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@pytest.fixture(scope="session")
def parser(encoder):
    """parser("bert", upos_size=2): a model of three relations, fuse layer 2 of 4, away from where it starts."""

    def build(family="bert", seed=0, **options):
        model = encoder(family, seed, **(DRY if family == "bert" else {}))
        options = {"num_labels": 3, "arc_size": 6, "rel_size": 4, "mlp_dropout": 0.0, **options}
        plain = DLFAForDependencyParsing.from_encoder(model, options.pop("fuse_layer", 2), **options)
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in plain.classifier.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.1)
        return plain

    return build


def same(one, other, **tolerance):
    for found, expected in zip(one, other, strict=True):
        torch.testing.assert_close(found, expected, **{"atol": 1e-5, "rtol": 1e-5, **tolerance})


def test_it_is_fusion_and_biaffine_head(parser, batch):
    model = parser()
    states = model.encoder(**batch, output_hidden_states=True)
    fused = model.classifier.fusion(
        states.hidden_states[2], states.last_hidden_state, attention_mask=batch["attention_mask"]
    )
    expected = model.classifier.out(fused, **WORDS)
    output = model(**batch, **WORDS, **LABELS)
    same(output.logits, expected)
    torch.testing.assert_close(output.loss, model.classifier.out.loss(expected, **LABELS))
    plain = model(**batch, **WORDS, **LABELS, return_dict=False)
    assert torch.equal(plain[0], output.loss)
    same(plain[1], expected)
    assert len(model(**batch, **WORDS, output_hidden_states=True).hidden_states) == 5
    assert model(**batch, **WORDS, labels_arcs=LABELS["labels_arcs"]).loss is None


def test_a_share_of_the_accumulated_batch(parser, batch):
    model, given = parser(), {**batch, **WORDS, **LABELS}
    parts = [model(**{k: v[i : i + 1] for k, v in given.items()}, num_items_in_batch=6).loss for i in range(2)]
    torch.testing.assert_close(sum(parts), model(**given).loss)


def test_there_and_back_between_plain_and_adapters(family, parser, batch):
    if family == "xmod":
        with pytest.raises(RunError, match="adapters has no place for weights of this encoder"):  # it renames modules
            to_adapters(parser(family), "parse")
        return
    options = {"upos_size": 2} if family == "bert" else {}
    options |= {"classifier": "bilstm", "lstm_hidden": 5} if family == "electra" else {}
    words = {**WORDS, "upos_ids": torch.tensor([[1, 0, 17, 3], [5, 5, 0, 0]])}
    plain = parser(family, **options)
    expected = plain(**batch, **words).logits
    model = to_adapters(plain, "parse")
    same(model(**batch, **words).logits, expected, atol=0, rtol=0)
    config = model.heads["parse"].config
    assert (config["arc_size"], config["rel_size"], config["mlp_dropout"]) == (6, 4, 0.0)
    back = to_plain(model, "parse")
    same(back(**batch, **words).logits, expected, atol=0, rtol=0)
    assert back.config.upos_size == options.get("upos_size", 0)


@pytest.mark.parametrize("encoder_family", ["bert", "modernbert", "mt5"])
def test_it_comes_back_from_a_folder(encoder_family, parser, batch, tmp_path):
    model = parser(encoder_family, fusion="scalar_mix", fuse_layer=None, arc_size=None)
    assert model.config.arc_size == 16  # what it was built with, whatever the default will be
    model.save_pretrained(tmp_path)
    saved = json.loads((tmp_path / "config.json").read_text())
    assert (saved["arc_size"], saved["rel_size"], saved["upos_size"]) == (16, 4, 0)
    expected = model(**batch, **WORDS).logits
    for cls in (DLFAForDependencyParsing, AutoModelForDependencyParsing):
        again = cls.from_pretrained(tmp_path)
        assert type(again) is DLFAForDependencyParsing
        same(again.eval()(**batch, **WORDS).logits, expected, atol=0, rtol=0)


def test_weights_that_no_folder_has_are_drawn_as_the_head_draws_them(parser, tmp_path):
    model = parser(mlp_dropout=0.5)
    model.encoder.save_pretrained(tmp_path)
    fresh = DLFAForDependencyParsing.from_encoder(str(tmp_path), 2, num_labels=3)
    assert not fresh.classifier.out.arc_weight.any()
    weight = fresh.classifier.out.arc_dep.weight
    torch.testing.assert_close(weight @ weight.T, torch.eye(16), atol=1e-5, rtol=0)
    fresh.init_weights()
    assert fresh.classifier.out.root.abs().max() > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arc_sise": 5}, "from_encoder has no option 'arc_sise'; did you mean 'arc_size'?"),
        ({"classifier_layers": 2}, "from_encoder has no option 'classifier_layers'"),
        ({"rel_size": 0}, "rel_size must be a whole number from 1 up, got 0"),
        ({"mlp_dropout": "much"}, "mlp_dropout must be a number; got 'much'"),
        ({"task": "ner"}, "'ner' is a tagging task; type DLFAForTokenClassification.from_encoder(..., task='ner')"),
    ],
)
def test_options_that_cannot_work(options, message, encoder):
    with pytest.raises(ConfigError) as error:
        DLFAForDependencyParsing.from_encoder(encoder(), 2, **{"num_labels": 3, **options})
    assert message in str(error.value)


def test_the_task_brings_its_relations(encoder):
    model = DLFAForDependencyParsing.from_encoder(encoder(), 2, task="parse")
    assert model.config.id2label[0] == "acl"
    assert model.classifier.out.rel_weight.shape[0] == 37


QUERY_AND_VALUE = ["query", "value"]
CONFIGS = {
    "lora": lambda: LoraConfig(task_type="TOKEN_CLS", r=2, target_modules=QUERY_AND_VALUE),
    "adalora": lambda: AdaLoraConfig(task_type="TOKEN_CLS", total_step=10, target_modules=QUERY_AND_VALUE),
    "ia3": lambda: IA3Config(
        task_type="TOKEN_CLS", target_modules=["key", "value", "output.dense"], feedforward_modules=["output.dense"]
    ),
    "prefix": lambda: PrefixTuningConfig(task_type="TOKEN_CLS", num_virtual_tokens=3),
    "prompt": lambda: PromptTuningConfig(task_type="TOKEN_CLS", num_virtual_tokens=3),
    "p-tuning": lambda: PromptEncoderConfig(task_type="TOKEN_CLS", num_virtual_tokens=3, encoder_hidden_size=8),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_every_configuration_of_peft(name, parser, batch, sgd, tmp_path):
    """Also those that put tokens in front, which are of no word."""
    model = get_peft_model(parser(), CONFIGS[name]())
    sgd(model, {**batch, **WORDS, **LABELS}, 3)
    model.save_pretrained(tmp_path)
    again = PeftModel.from_pretrained(parser(), tmp_path).eval()
    found, before = model(**batch, **WORDS).logits, parser()(**batch, **WORDS).logits
    same(again(**batch, **WORDS).logits, found)
    assert found[0].shape == (2, 4, 5)
    assert (found[1] - before[1]).abs().max() > 1e-3
    own = again.get_base_model().classifier
    assert (own.modules_to_save["default"].out.arc_weight - parser().classifier.out.arc_weight).abs().max() > 0


def test_all_linear_is_refused_inside_the_classifier(parser, batch):
    model = get_peft_model(parser(), LoraConfig(task_type="TOKEN_CLS", target_modules="all-linear")).train()
    with pytest.raises(ConfigError, match=r"inside the classifier .*type get_peft_model\(model, lora_config"):
        model(**batch, **WORDS)


def test_lora_saved_loaded_and_merged(parser, batch, sgd, tmp_path):
    base = parser(num_labels=None, id2label={0: "root", 1: "nsubj", 2: "obj"})
    base.encoder.save_pretrained(tmp_path / "encoder")
    model = get_peft_model(base, lora_config(base, r=2))
    sgd(model, {**batch, **WORDS, **LABELS}, 3)
    expected = model(**batch, **WORDS).logits
    save_lora(model, tmp_path / "lora", Card())
    again = load_lora(tmp_path / "lora", encoder=str(tmp_path / "encoder"))
    same(again(**batch, **WORDS).logits, expected)
    merged = merge_lora(again)
    assert type(merged) is DLFAForDependencyParsing
    same(merged(**batch, **WORDS).logits, expected)


def test_trainer_finds_the_labels(parser, tmp_path):
    arguments = TrainingArguments(str(tmp_path), report_to="none", use_cpu=True)
    assert Trainer(parser(), arguments).label_names == ["labels_arcs", "labels_rels"]
    lora = get_peft_model(parser(), LoraConfig(task_type="TOKEN_CLS", target_modules=QUERY_AND_VALUE))
    assert Trainer(lora, arguments).label_names == ["labels_arcs", "labels_rels"]


def test_gradient_checkpointing_and_16_bits(parser, batch, sgd):
    gradients = []
    for checkpointing in (False, True):
        model = parser()
        if checkpointing:
            model.gradient_checkpointing_enable()
        gradients.append(sgd(model, {**batch, **WORDS, **LABELS}, 1))
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, atol=1e-6, rtol=1e-4)
    half = parser().to(torch.bfloat16)
    output = half(**batch, **WORDS, **LABELS)
    assert output.loss.dtype == torch.float32
    assert output.logits[0].dtype == torch.bfloat16
    torch.testing.assert_close(output.loss, parser()(**batch, **WORDS, **LABELS).loss, atol=0.05, rtol=0.05)


@pytest.fixture
def folder(tmp_path, encoder):
    """A saved parser with its tokenizer and a card."""
    tokenizer = character_tokenizer()
    torch.manual_seed(0)
    model = DLFAForDependencyParsing.from_encoder(
        encoder(vocab_size=len(tokenizer), max_position_embeddings=64), 2, task="parse"
    )
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    model.config.windows = {"max_length": 32, "context": 8}
    model.save_pretrained(tmp_path / "parser", card=Card(scores={"de": {"las": 0.5}}))
    tokenizer.save_pretrained(tmp_path / "parser")
    return str(tmp_path / "parser")


def test_the_pipeline_parses_texts_of_any_length(folder):
    parse = pipeline("dependency-parsing", model=folder)
    text = "Anna met Bob in Rome, and then " + "she went home to see who was there " * 3
    answers = parse([text, "", "Rome"])
    assert answers[1] is None
    assert [len(answer["words"]) for answer in (answers[0], answers[2])] == [32, 1]
    for answer in (answers[0], answers[2]):
        assert check_tree([Arc(*arc) for arc in zip(answer["heads"], answer["deprels"], strict=True)]) is None
    assert answers[2]["heads"] == [0]
    assert answers[0]["conllu"].startswith("# sent_id = 1\n# text = Anna met Bob in Rome")
    assert parse(text) == answers[0]
    assert len(parse("我爱罗马", language="zh")["words"]) > 1
    with pytest.raises(ValueError, match="has no option 'stride'; there are language, upos"):
        parse(text, stride=3)
    with pytest.raises(ValueError, match=r"upos takes a model here, not a name; type upos=load_run\('runs/pos'\)"):
        parse(text, upos="runs/pos")
    with pytest.raises(ValueError, match="was trained without upos, so it reads none"):
        parse(text, upos="gold")


class Tagger:
    """Says that every word is of one part of speech."""

    def __init__(self, name):
        self.labels, self.model, self.name = [name], torch.nn.Linear(1, 1), name

    def answer(self, sentences, on_progress=None):
        return [[self.name] * len(words) for words in sentences], None


def test_the_pipeline_of_a_parser_that_reads_parts_of_speech(folder, encoder, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(0)
    model = DLFAForDependencyParsing.from_encoder(encoder(vocab_size=len(tokenizer)), 2, task="parse", upos_size=4)
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            parameter.add_(torch.randn_like(parameter))
    model.save_pretrained(tmp_path / "tagged")
    parse = pipeline("dependency-parsing", model=str(tmp_path / "tagged"), tokenizer=tokenizer)
    text = "she went home to see who was there"
    with pytest.raises(DataError, match="name the run of a tagger"):
        parse(text)
    answers = [parse(text, upos=Tagger(name)) for name in ("NOUN", "VERB", "NOUN")]
    assert answers[0] == answers[2]
    assert answers[0] != answers[1]


def test_the_card_says_how_to_parse(folder):
    card = ModelCard.load(f"{folder}/README.md")
    assert card.data.pipeline_tag == "dependency-parsing"
    assert "DLFAForDependencyParsing on" in card.text
    assert 'parser = pipeline("dependency-parsing", model="parser")' in card.text
    assert "| de | 50.0 |" in card.text
