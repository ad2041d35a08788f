// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which answers are kept, and how long.

use super::Answers;
use crate::api::ANSWER_SECONDS;
use crate::event::Event;
use ancile_core::{Digest, Micros};

const DAY: i64 = ANSWER_SECONDS * 1_000_000;

fn add(answers: &mut Answers, (credential, seq): (u8, u64), at: i64, drops: Vec<u64>) -> Digest {
    let id = Digest::sha256(&[credential, seq.to_le_bytes()[0]]);
    let event = Event::Answered {
        id,
        credential: Digest([credential; 32]),
        request: Digest([1; 32]),
        at: Micros(at),
        answer: Digest([2; 32]),
        drops,
    };
    answers.apply(seq, &event);
    id
}

#[test]
fn an_answer_holds_for_its_time() {
    let mut answers = Answers::new();
    let id = add(&mut answers, (1, 7), 1_000, vec![]);
    let row = answers.get(&id).unwrap();
    for (now, holds) in [
        (1_000, true),
        (1_000 + DAY - 1, true),
        (1_000 + DAY, false),
        (1_001 + DAY, false),
    ] {
        assert_eq!(row.holds_at(Micros(now)), holds, "{now}");
        let drops = answers.to_drop(&Digest([1; 32]), Micros(now), 10);
        assert_eq!(drops.is_empty(), holds, "{now}");
    }
}

#[test]
fn a_credential_keeps_so_many_and_takes_none_of_another() {
    let mut answers = Answers::new();
    let of = |credential| Digest([credential; 32]);
    for seq in 0..3 {
        add(&mut answers, (1, seq), 0, vec![]);
    }
    let other = add(&mut answers, (2, 3), 0, vec![]);
    for (most, drops) in [(5, vec![]), (4, vec![]), (3, vec![0]), (2, vec![0, 1])] {
        assert_eq!(answers.to_drop(&of(1), Micros(0), most), drops, "{most}");
    }
    let new = add(&mut answers, (1, 9), 0, vec![0, 1]);
    assert_eq!(answers.to_drop(&of(1), Micros(0), 1), [2, 9]);
    assert_eq!(answers.get(&new).unwrap().seq, 9);
    assert_eq!(answers.get(&other).unwrap().seq, 3);
    assert!(answers.get(&Digest::sha256(&[1, 0])).is_none());
    // One that is used anew, after its time, stands in the place of what was kept before.
    let again = add(&mut answers, (1, 9), DAY, vec![]);
    assert_eq!(
        (again, answers.to_drop(&of(1), Micros(DAY), 1)),
        (new, vec![2, 9])
    );
}
