// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is done with a request before it reaches the writer, on the thread of its caller: texts
//! are embedded and their fingerprints taken, and what a step reports as shown is screened.

use crate::EngineConfig;
use crate::api::{
    CONTENT_BYTES_MAX, Expose, FINDINGS_TOLD_MAX, STEP_OPS_MAX, ShownFinding, StepOp, ToolResult,
};
use crate::caller::Caller;
use crate::embedding::Embedding;
use crate::prints::Prints;
use crate::refusal::Refusal;
use crate::screened::{input, rules_of, screener};
use crate::state::Key;
use crate::step::channel_of;
use ancile_core::{Channel, FieldName, Role};
use ancile_screen::Screener;
use std::sync::Arc;

/// What screening says of one text that was shown; by default, that it was not screened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    /// Version of the rules; 0 where the text was not screened.
    pub version: u32,
    /// Ids of the rules that hit, sorted, each once.
    pub rules: Vec<String>,
    findings: Vec<ShownFinding>,
}

/// An operation, and what screening says of each text that it reports as shown, in order.
pub(crate) type Prepared = (StepOp, Vec<Noted>);

/// What is needed before the writer; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Before {
    pub embedding: Embedding,
    pub prints: Prints,
    /// None where contents are not screened.
    pub screener: Option<Arc<Screener>>,
}

impl Before {
    /// What a store is opened with.
    pub(crate) fn open(config: &EngineConfig) -> Result<Self, Refusal> {
        Ok(Self {
            screener: screener(config)?,
            embedding: config.index.model.embedding()?,
            prints: Prints::default(),
        })
    }

    /// Embeds texts that are about to be written, and takes their fingerprints.
    pub(crate) fn texts<'t>(&self, texts: impl IntoIterator<Item = &'t str> + Clone) {
        self.embedding.warm(texts.clone());
        self.prints.warm(texts);
    }

    /// Embeds and screens what a step is about. A step that is refused for its size is not looked
    /// at, nor is a text that is.
    pub(crate) fn step(&self, by: &Caller, ops: Vec<StepOp>) -> Vec<Prepared> {
        if ops.len() > STEP_OPS_MAX {
            return plain(ops);
        }
        self.embedding.warm(ops.iter().filter_map(|op| match op {
            StepOp::Recall(recall) => Some(recall.query.as_str()),
            _ => None,
        }));
        self.texts(ops.iter().filter_map(|op| match op {
            StepOp::Write(write) => Some(write.text.as_str()),
            _ => None,
        }));
        ops.into_iter()
            .map(|op| {
                let noted = self.noted(by, &op);
                (op, noted)
            })
            .collect()
    }

    fn noted(&self, by: &Caller, op: &StepOp) -> Vec<Noted> {
        let Some(screener) = &self.screener else {
            return Vec::new();
        };
        let one = |field: Option<&FieldName>, text: &str, channel| match text.len() {
            ..=CONTENT_BYTES_MAX => note(screener, field, text, channel),
            _ => Noted::default(),
        };
        match op {
            StepOp::Expose(op @ Expose { text, .. }) => {
                vec![one(None, text, channel_of(&by.spec, op))]
            }
            StepOp::Result(_, ToolResult::Text(text)) => vec![one(None, text, Channel::Tool)],
            StepOp::Result(_, ToolResult::Fields(fields)) => fields
                .iter()
                .map(|(field, text)| one(Some(field), text, Channel::Tool))
                .collect(),
            _ => Vec::new(),
        }
    }
}

fn note(screener: &Screener, field: Option<&FieldName>, text: &str, channel: Channel) -> Noted {
    let screening = screener.screen(&input(text, channel));
    let found = screening.findings.iter().take(FINDINGS_TOLD_MAX);
    Noted {
        version: screening.version,
        rules: rules_of(&screening).into_iter().map(Into::into).collect(),
        findings: found
            .map(|finding| ShownFinding {
                field: field.cloned(),
                stage: finding.stage.name(),
                family: finding.rule.family(),
                span: (finding.span.start, finding.span.end),
                verdict: finding.verdict.name(),
            })
            .collect(),
    }
}

/// Operations of which nothing was looked at beforehand.
pub(crate) fn plain(ops: Vec<StepOp>) -> Vec<Prepared> {
    ops.into_iter().map(|op| (op, Vec::new())).collect()
}

/// What a key is told of what was found. An agent that reports by itself what it was shown is told
/// nothing: it could try out what passes.
pub(crate) fn told(key: &Key, noted: Vec<Noted>) -> Vec<ShownFinding> {
    if key.spec.role == Role::Agent {
        return Vec::new();
    }
    noted.into_iter().flat_map(|text| text.findings).collect()
}
