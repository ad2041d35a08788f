// SPDX-License-Identifier: MIT OR Apache-2.0
//! A permit: who gets one, until when it holds, and what voids it.

use ancile_core::{
    CallCell, Decision, Digest, Micros, PERMIT_SECONDS, PermitBinding, PermittedCall,
    RedeemRefusal, permit, permit_approved,
};

const NOW: Micros = Micros(1_700_000_000_000_000);

fn binding() -> PermitBinding {
    PermitBinding {
        call: Digest([1; 32]),
        manifest: Digest([2; 32]),
        policy_epoch: 3,
        session_root: Digest([4; 32]),
    }
}

fn given(decision: Decision) -> Option<PermittedCall> {
    let cell = CallCell {
        decision,
        mandate: None,
    };
    permit(&cell, binding(), NOW)
}

fn by_table() -> PermittedCall {
    given(Decision::Permit).unwrap()
}

fn by_a_person() -> PermittedCall {
    permit_approved(&binding().call, binding(), NOW).unwrap()
}

#[test]
fn only_what_permits_gives_a_permit() {
    let given = |decision| given(decision).is_some();
    assert!(given(Decision::Permit) && given(Decision::PermitLabelled));
    assert!(!given(Decision::Ask) && !given(Decision::Deny));
    assert!(permit_approved(&Digest([9; 32]), binding(), NOW).is_none());
}

#[test]
fn a_permit_ends_after_thirty_seconds() {
    assert_eq!(PERMIT_SECONDS, 30);
    let thirty = 30_000_000;
    for make in [by_table, by_a_person] {
        assert_eq!(make().expires(), Micros(NOW.0 + thirty));
        for (after, expected) in [
            (0, Ok(())),
            (thirty - 1, Ok(())),
            (thirty, Err(RedeemRefusal::Expired)),
            (thirty + 1, Err(RedeemRefusal::Expired)),
        ] {
            let redeemed = make().redeem(&binding(), Micros(NOW.0 + after));
            assert_eq!(redeemed, expected, "{after} microseconds after");
        }
    }
}

#[test]
fn each_thing_that_a_permit_is_bound_to_voids_it() {
    type Change = fn(&mut PermitBinding);
    let cases: [(Change, RedeemRefusal); 4] = [
        (|b| b.call = Digest([9; 32]), RedeemRefusal::OtherCall),
        (
            |b| b.manifest = Digest([9; 32]),
            RedeemRefusal::ManifestChanged,
        ),
        (|b| b.policy_epoch += 1, RedeemRefusal::PolicyChanged),
        (
            |b| b.session_root = Digest([9; 32]),
            RedeemRefusal::SessionMoved,
        ),
    ];
    for make in [by_table, by_a_person] {
        for (change, refusal) in cases {
            let mut today = binding();
            change(&mut today);
            assert_eq!(make().redeem(&today, NOW), Err(refusal));
        }
    }
}
