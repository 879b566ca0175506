"""The languages of an evaluation moved towards the one that the run was trained on, and how far each is moved.

Liu et al. 2020 (arXiv 2004.09205), Table 4: the mean-difference shift in a trained model, at test time. Their alpha is
picked for each language on its labelled dev data, which needs labels in that language. Without labels it is the one
that brings the states which the head reads nearest to those of the source language, by the cosine: of the means of the
two languages, or of sentences and their translations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch.nn.functional import cosine_similarity

from dlfa_adapters.data.alignment import special_ids
from dlfa_adapters.data.pairs import encode_texts, read_parallel
from dlfa_adapters.encoders.compute import parallel_cosine, sentence_means
from dlfa_adapters.encoders.means import CountedRow, LanguageMeans, mean_states
from dlfa_adapters.encoders.parts import encoder_of
from dlfa_adapters.encoders.shift import Shift
from dlfa_adapters.ground.environment import Progress
from dlfa_adapters.kinds import kind_of_task
from dlfa_adapters.kinds.encoded import Predictor
from dlfa_adapters.predict import Items
from dlfa_adapters.predict.shift_option import PARALLEL, TEXT, ShiftOption
from dlfa_adapters.tasks import Task

ALPHAS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9, 1.0, 1.5, 2.0)
"""What is tried: the values of the paper's Table 4, and none."""

MOST_TEXTS = 1000
"""How many items alpha is picked by, where no label is looked at."""


@dataclass
class Shifts:
    """The shift of each language.

    Attributes:
        option: The request.
        means: The means.
        towards: The source language, which is not shifted.
        alphas: How far each of the others is shifted.
        scores: What was compared, by language and alpha: scores in percent, or cosines.
    """

    option: ShiftOption
    means: LanguageMeans
    towards: str
    alphas: dict[str, float] = field(default_factory=dict)
    scores: dict[str, dict[float, float]] = field(default_factory=dict)

    def shift(self, language: str, alpha: float) -> Shift:
        """The shift of a language by some alpha."""
        return Shift.between(self.means, language, self.towards, self.option.layer, alpha)

    def of(self, language: str) -> list[Shift]:
        """The changes that a language is read with; none for the source language."""
        return [self.shift(language, self.alphas[language])] if language in self.alphas else []

    def check_model(self, model: Any, languages: Sequence[str], switch: Callable[[str], None]) -> None:
        """Refuse a model that the means are not of; before it is cast to 16 bits.

        Args:
            model: The model of the run.
            languages: Those that will be read.
            switch: Puts the language adapter of a language in place.

        Raises:
            ConfigError: If they are of another one.
        """
        stacked = getattr(model, "language_adapter", None) is not None
        for language in languages:
            switch(language)
            both = ([language], [self.towards]) if stacked else ([language, self.towards], [])
            self.means.check_fits(model, [self.option.layer], *both)

    def pick(
        self,
        predictor: Predictor,
        task: Task,
        items: Mapping[str, Items],
        switch: Callable[[str], None],
        parallel: Mapping[str, str | Path],
        progress: Progress,
    ) -> None:
        """Find the alpha of every language but the source.

        Args:
            predictor: The model of the run.
            task: The task.
            items: By language, what alpha is picked by: labelled items of another split, or the text to be predicted.
            switch: See `check_model`.
            parallel: By language a file of sentences in the source language, TAB, translations.
            progress: Called after each language.
        """
        languages = [language for language in items if language != self.towards]
        if self.option.alpha is not None:
            self.alphas = dict.fromkeys(languages, self.option.alpha)
            return
        for language in languages:
            switch(language)
            if self.option.picked == PARALLEL:
                self.scores[language] = self._by_parallel(predictor, language, parallel[language], switch)
            elif self.option.picked == TEXT:
                self.scores[language] = self._by_text(predictor, language, items[language])
            else:
                self.scores[language] = self._by_labels(predictor, task, language, items[language])
            # among equal ones the smallest
            self.alphas[language] = max(ALPHAS, key=lambda alpha: (self.scores[language][alpha], -alpha))
            progress("Picking alpha", 1, len(languages))

    def _by_labels(self, predictor: Predictor, task: Task, language: str, items: Items) -> dict[float, float]:
        """The main score on labelled items, in percent."""
        metric, encoded = kind_of_task(task).metrics(task)[0], predictor.encode(items.inputs)
        scores = {}
        for alpha in ALPHAS:
            with self.shift(language, alpha).applied(encoder_of(predictor.model)):
                predicted = predictor.run(encoded)
            result = metric.compute(predictions=predicted, references=items.gold)
            scores[alpha] = round(100 * (result[metric.main_score] or 0.0), 4)
        return scores

    def _by_text(self, predictor: Predictor, language: str, items: Items) -> dict[float, float]:
        """The cosine between the mean of the text, as the head reads it, and that of the source language."""
        special = special_ids(predictor.tokenizer)
        rows = [
            CountedRow(
                row.input_ids,
                getattr(row, "token_type_ids", None),
                [float(piece not in special) for piece in row.input_ids],
            )
            for row in predictor.encode(items.inputs[:MOST_TEXTS]).rows
        ]
        layers = layers_read(predictor.model)
        source, scores = self.means.of(self.towards)[layers], {}
        for alpha in ALPHAS:
            changes = [self.shift(language, alpha)]
            mean, _ = mean_states(predictor.model, rows, predictor.tokenizer.pad_token_id, changes=changes)
            scores[alpha] = cosine_similarity(mean[layers], source, dim=1).mean().item()
        return scores

    def _by_parallel(
        self, predictor: Predictor, language: str, file: str | Path, switch: Callable[[str], None]
    ) -> dict[float, float]:
        """The mean cosine of sentences and their translations, which are shifted, as the head reads them."""
        encoder, tokenizer, layers = encoder_of(predictor.model), predictor.tokenizer, layers_read(predictor.model)
        pairs = read_parallel(file, MOST_TEXTS)
        first, second = (
            encode_texts(tokenizer, [pair[side] for pair in pairs], max_length=predictor.max_length)[0]
            for side in (0, 1)
        )
        switch(self.towards)
        source, scores = sentence_means(encoder, first, tokenizer.pad_token_id, layers), {}
        switch(language)
        for alpha in ALPHAS:
            changes = [self.shift(language, alpha)]
            moved = sentence_means(encoder, second, tokenizer.pad_token_id, layers, changes=changes)
            scores[alpha] = parallel_cosine(source, moved).mean().item()
        return scores

    def describe(self) -> dict[str, Any]:
        """For a report, under `shift`."""
        return {
            "means": self.option.means,
            "fingerprint": self.means.digest,
            "layer": self.option.layer,
            "towards": self.towards,
            "alphas": self.alphas,
            "picked": self.option.picked,
            **({"tried": {language: {f"{a:g}": s for a, s in its.items()} for language, its in self.scores.items()}}
               if self.scores else {}),
        }  # fmt: skip


def layers_read(model: Any) -> list[int]:
    """The layers that the head of a model reads, ascending."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    head = inner.heads[inner.active_head] if hasattr(inner, "heads") else inner
    return sorted(set(head.indices))
