// SPDX-License-Identifier: MIT OR Apache-2.0

use crate::naive;
use ancile_ledger::{Tree, TreeError, empty_root};
use proptest::prelude::*;

#[test]
fn roots_equal_the_naive_ones() {
    let leaves = naive::leaves(300);
    let mut tree = Tree::new();
    assert_eq!(tree.root(), empty_root());
    for (i, leaf) in leaves.iter().enumerate() {
        assert_eq!(tree.append(*leaf), i as u64);
        assert_eq!(tree.size(), i as u64 + 1);
        assert_eq!(tree.leaf(i as u64), Some(*leaf));
        assert_eq!(tree.root(), naive::root(&leaves[..=i]));
    }
    assert_eq!(tree.leaf(300), None);
    for size in 0..=300 {
        let root = tree.root_at(size as u64).unwrap();
        assert_eq!(root, naive::root(&leaves[..size]));
    }
    assert_eq!(tree.head().root, tree.root());
}

#[test]
fn what_the_tree_has_not_is_refused() {
    let tree = naive::tree(&naive::leaves(5));
    let beyond = TreeError::SizeBeyondTree { asked: 6, size: 5 };
    assert!(tree.root_at(5).is_ok());
    assert_eq!(tree.root_at(6), Err(beyond));
    assert_eq!(tree.inclusion_proof(0, 6), Err(beyond));
    assert_eq!(tree.consistency_proof(1, 6), Err(beyond));
    let index = |index, size| TreeError::IndexBeyondSize { index, size };
    assert!(tree.inclusion_proof(4, 5).is_ok());
    assert_eq!(tree.inclusion_proof(5, 5), Err(index(5, 5)));
    assert_eq!(tree.inclusion_proof(0, 0), Err(index(0, 0)));
    let reversed = TreeError::SizesReversed { old: 4, new: 3 };
    assert_eq!(tree.consistency_proof(4, 3), Err(reversed));
    assert!(tree.root_at(u64::MAX).is_err());
}

#[test]
fn truncating_and_appending_equals_a_fresh_tree_for_all_small_sizes() {
    let leaves = naive::leaves(40);
    for size in 0..=40usize {
        for keep in 0..=size + 1 {
            let mut tree = naive::tree(&leaves[..size]);
            tree.truncate(keep as u64);
            let kept = keep.min(size);
            assert_eq!(tree, naive::tree(&leaves[..kept]));
            for leaf in &leaves[kept..] {
                tree.append(*leaf);
            }
            assert_eq!(tree, naive::tree(&leaves));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any history of appends and truncations leaves the tree of the leaves that remain.
    #[test]
    fn any_history_equals_a_fresh_tree(
        steps in prop::collection::vec((0u64..60, 0u64..80), 1..12),
    ) {
        let mut tree = Tree::new();
        let mut model = Vec::new();
        let mut next = naive::leaves(60 * 12).into_iter();
        for (appends, keep) in steps {
            for leaf in next.by_ref().take(appends as usize) {
                tree.append(leaf);
                model.push(leaf);
            }
            tree.truncate(keep);
            model.truncate(keep as usize);
            prop_assert_eq!(&tree, &naive::tree(&model));
            prop_assert_eq!(tree.root(), naive::root(&model));
        }
    }
}
