"""Auto classes by kind of task, and a pipeline for the kinds that Transformers has neither for."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, ClassVar

import transformers
from transformers import Pipeline
from transformers.models.auto.auto_factory import _BaseAutoModelClass, _LazyAutoMapping
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.pipelines import PIPELINE_REGISTRY

from dlfa_adapters.fusion.options import A_RUN_UNLESS, no_such_option, options_of
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

    def _sanitize_parameters(self, language: str | None = None, **read: Any) -> Any:
        """`language`, a code such as zh that says how text is split into words; and what the model reads besides.

        That are options of the kind of task. In the place of a run that one of them names stands its model here.

        Raises:
            ValueError: For any other option, or a run.
        """
        kind = kind_named(self.kind)
        known = {} if kind.options is None else options_of(kind.options)
        for name, value in read.items():
            if name not in known:
                raise ValueError(no_such_option("This pipeline has no", name, ["language", *known]))
            if isinstance(value, str) and value not in known[name].metadata.get(A_RUN_UNLESS, (value,)):
                raise ValueError(f"{name} takes a model here, not a name; type {name}=load_run({value!r}).")
        return {} if language is None else {"language": language}, {"read": read} if read else {}, {}

    def preprocess(self, text: str, language: str | None = None) -> dict[str, Any]:
        """The text as an input of the kind."""
        return {"text": text, "inputs": kind_named(self.kind).read_lines([text], language, None)}

    def _forward(self, model_inputs: dict[str, Any], read: Mapping[str, Any] | None = None) -> dict[str, Any]:
        kind, config = kind_named(self.kind), self.model.config
        windows = {**config.windows, "pooling": getattr(config, "pooling", "first")}
        labels = [config.id2label[i] for i in range(len(config.id2label))]
        reads = reads_of(self.model, kind)
        if new := [name for name in read or {} if name not in reads]:
            raise ValueError(f"This model was trained without {new[0]}, so it reads none; leave it out.")
        predictor = kind.predictor(self.model, self.tokenizer, labels, windows, None, {**reads, **(read or {})})
        found = kind.answers(predictor, [model_inputs["text"]], model_inputs["inputs"], lambda done: None)
        return {"answers": found}

    def postprocess(self, model_outputs: dict[str, Any]) -> Any:
        """The answer; None for a text without anything to answer for."""
        return next(iter(model_outputs["answers"]), None)


def reads_of(model: Any, kind: Kind) -> dict[str, Any]:
    """What a model reads besides its inputs: what its run says, or a plain model's configuration."""
    if hasattr(model, "reads"):
        return dict(model.reads)
    names = {name for cls in kind.own_heads.values() for name in options_of(cls)}
    return kind.split_options({name: getattr(model.config, name) for name in names if hasattr(model.config, name)})[1]


def register_own_pipelines() -> None:
    """Let `pipeline(NAME, model=...)` know the pipelines that kinds of tasks have and Transformers has not."""
    for kind in KINDS.values():
        if kind.pipeline and kind.pipeline not in PIPELINE_REGISTRY.supported_tasks:
            name = f"{kind.name.capitalize()}Pipeline"
            impl = type(name, (AnswersPipeline,), {"kind": kind.name, "__module__": __name__})
            PIPELINE_REGISTRY.register_pipeline(kind.pipeline, impl, pt_model=auto_class(kind), type="text")
