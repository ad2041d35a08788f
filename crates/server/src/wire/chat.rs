// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chat messages, imports, and the lines of an export.

use super::entry::{EntryBody, WriteBody, WrittenBody};
use super::spelled::{Object, Spelled, bare};
use crate::problem::Problem;
use ancile_core::{AuthorityClass, Digest, NamespaceName, PermitId, ToolName};
use ancile_engine::api::{
    Added, ChatMessage, ChatRole, Exported, Fact, MESSAGES_MAX, MessageAdded, Page, Write,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt::Write as _;

/// Messages of a conversation, in order, and facts that were extracted from its user turns.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessagesBody {
    #[schemars(length(max = 64))]
    messages: Vec<Object<MessageBody>>,
    #[serde(default)]
    #[schemars(length(max = 64))]
    facts: Vec<Object<FactBody>>,
}

/// One message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageBody {
    role: Spelled<ChatRole>,
    /// Its text; null, or left out, where an assistant only calls tools.
    content: Option<String>,
    /// For role `tool`: which tool.
    name: Option<Spelled<ToolName>>,
    /// For role `tool`: the permit of the call whose result this is.
    permit: Option<Spelled<PermitId>>,
}

/// What was extracted from one user turn, shown nothing else.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FactBody {
    /// The number of the user turn among `messages`, from 0.
    #[schemars(range(min = 0, max = 63))]
    message: i64,
    text: String,
}

impl MessagesBody {
    /// The messages and the facts.
    pub(crate) fn parts(self) -> Result<(Vec<ChatMessage>, Vec<Fact>), Problem> {
        let most = u32::try_from(MESSAGES_MAX.saturating_sub(1)).unwrap_or(u32::MAX);
        let messages = self
            .messages
            .into_iter()
            .map(|Object(message)| ChatMessage {
                role: message.role.0,
                content: message.content.unwrap_or_default(),
                tool: bare(message.name),
                permit: bare(message.permit),
            });
        let facts = self.facts.into_iter().map(|Object(fact)| {
            let message = super::count("message", Some(fact.message), 0..=most)?;
            Ok(Fact {
                message: message.unwrap_or_default(),
                text: fact.text,
            })
        });
        Ok((messages.collect(), facts.collect::<Result<_, Problem>>()?))
    }
}

/// What became of one message.
#[derive(Serialize, JsonSchema)]
struct MessageAddedBody {
    /// The class that the exposure was given; null where nothing new was shown.
    shown: Option<Spelled<AuthorityClass>>,
    /// The entry that keeps it; null where it is not kept.
    written: Option<WrittenBody>,
}

impl From<MessageAdded> for MessageAddedBody {
    fn from(added: MessageAdded) -> Self {
        Self {
            shown: added.shown.map(Spelled),
            written: added.written.map(WrittenBody::from),
        }
    }
}

/// What became of messages and facts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AddedBody {
    messages: Vec<MessageAddedBody>,
    facts: Vec<WrittenBody>,
    /// The class of the session after it.
    class: Spelled<AuthorityClass>,
    exposure_root: Spelled<Digest>,
    exposure_len: u64,
}

impl From<Added> for AddedBody {
    fn from(added: Added) -> Self {
        let messages = added.messages.into_iter().map(MessageAddedBody::from);
        Self {
            messages: messages.collect(),
            facts: added.facts.into_iter().map(WrittenBody::from).collect(),
            class: Spelled(added.class),
            exposure_root: Spelled(added.exposure_root),
            exposure_len: added.exposure_len,
        }
    }
}

/// Entries from elsewhere: each is class 4 on channel `import`, whatever it says of itself.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportBody {
    namespace: Spelled<NamespaceName>,
    #[schemars(length(min = 1, max = 256))]
    entries: Vec<Object<WriteBody>>,
}

impl ImportBody {
    /// The writes.
    pub(crate) fn writes(self) -> Result<Vec<Write>, Problem> {
        let namespace = self.namespace.0;
        let one = |(at, body): (usize, Object<WriteBody>)| {
            let write = body.0.write();
            let write = write.map_err(|p| p.within(&format!("entry {at}")))?;
            Ok(Write {
                namespace: Some(namespace.clone()),
                ..write
            })
        };
        self.entries.into_iter().enumerate().map(one).collect()
    }
}

/// A line of an export.
#[derive(Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
enum Line<'a> {
    /// One entry.
    Entry {
        entry: Box<EntryBody>,
        /// The bytes of its record in hexadecimal; null where they do not hold.
        record: Option<String>,
        /// The salt of its content in hexadecimal, where the text may leave.
        salt: Option<String>,
        /// What the record commits to, where it is not the text.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        proof: &'a RawValue,
    },
    /// The last one.
    End {
        /// The `cursor` of the next page; null on the last.
        next: Option<String>,
        checkpoint: &'a str,
    },
}

/// A page of an export: a line for each entry, and one that ends it.
pub(crate) fn lines(page: Page<Exported>, checkpoint: &str) -> Result<String, Problem> {
    let failed = |fault: serde_json::Error| Problem::internal(fault.to_string());
    let mut out = String::new();
    let mut push = |line: &Line<'_>| {
        let text = serde_json::to_string(line).map_err(failed)?;
        _ = writeln!(out, "{text}");
        Ok::<(), Problem>(())
    };
    for item in page.items {
        let proof: &RawValue = serde_json::from_str(&item.proof).map_err(failed)?;
        push(&Line::Entry {
            entry: Box::new(EntryBody::from(item.view)),
            record: item.record.as_deref().map(hex),
            salt: item.salt.as_ref().map(|salt| hex(salt)),
            content: item.content,
            proof,
        })?;
    }
    push(&Line::End {
        next: page.next,
        checkpoint,
    })?;
    Ok(out)
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        _ = write!(out, "{byte:02x}");
    }
    out
}
