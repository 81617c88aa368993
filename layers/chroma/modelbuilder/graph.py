"""Writes BERT as an ONNX graph of operators that onnxruntime runs fast on a CPU, in fp32 or with int8 weights.

The int8 form is what onnxruntime's ``quantize_dynamic`` makes of such a graph (symmetric int8 weights with one
scale per output channel, activations quantised to uint8 at run time), written directly: the same bytes on every
build, a scale for each word embedding instead of one for all. Two findings on these very weights shape it (the
weights' sha256 is pinned, so they hold for every build):

- Weights use 7 bits. x86 processors without VNNI (what Lambda may give) multiply uint8 by int8 in pairs that
  saturate at 16 bits. With full-range weights that happens, silently, to 1-10 of 100,000 pairs: simulated, a
  text's vector then has a cosine of .96 to .99 with its own from a processor with VNNI. 7-bit weights cannot
  overflow, so every processor computes the same products.
- A few channels are far larger than all others in every text, and one scale per tensor, which is how
  activations are quantised at run time, leaves the others a handful of steps. Those channels are divided by a
  power of two, and their weights multiplied by it (SmoothQuant, arXiv:2211.10438, for single channels). That
  brings the mean cosine against fp32 from .991 to .996, and so more than pays for the 7 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from modelbuilder.weights import BertConfig, Tensors, Weights

EMBEDDING_MAX = 127
"""Word vectors are looked up, not multiplied as integers: they may use all of int8."""

WEIGHT_MAX = 63
"""Largest weight as an integer: 2 * 255 * 63 stays below 2**15."""

RESIDUAL_OUTLIERS: Mapping[int, int] = {99: 4, 63: 2, 223: 2, 127: 2}
"""Channel of a layer's input (or of its normalised attention output) -> divisor. They reach 8 to 30; others 2."""

INNER_OUTLIERS: Mapping[int, Mapping[int, int]] = {0: {856: 8}, 1: {607: 8}, 2: {1004: 8, 218: 8}, 3: {358: 8}}
"""Layer -> channel after GELU -> divisor. They reach 13 to 25; others 2, at most 7."""


def quantise(value: NDArray[np.float32], *, axis: int, largest: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return ``value`` as symmetric int8, and one scale per slice: ``value ~ integers * scales``.

    Args:
        value: shape (rows, columns).
        axis: the axis that shares a scale; ``scales`` has the shape without it.
        largest: the integer that the largest magnitude of a slice becomes, at most 127.
    """
    magnitude = np.abs(value).max(axis=axis, keepdims=True)
    scales = np.where(magnitude > 0, magnitude / largest, 1).astype(np.float32)
    return np.rint(value / scales).astype(np.int8), scales.squeeze(axis)


def divisors(outliers: Mapping[int, int], channels: int) -> NDArray[np.float32]:
    """Return the divisor of each channel, shape (channels,): 1 where ``outliers`` names none."""
    result = np.ones(channels, dtype=np.float32)
    for channel, divisor in outliers.items():
        result[channel] = divisor
    return result


ONNX_OPSET = 17
"""The first with LayerNormalization; nothing newer is needed."""

IR_VERSION = 8
"""The one that belongs to opset 17."""

FUSED = "com.microsoft"
"""The domain of onnxruntime's own operators (whole attention, quantised products, exact GELU)."""

INPUT_IDS = "input_ids"
ATTENTION_MASK = "attention_mask"
OUTPUT = "last_hidden_state"


def build_graph(weights: Weights, *, int8: bool) -> onnx.ModelProto:
    """Return the encoder as an ONNX model.

    Inputs: ``input_ids`` and ``attention_mask``, int64, shape (batch, sequence). Output: ``last_hidden_state``,
    float32, shape (batch, sequence, hidden): the token vectors. Both axes are dynamic. Token types are all 0.

    Raises:
        KeyError: a tensor of the architecture is not among the weights.
    """
    config = weights.config
    graph = _Graph(int8=int8)
    graph.node("Cast", [ATTENTION_MASK], "mask", to=TensorProto.INT32)
    hidden = _embeddings(graph, weights.tensors, config)
    for number in range(config.num_hidden_layers):
        output = OUTPUT if number == config.num_hidden_layers - 1 else f"layer{number}"
        hidden = _layer(graph, weights.tensors, config, number=number, hidden=hidden, output=output)
    tokens = ["batch", "sequence"]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "bert",
            [helper.make_tensor_value_info(name, TensorProto.INT64, tokens) for name in (INPUT_IDS, ATTENTION_MASK)],
            [helper.make_tensor_value_info(hidden, TensorProto.FLOAT, [*tokens, config.hidden_size])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", ONNX_OPSET), helper.make_opsetid(FUSED, 1)],
        producer_name="modelbuilder",
    )
    model.ir_version = IR_VERSION
    return model


@dataclass(slots=True, kw_only=True)
class _Graph:
    """The nodes and constants written so far. A node is named after its first output."""

    int8: bool
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: float) -> str:
        node = helper.make_node(operator, inputs, outputs, name=outputs[0], domain=domain)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return outputs[0]

    def int8_weight(self, name: str, weight: NDArray[np.float32]) -> tuple[str, str]:
        """Add ``weight``, shape (in, out), as integers and a scale per output channel; return their names."""
        integers, scales = quantise(weight, axis=0, largest=WEIGHT_MAX)
        return self.constant(f"{name}.int8", integers), self.constant(f"{name}.scale", scales)

    def divide(self, inputs: str, name: str, by: NDArray[np.float32]) -> str:
        """Divide each channel of ``inputs``; powers of two, so that multiplying by the inverse is exact."""
        if (by == 1).all():
            return inputs
        return self.node("Mul", [inputs, self.constant(f"{name}.inverse", 1 / by)], f"{name}.damped")

    def linear(
        self,
        inputs: str,
        name: str,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32],
        *,
        outliers: Mapping[int, int],
    ) -> str:
        """Add ``inputs @ weight + bias`` where ``weight`` has shape (in, out)."""
        offset = self.constant(f"{name}.bias", bias)
        if not self.int8:
            product = self.node("MatMul", [inputs, self.constant(f"{name}.weight", weight)], f"{name}.product")
            return self.node("Add", [product, offset], name)
        by = divisors(outliers, len(weight))
        integers, scales = self.int8_weight(name, weight * by[:, None])
        damped = self.divide(inputs, name, by)
        # The empty name is the zero point, left out: the weights are symmetric.
        return self.node("DynamicQuantizeMatMul", [damped, integers, scales, "", offset], name, domain=FUSED)


