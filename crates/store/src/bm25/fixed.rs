// SPDX-License-Identifier: MIT OR Apache-2.0
//! BM25 in integers.
//!
//! With k1 = 6/5 and b = 3/4 the saturation k1 * (1 - b + b * len / avg) is
//! 3/10 + 9/10 * len * N / total, and the weight ln(1 + (N - df + 0.5) / (df + 0.5)) is
//! ln((2N + 2) / (2df + 1)): ratios of integers but for the logarithm.

/// What the lengths of a partition's documents add to a score.
pub(super) struct Lengths {
    /// 9/10 * N / total in units of 2^-32, so at most 9/10 (no document that scores is empty).
    per_term: u64,
}

impl Lengths {
    /// Takes the number of documents, below 2^32, and the sum of their lengths.
    pub(super) fn new(documents: u64, length_total: u64) -> Self {
        let numerator = (u128::from(documents) * 9) << 32;
        let per_term = numerator / (u128::from(length_total.max(1)) * 10);
        Self {
            per_term: u64::try_from(per_term).unwrap_or(u64::MAX),
        }
    }

    /// The share of one term in the score of one document, rounded down, at least 1.
    ///
    /// `weight` is below 2^26 and `tf` below 2^16, so the product is below 2^62.
    pub(super) fn share(&self, weight: u64, tf: u32, length: u32) -> u64 {
        let tf = u64::from(tf) << 20;
        let per_document = self.per_term.saturating_mul(u64::from(length)) >> 12;
        let saturation = SATURATION.saturating_add(per_document);
        (weight * tf / (tf + saturation)).max(1)
    }
}

/// Weight of a term that `df` of `documents` have, times k1 + 1, in millionths.
///
/// Both are below 2^32, so the weight is below 22.2 * 2.2 million, which is below 2^26.
pub(super) fn weight(documents: u64, df: u64) -> u64 {
    let ratio = log2(2 * documents + 2).saturating_sub(log2(2 * df + 1));
    let ln = (u128::from(ratio) * u128::from(LN_2)) >> 64;
    let scaled = (ln * u128::from(SCALE)) >> FRACTION_BITS;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Binary logarithm of a number from 1, in units of 2^-40, rounded down.
///
/// Squaring the mantissa doubles its logarithm; each time it passes 2, the next bit is 1.
fn log2(number: u64) -> u64 {
    let whole = number.max(1).ilog2();
    let mut mantissa = u128::from(number.max(1)) << (63 - whole);
    let mut log = u64::from(whole);
    for _ in 0..FRACTION_BITS {
        mantissa = (mantissa * mantissa) >> 63;
        let bit = mantissa >> 64;
        mantissa >>= bit;
        log = (log << 1) | u64::from(bit == 1);
    }
    log
}

/// Bits of a logarithm after the point.
const FRACTION_BITS: u32 = 40;

/// ln 2 in units of 2^-64.
const LN_2: u64 = 0xb172_17f7_d1cf_79ab;

/// (k1 + 1) in millionths.
const SCALE: u64 = 2_200_000;

/// 3/10 in units of 2^-20.
const SATURATION: u64 = (3 << 20) / 10;
