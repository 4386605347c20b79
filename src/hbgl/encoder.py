"""The two streams over a Hugging Face encoder.

The method's long sequence ``[text][u_1..u_D][m_1..m_D]`` splits in two, because text never looks at
labels: a text stream, encoded once, of which only each layer's keys and values are kept; and a
label stream of a few positions that attends to them. Same numbers, about the cost of the text
alone. Shapes: B documents, N text positions, S label positions, H heads, d width, k = d / H.

The modules and weights are the Hugging Face model's own (``families.py``); here is only the order
in which they run.
"""

from __future__ import annotations

import torch
from torch import nn

from hbgl.attending import KeyValue, attend, attend_both
from hbgl.attention import label_step_mask, text_mask
from hbgl.dropout import dropout
from hbgl.families import EncoderParts, Layer, encoder_parts
from hbgl.text_memory import (
    TextMemory,
    TextPiece,
    all_rows,
    cut_into_passes,
    label_attention_biases,
    last_queries,
    text_attention_bias,
    with_guest,
    without_guest,
)

__all__ = ["TextMemory", "TwoStreamEncoder"]


class TwoStreamEncoder(nn.Module):
    """Text stream and label stream over one bare Hugging Face encoder."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.parts: EncoderParts = encoder_parts(model)

    def parameters_by_depth(self) -> list[list[nn.Parameter]]:
        """Those of the embeddings (and of all that no layer has to itself), then of each layer."""
        layers = [
            list(dict.fromkeys(one for part in layer.modules() for one in part.parameters()))
            for layer in self.parts.layers
        ]
        of_layers = {one for layer in layers for one in layer}
        return [[one for one in self.model.parameters() if one not in of_layers], *layers]

    def set_dropout(self, attention: float, hidden: float | None) -> None:
        """Dropout inside attention and of hidden states (None: the backbone's own) in training."""
        for layer in self.parts.layers:
            layer.attention_dropout.p = attention
        if hidden is not None:
            self.parts.embedding_dropout.p = hidden
            for layer in self.parts.layers:
                layer.hidden_dropout.p = hidden

    def look_up(self, ids: torch.Tensor, special: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Word embeddings of texts [B, N] -> [B, N, d] and of special tokens -> [S, d].

        In one look-up, because each one costs a gradient of the size of the vocabulary.
        """
        together = torch.cat([ids.flatten(), ids.new_tensor(special)])
        vectors = self.parts.word_embeddings(together)
        return vectors[: ids.numel()].view(*ids.shape, -1), vectors[ids.numel() :]

    def special_words(self, ids: list[int]) -> torch.Tensor:
        """Word embeddings of special tokens, [S, d]."""
        place = self.parts.word_embeddings.weight.device
        vectors: torch.Tensor = self.parts.word_embeddings(torch.tensor(ids, device=place))
        return vectors

    def encode_text(self, words: torch.Tensor, lengths: torch.Tensor) -> TextMemory:
        """Run the text stream: [B, N, d] word embeddings, [B] lengths -> each layer's keys, values.

        In the last layer only keys and values are computed; the rest of it is seen by nobody.
        """
        passes = self._passes(lengths, words.shape[1])
        pieces = [self._read(words, lengths, one, None, asks=False)[0] for one in passes]
        return TextMemory(pieces, lengths)

    def encode_text_and_next(
        self, words: torch.Tensor, lengths: torch.Tensor, masked: torch.Tensor
    ) -> tuple[TextMemory, torch.Tensor]:
        """The same, and what [MASK], ``masked`` [B, 1, d], says after the text: [B, d].

        It goes along with the text as a guest whom nobody sees: one more position of a pass costs
        less than a pass of its own over all keys and values.
        """
        if self.parts.relative_bias is not None:  # the guest's place differs from text to text
            memory = self.encode_text(words, lengths)
            return memory, self.encode_next(memory, 0, None, masked, None)[0]
        passes = self._passes(lengths, words.shape[1])
        read = [self._read(words, lengths, one, masked, asks=True) for one in passes]
        return TextMemory([piece for piece, _ in read], lengths), all_rows([one for _, one in read])

    def first_state(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The last state of position 0 ([CLS]): [B, N, d] -> [B, d], for flat classification."""
        # Piece by piece, so that the keys and values of a whole batch are never there together.
        passes = self._passes(lengths, words.shape[1])
        return all_rows([self._read(words, lengths, one, None, asks=True)[1] for one in passes])

    def _read(
        self,
        words: torch.Tensor,
        lengths: torch.Tensor,
        one_pass: tuple[slice, int],
        guest: torch.Tensor | None,
        *,
        asks: bool,
    ) -> tuple[TextPiece, torch.Tensor]:
        """The text stream over some rows of a batch, cut to a width.

        :param guest: [B, 1, d] goes along as position 0, seen by itself alone.
        :param asks: also compute the last state of position 0, [rows, d]; otherwise it is empty.
        """
        rows, width = one_pass
        own = lengths[rows]
        hidden, visible = self.embed_text(words[rows, :width], own)
        if guest is not None:
            first = self._embed(guest[rows], own[:, None], segment=1)
            hidden, visible = with_guest(hidden, visible, first)
        layers, state = self._run_text(hidden, own, visible, guest is not None, asks)
        seen = visible if guest is None else without_guest(visible, hidden)
        return TextPiece(rows, layers, seen), state

    def _run_text(
        self,
        hidden: torch.Tensor,
        lengths: torch.Tensor,
        visible: torch.Tensor | None,
        guest: bool,
        asks: bool,
    ) -> tuple[list[KeyValue], torch.Tensor]:
        """Layer by layer: the text's keys and values, and the last state of position 0 if asked."""
        known = self.known_lengths(lengths + int(guest))
        bias = self.text_bias(hidden.shape[1], visible, guest and known is None)
        layers: list[KeyValue] = []
        for layer in self.parts.layers[:-1]:
            layers.append(self._text_key_value(layer, hidden))
            attended = self._attend(layer, hidden, layers[-1], bias, known, guest)
            hidden = self.finish(layer, hidden, attended)
        layer = self.parts.layers[-1]
        layers.append(self._text_key_value(layer, hidden))
        state = hidden.new_empty(len(hidden), 0)
        if asks:
            first = hidden[:, :1].contiguous()
            first_bias = bias if bias is None or bias.shape[2] == 1 else bias[:, :, :1]
            attended = self._attend(layer, first, layers[-1], first_bias, known)
            state = self.finish(layer, first, attended)[:, 0]
        return layers, state

    def encode_labels(
        self,
        memory: TextMemory,
        vectors: torch.Tensor,
        offsets: torch.Tensor,
        mask: torch.Tensor,
        past: list[KeyValue] | None = None,
        asked: int | None = None,
    ) -> tuple[torch.Tensor, list[KeyValue]]:
        """Run the label stream over an encoded text.

        :param vectors: [B, S, d] label vectors, [MASK] or [SEP] embeddings.
        :param offsets: [S] positions counted from the end of the text: h - 1 for level h.
        :param mask: [S, P + S] who sees whom among the P cached and S new label positions.
        :param past: each layer's keys and values of the P label positions already there.
        :param asked: the last layer computes the states of only so many last positions.
        :returns: [B, S, d] last states, or [B, asked, d] of the last positions, and each layer's
            keys and values of all P + S positions.
        """
        hidden, positions = self.embed_labels(vectors, memory.lengths, offsets)
        biases = [
            label_attention_biases(
                self.parts, piece.visible, piece.width, positions[piece.rows], mask
            )
            for piece in memory.pieces
        ]
        cache: list[KeyValue] = []
        for number, layer in enumerate(self.parts.layers):
            key, value = self._key_value(layer, hidden)
            if past is not None:
                key = torch.cat([past[number][0], key], dim=2)
                value = torch.cat([past[number][1], value], dim=2)
            cache.append((key, value))
            if asked is not None and number == len(self.parts.layers) - 1:
                hidden = hidden[:, -asked:].contiguous()
                biases = [last_queries(*both, asked) for both in biases]
            query = self.split_heads(layer.query(hidden))
            chance = layer.attention_dropout.p if self.training else 0.0
            mixed = [
                attend_both(
                    query[piece.rows],
                    piece.layers[number],
                    (key[piece.rows], value[piece.rows]),
                    *bias,
                    chance,
                )
                for piece, bias in zip(memory.pieces, biases, strict=True)
            ]
            hidden = self.finish(layer, hidden, self.joined(layer, all_rows(mixed)))
        return hidden, cache

    def encode_next(
        self,
        memory: TextMemory,
        step: int,
        known: torch.Tensor | None,
        masked: torch.Tensor,
        past: list[KeyValue] | None,
    ) -> tuple[torch.Tensor, list[KeyValue]]:
        """One prediction step: what [MASK] says in place ``step``, given all that is known before.

        :param step: counted from 0.
        :param known: [B, d] what came to stand in the place before; None in step 0.
        :param masked: [B, 1, d] the [MASK] embedding.
        :param past: what the step before returned.
        :returns: [B, d] the state of [MASK], and the keys and values of what is known.
        """
        inputs = masked if known is None else torch.cat([known[:, None], masked], dim=1)
        device = masked.device
        offsets = torch.arange(max(step - 1, 0), step + 1, device=device)
        states, cache = self.encode_labels(
            memory, inputs, offsets, label_step_mask(step + 1, device), past, asked=1
        )
        # [MASK] is nobody's past.
        return states[:, -1], [(key[:, :, :-1], value[:, :, :-1]) for key, value in cache]

    def _embed(self, vectors: torch.Tensor, positions: torch.Tensor, segment: int) -> torch.Tensor:
        """Vectors [B, S, d] plus segment and position embeddings, normalised."""
        parts = self.parts
        summed = vectors + parts.position_embeddings(positions + parts.position_offset)
        if parts.segment_embeddings is not None:
            # RoBERTa has a single segment: labels then share the text's.
            known = min(segment, parts.segment_embeddings.num_embeddings - 1)
            summed = summed + parts.segment_embeddings.weight[known]
        embedded: torch.Tensor = parts.embedding_norm(summed)
        device = embedded.device.type
        if torch.is_autocast_enabled(device):
            # Left in float32, every product would cast its input anew and every sum widen it back.
            embedded = embedded.to(torch.get_autocast_dtype(device))
        return dropout(embedded, parts.embedding_dropout.p, training=self.training)

    def embed_labels(
        self, vectors: torch.Tensor, lengths: torch.Tensor, offsets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Label vectors [B, S, d] ``offsets`` [S] after the text's end, and their positions."""
        positions = lengths[:, None] + offsets[None, :]
        return self._embed(vectors, positions, segment=1), positions

    def embed_text(
        self, words: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """The first hidden states of a text [B, N, d], and which positions are real, as a mask."""
        positions = torch.arange(words.shape[1], device=words.device)[None, :]
        hidden = self._embed(words, positions, segment=0)
        return hidden, text_mask(lengths, words.shape[1])

    def text_bias(
        self, width: int, visible: torch.Tensor | None, hide_first: bool = False
    ) -> torch.Tensor | None:
        """The attention mask of text among text; see :func:`text_attention_bias`."""
        return text_attention_bias(self.parts, width, visible, hide_first)

    def _key_value(self, layer: Layer, hidden: torch.Tensor) -> KeyValue:
        return self.split_heads(layer.key(hidden)), self.split_heads(layer.value(hidden))

    def _text_key_value(self, layer: Layer, hidden: torch.Tensor) -> KeyValue:
        """Laid out once as every later product wants them."""
        key, value = self._key_value(layer, hidden)
        return key.contiguous(), value.contiguous()

    def _passes(self, lengths: torch.Tensor, width: int) -> list[tuple[slice, int]]:
        return cut_into_passes(lengths, width)

    def known_lengths(self, lengths: torch.Tensor) -> list[int] | None:
        """Text lengths as numbers, where nothing but padding limits who sees whom, on a CPU."""
        if lengths.device.type != "cpu" or self.parts.relative_bias is not None:
            return None
        known: list[int] = lengths.tolist()
        return known

    def _attend(
        self,
        layer: Layer,
        queries: torch.Tensor,
        key_value: KeyValue,
        bias: torch.Tensor | None,
        lengths: list[int] | None = None,
        guest: bool = False,
    ) -> torch.Tensor:
        """Attention output before the residual: queries [B, S, d] -> [B, S, d]."""
        query = self.split_heads(layer.query(queries))
        chance = layer.attention_dropout.p if self.training else 0.0
        return self.joined(layer, attend(query, *key_value, bias, chance, lengths, guest))

    def joined(self, layer: Layer, mixed: torch.Tensor) -> torch.Tensor:
        """The heads' outputs [B, H, S, k] joined, through the output projection: [B, S, d]."""
        output: torch.Tensor = layer.attention_output(mixed.transpose(1, 2).flatten(2))
        return output

    def finish(self, layer: Layer, hidden: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """Residual and feed-forward of one layer."""
        chance = layer.hidden_dropout.p
        attended = dropout(attended, chance, training=self.training)
        hidden = layer.attention_norm(hidden + attended)
        fed = layer.narrow(layer.activation(layer.widen(hidden)))
        fed = dropout(fed, chance, training=self.training)
        finished: torch.Tensor = layer.output_norm(hidden + fed)
        return finished

    def split_heads(self, projected: torch.Tensor) -> torch.Tensor:
        """[B, S, d] -> [B, H, S, k]."""
        batch, places, _ = projected.shape
        return projected.view(batch, places, self.parts.heads, -1).transpose(1, 2)
