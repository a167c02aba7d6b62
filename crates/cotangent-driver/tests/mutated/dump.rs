//! Clang's dumps as seeds, and how they are damaged: lines and subtrees removed, repeated and exchanged, ids, types and
//! other values swapped, bytes changed, the end cut off.

use std::collections::{HashMap, HashSet};

use crate::random::Random;

/// The user's declarations of a sieved dump and all they refer to, one line an entry: a few hundred kilobytes of our
/// headers that no fixture mentions would make every case slow and most of them pointless.
pub(crate) fn reduced(sieved: &str, is_users: impl Fn(&str) -> bool) -> Vec<String> {
    let lines: Vec<&str> = sieved.lines().collect();
    let start = lines.iter().position(|line| *line == "\"inner\": [").map_or(0, |at| at + 1);
    let declarations = declarations(&lines, start);
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for (index, declaration) in declarations.iter().enumerate() {
        for id in declaration.lines.iter().filter_map(|line| line.strip_prefix("\"id\": ")) {
            owners.entry(id.trim_end_matches(',')).or_insert(index);
        }
    }
    let mut wanted: Vec<usize> = (0..declarations.len()).filter(|&index| is_users(declarations[index].file)).collect();
    let mut known: HashSet<usize> = wanted.iter().copied().collect();
    while let Some(index) = wanted.pop() {
        for line in declarations[index].lines.iter().filter(|line| line.contains("\": \"0x")) {
            let id = line.split_once(": ").map_or("", |(_, value)| value.trim_end_matches(','));
            wanted.extend(owners.get(id).copied().filter(|owner| known.insert(*owner)));
        }
    }
    let mut out: Vec<String> = lines[..start].iter().map(|line| (*line).to_owned()).collect();
    for (index, declaration) in declarations.iter().enumerate().filter(|(index, _)| known.contains(index)) {
        // Clang names a file only where it changes; between what is left it may change anywhere.
        if index > 0 && !declaration.file_before.is_empty() {
            let file = declaration.file_before;
            let marker = ["{", "\"id\": \"0x0\",", "\"kind\": \"EmptyDecl\",", "\"loc\": {", "\"offset\": 0,"];
            out.extend(marker.map(str::to_owned));
            out.push(format!("\"file\": \"{file}\","));
            out.extend(["\"line\": 1,", "\"col\": 1,", "\"tokLen\": 1", "}", "},"].map(str::to_owned));
        }
        out.extend(declaration.lines.iter().map(|line| (*line).to_owned()));
    }
    out.extend(["]", "}"].map(str::to_owned));
    repair_commas(&mut out);
    out
}

struct Declaration<'a> {
    lines: &'a [&'a str],
    /// The file that its own location is in, and the one named last before it.
    file: &'a str,
    file_before: &'a str,
}

fn declarations<'a>(lines: &'a [&'a str], start: usize) -> Vec<Declaration<'a>> {
    let mut found = Vec::new();
    let (mut at, mut file) = (start, "");
    while at < lines.len() && !is_closer(lines[at]) {
        let end = end_of_subtree(lines, at);
        let (file_before, mut own_file) = (file, None);
        for line in &lines[at..end] {
            // A location's file is followed by its line; the one of an `includedFrom` stands alone.
            let named = line.strip_prefix("\"file\": \"").and_then(|rest| rest.strip_suffix("\","));
            if let Some(named) = named {
                file = named;
            }
            if line.starts_with("\"range\": ") {
                own_file.get_or_insert(file);
            }
        }
        let own_file = own_file.unwrap_or(file);
        found.push(Declaration { lines: &lines[at..end], file: own_file, file_before });
        at = end;
    }
    found
}

/// The same dump with one to three things changed.
pub(crate) fn mutate(seed: &[String], random: &mut Random) -> Vec<u8> {
    let mut lines = seed.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(lines.len());
        let other = random.below(lines.len());
        match random.below(10) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 | 3 => {
                let subtree = subtree_near(&lines, at);
                drop(lines.drain(subtree));
            }
            4 => {
                let copy = lines[subtree_near(&lines, at)].to_vec();
                lines.splice(at..at, copy);
            }
            5 => {
                let copy = lines[subtree_near(&lines, other)].to_vec();
                let subtree = subtree_near(&lines, at);
                lines.splice(subtree, copy);
            }
            _ => exchange_values(&mut lines, at, random),
        }
        if lines.len() < 2 {
            break;
        }
    }
    if random.below(8) > 0 {
        repair_commas(&mut lines);
    }
    let mut bytes = lines.join("\n").into_bytes();
    match random.below(12) {
        0 => {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        1 => bytes.truncate(random.below(bytes.len())),
        _ => {}
    }
    bytes
}

/// Gives a line the value that another line of the same key has, and sometimes the other way too.
fn exchange_values(lines: &mut [String], from: usize, random: &mut Random) {
    let key = |line: &str| line.split_once(": ").map(|(key, _)| key.to_owned());
    let Some(at) = (from..lines.len()).find(|&at| !is_opener(&lines[at]) && key(&lines[at]).is_some()) else { return };
    let wanted = key(&lines[at]);
    let same: Vec<usize> = (0..lines.len()).filter(|&other| key(&lines[other]) == wanted).collect();
    let other = same[random.below(same.len())];
    if random.below(2) == 0 {
        lines.swap(at, other);
    } else {
        lines[at] = lines[other].clone();
    }
}

/// The lines from the first opening line at or after `at` to the one that closes it.
fn subtree_near(lines: &[String], at: usize) -> std::ops::Range<usize> {
    let start = (at..lines.len()).find(|&line| is_opener(&lines[line])).unwrap_or(at);
    start..end_of_subtree(lines, start)
}

fn end_of_subtree<T: AsRef<str>>(lines: &[T], start: usize) -> usize {
    let mut depth = 0usize;
    for (index, line) in lines.iter().enumerate().skip(start) {
        depth += usize::from(is_opener(line.as_ref()));
        depth = depth.saturating_sub(usize::from(is_closer(line.as_ref())));
        if depth == 0 {
            return index + 1;
        }
    }
    lines.len()
}

/// Makes a list of lines JSON again after some went or came.
fn repair_commas(lines: &mut [String]) {
    for index in 0..lines.len().saturating_sub(1) {
        let is_last = is_closer(&lines[index + 1]);
        let line = &mut lines[index];
        if is_opener(line) {
            continue;
        }
        match (line.ends_with(','), is_last) {
            (true, true) => drop(line.pop()),
            (false, false) => line.push(','),
            _ => {}
        }
    }
}

fn is_opener(line: &str) -> bool {
    line.ends_with(['{', '['])
}

fn is_closer(line: &str) -> bool {
    line.starts_with(['}', ']'])
}
