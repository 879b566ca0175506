"""What token translation needs, made of files: the model, the means of both languages, their token sets."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from dlfa_adapters.analysis.language_text import LanguageText, text_of_files
from dlfa_adapters.analysis.means import measure_means
from dlfa_adapters.analysis.translation.checks import check_text
from dlfa_adapters.analysis.translation.measure import measure_translation
from dlfa_adapters.analysis.translation.report import TranslationReport
from dlfa_adapters.analysis.translation.text import token_sets
from dlfa_adapters.encoders.means import LanguageMeans
from dlfa_adapters.encoders.positions import fitting_length
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.heads import load_masked_lm

_MAX_LENGTH = 128

logger = logging.getLogger(__name__)

THESE = "the sentences themselves and their translations"


def translate_tokens(
    model: str,
    pairs: Sequence[tuple[str, str]],
    languages: tuple[str, str],
    *,
    language_adapter: str | Path | None = None,
    means: str | Path | None = None,
    text: Mapping[str, Sequence[str | Path]] | None = None,
    max_length: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> TranslationReport:
    """`measure_translation` of a model by name, on the GPU where there is one.

    Args:
        model: A folder or a name on the hub; see `load_masked_lm`.
        pairs: Sentences and their translations.
        languages: Codes of the language of the sentences, and of that of the translations.
        language_adapter: See `load_masked_lm`.
        means: A file that `dlfa analyze means` made of this model.
        text: Files of each language, a paragraph a line, from which means and token sets are made; without them both
            are made of the pairs, and with `means` the token sets alone.
        max_length: Most pieces of a sentence; default: 128, or as many as the encoder has positions for.
        progress: Called with what was just done.
        **options: Of `measure_translation`.

    Raises:
        ConfigError: If there is no such model, it has no decoder or fewer positions than `max_length`, or the means are
            of another one.
        DataError: If a file cannot be read, or has no text.
        MissingExtraError: If sacrebleu is not installed.
    """
    texts = _texts(pairs, languages, text)
    if means is not None:
        LanguageMeans.read(means).record.check_languages(languages, means)
    encoder = load_masked_lm(model, language_adapter)
    encoder = replace(encoder, model=encoder.model.to("cuda") if torch.cuda.is_available() else encoder.model)
    longest, said = fitting_length(encoder.model, max_length or _MAX_LENGTH, was_given=max_length is not None)
    for sentence in said:
        logger.info(sentence)
    source, target = (map(str, texts(language).texts) for language in languages)
    sets = token_sets(encoder.tokenizer, source, target)
    if means is not None:
        of_languages = LanguageMeans.read(means)
    else:
        of_languages = measure_means(
            encoder.model, encoder.tokenizer, {language: texts(language) for language in languages},
            name=model, max_length=longest, progress=progress,
        )  # fmt: skip
    return measure_translation(
        encoder, pairs, of_languages, languages, sets=sets, max_length=longest, progress=progress, **options
    )


def _texts(
    pairs: Sequence[tuple[str, str]], languages: tuple[str, str], text: Mapping[str, Sequence[str | Path]] | None
) -> Callable[[str], LanguageText]:
    """The text of a language, to be read anew at each call.

    Raises:
        ConfigError: If there are files, but not of both languages.
        DataError: If a file cannot be read, or has no text.
    """
    if not text:
        sides = {language: [pair[side] for pair in pairs] for side, language in enumerate(languages)}
        return lambda language: LanguageText(sides[language], THESE, len(pairs))
    check_text(text, languages)
    return lambda language: text_of_files(text[language])
