// SPDX-License-Identifier: MIT OR Apache-2.0
//! Derivation graphs of up to 5 entries: every shape, every class, and bytes that were flipped.

use crate::support::exhaust;
use crate::support::facts::CLASSES;
use crate::support::graph::{
    By, Shape, Store, ancestors, content, parents, record, shapes, tenant,
};
use ancile_core::{
    ANCESTORS_MAX, AuthorityClass, Broken, Channel, Digest, IntactMemo, PARENTS_MAX, ParentFound,
    Parents, ParentsRefusal, PolicyView, PrincipalName, RecordHash, RecordLeafHash, RecordView,
    Role, RootSet, SourceField, SourceName, SourceState, TenantName, ToolName, TrustRoot, class_of,
    verify, verify_record,
};

const WAYS: [By; 2] = [By::Hash, By::Exposure];

/// Writes a graph whose entries claim these classes.
fn write(shape: &Shape, classes: &[AuthorityClass], by: By) -> (Store, Vec<Digest>) {
    let mut store = Store::default();
    let mut hashes: Vec<Digest> = Vec::new();
    for (i, above) in shape.iter().enumerate() {
        let above: Vec<Digest> = above.iter().map(|p| hashes[*p]).collect();
        hashes.push(store.add(&RecordLeafHash, (i, classes[i]), &above, by));
    }
    (store, hashes)
}

