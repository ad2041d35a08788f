// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records, values, identifiers and names on random inputs: what is written is read back, and
//! different things have different bytes.

use crate::support::facts::CLASSES;
use ancile_core::{
    Channel, DecodeError, DerivationRecord, Digest, EntryId, EntryKind, FieldName, IdError,
    LOCATOR_BYTES_MAX, Micros, NAME_BYTES_MAX, NameError, NamespaceName, Origin, PARENTS_MAX,
    ParentFound, Parents, PrincipalName, ProposedCall, RECORD_BYTES_MAX, ROOTS_MAX, RULE_BYTES_MAX,
    RULES_MAX, RecordView, Role, RootSet, ScreeningNote, SessionId, SourceField, SourceName,
    TenantName, ToolName, TrustRoot, Value, content_commitment, record_hash,
};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

const NAME: &str = "[A-Za-z0-9._-]{1,64}";

fn digest() -> impl Strategy<Value = Digest> {
    any::<[u8; 32]>().prop_map(Digest)
}

fn micros() -> impl Strategy<Value = Micros> {
    any::<i64>().prop_map(Micros)
}

fn principal() -> impl Strategy<Value = PrincipalName> {
    NAME.prop_map(|name| PrincipalName::new(&name).unwrap())
}

fn root() -> impl Strategy<Value = TrustRoot> {
    prop_oneof![
        principal().prop_map(TrustRoot::User),
        (NAME, NAME, NAME).prop_map(|(source, tool, field)| TrustRoot::Source(SourceField {
            source: SourceName::new(&source).unwrap(),
            tool: ToolName::new(&tool).unwrap(),
            field: FieldName::new(&field).unwrap(),
        })),
        (principal(), digest()).prop_map(|(user, digest)| TrustRoot::Endorsed { user, digest }),
    ]
}

fn origin() -> impl Strategy<Value = Origin> {
    let locator = prop_oneof![Just(String::new()), "\\PC{0,40}"];
    (
        select(Channel::ALL),
        select(Role::ALL),
        principal(),
        locator,
        micros(),
    )
        .prop_map(|(channel, role, principal, locator, at)| Origin {
            channel,
            role,
            principal,
            locator: locator.into(),
            at,
        })
}

fn parents() -> impl Strategy<Value = Parents> {
    let explicit = prop::collection::btree_set(any::<[u8; 32]>(), 0..6);
    (digest(), any::<u64>(), explicit).prop_map(|(root, len, explicit)| {
        let explicit = explicit.into_iter().map(Digest).collect();
        Parents::new((root, len), explicit, &|_| ParentFound::Here).unwrap()
    })
}

fn screening() -> impl Strategy<Value = ScreeningNote> {
    let rules = prop::collection::btree_set("[a-z.0-9]{1,64}", 0..RULES_MAX);
    (any::<u32>(), any::<Option<bool>>(), any::<bool>(), rules).prop_map(
        |(version, instruction_like, quarantined, rules)| ScreeningNote {
            version,
            instruction_like,
            quarantined,
            rules: rules.into_iter().map(Into::into).collect(),
        },
    )
}

fn record() -> impl Strategy<Value = DerivationRecord> {
    let who = (
        NAME,
        NAME,
        any::<[u8; 16]>(),
        any::<u32>(),
        select(EntryKind::ALL),
    );
    let from = (origin(), principal(), any::<Option<[u8; 16]>>(), parents());
    let roots = prop::collection::vec(root(), 0..5).prop_map(RootSet::new);
    let rest = (
        roots,
        select(&CLASSES[..]),
        any::<u64>(),
        prop::option::of(digest()),
        digest(),
    );
    let times = (
        micros(),
        prop::option::of(micros()),
        prop::option::of(micros()),
    );
    (who, from, rest, screening(), times).prop_map(|(who, from, rest, screening, times)| {
        DerivationRecord {
            tenant: TenantName::new(&who.0).unwrap(),
            namespace: NamespaceName::new(&who.1).unwrap(),
            id: EntryId::from_bytes(who.2),
            version: who.3,
            kind: who.4,
            origin: from.0,
            author: from.1,
            session: from.2.map(SessionId::from_bytes),
            parents: from.3,
            roots: rest.0,
            class: rest.1,
            policy_epoch: rest.2,
            supersedes: rest.3,
            commitment: rest.4,
            screening,
            created: times.0,
            valid_from: times.1,
            valid_until: times.2,
        }
    })
}

