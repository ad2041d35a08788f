// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table that is not as `docs/formats/embedding.md` says is refused, and the error says why.

use crate::builtin::{TABLE, sha256};
use ancile_models::{BUILTIN_SHA256, DIMENSION_MAX, Embedder, LoadError, StaticEmbedder};

/// A table of two tokens and two dimensions.
struct Small {
    magic: &'static [u8],
    version: u16,
    dimension: u16,
    rows: u32,
    about: &'static [u8],
    vocabulary: &'static [u8],
    scales: [f32; 2],
    values: Vec<u8>,
}

impl Default for Small {
    fn default() -> Self {
        Self {
            magic: b"ANCILEMB",
            version: 1,
            dimension: 2,
            rows: 2,
            about: b"name: small\nversion: 7\n",
            vocabulary: b"a\n##b\n",
            scales: [1.0, 0.5],
            values: vec![3, 0, 0, 8],
        }
    }
}

impl Small {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.extend(self.version.to_be_bytes());
        bytes.extend(self.dimension.to_be_bytes());
        bytes.extend(self.rows.to_be_bytes());
        for text in [self.about, self.vocabulary] {
            bytes.extend(u32::try_from(text.len()).unwrap().to_be_bytes());
        }
        bytes.extend_from_slice(self.about);
        bytes.extend_from_slice(self.vocabulary);
        bytes.extend(self.scales.iter().flat_map(|scale| scale.to_be_bytes()));
        bytes.extend_from_slice(&self.values);
        bytes
    }

    fn refused(&self) -> LoadError {
        load(&self.bytes()).unwrap_err()
    }
}

fn load(bytes: &[u8]) -> Result<StaticEmbedder, LoadError> {
    StaticEmbedder::load(bytes, &sha256(bytes))
}

#[test]
fn a_small_table_loads_and_embeds() {
    let small = load(&Small::default().bytes()).unwrap();
    assert_eq!(small.id().version, 7);
    assert_eq!(small.embed("a b").unwrap(), Some(vec![1.0, 0.0]));
    assert_eq!(small.embed("ab").unwrap(), Some(vec![0.6, 0.8]));
    assert_eq!(small.embed("b").unwrap(), None);
}

#[test]
fn a_damaged_table_is_refused() {
    for at in [0, 9, 500, TABLE.len() / 2, TABLE.len() - 1] {
        let mut bytes = TABLE.to_vec();
        bytes[at] ^= 1;
        let fault = StaticEmbedder::load(&bytes, BUILTIN_SHA256).unwrap_err();
        let (found, expected) = (sha256(&bytes), BUILTIN_SHA256);
        let told = format!(
            "embedding table has sha256 `{found}` and should have `{expected}`; \
             it is damaged or another one; get it again from where it came"
        );
        assert_eq!(fault.to_string(), told);
    }
    let cut = StaticEmbedder::load(&TABLE[..TABLE.len() - 1], BUILTIN_SHA256);
    assert!(matches!(cut, Err(LoadError::Sha256 { .. })));
}

#[test]
fn a_wrong_head_is_refused() {
    let magic = b"ANCILEMA";
    let refused = Small {
        magic,
        ..Small::default()
    }
    .refused();
    assert_eq!(refused, LoadError::NotATable);
    for version in [0, 2] {
        let refused = Small {
            version,
            ..Small::default()
        }
        .refused();
        assert_eq!(refused, LoadError::Format(version));
    }
    for dimension in [0, DIMENSION_MAX + 1] {
        let refused = Small {
            dimension,
            ..Small::default()
        }
        .refused();
        assert_eq!(refused, LoadError::Dimension(dimension));
    }
    for dimension in [1, DIMENSION_MAX - 1, DIMENSION_MAX] {
        let values = vec![1; usize::from(dimension) * 2];
        let bytes = Small {
            dimension,
            values,
            ..Small::default()
        }
        .bytes();
        assert_eq!(load(&bytes).unwrap().id().dimension, usize::from(dimension));
    }
}

#[test]
fn a_length_that_the_head_does_not_announce_is_refused() {
    let whole = Small::default().bytes();
    for bytes in 0..whole.len() {
        let refused = load(&whole[..bytes]).unwrap_err();
        let expected = if bytes < 24 { 24 } else { 65 };
        match refused {
            LoadError::NotATable => assert!(bytes < 8),
            refused => assert_eq!(
                refused,
                LoadError::Length {
                    found: bytes,
                    expected
                }
            ),
        }
    }
    let over = load(&[&whole[..], &[0]].concat()).unwrap_err();
    assert_eq!(
        over,
        LoadError::Length {
            found: 66,
            expected: 65
        }
    );
    let huge = Small {
        rows: u32::MAX,
        ..Small::default()
    }
    .refused();
    assert!(matches!(huge, LoadError::Length { .. }));
}

#[test]
fn wrong_texts_and_scales_are_refused() {
    let about = |about| {
        Small {
            about,
            ..Small::default()
        }
        .refused()
    };
    assert_eq!(about(b"\xff"), LoadError::NotUtf8("metadata"));
    assert_eq!(about(b"name: small\n"), LoadError::Metadata("version"));
    assert_eq!(
        about(b"name: s\nversion: x\n"),
        LoadError::Metadata("version")
    );
    assert_eq!(about(b"version: 1\n"), LoadError::Metadata("name"));

    let words = |vocabulary| {
        Small {
            vocabulary,
            ..Small::default()
        }
        .refused()
    };
    assert_eq!(words(b"a\n\xff\n"), LoadError::NotUtf8("vocabulary"));
    assert_eq!(words(b"a\nb"), LoadError::Tokens { tokens: 2, rows: 2 });
    assert_eq!(words(b"a\n"), LoadError::Tokens { tokens: 1, rows: 2 });
    assert_eq!(
        words(b"a\nb\nc\n"),
        LoadError::Tokens { tokens: 3, rows: 2 }
    );
    assert_eq!(words(b"a\na\n"), LoadError::Token("a".to_owned()));
    assert_eq!(words(b"a\n\n"), LoadError::Token(String::new()));

    for scale in [0.0, -1.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 2.0] {
        let scales = [1.0, scale];
        let refused = Small {
            scales,
            ..Small::default()
        }
        .refused();
        assert_eq!(refused, LoadError::Scale(1));
    }
}
