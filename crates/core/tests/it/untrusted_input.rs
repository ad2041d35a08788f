// SPDX-License-Identifier: MIT OR Apache-2.0
//! What more untrusted input, and blind detectors, can change in a decision: every case of the two
//! act tables, of coverage and of grounding.

use crate::support::exhaust::{self, Exhaust};
use crate::support::facts::{BROKEN, CLASSES, DECISIONS, LOOKS, MODES, World, arg, grant, ground};
use ancile_core::{
    AuthorityClass, CallCell, CallFacts, Coverage, Decision, EntryEffect, Fire, Grant, Ground,
    Lineage, SensitiveArg, SessionMode, call, fire, grounded,
};

/// `permit < permit_labelled < ask < deny`.
#[test]
fn decisions_are_ordered_from_permit_to_deny() {
    assert!(DECISIONS.is_sorted_by(|a, b| a < b));
    assert_eq!(Decision::ALL, DECISIONS);
    assert_eq!(AuthorityClass::ALL, CLASSES);
    assert_eq!(ancile_core::Broken::ALL, BROKEN);
    let permits = DECISIONS.map(Decision::permits);
    assert_eq!(permits, [true, true, false, false]);
    for (a, b) in CLASSES.into_iter().flat_map(|a| CLASSES.map(|b| (a, b))) {
        let meet = a.meet(b);
        assert_eq!(meet.number(), a.number().max(b.number()));
        assert_eq!(a.covers(b), a.number() <= b.number());
    }
}

/// Lineages, one for each reason.
fn lineages() -> Vec<Lineage> {
    let broken = BROKEN.into_iter().map(Lineage::Broken);
    std::iter::once(Lineage::Intact).chain(broken).collect()
}

/// Everything that may fire.
fn fires() -> Vec<Fire> {
    let lineages = lineages();
    exhaust::all(|e| Fire {
        class: CLASSES[e.below(4)],
        lineage: lineages[e.below(lineages.len())],
        instruction_like: LOOKS[e.below(3)],
        side_effect: e.flip(),
        covered: e.flip(),
        unverified: false,
    })
}

/// What surrounds a call: up to two mandates, up to two sensitive arguments, up to three grounds.
fn worlds() -> Vec<World> {
    let fixed: [&[&str]; 3] = [&[], &["to"], &["to", "amount"]];
    let args: [&[SensitiveArg]; 6] = [
        &[],
        &[arg("to", &["a"])],
        &[arg("to", &["a", "b"])],
        &[arg("to", &["?"])],
        &[arg("to", &[])],
        &[arg("to", &["a"]), arg("amount", &["b"])],
    ];
    let named: [&[&str]; 4] = [&[], &["a"], &["b"], &["a", "b"]];
    let a_grant =
        |e: &mut Exhaust| -> Grant { grant(CLASSES[e.below(4)], fixed[e.below(3)], e.flip()) };
    exhaust::all(|e| World {
        coverage: (0..e.below(3)).map(|_| a_grant(e)).collect(),
        sensitive: args[e.below(args.len())].to_vec(),
        grounds: (0..e.below(3)).map(|_| ground(named[e.below(4)])).collect(),
    })
}

/// Everything about a call that is not its world.
#[derive(Debug, Clone, Copy)]
struct Asked {
    side_effect: bool,
    mode: SessionMode,
    deny_class_4: bool,
    unverified: bool,
}

fn asked() -> Vec<Asked> {
    exhaust::all(|e| Asked {
        side_effect: e.flip(),
        mode: MODES[e.below(2)].0,
        deny_class_4: e.flip(),
        unverified: false,
    })
}

fn decide(
    class: AuthorityClass,
    asked: Asked,
    (coverage, sensitive): (&Coverage, &[SensitiveArg]),
    grounds: &[Ground],
) -> CallCell {
    call(&CallFacts {
        class,
        side_effect: asked.side_effect,
        coverage,
        sensitive,
        grounds,
        mode: asked.mode,
        deny_class_4: asked.deny_class_4,
        unverified: asked.unverified,
    })
}

