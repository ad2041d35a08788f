// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::naive;
use ancile_ledger::{
    ControlChain, GROUP_HEAD_BYTES, GroupHead, HeadError, LeafKind, TENANT_BYTES_MAX, TenantHead,
    empty_root, heads_root, leaf_hash,
};
use proptest::prelude::*;

fn head(tenant: &str) -> TenantHead {
    TenantHead {
        tenant: tenant.to_owned(),
        size: 0x0102_0304_0506_0708,
        root: leaf_hash(b"root"),
        control: [9; 32],
    }
}

const GROUP: GroupHead = GroupHead {
    group: 0x1112_1314_1516_1718,
    epoch: 2,
    tenants: 3,
    heads_root: ancile_ledger::NodeHash([5; 32]),
};

#[test]
fn bytes_of_a_tenant_head() {
    let bytes = head("acme").encode();
    let mut expected = vec![4, 1, 1, 2, 3, 4, 5, 6, 7, 8];
    expected.extend_from_slice(&leaf_hash(b"root").0);
    expected.extend_from_slice(&[9; 32]);
    expected.extend_from_slice(b"acme");
    assert_eq!(bytes, expected);
    assert_eq!(TenantHead::decode(&bytes).unwrap(), head("acme"));
}

#[test]
fn bytes_of_a_group_head() {
    let bytes = GROUP.encode();
    let mut expected = vec![3, 1, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18];
    expected.extend_from_slice(&2u64.to_be_bytes());
    expected.extend_from_slice(&3u64.to_be_bytes());
    expected.extend_from_slice(&[5; 32]);
    assert_eq!(bytes, expected);
    assert_eq!(bytes.len(), GROUP_HEAD_BYTES);
    assert_eq!(GroupHead::decode(&bytes).unwrap(), GROUP);
    assert_eq!(GROUP.leaf(), leaf_hash(&bytes));
}

#[test]
fn other_bytes_are_not_heads() {
    let bytes = GROUP.encode();
    let expect = |bytes: &[u8], error| assert_eq!(GroupHead::decode(bytes), Err(error));
    expect(&[], HeadError::Kind { expected: 3 });
    expect(&head("a").encode(), HeadError::Kind { expected: 3 });
    expect(&[3], HeadError::Length { bytes: 1 });
    expect(&[3, 2], HeadError::Version { found: 2 });
    for length in (2..bytes.len()).chain([bytes.len() + 1]) {
        let mut other = bytes.clone();
        other.resize(length, 0);
        expect(&other, HeadError::Length { bytes: length });
    }
    let decode = TenantHead::decode;
    assert_eq!(decode(&bytes), Err(HeadError::Kind { expected: 4 }));
    let bytes = head("a").encode();
    for length in 2..74 {
        let cut = HeadError::Length { bytes: length };
        assert_eq!(decode(&bytes[..length]), Err(cut));
    }
    let no_name = HeadError::NameLength { bytes: 0 };
    assert_eq!(decode(&bytes[..74]), Err(no_name));
    let mut other = bytes;
    other[74] = 0xff;
    assert_eq!(decode(&other), Err(HeadError::NameEncoding));
}

#[test]
fn tenant_name_limit() {
    for (bytes, fits) in [(0, false), (1, true), (63, true), (64, true), (65, false)] {
        assert_eq!(TENANT_BYTES_MAX, 64);
        let head = head(&"n".repeat(bytes));
        let error = HeadError::NameLength { bytes };
        if fits {
            assert_eq!(TenantHead::decode(&head.encode()).unwrap(), head);
            assert_eq!(heads_root([&head]).unwrap(), leaf_hash(&head.encode()));
        } else {
            assert_eq!(TenantHead::decode(&head.encode()), Err(error.clone()));
            assert_eq!(heads_root([&head]), Err(error));
        }
    }
}

#[test]
fn heads_root_is_the_root_over_the_encoded_heads() {
    let heads: Vec<_> = (0..70).map(|i| head(&format!("t{i:02}"))).collect();
    for n in 0..=heads.len() {
        let leaves: Vec<_> = heads[..n].iter().map(|h| leaf_hash(&h.encode())).collect();
        assert_eq!(heads_root(&heads[..n]).unwrap(), naive::root(&leaves));
    }
    assert_eq!(heads_root([]).unwrap(), empty_root());
}

#[test]
fn heads_out_of_order_or_twice_are_refused() {
    let (a, b) = (head("a"), head("b"));
    assert!(heads_root([&a, &b]).is_ok());
    assert_eq!(heads_root([&b, &a]), Err(HeadError::Unordered { at: 1 }));
    assert_eq!(
        heads_root([&a, &b, &b]),
        Err(HeadError::Unordered { at: 2 })
    );
}

#[test]
fn the_control_chain_depends_on_each_leaf_and_their_order() {
    let leaves = naive::leaves(4);
    let chain = |picked: &[usize]| {
        let mut chain = ControlChain::new();
        picked.iter().for_each(|i| chain.push(&leaves[*i]));
        *chain.bytes()
    };
    assert_eq!(chain(&[]), [0; 32]);
    assert_eq!(ControlChain::default(), ControlChain::new());
    let mut seen = std::collections::BTreeSet::new();
    let orders: [&[usize]; 7] = [&[], &[0], &[1], &[0, 1], &[1, 0], &[0, 1, 2], &[0, 0, 1]];
    for order in orders {
        assert!(seen.insert(chain(order)));
    }
    let mut resumed = ControlChain::from_bytes(chain(&[0, 1]));
    resumed.push(&leaves[2]);
    assert_eq!(*resumed.bytes(), chain(&[0, 1, 2]));
}

#[test]
fn leaf_kinds() {
    for byte in 0..=u8::MAX {
        let expected = match byte {
            1 => Some(LeafKind::Record),
            2 => Some(LeafKind::Control),
            _ => None,
        };
        assert_eq!(LeafKind::of(&[byte, 0]), expected);
        assert!(expected.is_none_or(|kind| kind.byte() == byte));
    }
    assert_eq!(LeafKind::of(&[]), None);
}

proptest! {
    #[test]
    fn group_heads_round_trip(group: u64, epoch: u64, tenants: u64, root: [u8; 32]) {
        let head = GroupHead { group, epoch, tenants, heads_root: ancile_ledger::NodeHash(root) };
        prop_assert_eq!(GroupHead::decode(&head.encode()).unwrap(), head);
    }

    #[test]
    fn tenant_heads_round_trip(
        tenant in "[a-z\u{e9}\u{4e2d}]{1,20}",
        size: u64,
        root: [u8; 32],
        control: [u8; 32],
    ) {
        let root = ancile_ledger::NodeHash(root);
        let head = TenantHead { tenant, size, root, control };
        prop_assert_eq!(TenantHead::decode(&head.encode()).unwrap(), head);
    }
}