/// Every shape with every claim of classes: what is intact is no stronger than its weakest
/// ancestor, nor, with a parent, than class 3; and exactly the claims that hold are intact.
#[test]
fn promise_2_authority_only_falls() {
    let (mut graphs, mut intact, mut refused) = (0u64, 0u64, 0u64);
    for n in 1..=5 {
        for shape in shapes(n) {
            let above = ancestors(&shape);
            let mut every = exhaust::Exhaust::default();
            while every.next_case() {
                let classes: Vec<_> = (0..n).map(|_| CLASSES[every.below(4)]).collect();
                let by = WAYS[usize::try_from(graphs % 2).unwrap()];
                let (store, hashes) = write(&shape, &classes, by);
                graphs += 1;
                for i in 0..n {
                    let holds = |e: usize| {
                        let weakest = shape[e].iter().map(|p| classes[*p].number()).max();
                        weakest.is_none_or(|weakest| classes[e].number() >= weakest.max(3))
                    };
                    let expected = holds(i) && above[i].iter().all(|a| holds(*a));
                    match store.verify(&RecordLeafHash, (i, &hashes[i])) {
                        Ok(class) => {
                            assert!(expected, "{shape:?} {classes:?} {i}");
                            assert_eq!(class, classes[i]);
                            let weakest = above[i].iter().map(|a| classes[*a]).max();
                            assert!(weakest.is_none_or(|w| w.covers(class)), "{shape:?}");
                            intact += 1;
                        }
                        Err(broken) => {
                            assert!(!expected, "{shape:?} {classes:?} {i} {broken:?}");
                            assert_eq!(broken, Broken::ClassTooStrong);
                            refused += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{graphs} graphs: {intact} entries intact, {refused} claims refused, 0 violations");
    assert_eq!(graphs, 4 + 2 * 16 + 6 * 64 + 31 * 256 + 302 * 1024);
}

/// A policy in which the one source and every other user have these states.
struct Policy(SourceState, SourceState);

impl PolicyView for Policy {
    fn source(&self, _: &SourceField) -> SourceState {
        self.0
    }
    fn other_user(&self, _: &PrincipalName) -> SourceState {
        self.1
    }
}

/// Where an entry without parents, or a derived one, can come from: its class and its roots.
fn origins() -> [(AuthorityClass, RootSet); 5] {
    let (user, digest) = (PrincipalName::new("ada").unwrap(), Digest([9; 32]));
    let field = SourceField {
        source: SourceName::new("bank").unwrap(),
        tool: ToolName::new("statement").unwrap(),
        field: ancile_core::FieldName::new("iban").unwrap(),
    };
    let of = |channel, role, state, root| (class_of(channel, role, state), RootSet::new([root]));
    let source = |state| {
        let root = TrustRoot::Source(field.clone());
        of(Channel::Source, Role::Source, state, root)
    };
    [
        of(
            Channel::User,
            Role::User,
            SourceState::None,
            TrustRoot::User(user.clone()),
        ),
        source(SourceState::Authority),
        source(SourceState::Evidence),
        (
            AuthorityClass::AgentDerived,
            RootSet::new([TrustRoot::Endorsed { user, digest }]),
        ),
        (
            class_of(Channel::Web, Role::Tool, SourceState::None),
            RootSet::Untrusted,
        ),
    ]
}

/// Every shape and every origin under every later policy and viewer: no entry is stronger than at
/// write, nor than the weakest of its ancestors under the same policy.
#[test]
fn promise_2_no_policy_raises_what_was_written() {
    let origins = origins();
    let viewers = ["ada", "bob"].map(|name| PrincipalName::new(name).unwrap());
    let (mut graphs, mut entries) = (0u64, 0u64);
    for n in 1..=4 {
        for shape in shapes(n) {
            let above = ancestors(&shape);
            let mut every = exhaust::Exhaust::default();
            while every.next_case() {
                let mut written: Vec<(AuthorityClass, RootSet)> = Vec::new();
                for parents in &shape {
                    let (class, roots) = &origins[every.below(origins.len())];
                    let derived = parents.iter().fold((*class, roots.clone()), |sum, p| {
                        let (class, roots) = &written[*p];
                        let class = AuthorityClass::AgentDerived.meet(*class);
                        (sum.0.meet(class), sum.1.join(roots))
                    });
                    written.push(derived);
                }
                graphs += 1;
                for today in SourceState::ALL
                    .iter()
                    .flat_map(|source| SourceState::ALL.iter().map(|user| Policy(*source, *user)))
                {
                    for viewer in &viewers {
                        let effective: Vec<AuthorityClass> = written
                            .iter()
                            .map(|(class, roots)| class.meet(roots.class(&today, viewer)))
                            .collect();
                        for i in 0..n {
                            entries += 1;
                            assert!(written[i].0.covers(effective[i]));
                            for a in &above[i] {
                                assert!(effective[*a].covers(effective[i]), "{shape:?}");
                                assert!(written[i].1.includes(&written[*a].1));
                            }
                        }
                    }
                }
            }
        }
    }
    println!("{graphs} graphs, {entries} entries under a policy, 0 violations");
    assert_eq!(graphs, 5 + 2 * 25 + 6 * 125 + 31 * 625);
}

/// Classes that a graph may honestly claim: 2 without parents, else 3.
fn honest(shape: &Shape) -> Vec<AuthorityClass> {
    let class = |parents: &Vec<usize>| match parents.is_empty() {
        true => AuthorityClass::ApprovedSource,
        false => AuthorityClass::AgentDerived,
    };
    shape.iter().map(class).collect()
}

/// A flipped byte in a record breaks it and all that derives from it, and nothing else: each byte
/// of each record in each graph.
#[test]
fn a_flipped_byte_breaks_the_record_and_all_that_derives_from_it() {
    let (mut flips, mut broken) = (0u64, 0u64);
    for n in 1..=5 {
        for (shape, by) in shapes(n).iter().flat_map(|s| WAYS.map(|by| (s, by))) {
            let (mut store, hashes) = write(shape, &honest(shape), by);
            let above = ancestors(shape);
            for edited in 0..n {
                let len = store.records[&hashes[edited]].len();
                for at in 0..len {
                    let bit = 1u8 << (at % 8);
                    store.records.get_mut(&hashes[edited]).unwrap()[at] ^= bit;
                    flips += 1;
                    for i in 0..n {
                        let touched = i == edited || above[i].contains(&edited);
                        let expected = if touched {
                            Err(Broken::RecordEdited)
                        } else {
                            Ok(())
                        };
                        let got = store.verify(&RecordLeafHash, (i, &hashes[i]));
                        assert_eq!(got.map(|_| ()), expected, "{shape:?} {edited} {at} {i}");
                        broken += u64::from(touched);
                    }
                    store.records.get_mut(&hashes[edited]).unwrap()[at] ^= bit;
                }
            }
        }
    }
    println!("{flips} bytes flipped, {broken} entries broken by them, 0 missed");
    assert!(flips > 600_000, "{flips}");
}

#[test]
fn a_flipped_byte_of_content_or_salt_breaks_the_entry() {
    let (store, hashes) = write(&vec![vec![]], &[AuthorityClass::UserAuthored], By::Hash);
    let (salt, text) = content(0);
    let verify = |salt, text: &[u8]| {
        let mut memo = IntactMemo::new(tenant());
        verify(
            &hashes[0],
            (&salt, text),
            &store,
            &RecordLeafHash,
            &mut memo,
        )
        .map(|e| e.class())
    };
    assert_eq!(verify(salt, &text), Ok(AuthorityClass::UserAuthored));
    for bit in 0..salt.len() * 8 {
        let mut salt = salt;
        salt[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(verify(salt, &text), Err(Broken::ContentEdited));
    }
    for bit in 0..text.len() * 8 {
        let mut text = text;
        text[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(verify(salt, &text), Err(Broken::ContentEdited));
    }
    assert_eq!(verify(salt, &text[..7]), Err(Broken::ContentEdited));
    assert_eq!(
        verify(salt, &[&text[..], b"!"].concat()),
        Err(Broken::ContentEdited)
    );
}

/// A removed record, and a removed, inserted, swapped or shortened exposure, break what rests on
/// it.
#[test]
fn a_missing_record_or_another_exposure_log_breaks_what_rests_on_it() {
    let mut cases = 0;
    for n in 2..=4 {
        for (shape, by) in shapes(n).iter().flat_map(|s| WAYS.map(|by| (s, by))) {
            let (store, hashes) = write(shape, &honest(shape), by);
            let above = ancestors(shape);
            let check = |store: &Store, touched: &dyn Fn(usize) -> bool, why| {
                for (i, hash) in hashes.iter().enumerate() {
                    let expected = if touched(i) { Err(why) } else { Ok(()) };
                    let got = store.verify(&RecordLeafHash, (i, hash)).map(|_| ());
                    assert_eq!(got, expected, "{shape:?} {by:?} {i}");
                }
            };
            for (gone, hash) in hashes.iter().enumerate() {
                let mut less = store.clone();
                less.records.remove(hash);
                check(
                    &less,
                    &|i| i == gone || above[i].contains(&gone),
                    Broken::ParentMissing,
                );
                cases += 1;
            }
            for session in store.shown.keys().filter(|s| !store.shown[*s].is_empty()) {
                let edited = usize::from(session.bytes()[15]);
                let touched = |i: usize| i == edited || above[i].contains(&edited);
                let edits: [fn(&mut Vec<Digest>); 4] = [
                    |log| log.clear(),
                    |log| log.insert(0, Digest([1; 32])),
                    |log| log[0] = Digest([1; 32]),
                    |log| log.truncate(log.len() - 1),
                ];
                for edit in edits {
                    let mut other = store.clone();
                    edit(other.shown.get_mut(session).unwrap());
                    check(&other, &touched, Broken::ExposureEdited);
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} edits, 0 missed");
    assert!(cases > 200, "{cases}");
}

/// A hash under which cycles can be built: the commitment to the content, which does not depend on
/// the parents.
struct ToyHash;

impl RecordHash for ToyHash {
    fn digest(&self, bytes: &[u8]) -> Digest {
        RecordView::of(bytes).map_or(Digest([0; 32]), |view| view.commitment())
    }
}

/// Every directed graph of up to 4 entries, loops included: an entry is refused as a cycle exactly
/// when one can be reached from it.
#[test]
fn cycles_are_found_and_shared_ancestors_are_not_cycles() {
    let (mut graphs, mut cyclic, mut intact) = (0u64, 0u64, 0u64);
    let class = AuthorityClass::AgentDerived;
    let hashes: Vec<Digest> = (0..4)
        .map(|i| ToyHash.digest(&record(i, class, parents((Digest([0; 32]), 0), vec![])).encode()))
        .collect();
    for n in 1..=4usize {
        for edges in 0u32..1 << (n * n) {
            let edge = |from: usize, to: usize| edges >> (from * n + to) & 1 == 1;
            let by = WAYS[usize::try_from(graphs % 2).unwrap()];
            let mut store = Store::default();
            let mut reach = vec![vec![false; n]; n];
            for from in 0..n {
                let above: Vec<usize> = (0..n).filter(|to| edge(from, *to)).collect();
                above.iter().for_each(|to| reach[from][*to] = true);
                let above: Vec<Digest> = above.into_iter().map(|to| hashes[to]).collect();
                assert_eq!(store.add(&ToyHash, (from, class), &above, by), hashes[from]);
            }
            for (via, from, to) in (0..n * n * n).map(|c| (c / n / n, c / n % n, c % n)) {
                reach[from][to] |= reach[from][via] && reach[via][to];
            }
            graphs += 1;
            for i in 0..n {
                let cycle = (0..n).any(|c| reach[c][c] && (c == i || reach[i][c]));
                let got = store.verify(&ToyHash, (i, &hashes[i])).map(|_| ());
                let expected = if cycle { Err(Broken::Cycle) } else { Ok(()) };
                assert_eq!(got, expected, "{n} entries, edges {edges:b}, entry {i}");
                cyclic += u64::from(cycle);
                intact += u64::from(!cycle);
            }
        }
    }
    println!("{graphs} graphs: {cyclic} entries on or above a cycle, {intact} intact, 0 wrong");
    assert_eq!(graphs, 2 + 16 + 512 + 65_536);
}

/// A chain whose first entry names any later one: found however far the way round is.
#[test]
fn long_cycles_are_found() {
    let class = AuthorityClass::AgentDerived;
    for n in [31, 32, 33, 34, 70] {
        let hashes: Vec<Digest> = (0..n)
            .map(|i| {
                let alone = record(i, class, parents((Digest([0; 32]), 0), vec![]));
                ToyHash.digest(&alone.encode())
            })
            .collect();
        for back in 0..n {
            let mut store = Store::default();
            for i in 1..n {
                store.add(&ToyHash, (i, class), &[hashes[i - 1]], By::Hash);
            }
            store.add(&ToyHash, (0, class), &[hashes[back]], By::Hash);
            let last = (n - 1, &hashes[n - 1]);
            assert_eq!(store.verify(&ToyHash, last), Err(Broken::Cycle), "{back}");
            store.add(&ToyHash, (0, class), &[], By::Hash);
            assert_eq!(store.verify(&ToyHash, last), Ok(class), "{n} entries");
        }
    }
}

/// A ladder of 40 rungs has 2^40 paths and 80 records.
#[test]
fn shared_ancestors_are_walked_once() {
    let mut store = Store::default();
    let class = AuthorityClass::AgentDerived;
    let mut rung: Vec<Digest> = Vec::new();
    for i in 0..40 {
        rung = [2 * i, 2 * i + 1]
            .map(|i| store.add(&RecordLeafHash, (i, class), &rung, By::Hash))
            .to_vec();
    }
    assert_eq!(store.verify(&RecordLeafHash, (78, &rung[0])), Ok(class));
}

#[test]
fn the_walk_is_limited() {
    let class = AuthorityClass::AgentDerived;
    let mut store = Store::default();
    let mut chain: Vec<Digest> = Vec::new();
    for i in 0..=ANCESTORS_MAX {
        let above = chain.last().copied();
        chain.push(store.add(&RecordLeafHash, (i, class), above.as_slice(), By::Hash));
    }
    for (records, expected) in [
        (ANCESTORS_MAX - 1, Ok(class)),
        (ANCESTORS_MAX, Ok(class)),
        (ANCESTORS_MAX + 1, Err(Broken::TooLong)),
    ] {
        let last = (records - 1, &chain[records - 1]);
        assert_eq!(
            store.verify(&RecordLeafHash, last),
            expected,
            "{records} records"
        );
    }
}

/// A memo of another tenant, and a parent of another tenant, are refused.
#[test]
fn nothing_crosses_tenants() {
    let other = TenantName::new("other").unwrap();
    let class = AuthorityClass::AgentDerived;
    for by in WAYS {
        let mut store = Store::default();
        let mut foreign = record(0, class, parents((Digest([0; 32]), 0), vec![]));
        foreign.tenant = other.clone();
        let bytes = foreign.encode();
        let parent = RecordLeafHash.digest(&bytes);
        store.records.insert(parent, bytes);
        let child = store.add(&RecordLeafHash, (1, class), &[parent], by);
        let got = store.verify(&RecordLeafHash, (1, &child));
        assert_eq!(got, Err(Broken::ForeignTenant), "{by:?}");
        let mut memo = IntactMemo::new(other.clone());
        assert_eq!(
            verify_record(&parent, &store, &RecordLeafHash, &mut memo),
            Ok(())
        );
        let got = verify_record(&child, &store, &RecordLeafHash, &mut memo);
        assert_eq!(got, Err(Broken::ForeignTenant), "{by:?}");
    }
}

/// Every list of up to 4 parents, each here, elsewhere, the entry itself or nowhere.
#[test]
fn dangling_self_duplicate_and_foreign_parents_are_refused() {
    let found = |digest: &Digest| match digest.0[0] {
        1..=3 => ParentFound::Here,
        4 => ParentFound::Elsewhere,
        5 => ParentFound::Itself,
        _ => ParentFound::Nowhere,
    };
    let (mut taken, mut refused) = (0, 0);
    let mut every = exhaust::Exhaust::default();
    while every.next_case() {
        let n = every.below(5);
        let named: Vec<u8> = (0..n)
            .map(|_| u8::try_from(every.below(6) + 1).unwrap())
            .collect();
        let list: Vec<Digest> = named.iter().map(|i| Digest([*i; 32])).collect();
        let twice = |d: &Digest| list.iter().filter(|other| *other == d).count() > 1;
        match Parents::new((Digest([0; 32]), 0), list.clone(), &found) {
            Ok(parents) => {
                assert!(
                    list.iter()
                        .all(|d| !twice(d) && found(d) == ParentFound::Here)
                );
                assert!(parents.explicit().is_sorted());
                assert_eq!(parents.explicit().len(), list.len());
                taken += 1;
            }
            Err(why) => {
                let (of, right) = match why {
                    ParentsRefusal::Duplicate(d) => (d, twice(&d)),
                    ParentsRefusal::Dangling(d) => (d, found(&d) == ParentFound::Nowhere),
                    ParentsRefusal::ForeignTenant(d) => (d, found(&d) == ParentFound::Elsewhere),
                    ParentsRefusal::SelfParent(d) => (d, found(&d) == ParentFound::Itself),
                    ParentsRefusal::TooMany(n) => panic!("{n} is not too many"),
                };
                assert!(right && list.contains(&of), "{list:?} {why:?}");
                refused += 1;
            }
        }
    }
    println!("{taken} lists of parents taken, {refused} refused");
    assert_eq!(
        (taken, taken + refused),
        (1 + 3 + 6 + 6, 1 + 6 + 36 + 216 + 1296)
    );
}

#[test]
fn the_number_of_parents_is_limited() {
    for n in [PARENTS_MAX - 1, PARENTS_MAX, PARENTS_MAX + 1] {
        let list = (0..n)
            .map(|i| Digest([u8::try_from(i).unwrap(); 32]))
            .collect();
        let got = Parents::new((Digest([0; 32]), 0), list, &|_| ParentFound::Here);
        match n > PARENTS_MAX {
            true => assert_eq!(got, Err(ParentsRefusal::TooMany(n))),
            false => assert_eq!(got.map(|p| p.explicit().len()), Ok(n)),
        }
    }
}
