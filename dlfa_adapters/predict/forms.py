"""The model of a run in another form: fast, on the GPU, in 16 bits or compiled; plain; or under the Auto classes.

A plain one is a Transformers model of its own; the Auto classes take a run folder as it is:
`pipeline("token-classification", model=RUN)`.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import torch
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto import modeling_auto

from dlfa_adapters.fusion import MaskedBatchNorm
from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.ground.folders import draft_beside
from dlfa_adapters.kinds import kind_named
from dlfa_adapters.kinds.encoded import Predictor
from dlfa_adapters.models import Card, merge_lora
from dlfa_adapters.models.auto import auto_class
from dlfa_adapters.models.card import write_card
from dlfa_adapters.predict.centred import check_not_centred
from dlfa_adapters.predict.load import (
    PRECISIONS,
    check_new,
    check_precision,
    kind_of,
    load_run,
    source_languages,
    takes_pairs,
)
from dlfa_adapters.predict.options import options_of_run, with_runs
from dlfa_adapters.runs import RUN_MODEL_TYPE, Run, read_run
from dlfa_adapters.tasks import KINDS
from dlfa_adapters.tuning.convert import merge_adapters, to_plain

_CUT = ("max_length", "context", "first_sentences")
"""What a plain model says of how text is cut."""


def load_fast(
    run: str | Path | Run,
    language_adapter: str | Path | None = None,
    *,
    precision: str = "fp32",
    compile: bool = False,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Predictor:
    """Load the model of a run as `load_run` does, on the GPU where there is one.

    Args:
        run: A run folder.
        language_adapter: See `load_run`.
        precision: `fp32`; or `bf16`: bfloat16 but for the batch norm of the fusion. It takes half the memory; about two
            labels in a thousand come out different.
        compile: Use `torch.compile`: the first batches take a minute, all others less time.
        options: See `load_run`.

    Returns:
        A tagger or a classifier.

    Raises:
        RunError: See `load_run`.
        ConfigError: If there is no such precision, or the model cannot be compiled.
    """
    check_precision(precision)
    run = run if isinstance(run, Run) else read_run(run)
    return make_fast(run, load_run(run, language_adapter, options=options), precision=precision, compile=compile)


def make_fast(run: Run, predictor: Predictor, *, precision: str = "fp32", compile: bool = False) -> Predictor:
    """What `load_run` gave for a run, on the GPU, in 16 bits or compiled; see `load_fast`."""
    if compile:
        try:  # what adapters adds around every layer cannot be compiled as a whole
            predictor.model = plain_model(run, predictor)[0]
        except UnsupportedModelError as error:
            raise ConfigError(f"--compile needs a model that is an encoder and a head alone; {error}") from error
    if precision != "fp32":
        cast(predictor.model, getattr(torch, PRECISIONS[precision]))
    if torch.cuda.is_available():
        predictor.model.to("cuda")
    if compile:
        predictor.model = torch.compile(predictor.model, dynamic=True)
    return predictor


def cast(model: Any, dtype: torch.dtype) -> None:
    """Keep the weights in another precision; scale and shift of a batch norm stay as they are."""
    norms = [module for module in model.modules() if isinstance(module, MaskedBatchNorm)]
    unchanged = {id(parameter) for norm in norms for parameter in norm.parameters()}
    for parameter in model.parameters():
        if id(parameter) not in unchanged:
            parameter.data = parameter.data.to(dtype)


def plain_model(run: str | Path | Run, loaded: Predictor | None = None) -> tuple[Any, Any]:
    """Load a run as a plain model, such as a `DLFAForTokenClassification`, a LoRA merged into the encoder.

    Args:
        run: A run folder.
        loaded: What `load_run` gave for it, if that was done already; its model is used up.

    Returns:
        The model in eval mode, which `save_pretrained` saves whole; its configuration knows the windows of the run.
        And its tokenizer.

    Raises:
        UnsupportedModelError: If adapters stand between the layers of the encoder (tunings `bottleneck`, `stack`).
        ConfigError: If the run was trained on centred languages.
        RunError: See `load_run`; also if the scores are not the same.
    """
    run = run if isinstance(run, Run) else read_run(run)
    check_not_centred(run, "it has no plain form: what it reads depends on a language that such a model is not told")
    loaded = load_run(run) if loaded is None else loaded
    if run.config.get("model", {}).get("saved") == "peft":
        model = merge_lora(loaded.model)
    else:
        try:
            merge_adapters(loaded.model)
        except UnsupportedModelError as error:
            raise UnsupportedModelError(f"{run.folder} has no plain form: {error}") from error
        model = to_plain(loaded.model, run.config["head"]["name"])
    windows = run.config["windows"]
    model.config.windows = {name: windows[name] for name in _CUT if name in windows}
    if (pair := takes_pairs(run)) is not None:
        model.config.pair = pair
    model.config.encoder_name = run.config["encoder"]["name"]
    vars(model.config.encoder_config).pop("_name_or_path", None)  # where the encoder lies on this machine
    return model, loaded.tokenizer


def convert_run(run: str | Path | Run, out: str | Path) -> Path:
    """Write the model of a run as Transformers writes one: configuration, weights, tokenizer, and a card.

    Args:
        run: A run folder.
        out: A folder that does not exist, or is empty.

    Returns:
        The folder, which `pipeline(..., model=out)` takes, and which can be put on a hub as it is.

    Raises:
        ConfigError: If something is in the way.
        UnsupportedModelError: See `plain_model`.
        RunError: See `plain_model`.
    """
    run, out = run if isinstance(run, Run) else read_run(run), Path(out)
    check_new(out)
    model, tokenizer = plain_model(run)
    with draft_beside(out) as draft:
        model.save_pretrained(draft)
        write_card(model, _card(run), draft, out.name)
        tokenizer.save_pretrained(draft)
        if not out.exists():
            draft.rename(out)
        else:
            for path in list(draft.iterdir()):
                path.rename(out / path.name)
    return out


def _card(run: Run) -> Card:
    """What the run says of its training, with its score on source dev."""
    languages, data = source_languages(run), run.config.get("data", {}).get("train", {})
    metrics, training = run.config.get("metrics", {}), run.config.get("training", {})
    steps = f", {training['steps']:,} steps" if "steps" in training else ""
    dev = metrics["dev"] if isinstance(metrics.get("dev"), dict) else {}
    return Card(
        scores={
            language: {f"{metrics['name']} (dev)": score / 100} for language, score in dev.items() if score is not None
        },
        source_language=languages[0] if len(languages) == 1 else None,
        training=f"{data.get('items', 'Unknown')} items of {data.get('source', 'unknown data')}; tuning "
        f"`{run.config.get('tuning', 'features')}`, seed {run.config.get('seed')}{steps}. "
        "The scores are those on dev data.",
    )


class RunConfig(PretrainedConfig):
    """The `config.json` of a run folder. It says that this is a run; all else is in `run.json`."""

    model_type = RUN_MODEL_TYPE


class _RunModel(PreTrainedModel):
    """Not a model: its `from_pretrained` gives that of the run."""

    config_class = RunConfig
    kind: ClassVar[str]

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: Any, *args: Any, dtype: Any = None, device_map: Any = None, **kwargs: Any
    ) -> Any:
        """Load the model of a run: a plain one where there is one, otherwise that of adapters."""
        if device_map is not None:
            raise ConfigError(
                "A run is loaded on the CPU; leave device_map out and type device=0, or model.to('cuda')."
            )
        run = read_run(pretrained_model_name_or_path)
        if kind_of(run) != cls.kind:
            right = KINDS[kind_of(run)].pipeline
            raise RunError(f"{run.folder} is a run for {kind_of(run)}; type pipeline({right!r}, model=...).")
        try:
            model, _ = plain_model(run)
        except UnsupportedModelError:
            model, windows = load_run(run).model, dict(run.config["windows"])
            model.config.pair = takes_pairs(run)
            model.config.pooling, model.config.windows = windows.pop("pooling", "first"), windows
            # The stock pipeline of texts logs an error for a class that is not among these names.
            modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES[RUN_MODEL_TYPE] = type(model).__name__
        model.reads = with_runs(kind_named(cls.kind), options_of_run(run, kind_named(cls.kind), {}))
        return model if dtype in (None, "auto") else model.to(dtype)


class RunTokenizer(PreTrainedTokenizerFast):
    """Not a tokenizer: its `from_pretrained` gives that of the run's encoder."""

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Load the tokenizer of the encoder that a run was trained on, or keeps."""
        from dlfa_adapters.encoders import load_tokenizer
        from dlfa_adapters.tuning.saving import ENCODER

        run = read_run(pretrained_model_name_or_path)
        own_encoder = run.config.get("model", {}).get("saved") == "encoder"
        return load_tokenizer(str(run.folder / ENCODER) if own_encoder else run.config["encoder"]["name"])


def register_runs() -> None:
    """Let the Auto classes load run folders; a second time changes nothing."""
    AutoConfig.register(RunConfig.model_type, RunConfig, exist_ok=True)
    for kind in (kind for kind in KINDS.values() if kind.auto_class):
        model = type(kind.auto_class.replace("AutoModel", "Run"), (_RunModel,), {"kind": kind.name})
        auto_class(kind).register(RunConfig, model, exist_ok=True)
    AutoTokenizer.register(RunConfig, fast_tokenizer_class=RunTokenizer, exist_ok=True)