const FIELDS: usize = 18;

/// The first record, with one field of the second.
fn with_field(a: &DerivationRecord, b: DerivationRecord, field: usize) -> DerivationRecord {
    let mut out = a.clone();
    match field {
        0 => out.tenant = b.tenant,
        1 => out.namespace = b.namespace,
        2 => out.id = b.id,
        3 => out.version = b.version,
        4 => out.kind = b.kind,
        5 => out.origin = b.origin,
        6 => out.author = b.author,
        7 => out.session = b.session,
        8 => out.parents = b.parents,
        9 => out.roots = b.roots,
        10 => out.class = b.class,
        11 => out.policy_epoch = b.policy_epoch,
        12 => out.supersedes = b.supersedes,
        13 => out.commitment = b.commitment,
        14 => out.screening = b.screening,
        15 => out.created = b.created,
        16 => out.valid_from = b.valid_from,
        _ => out.valid_until = b.valid_until,
    }
    out
}

/// One record with every field at its longest.
fn longest() -> DerivationRecord {
    let name = "n".repeat(NAME_BYTES_MAX);
    let user = PrincipalName::new(&name).unwrap();
    let root = |i: usize| {
        TrustRoot::Source(SourceField {
            source: SourceName::new(&name).unwrap(),
            tool: ToolName::new(&name).unwrap(),
            field: FieldName::new(&format!("{i:064}")).unwrap(),
        })
    };
    let explicit = (0..PARENTS_MAX)
        .map(|i| Digest([u8::try_from(i).unwrap(); 32]))
        .collect();
    DerivationRecord {
        tenant: TenantName::new(&name).unwrap(),
        namespace: NamespaceName::new(&name).unwrap(),
        id: EntryId::from_bytes([255; 16]),
        version: u32::MAX,
        kind: EntryKind::ContextFile,
        origin: Origin {
            channel: Channel::Unknown,
            role: Role::Operator,
            principal: user.clone(),
            locator: "l".repeat(LOCATOR_BYTES_MAX).into(),
            at: Micros(i64::MAX),
        },
        author: user,
        session: Some(SessionId::from_bytes([255; 16])),
        parents: Parents::new((Digest([1; 32]), u64::MAX), explicit, &|_| {
            ParentFound::Here
        })
        .unwrap(),
        roots: RootSet::new((0..ROOTS_MAX).map(root)),
        class: CLASSES[3],
        policy_epoch: u64::MAX,
        supersedes: Some(Digest([2; 32])),
        commitment: Digest([3; 32]),
        screening: ScreeningNote {
            version: u32::MAX,
            instruction_like: Some(true),
            quarantined: true,
            rules: (0..RULES_MAX)
                .map(|i| format!("{i:0RULE_BYTES_MAX$}").into())
                .collect(),
        },
        created: Micros(i64::MIN),
        valid_from: Some(Micros(0)),
        valid_until: Some(Micros(1)),
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        "-?[0-9]{1,3}(\\.[0-9]{1,2})?".prop_map(|text| Value::Number(text.into())),
        "\\PC{0,4}".prop_map(|text| Value::Text(text.into())),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map("[a-c]{0,2}".prop_map(Into::into), inner, 0..4)
                .prop_map(Value::Map),
        ]
    })
}

fn encoded(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    value.encode(&mut out);
    out
}

