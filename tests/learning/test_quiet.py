"""What adapters and Transformers log about things that are done here on purpose is not passed on; all else is."""

import logging
import shutil

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from dlfa_adapters.encoders import load_encoder, load_tokenizer
from dlfa_adapters.ground.environment import without_lines
from dlfa_adapters.predict.load import load_run


@pytest.fixture
def said():
    """The lines of both libraries, from warnings on."""
    lines = []

    class Keep(logging.Handler):
        def emit(self, record):
            lines.append(f"{record.name}: {record.getMessage()}")

    keep = Keep(logging.WARNING)
    names = ("adapters", "transformers")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).addHandler(keep)
        logging.getLogger(name).setLevel(logging.WARNING)
    yield lines
    for name in names:
        logging.getLogger(name).removeHandler(keep)
        logging.getLogger(name).setLevel(levels[name])


@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_training_and_loading_say_nothing(tuning, start, said, tmp_path):
    run, _ = start("ner", tmp_path / "run", tuning)
    assert said == []
    load_run(run)
    assert said == []


def test_a_tokenizer_in_a_folder_is_not_taken_for_a_mistral_one(tiny_folder, said, tmp_path):
    """Transformers 4.57 does so where a folder's tokenizer has more than 100,000 pieces, as XLM-R's."""
    folder = shutil.copytree(tiny_folder, tmp_path / "encoder")
    pieces = Tokenizer(WordLevel({"[UNK]": 0, **{f"w{i}": i for i in range(1, 100_002)}}, unk_token="[UNK]"))
    pieces.pre_tokenizer = WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=pieces, unk_token="[UNK]").save_pretrained(folder)
    load_tokenizer(str(folder))
    load_encoder(str(folder))
    assert said == []


def test_only_lines_with_that_beginning_are_kept_off(said):
    log = logging.getLogger("adapters.model_mixin")
    with without_lines("adapters.model_mixin", "There are adapters", "Overwriting"):
        log.warning("There are adapters available")
        log.warning("Overwriting head %r", "ner")
        log.warning("The weights are damaged. There are adapters")
    log.warning("There are adapters available")
    assert said == [
        "adapters.model_mixin: The weights are damaged. There are adapters",
        "adapters.model_mixin: There are adapters available",
    ]
