"""Run folders for the Auto classes of Transformers: `pipeline("token-classification", model=RUN)`."""

from typing import Any, ClassVar

import transformers
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto import modeling_auto

from dlfa_adapters.ground.errors import ConfigError, RunError, UnsupportedModelError
from dlfa_adapters.runs import RUN_MODEL_TYPE
from dlfa_adapters.tasks import KINDS


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
        """Load the model of a run: a plain one where there is one, otherwise that of adapters.

        Args:
            pretrained_model_name_or_path: The run folder.
            *args: Not used.
            dtype: The model's, in the end.
            device_map: Refused.
            **kwargs: Where on the hub to look; a run is a folder.

        Raises:
            RunError: See `load_run`; also if the run is for the other kind of task.
            ConfigError: If there is a `device_map`.
        """
        from dlfa_adapters.predict.forms import plain_model
        from dlfa_adapters.predict.load import kind_of, load_run, takes_pairs
        from dlfa_adapters.runs import read_run

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
        return model if dtype in (None, "auto") else model.to(dtype)


class RunTokenizer(PreTrainedTokenizerFast):
    """Not a tokenizer: its `from_pretrained` gives that of the run's encoder."""

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Load the tokenizer of the encoder that a run was trained on, or keeps."""
        from dlfa_adapters.encoders import load_tokenizer
        from dlfa_adapters.runs import read_run
        from dlfa_adapters.tuning.saving import ENCODER

        run = read_run(pretrained_model_name_or_path)
        whole = run.config.get("model", {}).get("saved") == "encoder"
        return load_tokenizer(str(run.folder / ENCODER) if whole else run.config["encoder"]["name"])


def register_runs() -> None:
    """Let the Auto classes load run folders; a second time changes nothing."""
    AutoConfig.register(RunConfig.model_type, RunConfig, exist_ok=True)
    for kind in (kind for kind in KINDS.values() if kind.auto_class):
        auto = getattr(transformers, kind.auto_class)
        model = type(kind.auto_class.replace("AutoModel", "Run"), (_RunModel,), {"kind": kind.name})
        auto.register(RunConfig, model, exist_ok=True)
    AutoTokenizer.register(RunConfig, fast_tokenizer_class=RunTokenizer, exist_ok=True)
