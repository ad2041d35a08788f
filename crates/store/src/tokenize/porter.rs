// SPDX-License-Identifier: MIT OR Apache-2.0
//! English stems: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with
//! the two later changes of its author in step 2 (`bli`, `logi`).
//!
//! Each step takes at most one suffix: the first of its list that the word ends in, provided the
//! stem before it meets the condition of the step. Lists name a longer suffix before one it ends
//! in.

/// Reduces a word of lower-case ASCII letters to its stem, which may be no English word.
///
/// A word of fewer than [`LETTERS_MIN`] or more than [`LETTERS_MAX`] letters is its own stem.
pub(super) fn stem(word: &str) -> String {
    let mut word = word.to_owned();
    if (LETTERS_MIN..=LETTERS_MAX).contains(&word.len()) {
        replace(&mut word, PLURALS, |_| true);
        past(&mut word);
        replace(&mut word, &[("y", "i")], has_vowel);
        replace(&mut word, STEP_2, |stem| measure(stem) > 0);
        replace(&mut word, STEP_3, |stem| measure(stem) > 0);
        step_4(&mut word);
        step_5(&mut word);
    }
    word
}

/// Step 1b: `-eed`, `-ed`, `-ing`, and the ending that the last two uncover.
fn past(word: &mut String) {
    // Of the word `eed` nothing would be left before that suffix, and it loses the shorter one.
    if word.len() > "eed".len() && word.ends_with("eed") {
        replace(word, &[("eed", "ee")], |stem| measure(stem) > 0);
    } else if replace(word, &[("ed", ""), ("ing", "")], has_vowel)
        && !replace(word, &[("at", "ate"), ("bl", "ble"), ("iz", "ize")], |_| {
            true
        })
    {
        if ends_double(word) && !word.ends_with(['l', 's', 'z']) {
            word.pop();
        } else if measure(word) == 1 && ends_short(word) {
            word.push('e');
        }
    }
}

fn step_4(word: &mut String) {
    if word.ends_with("ion") {
        let before = |stem: &str| measure(stem) > 1 && stem.ends_with(['s', 't']);
        replace(word, &[("ion", "")], before);
    } else {
        replace(word, STEP_4, |stem| measure(stem) > 1);
    }
}

fn step_5(word: &mut String) {
    let loses_e = |stem: &str| match measure(stem) {
        0 => false,
        1 => !ends_short(stem),
        _ => true,
    };
    replace(word, &[("e", "")], loses_e);
    replace(word, &[("l", "")], |stem| {
        stem.ends_with('l') && measure(stem) > 1
    });
}

/// Replaces the first suffix of `rules` that `word` ends in, if the stem before it fits; says
/// whether it did.
fn replace(word: &mut String, rules: &[(&str, &str)], fits: impl Fn(&str) -> bool) -> bool {
    let found = rules.iter().find_map(|(suffix, new)| {
        let stem = word.strip_suffix(suffix).filter(|stem| !stem.is_empty())?;
        Some((stem, new))
    });
    match found {
        Some((stem, new)) if fits(stem) => {
            let kept = stem.len();
            word.truncate(kept);
            word.push_str(new);
            true
        }
        _ => false,
    }
}

/// For each letter, whether it is a vowel: a, e, i, o, u, and y after a consonant.
fn vowels(word: &str) -> impl Iterator<Item = bool> {
    word.bytes().scan(true, |after_vowel, letter| {
        *after_vowel = match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => true,
            b'y' => !*after_vowel,
            _ => false,
        };
        Some(*after_vowel)
    })
}

fn has_vowel(word: &str) -> bool {
    vowels(word).any(|vowel| vowel)
}

/// Times a vowel is followed by a consonant.
fn measure(word: &str) -> usize {
    vowels(word)
        .zip(vowels(word).skip(1))
        .filter(|pair| *pair == (true, false))
        .count()
}

/// Twice the same letter at the end, none of a, e, i, o, u.
fn ends_double(word: &str) -> bool {
    matches!(word.as_bytes(), [.., a, b] if a == b) && !word.ends_with(['a', 'e', 'i', 'o', 'u'])
}

/// Consonant, vowel, consonant at the end, the last not w, x or y.
fn ends_short(word: &str) -> bool {
    let mut last = [true; 3];
    for vowel in vowels(word) {
        last.rotate_left(1);
        last[2] = vowel;
    }
    last == [false, true, false] && !word.ends_with(['w', 'x', 'y'])
}

/// Fewest letters of a word that has a suffix to lose.
const LETTERS_MIN: usize = 3;

/// Most letters of a word that is stemmed.
const LETTERS_MAX: usize = 64;

const PLURALS: &[(&str, &str)] = &[("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")];

const STEP_2: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("logi", "log"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("eli", "e"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
];

const STEP_3: &[(&str, &str)] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

const STEP_4: &[(&str, &str)] = &[
    ("al", ""),
    ("ance", ""),
    ("ence", ""),
    ("er", ""),
    ("ic", ""),
    ("able", ""),
    ("ible", ""),
    ("ant", ""),
    ("ement", ""),
    ("ment", ""),
    ("ent", ""),
    ("ou", ""),
    ("ism", ""),
    ("ate", ""),
    ("iti", ""),
    ("ous", ""),
    ("ive", ""),
    ("ize", ""),
];
