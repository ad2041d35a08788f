// SPDX-License-Identifier: MIT OR Apache-2.0
//! 128-bit identifiers (UUID version 7, RFC 9562 section 5.7), one type for each kind of thing.

use core::fmt;

/// Why a text is not an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdError;

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("identifier is not 32 hexadecimal digits in groups of 8-4-4-4-12")
    }
}

impl core::error::Error for IdError {}

/// Writes 16 bytes in the 8-4-4-4-12 form.
fn write_uuid(bytes: [u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    crate::hex::write(&bytes, &[4, 6, 8, 10], f)
}

/// Reads the 8-4-4-4-12 form; upper case is accepted.
fn parse_uuid(text: &str) -> Result<[u8; 16], IdError> {
    let mut out = [0u8; 16];
    let mut digits = 0usize;
    for (at, c) in text.bytes().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            if c != b'-' {
                return Err(IdError);
            }
            continue;
        }
        let value = crate::hex::value(c).ok_or(IdError)?;
        let slot = out.get_mut(digits >> 1).ok_or(IdError)?;
        *slot = (*slot << 4) | value;
        digits = digits.saturating_add(1);
    }
    if text.len() == 36 {
        Ok(out)
    } else {
        Err(IdError)
    }
}

/// Lays out a UUIDv7: 48 bits of Unix milliseconds, then 74 bits of `random`.
fn v7(unix_ms: u64, random: [u8; 10]) -> [u8; 16] {
    let [_, _, t0, t1, t2, t3, t4, t5] = unix_ms.to_be_bytes();
    let [r0, r1, r2, r3, r4, r5, r6, r7, r8, r9] = random;
    let (version, variant) = (0x70 | (r0 & 0x0f), 0x80 | (r2 & 0x3f));
    [
        t0, t1, t2, t3, t4, t5, version, r1, variant, r3, r4, r5, r6, r7, r8, r9,
    ]
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// Makes the identifier for a moment (Unix milliseconds) from ten random bytes.
            #[must_use]
            pub fn at(unix_ms: u64, random: [u8; 10]) -> Self {
                Self(v7(unix_ms, random))
            }

            /// Takes the sixteen bytes as they are.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// The sixteen bytes.
            #[must_use]
            pub const fn bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// The moment it was made for, in Unix milliseconds.
            #[must_use]
            pub const fn unix_ms(&self) -> u64 {
                let [t0, t1, t2, t3, t4, t5, ..] = self.0;
                u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5])
            }

            /// Reads the 8-4-4-4-12 text form.
            ///
            /// # Errors
            /// [`IdError`] when the text has any other form.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                parse_uuid(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_uuid(self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_uuid(self.0, f)
            }
        }
    };
}

id_type!(
    /// One stored item.
    EntryId
);
id_type!(
    /// One context of one agent.
    SessionId
);
id_type!(
    /// A user's grant.
    MandateId
);
id_type!(
    /// A permitted call.
    PermitId
);
id_type!(
    /// An ask that waits for a person.
    ApprovalId
);
