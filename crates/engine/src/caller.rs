// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who asks: a credential that was checked, and what only its token can read.

use crate::api::KeySpec;
use ancile_core::{Digest, PrincipalName, Role, Salt, TenantName};

/// A credential that was checked. Only [`crate::Engine::authenticate`] makes it; the writer checks
/// it once more when its turn comes.
#[derive(Debug, Clone)]
pub struct Caller {
    pub(crate) hash: Digest,
    pub(crate) tenant: TenantName,
    pub(crate) spec: KeySpec,
    pub(crate) secret: Secret,
}

/// What follows from a token, and is kept nowhere.
#[derive(Clone)]
pub(crate) struct Secret(zeroize::Zeroizing<[u8; 32]>);

impl Secret {
    /// The key under which answers to a token's requests are kept.
    pub(crate) fn of(token: &str) -> Self {
        let mut bytes = zeroize::Zeroizing::new(b"ancile answers v1\0".to_vec());
        bytes.extend_from_slice(token.as_bytes());
        Self(zeroize::Zeroizing::new(Digest::sha256(&bytes).0))
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Caller {
    /// The tenant it reaches.
    #[must_use]
    pub fn tenant(&self) -> &TenantName {
        &self.tenant
    }

    /// Who it is.
    #[must_use]
    pub fn principal(&self) -> &PrincipalName {
        &self.spec.principal
    }

    /// The hash of its token: which credential it is.
    #[must_use]
    pub fn credential(&self) -> &Digest {
        &self.hash
    }

    /// Encrypts or decrypts bytes under its token: SHA-256 in counter mode (NIST SP 800-38A, 6.5)
    /// over a secret of the token, the salt and the number of the block.
    pub(crate) fn cipher(&self, salt: &Salt, mut bytes: Vec<u8>) -> Vec<u8> {
        for (number, block) in (0_u64..).zip(bytes.chunks_mut(32)) {
            let mut input = zeroize::Zeroizing::new(self.secret.0.to_vec());
            input.extend_from_slice(salt);
            input.extend_from_slice(&number.to_le_bytes());
            let stream = Digest::sha256(&input);
            block.iter_mut().zip(stream.0).for_each(|(b, s)| *b ^= s);
        }
        bytes
    }

    /// What it is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.spec.role
    }
}
