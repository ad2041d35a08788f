// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names given by people: tenants, namespaces, principals, sources, tools, fields.

use core::fmt;

/// Longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Why a text is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameError {
    /// The text was empty.
    Empty,
    /// The text was longer than [`NAME_BYTES_MAX`]; the field is its length in bytes.
    TooLong(usize),
    /// The byte at this offset is not an ASCII letter of either case, a digit, `.`, `_` or `-`.
    Byte(usize),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "name is empty; give 1 to {NAME_BYTES_MAX} bytes"),
            Self::TooLong(n) => {
                write!(
                    f,
                    "name is {n} bytes; limit is {NAME_BYTES_MAX}; shorten it"
                )
            }
            Self::Byte(at) => write!(
                f,
                "name has a byte at offset {at} outside A-Z a-z 0-9 `.` `_` `-`; replace it"
            ),
        }
    }
}

impl core::error::Error for NameError {}

fn check(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    if text.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong(text.len()));
    }
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    match text.bytes().position(|b| !fits(b)) {
        Some(at) => Err(NameError::Byte(at)),
        None => Ok(()),
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// Checks and takes a name: 1 to [`NAME_BYTES_MAX`] bytes of `A-Z a-z 0-9 . _ -`.
            ///
            /// # Errors
            /// [`NameError`] says which rule the text breaks.
            pub fn new(text: &str) -> Result<Self, NameError> {
                check(text)?;
                Ok(Self(text.into()))
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

name_type!(
    /// A hard boundary: own log, key and quotas; nothing crosses it.
    TenantName
);
name_type!(
    /// A named store inside a tenant with its own reader and writer lists.
    NamespaceName
);
name_type!(
    /// The party behind a credential.
    PrincipalName
);
name_type!(
    /// A registered connector.
    SourceName
);
name_type!(
    /// A tool of the manifest.
    ToolName
);
name_type!(
    /// An argument of a tool, or a field of its result.
    FieldName
);
