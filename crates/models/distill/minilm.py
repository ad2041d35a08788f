# SPDX-License-Identifier: MIT OR Apache-2.0
"""all-MiniLM-L6-v2 in numpy, in f64: what the encoder says of a few tokens at a time.

f64 is for repeatability, not for quality: another processor or BLAS moves the result by about
1e-13, far less than one step of the int8 rows that are made of it.
"""

import json
import struct

import numpy as np
from scipy.special import erf

LAYERS = 6
HEADS = 12
LAYER_NORM_EPSILON = 1e-12


def read_safetensors(data):
    """Tensors by name, as f64. Format: u64 length of a JSON header, the header, raw data."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    body = memoryview(data)[8 + length :]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        start, end = entry["data_offsets"]
        values = np.frombuffer(body[start:end], dtype="<f4").astype(np.float64)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


class MiniLM:
    """The encoder, from the bytes of `model.safetensors`."""

    def __init__(self, data):
        self.tensors = read_safetensors(data)

    def mean_pooled(self, ids):
        """One vector of 384 a row: the mean over all positions. `ids` is batch x positions, unpadded."""
        weights = self.tensors
        batch, positions = ids.shape
        hidden = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][:positions]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self.norm(hidden, "embeddings.LayerNorm")
        hidden = hidden.reshape(batch * positions, -1)
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            mixed = self.attention(hidden, batch, positions, f"{name}.attention.self")
            mixed = self.linear(mixed, f"{name}.attention.output.dense")
            hidden = self.norm(mixed + hidden, f"{name}.attention.output.LayerNorm")
            inner = self.linear(hidden, f"{name}.intermediate.dense")
            inner = 0.5 * inner * (1.0 + erf(inner / np.sqrt(2.0)))
            inner = self.linear(inner, f"{name}.output.dense")
            hidden = self.norm(inner + hidden, f"{name}.output.LayerNorm")
        return hidden.reshape(batch, positions, -1).mean(axis=1)

    def linear(self, values, name):
        return values @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def norm(self, values, name):
        centred = values - values.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(variance + LAYER_NORM_EPSILON)
        return scaled * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def attention(self, hidden, batch, positions, name):
        def heads(part):
            values = self.linear(hidden, f"{name}.{part}")
            return values.reshape(batch, positions, HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).transpose(0, 2, 1, 3).reshape(batch * positions, -1)
