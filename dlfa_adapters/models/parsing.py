"""The plain model of parsing: a head and a relation for each word."""

from typing import Any, ClassVar

from torch import Tensor

from dlfa_adapters.kinds import kind_named
from dlfa_adapters.kinds.loss import share_of_batch
from dlfa_adapters.kinds.own_head import HeadOutput
from dlfa_adapters.models.base import DLFAPreTrainedModel


class DLFAForDependencyParsing(DLFAPreTrainedModel):
    """Layer fusion and a biaffine parser (Dozat and Manning 2017, arXiv 1611.01734) on an encoder of Transformers.

        model = DLFAForDependencyParsing.from_encoder("bert-base-multilingual-cased", task="parse")

    See `DLFAPreTrainedModel`.
    """

    kind: ClassVar[str] = "parsing"

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        word_ids: Tensor | None = None,
        word_mask: Tensor | None = None,
        upos_ids: Tensor | None = None,
        labels_arcs: Tensor | None = None,
        labels_rels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        num_items_in_batch: Any = None,
        past_key_values: Any = None,
        **kwargs: Any,
    ) -> HeadOutput | tuple[Any, ...]:
        """Scores of every word as the head of every other, and of the relation between the two.

        Args:
            input_ids: Token ids, (batch, seq).
            attention_mask: Non-zero at real tokens, (batch, seq).
            token_type_ids: See the encoder.
            position_ids: See the encoder.
            inputs_embeds: Embeddings instead of ids, (batch, seq, width).
            word_ids: The word of the row that a token speaks for, from 1; 0 for none; (batch, seq). A word's state is
                the mean over its tokens. Without them each token is a word.
            word_mask: Non-zero at real words, (batch, words).
            upos_ids: A part of speech for each word, for a model with `upos_size`; see the head.
            labels_arcs: The head of each word as a word of the row, 0 for the root; -100 where none is learned; (batch,
                words).
            labels_rels: Its relation; -100 where none is learned.
            output_attentions: Whether to return the encoder's attentions.
            output_hidden_states: Whether to return the encoder's L + 1 states, as they are before fusion.
            return_dict: Whether to return a ModelOutput rather than a tuple.
            num_items_in_batch: Number of heads to learn in the accumulated batch.
            past_key_values: Keys and values of a prefix, from PEFT's prefix tuning; its mask stands before that of the
                tokens.
            **kwargs: Further inputs of the encoder.

        Returns:
            `loss` (with labels), `logits`, which are scores of arcs (batch, words, words + 1), the root first, and of
            relations (batch, words, words + 1, relations); and `hidden_states` and `attentions` where requested.

        Raises:
            UnsupportedModelError: If the states of the encoder cannot be fused.
            ConfigError: If there is not one word for every token, or one head and relation for every word.
        """
        scores, outputs = self._scores(
            None,
            attention_mask,
            output_hidden_states,
            {"word_ids": word_ids, "word_mask": word_mask, "upos_ids": upos_ids},
            input_ids=input_ids,
            token_type_ids=token_type_ids,
            position_ids=position_ids,
            inputs_embeds=inputs_embeds,
            output_attentions=output_attentions,
            past_key_values=past_key_values,
            **kwargs,
        )
        loss = None
        if labels_arcs is not None and labels_rels is not None:
            loss = self.classifier.out.loss(scores, labels_arcs=labels_arcs, labels_rels=labels_rels)
            items = kind_named(self.kind).items_in_loss("", self.config.num_labels, labels_arcs, None)
            loss = share_of_batch(loss, items, num_items_in_batch)
        output = HeadOutput(loss, scores, outputs.hidden_states, outputs.attentions)
        as_dict = self.config.return_dict if return_dict is None else return_dict
        return output if as_dict else output.to_tuple()
