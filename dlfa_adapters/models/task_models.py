"""The plain models: a label for every token; a label, several, or a number for a text or a pair of texts."""

from typing import Any, ClassVar

from torch import Tensor
from transformers.modeling_outputs import SequenceClassifierOutput, TokenClassifierOutput

from dlfa_adapters.ground.errors import ConfigError
from dlfa_adapters.kinds.loss import mean_loss, problem_type
from dlfa_adapters.models.base import DLFAPreTrainedModel


class DLFAForTokenClassification(DLFAPreTrainedModel):
    """Layer fusion and a classifier of tokens on an encoder of Transformers.

        model = DLFAForTokenClassification.from_encoder("bert-base-multilingual-cased", task="ner")

    See `DLFAPreTrainedModel`.
    """

    kind: ClassVar[str] = "tagging"

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        num_items_in_batch: Any = None,
        past_key_values: Any = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput | tuple[Any, ...]:
        """Scores of the labels of every token.

        Args:
            input_ids: Token ids, (batch, seq).
            attention_mask: Non-zero at real tokens, (batch, seq).
            token_type_ids: See the encoder.
            position_ids: See the encoder.
            inputs_embeds: Embeddings instead of ids, (batch, seq, width).
            labels: Label ids, (batch, seq); -100 where none counts.
            output_attentions: Whether to return the encoder's attentions.
            output_hidden_states: Whether to return the encoder's L + 1 states, as they are before fusion.
            return_dict: Whether to return a ModelOutput rather than a tuple.
            num_items_in_batch: Number of labels in the accumulated batch, from Trainer.
            past_key_values: Keys and values of a prefix, from PEFT's prefix tuning; its mask stands before that of the
                tokens.
            **kwargs: Further inputs of the encoder.

        Returns:
            `loss` (with labels), `logits` (batch, seq, labels), and `hidden_states` and `attentions` where requested.

        Raises:
            UnsupportedModelError: If the states of the encoder cannot be fused.
            ConfigError: If there is not one label for every token.
        """
        logits, outputs = self._scores(
            None,
            attention_mask,
            output_hidden_states,
            input_ids=input_ids,
            token_type_ids=token_type_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            output_attentions=output_attentions,
            past_key_values=past_key_values,
            **kwargs,
        )
        if labels is not None and labels.shape != logits.shape[:-1]:
            raise ConfigError(
                f"Tagging needs a label for every token, {tuple(logits.shape[:-1])}, and got {tuple(labels.shape)}; "
                "where PEFT's prompt tuning or P-tuning put tokens in front, type lora_config(model) for a LoRA."
            )
        loss = None if labels is None else mean_loss(logits, labels, num_items_in_batch=num_items_in_batch)
        output = TokenClassifierOutput(loss, logits, outputs.hidden_states, outputs.attentions)
        as_dict = self.config.return_dict if return_dict is None else return_dict
        return output if as_dict else output.to_tuple()


class DLFAForSequenceClassification(DLFAPreTrainedModel):
    """Layer fusion and a classifier of texts on an encoder of Transformers.

        model = DLFAForSequenceClassification.from_encoder("xlm-roberta-base", task="xnli")

    The classifier reads the fused state of the first real token (or `pooling="last"`, `"mean"`), never the encoder's
    pooler, which would go around the fusion. See `DLFAPreTrainedModel`.
    """

    kind: ClassVar[str] = "classification"

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        num_items_in_batch: Any = None,
        past_key_values: Any = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput | tuple[Any, ...]:
        """Scores of the labels of every text.

        Args:
            input_ids: Token ids, (batch, seq).
            attention_mask: Non-zero at real tokens, (batch, seq).
            token_type_ids: See the encoder.
            position_ids: See the encoder.
            inputs_embeds: Embeddings instead of ids, (batch, seq, width).
            labels: Label ids, (batch,), -100 where none counts; 0 and 1, (batch, labels), for several labels a text;
                numbers, (batch,), for regression. Which of them is `config.problem_type`, set by the first labels.
            output_attentions: Whether to return the encoder's attentions.
            output_hidden_states: Whether to return the encoder's L + 1 states, as they are before fusion.
            return_dict: Whether to return a ModelOutput rather than a tuple.
            num_items_in_batch: Number of labels in the accumulated batch, from Trainer.
            past_key_values: Keys and values of a prefix, from PEFT's prefix tuning; its mask stands before that of the
                tokens.
            **kwargs: Further inputs of the encoder.

        Returns:
            `loss` (with labels), `logits` (batch, labels), and `hidden_states` and `attentions` where requested.

        Raises:
            UnsupportedModelError: If the states of the encoder cannot be fused.
        """
        logits, outputs = self._scores(
            self.config.pooling,
            attention_mask,
            output_hidden_states,
            input_ids=input_ids,
            token_type_ids=token_type_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            output_attentions=output_attentions,
            past_key_values=past_key_values,
            **kwargs,
        )
        loss = None
        if labels is not None:
            if self.config.problem_type is None:
                self.config.problem_type = problem_type(self.config.num_labels, labels)
            loss = mean_loss(logits, labels, self.config.problem_type, num_items_in_batch)
        output = SequenceClassifierOutput(loss, logits, outputs.hidden_states, outputs.attentions)
        as_dict = self.config.return_dict if return_dict is None else return_dict
        return output if as_dict else output.to_tuple()
