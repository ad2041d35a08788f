// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chat messages, facts of single turns, and what export gives.

use super::{EntryView, Written};
use ancile_core::{AuthorityClass, Digest, PermitId, Salt, ToolName};

/// Most messages, and most facts, of one request.
pub const MESSAGES_MAX: usize = 64;

/// Who a chat message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatRole {
    /// The operator's instructions: reported as the system prompt, and not kept.
    System,
    /// The user: reported as a user turn, and kept word by word, class 1 where the host relays it.
    User,
    /// The agent: kept as its own words, at the class of the session.
    Assistant,
    /// A tool: reported on its channel, or as the result of a permitted call, and kept as class 4.
    Tool,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    /// Who it is from.
    pub role: ChatRole,
    /// Its text; one without words is reported and not kept.
    pub content: String,
    /// For a tool: which.
    pub tool: Option<ToolName>,
    /// For a tool: the permit of the call whose result this is.
    pub permit: Option<PermitId>,
}

/// What a host extracted from one user turn, shown nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The number of the user turn among the messages of the request, from 0.
    pub message: u32,
    /// The fact.
    pub text: String,
}

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAdded {
    /// The class that the exposure was given; `None` where nothing new was shown.
    pub shown: Option<AuthorityClass>,
    /// The entry that keeps it; `None` where it is not kept.
    pub written: Option<Written>,
}

/// What became of messages and facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// One for each message.
    pub messages: Vec<MessageAdded>,
    /// One for each fact.
    pub facts: Vec<Written>,
    /// The class of the session after it.
    pub class: AuthorityClass,
    /// Root of its exposure log after it.
    pub exposure_root: Digest,
    /// Length of its exposure log after it.
    pub exposure_len: u64,
}

/// An entry as it is exported, with all that proves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The entry as its reader sees it.
    pub view: EntryView,
    /// The bytes of its record, whose leaf hash the proof is of; `None` where they do not hold.
    pub record: Option<Vec<u8>>,
    /// The salt of its content, where the text may leave.
    pub salt: Option<Salt>,
    /// The bytes that the record commits to, where they are not those of the text.
    pub content: Option<String>,
    /// The proof, as JSON text.
    pub proof: String,
}