/// Until a store is compared with its log, a side effect that would be permitted asks, and nothing
/// else changes.
#[test]
fn promise_6_side_effects_ask_until_the_store_is_compared() {
    let asks = |side_effect: bool, decision: Decision| match decision.permits() && side_effect {
        true => Decision::Ask,
        false => decision,
    };
    for verified in fires() {
        let cell = fire(&verified);
        let waiting = Fire {
            unverified: true,
            ..verified
        };
        let wanted = ancile_core::FireCell {
            decision: asks(verified.side_effect, cell.decision),
            ..cell
        };
        assert_eq!(fire(&waiting), wanted, "{verified:?}");
    }
    let worlds = worlds();
    for asked in asked() {
        for world in &worlds {
            let coverage = Coverage {
                grants: world.coverage.clone(),
            };
            for class in CLASSES {
                let of = |unverified| {
                    let asked = Asked {
                        unverified,
                        ..asked
                    };
                    decide(class, asked, (&coverage, &world.sensitive), &world.grounds)
                };
                let (cell, waiting) = (of(false), of(true));
                let wanted = asks(asked.side_effect, cell.decision);
                assert_eq!(waiting.decision, wanted, "{class} {asked:?}");
                assert!(waiting.mandate.is_none() || waiting == cell);
            }
        }
    }
}

/// Class 4 input reaches a decision in three ways, and none moves it towards permit: it lowers the
/// class of the session or entry; after it, some of the grounds no longer count; and a broken
/// lineage is worse than an intact one. The call, its mandates and the policy stay the same.
#[test]
fn promise_3_more_untrusted_never_permits_more() {
    let (mut fired, mut called) = (0u64, 0u64);
    let waiting = |f: Fire| Fire {
        unverified: true,
        ..f
    };
    for before in fires().into_iter().flat_map(|f| [f, waiting(f)]) {
        for class in CLASSES.map(|class| class.meet(before.class)) {
            for lineage in [before.lineage, Lineage::Broken(BROKEN[0])] {
                let after = Fire {
                    class,
                    lineage,
                    ..before
                };
                let (cell, was) = (fire(&after), fire(&before));
                assert!(cell.decision >= was.decision, "{before:?} {after:?}");
                assert!(cell.entry >= was.entry, "{before:?} {after:?}");
                fired += 1;
            }
        }
    }
    let asked = asked();
    for World {
        coverage,
        sensitive,
        grounds,
    } in worlds()
    {
        let coverage = Coverage { grants: coverage };
        let call = (&coverage, &sensitive[..]);
        // All ways to lose grounds: a class 4 exposure never adds one.
        let fewer: Vec<Vec<Ground>> = (0u32..1 << grounds.len())
            .map(|kept| {
                let kept = (0..grounds.len()).filter(|i| kept >> i & 1 == 1);
                kept.map(|i| grounds[i].clone()).collect()
            })
            .collect();
        for (asked, class) in asked.iter().flat_map(|a| CLASSES.map(|class| (*a, class))) {
            let before = decide(class, asked, call, &grounds).decision;
            let exposed = AuthorityClass::Untrusted.meet(class);
            for grounds in &fewer {
                for class in [class, exposed] {
                    let after = decide(class, asked, call, grounds).decision;
                    assert!(
                        after >= before,
                        "{class} {asked:?} {coverage:?} {grounds:?}"
                    );
                    called += 1;
                }
            }
        }
    }
    println!("{fired} fires and {called} calls with more untrusted input, 0 violations");
    assert!(fired >= 3_456 && called > 5_000_000, "{fired} {called}");
}