proptest! {
    #[test]
    fn a_record_is_read_back(record in record()) {
        let bytes = record.encode();
        prop_assert!(bytes.len() <= RECORD_BYTES_MAX);
        let view = RecordView::of(&bytes).unwrap();
        prop_assert_eq!((view.class(), view.commitment()), (record.class, record.commitment));
        prop_assert_eq!(DerivationRecord::decode(&bytes), Ok(record));
    }

    #[test]
    fn records_differ_where_their_bytes_do(a in record(), b in record(), field in 0..FIELDS) {
        let b = with_field(&a, b, field);
        prop_assert_eq!(a == b, a.encode() == b.encode());
        prop_assert_eq!(a == b, record_hash(&a.encode()) == record_hash(&b.encode()));
    }

    #[test]
    fn edited_bytes_are_refused_or_another_record(
        record in record(), at in any::<prop::sample::Index>(), edit in 1u8..,
    ) {
        let mut bytes = record.encode();
        let at = at.index(bytes.len());
        bytes[at] ^= edit;
        if let Ok(read) = DerivationRecord::decode(&bytes) {
            prop_assert_ne!(&read, &record);
            prop_assert_eq!(read.encode(), bytes);
        }
    }

    #[test]
    fn cut_and_longer_bytes_are_refused(record in record(), at in any::<prop::sample::Index>()) {
        let mut bytes = record.encode();
        let cut = &bytes[..at.index(bytes.len())];
        prop_assert!(DerivationRecord::decode(cut).is_err());
        bytes.push(0);
        prop_assert_eq!(DerivationRecord::decode(&bytes), Err(DecodeError::Trailing));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        for bytes in [bytes.clone(), [&[1, 1][..], &bytes].concat()] {
            if let Ok(record) = DerivationRecord::decode(&bytes) {
                prop_assert_eq!(record.encode(), bytes);
            }
        }
    }

    #[test]
    fn values_differ_where_their_bytes_do(a in value(), b in value()) {
        prop_assert_eq!(a == b, encoded(&a) == encoded(&b));
    }

    /// No encoding is the beginning of another, so that a sequence is read in one way.
    #[test]
    fn no_value_begins_another(a in value(), b in value()) {
        prop_assert!(a == b || !encoded(&b).starts_with(&encoded(&a)));
    }

    #[test]
    fn calls_differ_where_their_digests_do(
        tools in ("[ab]{1,2}", "[ab]{1,2}"),
        args in (
            prop::collection::btree_map("[ab]{0,2}", value(), 0..3),
            prop::collection::btree_map("[ab]{0,2}", value(), 0..3),
        ),
    ) {
        let call = |tool: &str, args: BTreeMap<String, Value>| ProposedCall {
            tool: ToolName::new(tool).unwrap(),
            args: args.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        };
        let (a, b) = (call(&tools.0, args.0), call(&tools.1, args.1));
        prop_assert_eq!(a == b, a.digest() == b.digest());
    }

    #[test]
    fn an_identifier_is_read_back(bytes in any::<[u8; 16]>(), ms in 0u64..1 << 48) {
        let id = EntryId::from_bytes(bytes);
        let text = id.to_string();
        prop_assert_eq!(text.len(), 36);
        prop_assert_eq!(EntryId::parse(&text), Ok(id));
        prop_assert_eq!(EntryId::parse(&text.to_uppercase()), Ok(id));
        let wrong = [
            &text[1..],
            &text.replace('-', ""),
            &format!("{text}0"),
            &format!("{text}-"),
        ];
        for wrong in wrong {
            prop_assert_eq!(EntryId::parse(wrong), Err(IdError));
        }
        let made = EntryId::at(ms, [bytes[0]; 10]).to_string();
        prop_assert_eq!(&made[14..15], "7");
        prop_assert!("89ab".contains(&made[19..20]));
        prop_assert!(EntryId::at(ms, [0; 10]) > EntryId::at(ms.saturating_sub(1), [255; 10])
            || ms == 0);
    }

    #[test]
    fn any_text_is_an_identifier_or_not(text in "[-0-9a-fA-Fg\u{e9}]{30,40}") {
        if let Ok(id) = EntryId::parse(&text) {
            prop_assert_eq!(id.to_string(), text.to_lowercase());
        }
    }

    #[test]
    fn a_digest_is_read_back(digest in digest()) {
        let text = digest.to_string();
        prop_assert_eq!(Digest::parse_hex(&text), Some(digest));
        prop_assert_eq!(Digest::parse_hex(&text[1..]), None);
        prop_assert_eq!(Digest::parse_hex(&format!("{text}0")), None);
    }

    #[test]
    fn a_name_is_its_text(text in "\\PC{0,6}") {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        match ToolName::new(&text) {
            Ok(name) => {
                prop_assert_eq!(name.as_str(), &text);
                prop_assert!(!text.is_empty() && text.chars().all(fits));
            }
            Err(NameError::Empty) => prop_assert!(text.is_empty()),
            Err(NameError::Byte(at)) => prop_assert!(at < text.len()
                && !text[at..].starts_with(fits) && text[..at].chars().all(fits)),
            Err(NameError::TooLong(n)) => prop_assert!(false, "{n} is not too long"),
        }
    }

    #[test]
    fn commitments_differ_where_salt_or_content_do(
        a in (any::<[u8; 16]>(), "[ab]{0,3}"), b in (any::<[u8; 16]>(), "[ab]{0,3}"),
        same_salt in any::<bool>(),
    ) {
        let b = if same_salt { (a.0, b.1) } else { b };
        let of = |x: &([u8; 16], String)| content_commitment(&x.0, x.1.as_bytes());
        prop_assert_eq!(a == b, of(&a) == of(&b));
    }
}

