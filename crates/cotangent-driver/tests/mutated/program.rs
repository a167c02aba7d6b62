//! How programs are damaged: words removed, repeated, exchanged or replaced by others of their kind, statements too.
//! Most results must still compile, or nothing behind Clang would be tested: so a word is mostly replaced by one of
//! its kind.

use crate::random::Random;

/// The same text with one to three changes.
pub(crate) fn mutate(text: &str, random: &mut Random) -> String {
    let mut words = words(text);
    for _ in 0..=random.below(3) {
        let solid: Vec<usize> = (0..words.len()).filter(|&at| kind(&words[at]) != Kind::Blank).collect();
        if solid.is_empty() {
            break;
        }
        let at = solid[random.below(solid.len())];
        let other = solid[random.below(solid.len())];
        match random.below(12) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[at].clone()),
            2 => words.swap(at, other),
            3 => drop(words.drain(statement(&words, at))),
            4 => {
                let copy = words[statement(&words, at)].to_vec();
                words.splice(at..at, copy);
            }
            _ => {
                let alike: Vec<usize> =
                    solid.iter().copied().filter(|&word| kind(&words[word]) == kind(&words[at])).collect();
                words[at] = words[alike[random.below(alike.len())]].clone();
            }
        }
    }
    words.concat()
}

#[derive(PartialEq)]
enum Kind {
    Blank,
    Word,
    Number,
    Operator,
    Bracket,
}

fn kind(word: &str) -> Kind {
    match word.as_bytes().first() {
        Some(byte) if byte.is_ascii_whitespace() => Kind::Blank,
        Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => Kind::Word,
        Some(byte) if byte.is_ascii_digit() => Kind::Number,
        Some(b'(' | b')' | b'{' | b'}' | b'[' | b']' | b';' | b',') => Kind::Bracket,
        _ => Kind::Operator,
    }
}

/// Identifiers, numbers, blanks, and single other characters; lines of comments are left out.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("//") {
            continue;
        }
        let mut last = Kind::Bracket;
        for character in line.chars() {
            let this = kind(character.encode_utf8(&mut [0; 4]));
            let is_name = |kind: &Kind| matches!(kind, Kind::Word | Kind::Number);
            let is_run = matches!(this, Kind::Blank | Kind::Operator) && last == this;
            let joins = is_run || (is_name(&last) && is_name(&this));
            match words.last_mut() {
                Some(word) if joins => word.push(character),
                _ => {
                    words.push(character.to_string());
                    last = this;
                }
            }
        }
    }
    words
}

/// From behind the last semicolon or brace to the next semicolon.
fn statement(words: &[String], at: usize) -> std::ops::Range<usize> {
    let is_end = |word: &String| [";", "{", "}"].contains(&word.as_str());
    let start = words[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
    let end = words[at..].iter().position(|word| word == ";").map_or(words.len(), |end| at + end + 1);
    start..end
}
