//! A shared array that is used twice is two arrays while the derivative is written.
//!
//! `partial[threadIdx.x] = greatest; …; partial[threadIdx.x] = sum; …`: what the second use reads has nothing to do with the
//! first, and carries derivatives where that may carry none. Afterwards it is one array again, if the first use is over where the
//! second begins.

use std::collections::HashMap;

use super::locals::{NewLocals, declare, rename};
use super::shadow::shadow_name;
use crate::analysis::is_one_element_a_thread;
use crate::ir::walk;
use crate::ir::{Function, Local, LocalId, Module, Name, PlaceKind, Space, Stmt, StmtKind, Storage, Type};

/// The names of an array's two uses.
pub(super) type Lives = Vec<[Name; 2]>;

/// A kernel in which each use of a shared array has an array of its own; none if there is none that is used twice.
///
/// What all threads store to is all that the array holds, where each thread has one element (`is_one_element_a_thread`).
pub(super) fn lives_apart(module: &Module, function: &Function) -> Option<(Function, Lives)> {
    if function.space != Space::Kernel {
        return None;
    }
    let (mut apart, mut lives) = (function.clone(), Lives::new());
    let mut names = NewLocals::new(module, function);
    while let Some((position, array)) = second_use(&apart) {
        let variable = apart.locals[array].clone();
        let name = names.name(&variable.name);
        lives.push([variable.name.clone(), name.clone()]);
        let later = apart.locals.push(Local { name, ..variable });
        rename(&mut apart.body[position..], &HashMap::from([(array, later)]));
        let declared = apart.body.iter().position(|stmt| walk::declared_local(stmt) == Some(array))?;
        apart.body.insert(declared + 1, declare(later, None));
    }
    (!lives.is_empty()).then_some((apart, lives))
}

/// The last statement that stores all of an array anew which was used before, and that array.
fn second_use(function: &Function) -> Option<(usize, LocalId)> {
    function.body.iter().enumerate().rev().find_map(|(position, stmt)| {
        let array = stored_anew(function, stmt)?;
        let is_second = walk::mentions(&function.body[..position], array) && is_one_element_a_thread(function, array);
        is_second.then_some((position, array))
    })
}

/// The shared array to which a statement stores, and which its value does not read.
fn stored_anew(function: &Function, stmt: &Stmt) -> Option<LocalId> {
    let StmtKind::Assign { place, value } = &stmt.kind else { return None };
    let PlaceKind::Index(base, index) = &place.kind else { return None };
    let array = base.as_local()?;
    let is_shared = function.locals[array].storage == Storage::Shared;
    let is_read = walk::expr_mentions(value, array) || walk::expr_mentions(index, array);
    (is_shared && matches!(place.ty, Type::Float(_)) && !is_read).then_some(array)
}

/// Makes the uses of arrays one array again, and tells which became which. None if one is not over where the next begins.
pub(super) fn lives_together(function: &mut Function, lives: &Lives) -> Option<HashMap<LocalId, LocalId>> {
    let mut map = HashMap::new();
    // The last use was taken apart first.
    for [first, second] in lives.iter().rev() {
        let named = |name: &Name| function.locals.ids().find(|local| function.locals[*local].name == *name);
        let (first, second) = (named(first)?, named(second)?);
        let uses = |stmt: &Stmt, local: LocalId| walk::mentions(std::slice::from_ref(stmt), local);
        let last = function.body.iter().rposition(|stmt| uses(stmt, first));
        let begin = function.body.iter().position(|stmt| uses(stmt, second));
        if let (Some(last), Some(begin)) = (last, begin)
            && last >= begin
        {
            return None;
        }
        // The adjoint of the second use may be the only one.
        let [wanted, shadow] = [first, second].map(|local| shadow_name(&function.locals[local].name));
        if let (None, Some(shadow)) = (named(&wanted), named(&shadow)) {
            function.locals[shadow].name = wanted;
        }
        function.body.retain(|stmt| walk::declared_local(stmt) != Some(second));
        rename(&mut function.body, &HashMap::from([(second, first)]));
        map.insert(second, first);
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{FunctionId, text};

    /// The names of arrays that a kernel with an array `s` uses twice.
    fn uses(body: &str) -> Lives {
        let text = format!("kernel k(x: const float*, y: float*) {{ let shared s: float[64]; {body} }}");
        let module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        lives_apart(&module, &module.functions[FunctionId(0)]).map(|(_, lives)| lives).unwrap_or_default()
    }

    const FIRST: &str = "s[threadIdx.x] = x[threadIdx.x]; barrier block; let m: float = s[0]; barrier block;";
    const SECOND: &str = "barrier block; y[threadIdx.x] = (m + s[1]);";

    #[test]
    fn an_array_that_all_threads_store_anew_is_another_one() {
        let one: Lives = vec![["s".into(), "s_1".into()]];
        assert_eq!(uses(&format!("{FIRST} s[threadIdx.x] = 1.0f; {SECOND}")), one);
        let two: Lives = vec![["s".into(), "s_1".into()], ["s".into(), "s_2".into()]];
        assert_eq!(uses(&format!("{FIRST} s[threadIdx.x] = 1.0f; s[threadIdx.x] = m; {SECOND}")), two);
    }

    #[test]
    fn an_array_that_may_keep_something_is_one() {
        for kept in [
            "if (threadIdx.x < 8u) { s[threadIdx.x] = 1.0f; }",
            "s[(threadIdx.x + 1u)] = 1.0f;",
            "s[threadIdx.x] = (s[threadIdx.x] + 1.0f);",
            "for i: int = 0; i < 2; i += 1 { s[threadIdx.x] = 1.0f; }",
            "s[threadIdx.x] = 1.0f; let p: float* = &s[0]; *p = 2.0f;",
            "s[threadIdx.x] = 1.0f; atomic add(s[0], 1.0f);",
        ] {
            assert_eq!(uses(&format!("{FIRST} {kept} {SECOND}")), Lives::new(), "{kept}");
        }
    }

    #[test]
    fn uses_become_one_array_only_one_after_the_other() {
        let lives: Lives = vec![["s".into(), "s_1".into()]];
        for (last, is_over) in [("y[0] = s_1[0];", true), ("y[0] = s[0];", false)] {
            let text = format!(
                "kernel k(y: float*) {{ let shared s: float[64]; let shared s_1: float[64]; s[0] = 1.0f; \
                 barrier block; let m: float = s[0]; s_1[0] = m; barrier block; {last} }}"
            );
            let mut module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let function = &mut module.functions[FunctionId(0)];
            assert_eq!(lives_together(function, &lives).is_some(), is_over, "{last}");
        }
    }
}