#[test]
fn names_are_limited() {
    for n in [1, NAME_BYTES_MAX - 1, NAME_BYTES_MAX] {
        assert!(TenantName::new(&"a".repeat(n)).is_ok(), "{n}");
    }
    let long = NAME_BYTES_MAX + 1;
    assert_eq!(
        TenantName::new(&"a".repeat(long)),
        Err(NameError::TooLong(long))
    );
    assert_eq!(TenantName::new(""), Err(NameError::Empty));
}

/// The fields' own limits keep the longest record far below the limit of a leaf.
#[test]
fn the_longest_record_is_read_back() {
    let record = longest();
    let bytes = record.encode();
    assert!(bytes.len() <= RECORD_BYTES_MAX, "{}", bytes.len());
    assert_eq!(DerivationRecord::decode(&bytes).as_ref(), Ok(&record));
    let long = vec![1; RECORD_BYTES_MAX + 1];
    let too_long = DecodeError::TooLong(RECORD_BYTES_MAX + 1);
    assert_eq!(DerivationRecord::decode(&long), Err(too_long));
    assert_eq!(
        RecordView::of(&long).map(|view| view.class()),
        Err(too_long)
    );
    for n in [RECORD_BYTES_MAX - 1, RECORD_BYTES_MAX] {
        assert_ne!(
            DerivationRecord::decode(&long[..n]),
            Err(DecodeError::TooLong(n))
        );
    }
}

/// One more of anything that is limited is refused when it is read.
#[test]
fn fields_beyond_their_limits_are_refused() {
    let mut locator = longest();
    locator.origin.locator = "l".repeat(LOCATOR_BYTES_MAX + 1).into();
    let mut rule = longest();
    rule.screening.rules[0] = "r".repeat(RULE_BYTES_MAX + 1).into();
    let mut rules = longest();
    rules.screening.rules.push("one more".into());
    for (record, field) in [(locator, "locator"), (rule, "rule"), (rules, "rules")] {
        assert_eq!(
            DerivationRecord::decode(&record.encode()),
            Err(DecodeError::Field(field))
        );
    }
}

#[test]
fn roots_are_limited() {
    let user = |i: usize| TrustRoot::User(PrincipalName::new(&format!("u{i}")).unwrap());
    for n in [0, 1, ROOTS_MAX - 1, ROOTS_MAX, ROOTS_MAX + 1] {
        let trusted = match RootSet::new((0..n).map(user)) {
            RootSet::Trusted(roots) => Some(roots.as_slice().len()),
            RootSet::Untrusted => None,
        };
        assert_eq!(trusted, (1..=ROOTS_MAX).contains(&n).then_some(n), "{n}");
    }
    let twice = RootSet::new([user(1), user(1)]);
    assert_eq!(twice, RootSet::new([user(1)]));
}

/// Every first byte but the ones of this version is refused.
#[test]
fn other_versions_are_refused() {
    let bytes = longest().encode();
    for at in 0..2 {
        for byte in (0..=u8::MAX).filter(|b| *b != bytes[at]) {
            let mut other = bytes.clone();
            other[at] = byte;
            assert_eq!(
                DerivationRecord::decode(&other),
                Err(DecodeError::Version(byte))
            );
        }
    }
}
