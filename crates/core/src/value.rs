// SPDX-License-Identifier: MIT OR Apache-2.0
//! Call arguments, and the one encoding that is the call digest.

use crate::{Digest, ToolName, origin::named_enum};
use core::fmt;
use std::collections::BTreeMap;

/// Deepest nesting of a [`Value`], in levels.
pub const VALUE_DEPTH_MAX: usize = 16;
/// Most nodes of a [`Value`], lists, maps and leaves together.
pub const VALUE_NODES_MAX: usize = 4_096;

/// An argument value. Numbers keep their decimal text, so that nothing is rounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number as the decimal text it was written in.
    Number(Box<str>),
    /// A text.
    Text(Box<str>),
    /// A list, in order.
    List(Vec<Value>),
    /// Named values, in name order.
    Map(BTreeMap<Box<str>, Value>),
}

impl Value {
    /// Appends the canonical encoding: a tag byte, then length-prefixed parts, big-endian.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.push(0),
            Self::Bool(b) => out.extend_from_slice(&[1, u8::from(*b)]),
            Self::Number(text) => put_text(out, 2, text),
            Self::Text(text) => put_text(out, 3, text),
            Self::List(items) => {
                out.push(4);
                put_len(out, items.len());
                items.iter().for_each(|item| item.encode(out));
            }
            Self::Map(map) => {
                out.push(5);
                put_len(out, map.len());
                for (name, value) in map {
                    put_len(out, name.len());
                    out.extend_from_slice(name.as_bytes());
                    value.encode(out);
                }
            }
        }
    }
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    out.extend_from_slice(&u64::try_from(len).unwrap_or(u64::MAX).to_be_bytes());
}

fn put_text(out: &mut Vec<u8>, tag: u8, text: &str) {
    out.push(tag);
    put_len(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

named_enum!(
    /// What kind of value an argument or a result field holds; decides how it is compared.
    ArgKind {
        /// A bank or other account number.
        Account = 1 "account",
        /// An e-mail address.
        Email = 2 "email",
        /// A URL.
        Url = 3 "url",
        /// A host name.
        Host = 4 "host",
        /// A telephone number.
        Phone = 5 "phone",
        /// A file path.
        Path = 6 "path",
        /// An amount, with or without a currency.
        Amount = 7 "amount",
        /// A date.
        Date = 8 "date",
        /// A person's or a thing's name.
        Name = 9 "name",
        /// A text compared exactly.
        Free = 10 "free",
        /// A secret, compared exactly and never shown.
        Secret = 11 "secret",
    }
);

/// A call before the act gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCall {
    /// The tool to be called.
    pub tool: ToolName,
    /// The arguments by name.
    pub args: BTreeMap<Box<str>, Value>,
}

impl ProposedCall {
    /// The call digest: SHA-256 over a domain tag, the tool and the canonical arguments.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut out = b"ancile call v1\0".to_vec();
        put_text(&mut out, 3, self.tool.as_str());
        Value::Map(self.args.clone()).encode(&mut out);
        Digest::sha256(&out)
    }
}