def _embeddings(graph: _Graph, tensors: Tensors, config: BertConfig) -> str:
    """Word + position + token type, normalised: shape (batch, sequence, hidden)."""
    words = tensors["embeddings.word_embeddings.weight"]
    if graph.int8:
        integers, scales = quantise(words, axis=1, largest=EMBEDDING_MAX)
        rows = graph.node("Gather", [graph.constant("words.int8", integers), INPUT_IDS], "words.rows")
        rows = graph.node("Cast", [rows], "words.float", to=TensorProto.FLOAT)
        scale = graph.node("Gather", [graph.constant("words.scale", scales[:, None]), INPUT_IDS], "words.scales")
        embedded = graph.node("Mul", [rows, scale], "words")
    else:
        embedded = graph.node("Gather", [graph.constant("words.weight", words), INPUT_IDS], "words")
    # Every token has type 0, so its vector is part of the position's.
    positions = tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
    table = graph.constant("positions.weight", positions)
    zero = graph.constant("zero", np.array([0], dtype=np.int64))
    length = graph.node("Shape", [INPUT_IDS], "length", start=1, end=2)
    placed = graph.node("Slice", [table, zero, length, zero], "positions")
    return _add_norm(graph, tensors, config, embedded, placed, source="embeddings.LayerNorm", output="embeddings")


def _add_norm(
    graph: _Graph, tensors: Tensors, config: BertConfig, left: str, right: str, *, source: str, output: str
) -> str:
    """Normalise ``left + right``. Two operators: onnxruntime's SkipLayerNormalization takes 4 times as long here."""
    total = graph.node("Add", [left, right], f"{output}.sum")
    gamma = graph.constant(f"{output}.gamma", tensors[f"{source}.weight"])
    beta = graph.constant(f"{output}.beta", tensors[f"{source}.bias"])
    return graph.node("LayerNormalization", [total, gamma, beta], output, epsilon=config.layer_norm_eps)


def _layer(graph: _Graph, tensors: Tensors, config: BertConfig, *, number: int, hidden: str, output: str) -> str:
    """One transformer layer, post-norm: hidden -> attention -> add, norm -> feed forward -> add, norm."""
    ours, theirs = f"layer{number}", f"encoder.layer.{number}"

    def linear(inputs: str, name: str, outliers: Mapping[int, int]) -> str:
        dense = f"{theirs}.{name}.dense"
        weight, bias = tensors[f"{dense}.weight"].T, tensors[f"{dense}.bias"]
        return graph.linear(inputs, f"{ours}.{name}", weight, bias, outliers=outliers)

    def add_norm(inputs: str, skip: str, name: str, result: str) -> str:
        return _add_norm(graph, tensors, config, inputs, skip, source=f"{theirs}.{name}.LayerNorm", output=result)

    mixed = _attention(graph, tensors, config, number=number, hidden=hidden)
    projected = linear(mixed, "attention.output", {})
    attended = add_norm(projected, hidden, "attention.output", f"{ours}.attended")
    wide = linear(attended, "intermediate", RESIDUAL_OUTLIERS)
    wide = graph.node("Gelu", [wide], f"{ours}.gelu", domain=FUSED)
    narrow = linear(wide, "output", INNER_OUTLIERS.get(number, {}))
    return add_norm(narrow, attended, "output", output)


def _attention(graph: _Graph, tensors: Tensors, config: BertConfig, *, number: int, hidden: str) -> str:
    """Masked multi-head self-attention before its output projection; query, key and value are one product."""
    name, theirs = f"layer{number}.attention", f"encoder.layer.{number}.attention.self"
    parts = [f"{theirs}.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([tensors[f"{part}.weight"].T for part in parts], axis=1)
    bias = graph.constant(f"{name}.bias", np.concatenate([tensors[f"{part}.bias"] for part in parts]))
    heads = config.num_attention_heads
    if not graph.int8:
        inputs = [hidden, graph.constant(f"{name}.weight", weight), bias, "mask"]
        return graph.node("Attention", inputs, name, domain=FUSED, num_heads=heads)
    by = divisors(RESIDUAL_OUTLIERS, config.hidden_size)
    integers, scales = graph.int8_weight(name, weight * by[:, None])
    damped = graph.divide(hidden, name, by)
    step, zero = f"{name}.input.scale", f"{name}.input.zero"
    quantised = graph.node("DynamicQuantizeLinear", [damped], f"{name}.input", step, zero)
    inputs = [quantised, integers, bias, step, scales, "mask", zero]
    return graph.node("QAttention", inputs, name, domain=FUSED, num_heads=heads)
