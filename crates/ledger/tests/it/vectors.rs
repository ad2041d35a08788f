// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published reference values: the Certificate Transparency test tree and the key and note of
//! golang.org/x/mod's sumdb/note.

use crate::naive;
use ancile_ledger::{
    NodeHash, SignerKey, TreeHead, VerifierKey, empty_root, leaf_hash, verify_consistency,
    verify_inclusion,
};

pub const VERIFIER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
pub const SIGNER: &str =
    "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
pub const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                        then you don't know what your problem is.\n";
pub const SIGNATURE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuG\
                             UgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

const LEAVES: [&str; 8] = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
];

const ROOTS: [&str; 9] = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

const A: &str = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7";
const B: &str = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e";
const C: &str = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4";
const D: &str = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b";
const E: &str = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0";
const F: &str = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}

fn hash(hex: &str) -> NodeHash {
    NodeHash(bytes(hex).try_into().unwrap())
}

fn head(size: usize) -> TreeHead {
    TreeHead {
        size: size as u64,
        root: hash(ROOTS[size]),
    }
}

fn leaves() -> Vec<NodeHash> {
    LEAVES.iter().map(|l| leaf_hash(&bytes(l))).collect()
}

#[test]
fn roots_of_the_reference_tree() {
    assert_eq!(empty_root(), hash(ROOTS[0]));
    let tree = naive::tree(&leaves());
    for (size, root) in ROOTS.iter().enumerate() {
        assert_eq!(tree.root_at(size as u64).unwrap(), hash(root));
        assert_eq!(naive::root(&leaves()[..size]).to_string(), *root);
    }
}

#[test]
fn proofs_of_the_reference_tree() {
    let tree = naive::tree(&leaves());
    let inclusions: [(u64, usize, Vec<&str>); 4] = [
        (0, 1, vec![]),
        (0, 8, vec![A, B, C]),
        (5, 8, vec![D, E, ROOTS[4]]),
        (2, 3, vec![ROOTS[2]]),
    ];
    for (index, size, expected) in inclusions {
        let expected: Vec<NodeHash> = expected.into_iter().map(hash).collect();
        let proof = tree.inclusion_proof(index, size as u64).unwrap();
        assert_eq!(proof, expected);
        verify_inclusion(&leaves()[index as usize], index, &head(size), &proof).unwrap();
    }
    let consistencies: [(usize, usize, Vec<&str>); 4] = [
        (1, 1, vec![]),
        (1, 8, vec![A, B, C]),
        (6, 8, vec![F, E, ROOTS[4]]),
        (2, 5, vec![B, D]),
    ];
    for (old, new, expected) in consistencies {
        let expected: Vec<NodeHash> = expected.into_iter().map(hash).collect();
        let proof = tree.consistency_proof(old as u64, new as u64).unwrap();
        assert_eq!(proof, expected);
        verify_consistency(&head(old), &head(new), &proof).unwrap();
    }
}

#[test]
fn key_and_note_of_the_reference() {
    let signer = SignerKey::parse(SIGNER).unwrap();
    assert_eq!(signer.verifier().to_string(), VERIFIER);
    assert_eq!(signer.to_secret_text().as_str(), SIGNER);
    let note = signer.sign_note(TEXT).unwrap();
    assert_eq!(note, format!("{TEXT}\n{SIGNATURE}"));
    let verifier = VerifierKey::parse(VERIFIER).unwrap();
    assert_eq!(verifier.open_note(&note), Ok(TEXT));
    assert_eq!(&verifier, signer.verifier());
    assert_eq!(verifier.id(), [0xc7, 0x4f, 0x20, 0xa3]);
}
