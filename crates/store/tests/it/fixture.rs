// SPDX-License-Identifier: MIT OR Apache-2.0
//! A store in a temporary place, records to put into it, and an attacker who can write its files.

use ancile_core::{
    AuthorityClass, Channel, DerivationRecord, Digest, EntryId, EntryKind, Micros, NamespaceName,
    Origin, ParentFound, Parents, PrincipalName, Role, RootSet, Salt, ScreeningNote, TenantName,
    content_commitment,
};
use ancile_ledger::{LeafKind, SignerKey, VerifierKey};
use ancile_store::{
    Content, DATABASE_FILE, Damage, DamageKind, OpenError, OpenReport, ReplayLeaf, Store,
    StoreConfig,
};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const ORIGIN: &str = "store.example/test";

/// Kind, body and content of an intact leaf.
pub type SeenLeaf = (LeafKind, Vec<u8>, Option<Vec<u8>>);

/// A data directory and a witness beside it.
pub struct Place {
    root: TempDir,
}

/// What a replay gave: tenant, sequence number, and the leaf or what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub tenant: String,
    pub seq: u64,
    pub what: Result<SeenLeaf, DamageKind>,
}

impl Place {
    pub fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
        }
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    pub fn dir(&self) -> PathBuf {
        self.root.path().join("data")
    }

    pub fn witness(&self) -> PathBuf {
        self.root.path().join("witness")
    }

    pub fn database(&self) -> PathBuf {
        self.dir().join(DATABASE_FILE)
    }

    pub fn create(&self) -> Store {
        with_config(&self.dir(), &self.witness(), Store::create).unwrap()
    }

    /// Opens the store and keeps what the replay gave.
    pub fn open(&self) -> Result<(Store, OpenReport, Vec<Seen>), OpenError> {
        let mut seen = Vec::new();
        let (store, report) = with_config(&self.dir(), &self.witness(), |cfg| {
            Store::open(cfg, &mut |leaf: ReplayLeaf<'_>| {
                seen.push(see(leaf));
                Ok(())
            })
        })?;
        Ok((store, report, seen))
    }

    pub fn refusal(&self) -> OpenError {
        match self.open() {
            Ok((_, report, _)) => panic!("store opened: {report:?}"),
            Err(refusal) => refusal,
        }
    }

    /// Runs statements as someone who minds no constraint.
    pub fn sql(&self, statements: &str) {
        let conn = Connection::open(self.database()).unwrap();
        conn.execute_batch("PRAGMA foreign_keys = off; PRAGMA ignore_check_constraints = on")
            .unwrap();
        conn.execute_batch(statements).unwrap();
    }

    pub fn number(&self, query: &str) -> i64 {
        let conn = Connection::open(self.database()).unwrap();
        conn.query_row(query, [], |row| row.get(0)).unwrap()
    }

    /// Copies directory and witness to a new place.
    pub fn copy(&self) -> Self {
        let copy = Self::new();
        copy_files(&self.dir(), &copy.dir());
        fs::copy(self.witness(), copy.witness()).unwrap();
        copy
    }
}

pub fn copy_files(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

pub fn with_config<T>(dir: &Path, witness: &Path, run: impl FnOnce(StoreConfig<'_>) -> T) -> T {
    run(StoreConfig {
        dir,
        witness,
        signer: signer(),
        origin: ORIGIN,
    })
}

pub fn signer() -> SignerKey {
    SignerKey::generate(ORIGIN, &[7; 32]).unwrap()
}

pub fn verifier() -> VerifierKey {
    signer().verifier().clone()
}

fn see(leaf: ReplayLeaf<'_>) -> Seen {
    match leaf {
        ReplayLeaf::Intact {
            tenant,
            seq,
            kind,
            body,
            content,
            ..
        } => Seen {
            tenant: tenant.to_string(),
            seq,
            what: Ok((kind, body.to_vec(), content.map(|c| c.bytes.to_vec()))),
        },
        ReplayLeaf::Damaged {
            tenant, seq, what, ..
        } => Seen {
            tenant: tenant.to_string(),
            seq,
            what: Err(what),
        },
    }
}

pub fn tenant(name: &str) -> TenantName {
    TenantName::new(name).unwrap()
}

pub const SALT: Salt = [9; 16];

/// A record of a tenant that commits to a content under [`SALT`].
pub fn record(name: &TenantName, content: &[u8]) -> Vec<u8> {
    DerivationRecord {
        tenant: name.clone(),
        namespace: NamespaceName::new("notes").unwrap(),
        id: EntryId::at(1, [1; 10]),
        version: 1,
        kind: EntryKind::Memory,
        origin: Origin {
            channel: Channel::User,
            principal: PrincipalName::new("ann").unwrap(),
            role: Role::User,
            locator: "".into(),
            at: Micros(1),
        },
        author: PrincipalName::new("ann").unwrap(),
        session: None,
        parents: Parents::new((Digest([0; 32]), 0), vec![], &|_| ParentFound::Here).unwrap(),
        roots: RootSet::new(vec![]),
        class: AuthorityClass::Untrusted,
        policy_epoch: 0,
        supersedes: None,
        commitment: content_commitment(&SALT, content),
        screening: ScreeningNote {
            version: 1,
            instruction_like: None,
            quarantined: false,
            rules: vec![],
        },
        created: Micros(1),
        valid_from: None,
        valid_until: None,
    }
    .encode()
}

/// A control event with these bytes in it.
pub fn control(text: &str) -> Vec<u8> {
    [&[LeafKind::Control.byte()], text.as_bytes()].concat()
}

/// Appends a record with its content.
pub fn put_record(store: &mut Store, name: &TenantName, content: &[u8]) -> u64 {
    let content = Content {
        salt: SALT,
        bytes: content,
    };
    store
        .append(name, &record(name, content.bytes), Some(content))
        .unwrap()
        .seq
}

pub fn put_control(store: &mut Store, name: &TenantName, text: &str) -> u64 {
    store.append(name, &control(text), None).unwrap().seq
}

/// A store with two tenants in three groups. `acme` has a control leaf at 0 and 3, an exposure
/// with content at 4 and records at 1, 2 and 5; `zeta` has a record at 0.
pub fn sample() -> Place {
    let place = Place::new();
    let mut store = place.create();
    let (acme, zeta) = (tenant("acme"), tenant("zeta"));
    put_control(&mut store, &acme, "policy");
    put_record(&mut store, &acme, b"first note");
    let _ = store.commit().unwrap();
    put_record(&mut store, &acme, b"second note");
    put_control(&mut store, &acme, "grant");
    let exposure = Content {
        salt: SALT,
        bytes: b"shown text",
    };
    let _ = store
        .append(&acme, &control("exposure"), Some(exposure))
        .unwrap();
    put_record(&mut store, &zeta, b"other tenant");
    let _ = store.commit().unwrap();
    put_record(&mut store, &acme, b"third note");
    let _ = store.commit().unwrap();
    place
}

pub fn damage(tenant: &str, seq: i64, what: DamageKind) -> Damage {
    Damage {
        tenant: tenant.to_owned(),
        seq,
        what,
    }
}

/// The error and its causes, a line each.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push('\n');
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
