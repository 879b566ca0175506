"""The mean state of each language in every layer of an encoder or of the model of a run."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.analysis.language_text import CountedRows, LanguageText
from dlfa_adapters.encoders import Encoder
from dlfa_adapters.encoders.means import LanguageMeans, mean_states
from dlfa_adapters.encoders.means_record import UNITS, MeanOf, MeansRecord
from dlfa_adapters.encoders.parts import describe_encoder, encoder_of, layer_fingerprints
from dlfa_adapters.encoders.positions import fitting_length
from dlfa_adapters.ground.environment import Progress, count_items
from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.predict.centred import check_not_centred
from dlfa_adapters.predict.forms import load_fast
from dlfa_adapters.predict.languages import LanguageSwitch, describe_adapters
from dlfa_adapters.runs import Run, read_run

logger = logging.getLogger(__name__)

_MAX_LENGTH = 128


def measure_means(
    model: Any,
    tokenizer: Any,
    languages: Mapping[str, LanguageText],
    *,
    name: str,
    fingerprint: str | None = None,
    unit: str = "pieces",
    max_length: int | None = None,
    on_language: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    note: Callable[[str], None] = logger.info,
) -> LanguageMeans:
    """The mean state of each language in every layer.

    Args:
        model: An encoder, or a model around one, in eval mode; with its adapters or LoRA.
        tokenizer: Its fast tokenizer.
        languages: Text by language.
        name: What the file calls the model.
        fingerprint: Of the encoder where nothing of it has learnt, by which it is known before it is loaded.
        unit: `pieces`: every piece but special ones counts alike; `words`: every word does, whose state is the mean of
            those of its pieces. Running text is then split into words.
        max_length: Most pieces of a row; default: 128, or as many as the model reads. Longer text goes through several
            rows, each piece through one of them; of a pair that is longer, which cannot be cut in two, the rest is left
            out, and counted.
        on_language: Called with each language before its text is read.
        progress: Called after each batch with how many texts were just done, and how many there are.
        note: Called with a sentence where rows are shorter than by default.

    Raises:
        ConfigError: If there is no such unit, the tokenizer is slow, or `max_length` leaves no room or is more than the
            model reads.
        DataError: If text cannot be read, or there is none.
        RunError: If the model gives states that are not finite numbers.
    """
    if unit not in UNITS:
        raise ConfigError(f"unit must be one of {', '.join(UNITS)}; got {unit!r}.")
    longest, said = fitting_length(
        model, _MAX_LENGTH if max_length is None else max_length, was_given=max_length is not None
    )
    for sentence in said:
        note(sentence)
    about = {**describe_encoder(encoder_of(model).config), "name": name}
    depth = {"num_hidden_layers": about.pop("num_layers"), **({"fingerprint": fingerprint} if fingerprint else {})}
    tensors, made_of = {}, {}
    rows = CountedRows(tokenizer, unit, longest)
    total, report = sum(text.total for text in languages.values()), progress or (lambda stage, done, total: None)
    for language, text in languages.items():
        if on_language is not None:
            on_language(language)
        rows.dropped, rows.texts = text.dropped, 0
        step = count_items(text.total, total, lambda done, total: report("Texts", done, total))
        tensors[language], count = mean_states(
            model, rows.of(text.texts, language), tokenizer.pad_token_id, on_progress=step
        )
        step(text.total)
        fingerprints = layer_fingerprints(model)
        made_of[language] = MeanOf(round(count), rows.texts, text.source, dict(+text.dropped), fingerprints)
    return LanguageMeans(MeansRecord({**about, **depth}, unit, longest, made_of), tensors)


def measure_encoder_means(encoder: Encoder, languages: Mapping[str, LanguageText], **options: Any) -> LanguageMeans:
    """`measure_means` of an encoder that was loaded by name, on the GPU where there is one."""
    model = encoder.model.to("cuda") if torch.cuda.is_available() else encoder.model
    known = {"name": encoder.name, "fingerprint": encoder.describe()["fingerprint"]}
    return measure_means(model, encoder.tokenizer, languages, **{**known, **options})


def measure_run_means(
    run: str | Path | Run,
    languages: Mapping[str, LanguageText],
    language_adapters: Mapping[str, str | Path] | None = None,
    **options: Any,
) -> LanguageMeans:
    """`measure_means` of the model of a run, of any tuning, on the GPU where there is one.

    Args:
        run: A run folder.
        languages: Text by language.
        language_adapters: For a run of the tuning `stack`: folders of language adapters, by language.
        **options: `unit`, `max_length`, `progress`, `note`.

    Raises:
        RunError: If the folder is not a complete run; see `load_run`.
        ConfigError: If an adapter does not fit, or is for no language of the text.
    """
    run = run if isinstance(run, Run) else read_run(run)
    check_not_centred(run, "means of its states would be of states without means; name its encoder with --model")
    adapters = language_adapters or {}
    describe_adapters(run, adapters, list(languages))
    predictor = load_fast(run)
    switch = LanguageSwitch(predictor, adapters)
    named = {"name": str(run.folder), "on_language": switch}
    if run.config.get("model", {}).get("saved", "head") == "head":
        named |= {"name": run.config["encoder"]["name"], "fingerprint": run.config["encoder"]["fingerprint"]}
    return measure_means(predictor.model, predictor.tokenizer, languages, **{**named, **options})
