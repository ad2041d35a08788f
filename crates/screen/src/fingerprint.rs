// SPDX-License-Identifier: MIT OR Apache-2.0
//! Near-duplicates: two texts that say the same in nearly the same words, about the same values.

use crate::ground::{FoundValue, values};
use crate::mapped::{Form, Mapped};
use ancile_core::CanonicalValue;

/// Words in a shingle.
const SHINGLE_WORDS: usize = 3;
/// Most differing bits between near-duplicates, of 64 (Manku, Jain and Das Sarma, "Detecting
/// near-duplicates for web crawling", WWW 2007, section 3).
const NEAR_BITS: u32 = 3;

/// What a text is about, for near-duplicate collapse: a 64-bit simhash over word shingles, and the
/// typed values it names.
///
/// It is no digest: whoever writes both texts can make two different ones near. That costs only
/// within the partition that both are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    simhash: u64,
    values: Vec<CanonicalValue>,
}

impl Fingerprint {
    /// The typed values that the text names, sorted, each once.
    #[must_use]
    pub fn values(&self) -> &[CanonicalValue] {
        &self.values
    }

    /// Whether the texts are near-duplicates: at most 3 of 64 bits differ and all typed values
    /// agree.
    #[must_use]
    pub fn near(&self, other: &Self) -> bool {
        (self.simhash ^ other.simhash).count_ones() <= NEAR_BITS && self.values == other.values
    }
}

/// The fingerprint of a text, after folding. Case, accents, invisible characters, punctuation and
/// spacing between words do not count, nor does how a typed value is written.
#[must_use]
pub fn fingerprint(text: &str) -> Fingerprint {
    let found = values(text);
    let folded = Mapped::new(&without_values(text, &found), Form::Folded)
        .text
        .into_owned();
    let words: Vec<&str> = folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut values: Vec<_> = found.into_iter().map(|found| found.value).collect();
    values.sort_unstable();
    values.dedup();
    Fingerprint {
        simhash: simhash(&words),
        values,
    }
}

/// The text with a space in the place of each typed value.
fn without_values(text: &str, found: &[FoundValue]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for value in found {
        out.push_str(text.get(at..value.span.start).unwrap_or_default());
        out.push(' ');
        at = at.max(value.span.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Simhash (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002).
fn simhash(words: &[&str]) -> u64 {
    let mut sums = [0_i64; 64];
    let mut add = |shingle: &[&str]| {
        let hash = shingle_hash(shingle);
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { 1 } else { -1 };
        }
    };
    if words.len() < SHINGLE_WORDS {
        add(words);
    } else {
        words.windows(SHINGLE_WORDS).for_each(add);
    }
    sums.iter()
        .enumerate()
        .fold(0, |out, (bit, sum)| out | u64::from(*sum > 0) << bit)
}

/// FNV-1a over the words, each closed by a zero byte, then the splitmix64 finaliser.
fn shingle_hash(words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        for byte in word.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
