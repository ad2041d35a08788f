// SPDX-License-Identifier: MIT OR Apache-2.0
//! A session: the ordered log of what was shown to an agent, and the class that follows from it.

use crate::event::{Shown, roots_from_text};
use crate::recall::place_for_model;
use ancile_core::{
    ApprovalId, ArgKind, AuthorityClass, CanonicalValue, Channel, Digest, EntryId, Ground,
    PermitId, PolicyView, PrincipalName, RootSet, SensitiveArg, SessionId,
};
use ancile_screen::GroundText;
use rpds::{HashTrieSetSync, VectorSync};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most origins kept to explain a session's class.
const WEAKEST_KEPT: usize = 16;

/// Something that names values: a user turn, class 1-2 content, or one evidence field.
#[derive(Debug)]
pub(crate) struct GroundItem {
    what: GroundWhat,
    roots: RootSet,
    /// What had been shown before it, where that must not have been class 4.
    before: Option<RootSet>,
}

#[derive(Debug)]
enum GroundWhat {
    Text(Box<GroundText>),
    Value(CanonicalValue),
}

impl GroundItem {
    pub(crate) fn names(&self, value: &CanonicalValue) -> bool {
        match &self.what {
            GroundWhat::Text(text) => text.names(value),
            GroundWhat::Value(named) => named == value,
        }
    }
}

/// Where something that was shown came from.
#[derive(Debug, Clone)]
pub(crate) struct ShownFrom {
    channel: Channel,
    by: Option<PrincipalName>,
    from: String,
    /// Whether it is the result of a tool, which stands in `from` then.
    result: bool,
}

impl ShownFrom {
    /// For people: with the whole locator.
    pub(crate) fn whole(&self) -> String {
        self.text(&self.from)
    }

    /// For a model, which the writer of a locator must not reach.
    fn for_model(&self) -> String {
        if self.result {
            return self.whole();
        }
        self.text(&place_for_model(&self.from))
    }

    fn text(&self, place: &str) -> String {
        let by = self.by.as_ref().map_or("", PrincipalName::as_str);
        let parts = [self.channel.name(), by, place];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }
}

/// One session, as its events left it.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub id: SessionId,
    pub spec: crate::api::SessionSpec,
    pub host: PrincipalName,
    pub token: Digest,
    pub task: Option<EntryId>,
    pub closed: bool,
    /// Meet of what was shown, as each was when it was shown.
    cap: AuthorityClass,
    /// All that this rests on; nothing before the first exposure.
    roots: Option<RootSet>,
    /// A user turn or a task payload was shown.
    anchored: bool,
    /// Running digest over the exposures.
    pub root: Digest,
    /// Number of exposures.
    pub len: u64,
    /// How many of them screening found something in.
    pub flagged: u64,
    /// After each exposure: its root, and how many of `shown` there were.
    marks: VectorSync<(Digest, usize)>,
    /// Record hashes of the entries that were shown, in order.
    shown: VectorSync<Digest>,
    pub outstanding: BTreeSet<PermitId>,
    grounds: VectorSync<Arc<GroundItem>>,
    /// Class 4 was shown: from here on only user turns, and reads whose own arguments were
    /// grounded, add to the grounding set.
    saw_untrusted: bool,
    /// Keyed hashes of typed values that class 4 showed.
    pub untrusted_values: HashTrieSetSync<Digest>,
    /// Origins of the class 4 exposures.
    pub weakest: Vec<ShownFrom>,
    pub asks: Vec<ApprovalId>,
    /// Leaves beside which texts are kept until the session closes.
    pub text_leaves: VectorSync<u64>,
}

impl Session {
    pub(crate) fn new(
        id: SessionId,
        spec: crate::api::SessionSpec,
        host: PrincipalName,
        token: Digest,
        task: Option<EntryId>,
    ) -> Self {
        Self {
            id,
            spec,
            host,
            token,
            task,
            closed: false,
            cap: AuthorityClass::UserAuthored,
            roots: None,
            anchored: false,
            root: Digest::sha256(b"ancile exposure log v1"),
            len: 0,
            flagged: 0,
            marks: VectorSync::new_sync(),
            shown: VectorSync::new_sync(),
            outstanding: BTreeSet::new(),
            grounds: VectorSync::new_sync(),
            saw_untrusted: false,
            untrusted_values: HashTrieSetSync::new_sync(),
            weakest: Vec::new(),
            asks: Vec::new(),
            text_leaves: VectorSync::new_sync(),
        }
    }

    /// The class of what it writes and does, under today's policy: the meet of all exposures.
    /// Unobserved, without a user turn or task payload, or with a result outstanding: class 4.
    pub(crate) fn class(&self, policy: &dyn PolicyView) -> AuthorityClass {
        match &self.roots {
            Some(roots) if self.spec.observed && self.anchored && self.outstanding.is_empty() => {
                self.cap.meet(roots.class(policy, &self.spec.user))
            }
            _ => AuthorityClass::Untrusted,
        }
    }

    /// Why its class is what it is, as a sentence; it names origins as a model may see them.
    pub(crate) fn why(&self, class: AuthorityClass) -> String {
        if class != AuthorityClass::Untrusted {
            return "nothing weaker was shown".to_owned();
        }
        if !self.spec.observed {
            return "no host observes the session; have a host open it as observed".to_owned();
        }
        if let Some(permit) = self.outstanding.first() {
            return format!(
                "the result of permit {permit} is outstanding; report it, or declare it not shown"
            );
        }
        if !self.anchored {
            return "no user turn or task payload was shown yet".to_owned();
        }
        if self.weakest.is_empty() {
            return "the approval of something that was shown was withdrawn".to_owned();
        }
        let origins: Vec<String> = self.weakest.iter().map(ShownFrom::for_model).collect();
        format!("it was shown: {}", origins.join("; "))
    }

