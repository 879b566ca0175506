"""`AdapterTrainer` with what upstream's lacks: it restores every head with the best checkpoint, whatever its name."""

import logging
import os
from typing import Any

import adapters

logger = logging.getLogger(__name__)


class AdapterTrainer(adapters.AdapterTrainer):
    """Trains adapters and heads; see `adapters.AdapterTrainer`.

    Upstream restores only the heads that share their name with an adapter, and after resuming leaves whichever head it
    read last active.
    """

    def _load_best_model(self) -> None:
        super()._load_best_model()
        self._load_heads(self.state.best_model_checkpoint)

    def _load_heads(self, resume_from_checkpoint: str) -> None:
        model: Any = self.model
        for name in list(model.heads):
            folder = os.path.join(resume_from_checkpoint, model._folder_of(name))
            if os.path.isdir(folder):
                model.load_head(folder, set_active=False)
                model.heads[name].to(self.args.device)
                logger.info("Restored head %r from %s.", name, folder)
