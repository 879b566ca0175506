"""`pipeline(...)` for our models: it tags words, not pieces, and labels texts, both as `dlfa predict` does."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import AutoConfig, TextClassificationPipeline, TokenClassificationPipeline
from transformers.models.auto import modeling_auto
from transformers.pipelines import PIPELINE_REGISTRY
from transformers.pipelines.token_classification import AggregationStrategy

from dlfa_adapters.data.backend import plain_backend
from dlfa_adapters.data.batching import pad_batch, pool_pieces
from dlfa_adapters.data.pairs import check_pairs, encode_texts
from dlfa_adapters.data.sentences import cut_documents
from dlfa_adapters.data.windows import make_windows
from dlfa_adapters.data.words import split_words, word_offsets
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.models.auto import auto_class, register_own_pipelines
from dlfa_adapters.models.config import DLFAConfig
from dlfa_adapters.models.lora import CLASSES

TASK, TEXT_TASK = "token-classification", "text-classification"


class WordPipeline(TokenClassificationPipeline):
    """Splits text into words, gives every word the label of the piece that the model was trained on, groups words.

    The stock pipeline takes a label for each piece, also for those that never had one in training, and cuts long texts
    off. `pipeline(...)` builds this class for models whose configuration has `windows`, the stock one for all others.
    The keys of its results are the stock ones; every aggregation strategy but `none` groups words as `simple` does.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """The stock pipeline, unless the model is one of ours."""
        if getattr(kwargs["model"].config, "windows", None) is None:
            return TokenClassificationPipeline(*args, **kwargs)
        return super().__new__(cls)

    def check_model_type(self, supported_models: Any) -> None:
        """Nothing to check: a model of another library does not come here."""

    def _sanitize_parameters(self, language: str | None = None, stride: Any = None, **options: Any) -> Any:
        """The stock options, and `language`, a code such as zh that says how text is split into words."""
        if stride is not None:
            raise ValueError("This model cuts long texts into windows by itself (config.windows); leave stride out.")
        before, forward, after = super()._sanitize_parameters(**options)
        return before if language is None else {**before, "language": language}, forward, after

    def preprocess(
        self, sentence: Any, language: str | None = None, is_split_into_words: bool = False, delimiter: str = " "
    ) -> Iterator[dict[str, Any]]:
        """Windows of the text, each with the words that are read in it."""
        words = list(sentence) if is_split_into_words else split_words(sentence, language)
        text = delimiter.join(words) if is_split_into_words else sentence
        windows, _ = make_windows(self.tokenizer, [words], **self.model.config.windows)
        rows = [(window.input_ids, window.words, window.pieces) for window in windows]
        for number, (ids, places, pieces) in enumerate(rows or [(self._no_words(), (), ())]):
            yield {
                "input_ids": torch.tensor([ids]),
                "attention_mask": torch.ones(1, len(ids), dtype=torch.long),
                "words": list(places),
                "pieces": [list(span) for span in pieces],
                "spans": word_offsets(text, words, len(delimiter) if is_split_into_words else 0),
                "text": text,
                "is_last": number + 1 >= len(rows),
            }

    def _no_words(self) -> list[int]:
        """What the encoder sees of a text without words: something has to come out for it, too."""
        return list(plain_backend(self.tokenizer).encode("").ids) or [self.tokenizer.pad_token_id or 0]

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        inputs = {name: model_inputs[name] for name in ("input_ids", "attention_mask")}
        return {**model_inputs, "logits": self.model(**inputs).logits}

    def postprocess(
        self,
        all_outputs: Sequence[dict[str, Any]],
        aggregation_strategy: AggregationStrategy = AggregationStrategy.NONE,
        ignore_labels: list[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Labelled words, or groups of them."""
        ignored = ["O"] if ignore_labels is None else ignore_labels
        text, spans = all_outputs[0]["text"], all_outputs[0]["spans"]
        scores = dict(pair for output in all_outputs for pair in self._scores(output))
        words: list[dict[str, Any]] = []
        for word, (start, end) in enumerate(spans):
            best = int(scores[word].argmax())
            label, score = self.model.config.id2label[best], float(scores[word][best])
            words.append({"entity": label, "score": score, "index": word + 1, "start": start, "end": end, "word": ""})
        if aggregation_strategy != AggregationStrategy.NONE:
            words = self.group_entities(words)
        for entity in words:
            entity |= {"score": float(entity["score"]), "word": text[entity["start"] : entity["end"]]}
        return [entity for entity in words if entity.get("entity", entity.get("entity_group")) not in ignored]

    def _scores(self, output: dict[str, Any]) -> Iterator[tuple[int, Tensor]]:
        """The words of a window with the probabilities of their labels."""
        real = output["logits"][0][output["attention_mask"][0].bool()].float()  # padding may be on the left
        pooled = pool_pieces(real, output["pieces"], getattr(self.model.config, "pooling", "first"))
        return zip(output["words"], pooled.softmax(-1), strict=True)


class TextPipeline(TextClassificationPipeline):
    """Cuts texts as the model was trained, and refuses a single text where it was trained on pairs.

    `pipeline(...)` builds this class for models whose configuration has `windows`, the stock one for all others. With
    options of the tokenizer, such as `truncation=True`, it does what the stock one does.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """The stock pipeline, unless the model is one of ours."""
        if getattr(kwargs["model"].config, "windows", None) is None:
            return TextClassificationPipeline(*args, **kwargs)
        return super().__new__(cls)

    def check_model_type(self, supported_models: Any) -> None:
        """Nothing to check: a model of another library does not come here."""

    def preprocess(self, inputs: Any, **tokenizer_kwargs: Any) -> Any:
        """The pieces of a text, or of the pair `{"text": ..., "text_pair": ...}`."""
        given = {"text": inputs} if isinstance(inputs, str) else inputs
        if tokenizer_kwargs or not isinstance(given, dict) or not set(given) <= {"text", "text_pair"}:
            return super().preprocess(inputs, **tokenizer_kwargs)
        pair, config = given.get("text_pair"), self.model.config
        check_pairs(getattr(config, "pair", None), pair is not None)
        sentences = config.windows.get("first_sentences")
        cut = cut_documents([given["text"]], None if pair is None else [pair], sentences, [None])
        [item], _ = encode_texts(self.tokenizer, *cut, max_length=config.windows["max_length"])
        return pad_batch([item], self.tokenizer.pad_token_id)


def register_pipeline() -> None:
    """Let `pipeline("token-classification", model=...)` and the others build these classes for our models."""
    PIPELINE_REGISTRY.supported_tasks[TASK]["impl"] = WordPipeline
    PIPELINE_REGISTRY.supported_tasks[TEXT_TASK]["impl"] = TextPipeline
    register_own_pipelines()


def register_auto_classes() -> None:
    """Let `AutoModelFor...from_pretrained(folder)` and `pipeline(..., model=folder)` load our models.

    Runs on `import dlfa_adapters`; a second time changes nothing.
    """
    AutoConfig.register(DLFAConfig.model_type, DLFAConfig, exist_ok=True)
    for name, cls in CLASSES.items():
        auto = auto_class(kind_named(cls.kind))
        auto.register(DLFAConfig, cls, exist_ok=True)
        if not auto.__module__.startswith("transformers."):
            continue
        # Pipelines look for the class among these names, and log an error for one that was only registered.
        words = re.findall("[A-Z][a-z]+", auto.__name__.removeprefix("Auto"))
        getattr(modeling_auto, "_".join([*words, "mapping", "names"]).upper())[DLFAConfig.model_type] = name
    register_pipeline()