/// In class 4 a side effect is permitted only under a mandate that says class 4 and fixes or
/// grounds every sensitive argument, in one and the same ground.
#[test]
fn class_4_side_effects_need_a_class_4_mandate_and_one_ground() {
    let (mut cases, mut permits) = (0u64, 0u64);
    for World {
        coverage,
        sensitive,
        grounds,
    } in worlds()
    {
        let coverage = Coverage { grants: coverage };
        for asked in asked().into_iter().filter(|a| a.side_effect) {
            let call = (&coverage, &sensitive[..]);
            let cell = decide(AuthorityClass::Untrusted, asked, call, &grounds);
            let carries = |grant: &&Grant| {
                let open: Vec<_> = sensitive
                    .iter()
                    .filter(|arg| !grant.fixed.contains(&arg.name))
                    .collect();
                let one = grounds.iter().any(|ground| {
                    open.iter().all(|arg| {
                        !arg.elements.is_empty()
                            && arg.elements.iter().flatten().count() == arg.elements.len()
                            && arg
                                .elements
                                .iter()
                                .flatten()
                                .all(|v| ground.values.contains(v))
                    })
                });
                assert_eq!(
                    grounded(&sensitive, grant, &grounds),
                    open.is_empty() || one
                );
                grant.weakest == AuthorityClass::Untrusted
                    && match sensitive.is_empty() {
                        true => grant.fixes_all,
                        false => open.is_empty() || one,
                    }
            };
            let grant = coverage.grants.iter().find(carries);
            let otherwise = match (asked.mode, asked.deny_class_4) {
                (SessionMode::Interactive, false) => Decision::Ask,
                _ => Decision::Deny,
            };
            let expected = if grant.is_some() {
                Decision::Permit
            } else {
                otherwise
            };
            assert_eq!(cell.decision, expected);
            assert_eq!(cell.mandate, grant.map(|grant| grant.mandate));
            cases += 1;
            permits += u64::from(cell.decision.permits());
        }
    }
    println!("{cases} calls, {permits} permitted");
    assert!(permits > 0 && permits < cases);
}

/// A mandate that names a stronger class than the session has does not cover its call.
#[test]
fn class_3_side_effects_need_a_mandate_that_reaches_class_3() {
    for weakest in CLASSES {
        let coverage = Coverage {
            grants: vec![grant(weakest, &[], true)],
        };
        for asked in asked().into_iter().filter(|a| a.side_effect) {
            let cell = decide(AuthorityClass::AgentDerived, asked, (&coverage, &[]), &[]);
            let reaches = weakest.number() >= 3;
            let expected = if reaches {
                Decision::Permit
            } else {
                Decision::Ask
            };
            assert_eq!((cell.decision, cell.mandate.is_some()), (expected, reaches));
        }
    }
}

/// With the detectors off no side effect is permitted that they would have stopped, a broken
/// lineage is refused as before, and class 4 reads stay labelled; what a detector says only ever
/// refuses.
#[test]
fn promise_9_detectors_are_not_load_bearing() {
    let (mut cases, mut tighter) = (0u64, 0u64);
    for off in fires().into_iter().filter(|f| f.instruction_like.is_none()) {
        let blind = fire(&off);
        for instruction_like in LOOKS {
            let cell = fire(&Fire {
                instruction_like,
                ..off
            });
            cases += 1;
            assert!(
                cell.decision >= blind.decision && cell.entry >= blind.entry,
                "{off:?}"
            );
            if off.side_effect || off.class != AuthorityClass::Untrusted {
                assert_eq!(cell, blind, "{off:?}");
            }
            tighter += u64::from(cell != blind);
        }
        if off.lineage != Lineage::Intact {
            assert_eq!(
                (blind.decision, blind.entry),
                (Decision::Deny, EntryEffect::Quarantine)
            );
        }
        if off.class == AuthorityClass::Untrusted {
            assert!(blind.decision >= Decision::PermitLabelled, "{off:?}");
            assert!(
                !off.side_effect || blind.decision == Decision::Deny,
                "{off:?}"
            );
        }
    }
    println!("{cases} fires, {tighter} refused by a detector alone, 0 loosened");
    // The one cell a detector owns: class 4, intact, instruction-like, no side effect; covered or
    // not.
    assert_eq!(tighter, 2);
}
