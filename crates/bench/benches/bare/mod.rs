// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a bare loop does with the same bytes: the leaves that something appended, read from its
//! store, and appended to a copy of it and committed with nothing around.

#![allow(dead_code, reason = "each benchmark uses its part")]

use ancile_core::TenantName;
use ancile_engine::api::Write;
use ancile_engine::{Caller, Engine};
use ancile_ledger::SignerKey;
use ancile_store::{Content, ReplayLeaf, Store, StoreConfig};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A leaf as it is appended.
pub struct Leaf {
    pub body: Vec<u8>,
    pub content: Option<([u8; 16], Vec<u8>)>,
}

/// Opens the store under a home and gives the tenant's leaves from this place on.
pub fn leaves(home: &Path, from: u64) -> (Store, Vec<Leaf>, u64) {
    let text = fs::read_to_string(home.join("keys/store.key")).expect("the store's key");
    let signer = SignerKey::parse(text.trim()).expect("a key in form");
    let origin = signer.verifier().name().to_owned();
    let config = StoreConfig {
        dir: &home.join("data"),
        witness: &home.join("witness/checkpoint"),
        signer,
        origin: &origin,
    };
    let mut found = Vec::new();
    let opened = Store::open(config, &mut |leaf: ReplayLeaf<'_>| {
        if let ReplayLeaf::Intact {
            seq, body, content, ..
        } = leaf
            && seq >= from
        {
            found.push(Leaf {
                body: body.to_vec(),
                content: content.map(|c| (c.salt, c.bytes.to_vec())),
            });
        }
        Ok(())
    });
    let (store, report) = opened.expect("a store that opens");
    (store, found, report.leaves)
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a temporary directory takes directories");
    for item in fs::read_dir(from).expect("a directory") {
        let item = item.expect("an item");
        let target = to.join(item.file_name());
        if item.file_type().expect("a type").is_dir() {
            copy(&item.path(), &target);
        } else {
            fs::copy(item.path(), target).expect("room for a copy");
        }
    }
}

/// Appends the leaves and commits.
pub fn commit(store: &mut Store, tenant: &TenantName, leaves: &[Leaf]) {
    for leaf in leaves {
        let content = leaf
            .content
            .as_ref()
            .map(|(salt, bytes)| Content { salt: *salt, bytes });
        let appended = store.append(tenant, &leaf.body, content);
        let _ = appended.expect("a leaf in form");
    }
    let _ = store.commit().expect("room on the medium");
}

/// The tenant of a first run.
pub fn tenant() -> TenantName {
    TenantName::new("default").expect("a name")
}

/// The holder of a key of the first run.
pub fn caller(engine: &Engine, home: &Path, role: &str) -> Caller {
    let file = home.join("keys").join(format!("{role}.key"));
    let token = fs::read_to_string(file).expect("a key of the first run");
    engine.authenticate(token.trim()).expect("a key that works")
}

/// A memory of the caller's own words.
pub fn memory(text: String) -> Write {
    Write::memory(text)
}

/// The middle one.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Texts of 16 words, the word of rank r about once in 12 r words (Zipf), from a fixed linear
/// congruence.
pub struct Words(pub u64);

impl Words {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1);
        self.0 >> 48
    }

    pub fn text(&mut self) -> String {
        let word = |_| {
            let octave = 1 << (self.number() % 12);
            let rank = octave | (self.number() & (octave - 1));
            match rank {
                1 => "rent".to_owned(),
                2 => "flat".to_owned(),
                _ => format!("w{rank}"),
            }
        };
        (0..16).map(word).collect::<Vec<_>>().join(" ")
    }
}
