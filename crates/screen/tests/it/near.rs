// SPDX-License-Identifier: MIT OR Apache-2.0
//! Near-duplicates.

use ancile_screen::fingerprint;

fn near(a: &str, b: &str) -> bool {
    let (a, b) = (fingerprint(a), fingerprint(b));
    assert_eq!(a.near(&b), b.near(&a));
    a.near(&b)
}

const NOTE: &str = "The plumber comes on Monday at nine and needs the key to the cellar; ask Ms \
    Berg next door for it, she keeps the spare one in the blue box behind the kitchen shelf.";

#[test]
fn writing_does_not_count() {
    assert!(near(NOTE, NOTE));
    assert!(near(NOTE, &NOTE.to_uppercase()));
    assert!(near(NOTE, &NOTE.replace(' ', "  \n").replace(';', " -")));
    assert!(near(NOTE, &NOTE.replace("key", "k\u{200b}\u{e9}y")));
}

#[test]
fn other_words_do() {
    assert!(!near(
        NOTE,
        "The shop closes early on Friday since the staff go to a wedding."
    ));
    assert!(!near("pay the rent", "do not pay the rent"));
    assert!(!near("", "pay the rent"));
}

#[test]
fn typed_values_must_agree() {
    let pay = |sum: &str, to: &str| format!("{NOTE} Pay him {sum} EUR to {to} on the same day.");
    let iban = "DE89 3704 0044 0532 0130 00";
    assert!(near(
        &pay("120", iban),
        &pay("120.00", "DE89370400440532013000")
    ));
    assert!(!near(&pay("120", iban), &pay("121", iban)));
    assert!(!near(
        &pay("120", iban),
        &pay("120", "GB29 NWBK 6016 1331 9268 19")
    ));
}
