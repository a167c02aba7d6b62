//! Names in the order of the text: what a derivative adds to the program's variables is numbered as it is declared.
//!
//! Variables get their names while both sweeps are written from both ends, and copies of copies have two numbers: `i_3_1`. The
//! program's own names stay.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::locals::NewLocals;
use crate::ir::walk::{self, NodeMut};
use crate::ir::{Function, LocalId, Module, Name, Stmt};

/// Renames the variables of a function that are neither parameters nor have a name of the program's.
pub(super) fn names_in_order(module: &Module, function: &mut Function, own: &HashSet<Name>) {
    let params = function.params.iter().map(|param| function.locals[*param].name.clone());
    let mut names = NewLocals::besides(module, own.iter().cloned().chain(params).collect());
    let mut declared: Vec<LocalId> = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| declared.extend(walk::declared_local(stmt)));
    declared.retain(|local| !own.contains(&function.locals[*local].name) && !function.params.contains(local));
    let mut renamed: HashMap<Name, Name> = HashMap::new();
    for local in declared {
        let old = function.locals[local].name.clone();
        let name = names.name(base_of(&old, own));
        renamed.insert(old, name.clone());
        function.locals[local].name = name;
    }
    let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
        if let NodeMut::Stmt(Stmt { note: Some(note), .. }) = node {
            *note = in_words(note, &renamed).into();
        }
        ControlFlow::<()>::Continue(())
    });
}

/// A name without the numbers at its end, but for those that the program gave it.
fn base_of<'n>(name: &'n str, own: &HashSet<Name>) -> &'n str {
    let mut base = name;
    while !own.contains(base)
        && let Some((before, number)) = base.rsplit_once('_')
        && !before.trim_matches('_').is_empty()
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        base = before;
    }
    base
}

/// A comment with the new names of variables.
fn in_words(note: &str, renamed: &HashMap<Name, Name>) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let end = |word: &mut String, out: &mut String| {
        out.push_str(renamed.get(word.as_str()).map_or(word.as_str(), |name| name));
        word.clear();
    };
    for letter in note.chars() {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
        } else {
            end(&mut word, &mut out);
            out.push(letter);
        }
    }
    end(&mut word, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_program_stay() {
        let own = HashSet::from(["x_2".into(), "i".into()]);
        assert_eq!(base_of("x_2_1_3", &own), "x_2");
        assert_eq!(base_of("i_3_1", &own), "i");
        assert_eq!(base_of("_r_12", &own), "_r");
        assert_eq!(base_of("_1", &own), "_1");
        assert_eq!(base_of("sum_of", &own), "sum_of");
    }

    #[test]
    fn comments_are_renamed_by_words() {
        let renamed = HashMap::from([("_d_x_1".into(), "_d_x".into())]);
        assert_eq!(in_words("threads may share _d_x_1[i], _d_x_12", &renamed), "threads may share _d_x[i], _d_x_12");
    }
}
