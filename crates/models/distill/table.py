# SPDX-License-Identifier: MIT OR Apache-2.0
"""The embedding table as bytes: docs/formats/embedding.md says what they are."""

import struct

import numpy as np

MAGIC = b"ANCILEMB"
FORMAT = 1
HEAD = ">8sHHIII"


class Table:
    """Metadata lines, tokens, and for each token an f32 scale and a row of int8."""

    def __init__(self, about, tokens, scales, rows):
        self.about, self.tokens, self.scales, self.rows = about, tokens, scales, rows

    @staticmethod
    def quantised(about, tokens, vectors):
        """Each row gets the scale by which its largest value becomes 127."""
        scales = (np.abs(vectors).max(axis=1) / 127.0).astype(np.float32)
        rows = np.rint(vectors / scales[:, None].astype(np.float64))
        return Table(about, tokens, scales, np.clip(rows, -127, 127).astype(np.int8))

    @staticmethod
    def read(data):
        magic, version, dimension, count, about, vocabulary = struct.unpack_from(HEAD, data)
        if magic != MAGIC or version != FORMAT:
            raise ValueError("not an embedding table of format 1")
        at = struct.calcsize(HEAD)
        text = data[at : at + about].decode()
        at += about
        tokens = data[at : at + vocabulary].decode().split("\n")[:-1]
        at += vocabulary
        scales = np.frombuffer(data, dtype=">f4", count=count, offset=at).astype(np.float32)
        at += 4 * count
        rows = np.frombuffer(data, dtype=np.int8, count=count * dimension, offset=at)
        if len(tokens) != count or at + count * dimension != len(data):
            raise ValueError("the parts do not fill the file")
        return Table(text, tokens, scales, rows.reshape(count, dimension))

    def write(self):
        about = self.about.encode()
        vocabulary = "".join(f"{token}\n" for token in self.tokens).encode()
        count, dimension = self.rows.shape
        head = struct.pack(HEAD, MAGIC, FORMAT, dimension, count, len(about), len(vocabulary))
        scales = self.scales.astype(">f4").tobytes()
        return head + about + vocabulary + scales + self.rows.tobytes()

    def vectors(self):
        return self.rows.astype(np.float64) * self.scales[:, None].astype(np.float64)

    def embed(self, tokens):
        """The normalised sum of the rows of the tokens; nothing when none has a row."""
        row_of = {token: at for at, token in enumerate(self.tokens)}
        known = [row_of[token] for token in tokens if token in row_of]
        if not known:
            return None
        total = self.vectors()[known].sum(axis=0)
        return total / np.linalg.norm(total)