    /// What its writes rest on.
    pub(crate) fn roots(&self) -> RootSet {
        match &self.roots {
            Some(roots) if self.spec.observed && self.anchored && self.outstanding.is_empty() => {
                roots.clone()
            }
            _ => RootSet::Untrusted,
        }
    }

    /// Whether an exposure may add to the grounding set. A user turn, and a result whose own
    /// arguments were grounded, do alone. Anything else was asked for by the agent: it does only
    /// while all that the agent was shown is known and none of it was class 4. So nothing does in
    /// a session that nobody observes, and none while a result other than `own` is outstanding.
    pub(crate) fn may_ground(&self, alone: bool, own: Option<&PermitId>) -> bool {
        let pending = self.outstanding.iter().any(|id| Some(id) != own);
        alone || (self.spec.observed && !self.saw_untrusted && !pending)
    }

    /// The records shown up to a length, if the log has this root there.
    pub(crate) fn exposed<'s>(
        &'s self,
        root: &Digest,
        len: u64,
    ) -> Option<impl Iterator<Item = &'s Digest> + use<'s>> {
        let count = self.exposed_count(root, len)?;
        Some(self.shown.iter().take(count))
    }

    /// How many records were shown up to a length, if the log has this root there.
    pub(crate) fn exposed_count(&self, root: &Digest, len: u64) -> Option<usize> {
        let at = usize::try_from(len.checked_sub(1)?).ok()?;
        let (mark, count) = self.marks.get(at)?;
        (mark == root).then_some(*count)
    }

    /// All records shown so far.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &Digest> {
        self.shown.iter()
    }

    /// Takes one exposure. `text` is what it grounds, where it does.
    pub(crate) fn expose(&mut self, item: &Shown, text: Option<&str>) -> Result<(), String> {
        let bytes = serde_json::to_vec(item).map_err(|e| e.to_string())?;
        let mut chained = b"ancile exposure v1\0".to_vec();
        chained.extend_from_slice(&self.root.0);
        chained.extend_from_slice(&bytes);
        self.root = Digest::sha256(&chained);
        self.len = self.len.saturating_add(1);
        if let Some(entry) = item.entry {
            self.shown.push_back_mut(entry);
        }
        let count = self.shown.len();
        self.marks.push_back_mut((self.root, count));
        self.flagged = self
            .flagged
            .saturating_add(u64::from(!item.rules.is_empty()));
        let roots = roots_from_text(&item.roots);
        let before = match item.alone {
            true => None,
            false => self.roots.clone(),
        };
        self.roots = Some(
            self.roots
                .as_ref()
                .map_or_else(|| roots.clone(), |r| r.join(&roots)),
        );
        self.cap = self.cap.meet(item.class);
        self.anchored |= matches!(item.kind.as_str(), "user_turn" | "task");
        if item.class == AuthorityClass::Untrusted {
            self.saw_untrusted = true;
            for value in &item.values {
                self.untrusted_values.insert_mut(*value);
            }
            if self.weakest.len() < WEAKEST_KEPT {
                self.weakest.push(ShownFrom {
                    channel: item.channel,
                    by: item.by.clone(),
                    from: item.from.clone(),
                    result: item.kind == "result",
                });
            }
        }
        if let Some(text) = text {
            self.ground(&item.grounds, text, roots, before);
        }
        Ok(())
    }

    fn ground(&mut self, how: &str, text: &str, roots: RootSet, before: Option<RootSet>) {
        let what = match how.split_once(':') {
            None if how == "text" => GroundWhat::Text(Box::new(GroundText::new(text))),
            Some(("value", kind)) => {
                let value = ArgKind::parse(kind).and_then(|k| ancile_screen::canonical(k, text));
                let Some(value) = value else { return };
                GroundWhat::Value(value)
            }
            _ => return,
        };
        self.grounds.push_back_mut(Arc::new(GroundItem {
            what,
            roots,
            before,
        }));
    }

    /// The grounds that still stand today. Texts need class 2, evidence fields class 3; what was
    /// shown before must not be class 4 today, where it may have decided what was asked for.
    pub(crate) fn standing(
        &self,
        policy: &dyn PolicyView,
    ) -> impl Iterator<Item = &Arc<GroundItem>> {
        self.grounds.iter().filter(move |item| {
            let needed = match item.what {
                GroundWhat::Text(_) => AuthorityClass::ApprovedSource,
                GroundWhat::Value(_) => AuthorityClass::AgentDerived,
            };
            let class = |roots: &RootSet| roots.class(policy, &self.spec.user);
            let steered = |roots| class(roots) == AuthorityClass::Untrusted;
            class(&item.roots).covers(needed) && !item.before.as_ref().is_some_and(steered)
        })
    }

    /// The grounding set as it answers for one call: for each ground that still stands today, the
    /// call's elements that it names.
    pub(crate) fn grounds(&self, policy: &dyn PolicyView, args: &[SensitiveArg]) -> Vec<Ground> {
        let elements: Vec<&CanonicalValue> = args
            .iter()
            .flat_map(|arg| arg.elements.iter().flatten())
            .collect();
        let named = |item: &Arc<GroundItem>| Ground {
            values: elements
                .iter()
                .filter(|element| item.names(element))
                .map(|element| (*element).clone())
                .collect(),
        };
        self.standing(policy).map(named).collect()
    }
}
