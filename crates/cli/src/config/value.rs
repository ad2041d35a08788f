// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of settings: what each may be, and how it is read from TOML and from text.

use std::borrow::Cow;
use std::net::SocketAddr;
use toml::de::DeValue;

/// What a setting may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A whole number within limits, both inclusive.
    Whole {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// On or off.
    Switch,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// An IP address with a port.
    Address,
    /// A text with a form of its own.
    Form {
        /// What the form is, with an example.
        due: &'static str,
        /// Says what is wrong with a text.
        check: fn(&str) -> Result<(), String>,
    },
}

/// A value that fits its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// On or off.
    Switch(bool),
    /// A text.
    Text(Cow<'static, str>),
}

/// A value that does not fit.
pub struct Bad {
    /// What was given.
    pub given: String,
    /// What is wrong with it beyond that, ending with a blank.
    pub why: String,
}

impl Value {
    /// A text, in a constant.
    pub const fn fixed(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// The number; 0 for what is none, which no row of numbers has.
    pub fn whole(&self) -> u64 {
        match self {
            Self::Whole(n) => *n,
            _ => 0,
        }
    }

    /// The number as a size.
    pub fn size(&self) -> usize {
        usize::try_from(self.whole()).unwrap_or(usize::MAX)
    }

    /// A number of things.
    pub fn count(&self) -> u32 {
        u32::try_from(self.whole()).unwrap_or(u32::MAX)
    }

    /// A number per mille.
    pub fn per_mille(&self) -> u16 {
        u16::try_from(self.whole()).unwrap_or(u16::MAX)
    }

    /// Whether it is on.
    pub const fn is_on(&self) -> bool {
        matches!(self, Self::Switch(true))
    }

    /// The text; empty for what is none, which no row of texts has.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// As JSON.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Self::Whole(n) => (*n).into(),
            Self::Switch(on) => (*on).into(),
            Self::Text(text) => text.as_ref().into(),
        }
    }
}

/// As TOML, in which a JSON string of printable characters is one too.
impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.json())
    }
}

impl Kind {
    /// What it is called in the reference.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whole { .. } => "whole number",
            Self::Switch => "switch",
            Self::OneOf(_) => "word",
            Self::Address | Self::Form { .. } => "text",
        }
    }

    /// What it takes, in words.
    pub fn due(self, unit: &str) -> String {
        match self {
            Self::Whole { min, max } => format!("{min} to {max} {unit}").trim_end().to_owned(),
            Self::Switch => "`true` or `false`".to_owned(),
            Self::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                words.join(" or ")
            }
            Self::Address => {
                "an IP address with a port, such as 127.0.0.1:7878 or [::1]:7878".to_owned()
            }
            Self::Form { due, .. } => due.to_owned(),
        }
    }

    /// Reads a value of the file.
    pub fn of_toml(self, value: &DeValue<'_>) -> Result<Value, Bad> {
        match (self, value) {
            (Self::Whole { .. }, DeValue::Integer(n)) => {
                let n = i128::from_str_radix(n.as_str(), n.radix());
                let n = n.map_err(|fault| bad("a number", &fault.to_string()))?;
                self.of_text(&n.to_string())
            }
            (Self::Switch, DeValue::Boolean(on)) => Ok(Value::Switch(*on)),
            (Self::OneOf(_) | Self::Address | Self::Form { .. }, DeValue::String(text)) => {
                self.of_text(text)
            }
            (_, DeValue::String(text)) => Err(bad(&format!("\"{text}\""), "")),
            (_, other) => Err(bad(other.type_str(), "")),
        }
    }

    /// Reads a value of a flag or of the environment.
    pub fn of_text(self, text: &str) -> Result<Value, Bad> {
        let owned = || Value::Text(Cow::Owned(text.to_owned()));
        let read = match self {
            Self::Whole { min, max } => text
                .parse()
                .ok()
                .filter(|n| (min..=max).contains(n))
                .map(Value::Whole),
            Self::Switch => text.parse().ok().map(Value::Switch),
            Self::OneOf(words) => words.contains(&text).then(owned),
            Self::Address => text.parse::<SocketAddr>().is_ok().then(owned),
            Self::Form { check, .. } => {
                check(text).map_err(|why| bad(text, &why))?;
                Some(owned())
            }
        };
        read.ok_or_else(|| bad(text, ""))
    }
}

fn bad(given: &str, why: &str) -> Bad {
    let why = match why {
        "" => String::new(),
        why => format!("{why}; "),
    };
    Bad {
        given: given.escape_debug().to_string(),
        why,
    }
}
