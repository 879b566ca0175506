"""Auto classes by kind of task, and a pipeline for the kinds that Transformers has neither for."""

from collections import OrderedDict
from typing import Any, ClassVar

import transformers
from transformers import Pipeline
from transformers.models.auto.auto_factory import _BaseAutoModelClass, _LazyAutoMapping
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.pipelines import PIPELINE_REGISTRY

from dlfa_adapters.kinds import Kind, kind_named
from dlfa_adapters.tasks import KINDS


class AutoModelForDependencyParsing(_BaseAutoModelClass):
    """Loads a parser from a folder: a plain model or a run. Transformers has no such class.

    model = AutoModelForDependencyParsing.from_pretrained("runs/parse")
    """

    _model_mapping = _LazyAutoMapping(CONFIG_MAPPING_NAMES, OrderedDict())


_OURS = {cls.__name__: cls for cls in (AutoModelForDependencyParsing,)}


def auto_class(kind: Kind) -> Any:
    """The class that loads a model of a kind by name: one of Transformers, or of ours; None for none."""
    return _OURS.get(kind.auto_class) or getattr(transformers, kind.auto_class or " ", None)


class AnswersPipeline(Pipeline):
    """What `dlfa predict --json` says of texts, for a kind of task that Transformers has no pipeline for.

    Long texts go through windows, and every word gets an answer, as everywhere in this library.
    """

    kind: ClassVar[str]
    _load_processor = _load_image_processor = _load_feature_extractor = False
    _load_tokenizer = True

    def check_model_type(self, supported_models: Any) -> None:
        """Nothing to check: the Auto class loads no model of another kind."""

    def _sanitize_parameters(self, language: str | None = None, **other: Any) -> Any:
        """`language`, a code such as zh that says how text is split into words.

        Raises:
            ValueError: For any other option.
        """
        if other:
            raise ValueError(f"This pipeline has no option {', '.join(other)}; there is language, e.g. language='zh'.")
        return {} if language is None else {"language": language}, {}, {}

    def preprocess(self, text: str, language: str | None = None) -> dict[str, Any]:
        """The text as an input of the kind."""
        return {"text": text, "inputs": kind_named(self.kind).read_lines([text], language, None)}

    def _forward(self, model_inputs: dict[str, Any]) -> dict[str, Any]:
        kind, config = kind_named(self.kind), self.model.config
        windows = {**config.windows, "pooling": getattr(config, "pooling", "first")}
        labels = [config.id2label[i] for i in range(len(config.id2label))]
        predictor = kind.predictor(self.model, self.tokenizer, labels, windows, None)
        found = kind.answers(predictor, [model_inputs["text"]], model_inputs["inputs"], lambda done: None)
        return {"answers": found}

    def postprocess(self, model_outputs: dict[str, Any]) -> Any:
        """The answer; None for a text without anything to answer for."""
        return next(iter(model_outputs["answers"]), None)


def register_own_pipelines() -> None:
    """Let `pipeline(NAME, model=...)` know the pipelines that kinds of tasks have and Transformers has not."""
    for kind in KINDS.values():
        if kind.pipeline and kind.pipeline not in PIPELINE_REGISTRY.supported_tasks:
            name = f"{kind.name.capitalize()}Pipeline"
            impl = type(name, (AnswersPipeline,), {"kind": kind.name, "__module__": __name__})
            PIPELINE_REGISTRY.register_pipeline(kind.pipeline, impl, pt_model=auto_class(kind), type="text")
