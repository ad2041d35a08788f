// SPDX-License-Identifier: MIT OR Apache-2.0
//! The models that can be fetched: which files each has, and what their bytes must be.

use crate::embedder::hex;
use sha2::{Digest, Sha256};
use std::fmt;
use thiserror::Error;

/// A file of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelFile {
    /// Its name in a directory and, as the last part of a path, in a wheel.
    pub name: &'static str,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256 in lower-case hexadecimal.
    pub sha256: &'static str,
    /// Its path below [`HUB`]; nothing where it is not there.
    pub path: Option<&'static str>,
}

/// A model that is fetched by its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchedModel {
    /// What it is called in the configuration and on the command line.
    pub name: &'static str,
    /// What it is, and under which licence.
    pub what: &'static str,
    /// Its files; all are needed.
    pub files: &'static [ModelFile],
}

/// Why a file of a model was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// It has another length.
    #[error("`{name}` has {found} bytes and should have {expected}; {NEXT}")]
    Length {
        /// The file.
        name: &'static str,
        /// Bytes there are.
        found: u64,
        /// Bytes there should be.
        expected: u64,
    },
    /// It has more than it should; how many nobody read.
    #[error("`{name}` has more than {expected} bytes and should have {expected}; {NEXT}")]
    Longer {
        /// The file.
        name: &'static str,
        /// Bytes there should be.
        expected: u64,
    },
    /// It has another digest.
    #[error("`{name}` has sha256 `{found}` and should have `{expected}`; {NEXT}")]
    Sha256 {
        /// The file.
        name: &'static str,
        /// Digest there is, in hexadecimal.
        found: String,
        /// Digest there should be.
        expected: &'static str,
    },
}

const NEXT: &str = "it is damaged or of another version; fetch it again";

/// Where the publisher of the models has them.
pub const HUB: &str = "https://huggingface.co";

/// The bytes of a file with their SHA-256, which is computed once, when this is made.
#[derive(Clone, PartialEq, Eq)]
pub struct Hashed {
    bytes: Vec<u8>,
    sha256: [u8; 32],
}

impl Hashed {
    /// These bytes.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        let sha256 = Sha256::digest(&bytes).into();
        Self { bytes, sha256 }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their SHA-256.
    #[must_use]
    pub const fn sha256(&self) -> [u8; 32] {
        self.sha256
    }
}

impl fmt::Debug for Hashed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes, sha256 {}",
            self.bytes.len(),
            hex(&self.sha256)
        )
    }
}

impl FetchedModel {
    /// Compares all files, in their order, with what is pinned.
    ///
    /// # Errors
    ///
    /// A file is another one.
    #[cfg(any(feature = "minilm", feature = "ort"))]
    pub(crate) fn check(&self, files: &[&Hashed]) -> Result<(), FileError> {
        let mut pairs = self.files.iter().zip(files);
        pairs.try_for_each(|(file, bytes)| file.check(bytes))
    }
}

impl ModelFile {
    /// Compares bytes with the pinned length and digest.
    ///
    /// # Errors
    ///
    /// Either differs.
    pub fn check(&self, bytes: &Hashed) -> Result<(), FileError> {
        let found = u64::try_from(bytes.bytes.len()).unwrap_or(u64::MAX);
        self.check_length(found)?;
        self.check_digest(&bytes.sha256)
    }

    /// What is said of more bytes than there should be, which nobody read to their end.
    #[must_use]
    pub const fn longer(&self) -> FileError {
        FileError::Longer {
            name: self.name,
            expected: self.bytes,
        }
    }

    /// Compares a length with the pinned one.
    ///
    /// # Errors
    ///
    /// It differs.
    pub fn check_length(&self, found: u64) -> Result<(), FileError> {
        let (name, expected) = (self.name, self.bytes);
        let other = FileError::Length {
            name,
            found,
            expected,
        };
        (found == expected).then_some(()).ok_or(other)
    }

    /// Compares a SHA-256 with the pinned one.
    ///
    /// # Errors
    ///
    /// It differs.
    pub fn check_digest(&self, digest: &[u8; 32]) -> Result<(), FileError> {
        let (name, expected) = (self.name, self.sha256);
        let found = hex(digest);
        let same = found == expected;
        let other = FileError::Sha256 {
            name,
            found,
            expected,
        };
        same.then_some(()).ok_or(other)
    }
}

/// The words that a model of the family of BERT knows, as the `tokenizers` library describes them.
const TOKENIZER: ModelFile = ModelFile {
    name: "tokenizer.json",
    bytes: 466_247,
    sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    path: Some("sentence-transformers/all-MiniLM-L6-v2/resolve/main/tokenizer.json"),
};

/// all-MiniLM-L6-v2 of the Sentence Transformers project: 384 dimensions, 256 tokens.
pub const MINILM: FetchedModel = FetchedModel {
    name: "minilm",
    what: "all-MiniLM-L6-v2 by the Sentence Transformers project, Apache-2.0; 384 dimensions",
    files: &[
        ModelFile {
            name: "model.safetensors",
            bytes: 90_868_376,
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            path: Some("sentence-transformers/all-MiniLM-L6-v2/resolve/main/model.safetensors"),
        },
        TOKENIZER,
    ],
};

/// The same with weights rounded to int8, as a graph for ONNX Runtime. It is on no hub.
pub const MINILM_ONNX: FetchedModel = FetchedModel {
    name: "minilm-onnx",
    what: "all-MiniLM-L6-v2 with int8 weights for ONNX Runtime, Apache-2.0; 384 dimensions",
    files: &[
        ModelFile {
            name: "model.onnx",
            bytes: 22_928_619,
            sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
            path: None,
        },
        TOKENIZER,
    ],
};

/// Every model that can be fetched.
pub const FETCHED: &[FetchedModel] = &[MINILM, MINILM_ONNX];
