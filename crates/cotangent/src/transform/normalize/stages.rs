//! The way to the normal form: which passes, in which order, why each is there, and what holds after it.

use super::jumps::{Kind as Jump, has_jump};
use super::warp_stores::store_of_warp;
use super::{
    Inlining, counted_loops, gather_shared, inline_calls, loops_without_numbers, masks_of_those_present, name_pointers,
    pointers_to_indices, remove_jumps, results_of_runtime, split_records, stores_of_warps,
};
use crate::diagnostic::Diagnostic;
use crate::ir::walk;
use crate::ir::{Block, Function, FunctionId, Module, Stmt, StmtKind, Storage, Type};
use crate::rules::{RuntimeClass, runtime_class};
use crate::source::Span;
use crate::transform::Trust;
use crate::transform::nulls::decide_nulls;
use crate::transform::promises::{Done, Promise, broken, check, find};

/// One pass.
struct Stage {
    name: &'static str,
    /// What reverse mode could not do without it.
    reason: &'static str,
    pass: fn(&Module, &mut Inlining, &mut Function),
    /// What holds afterwards.
    promises: &'static [Promise<Inlining>],
    /// Whether it leaves nothing for itself to do: run again, it changes nothing.
    settles: bool,
}

/// All passes, in order.
const STAGES: [Stage; 10] = [
    Stage {
        name: "results_of_runtime",
        reason: "new memory is known by the variable that it is given to",
        pass: |module, _, function| results_of_runtime(module, function),
        promises: &[Promise { words: "no allocation stores through the address of a variable", broken: stores_memory }],
        settles: true,
    },
    Stage {
        name: "remove_jumps",
        reason: "the reverse sweep enters where the forward sweep ended, which must be one place",
        pass: |module, _, function| remove_jumps(module, function),
        promises: &[Promise { words: "one exit, loops left at their end only, no switch", broken: jumps }],
        settles: true,
    },
    Stage {
        name: "loops_without_numbers",
        reason: "a counter has no adjoint",
        pass: |module, _, function| loops_without_numbers(module, function),
        promises: &[Promise { words: "counters are integers", broken: counter_of_another_type }],
        settles: true,
    },
    Stage {
        name: "inline_calls",
        reason: "a pullback sees what its own function has, not what its caller changes; nor has it shared memory of its own",
        pass: |module, known, function| {
            inline_calls(module, known, function);
            // What was handed over may be null.
            decide_nulls(&mut function.body);
            // A function that is called twice has left its declarations twice.
            gather_shared(function);
        },
        promises: &[
            Promise { words: "functions that are called are pure, or have a rule", broken: call_with_effects },
            Promise { words: "shared memory is declared first", broken: shared_memory_inside },
        ],
        settles: true,
    },
    Stage {
        name: "name_pointers",
        reason: "the adjoint of a pointer is found by the pointer's own name",
        pass: |module, _, function| name_pointers(module, function),
        promises: &[],
        settles: true,
    },
    Stage {
        name: "masks_of_those_present",
        reason: "threads that have returned in the program are still there in its derivative",
        pass: |module, _, function| masks_of_those_present(module, function),
        promises: &[],
        settles: false,
    },
    Stage {
        name: "split_records",
        reason: "a record's adjoint would be sums and pointers at once",
        pass: |module, _, function| split_records(module, function),
        promises: &[],
        settles: true,
    },
    Stage {
        name: "pointers_to_indices",
        reason: "an index into a thread's own variable can be recorded, a pointer cannot",
        pass: |module, _, function| pointers_to_indices(module, function),
        promises: &[],
        settles: true,
    },
    Stage {
        name: "counted_loops",
        reason: "a loop that counts needs no record of how often it ran",
        pass: |_, _, function| counted_loops(function),
        promises: &[],
        settles: true,
    },
    Stage {
        name: "stores_of_warps",
        reason: "each thread that stores to an element takes its adjoint",
        pass: |module, _, function| stores_of_warps(module, function),
        promises: &[Promise {
            words: "no store of a whole warp to one element",
            broken: |module, _, function| store_of_warp(module, function),
        }],
        settles: true,
    },
];

/// The names of the passes, in order.
pub(in crate::transform) fn passes() -> impl Iterator<Item = &'static str> {
    STAGES.iter().map(|stage| stage.name)
}

/// A function in normal form; its callees in the module have it already.
///
/// # Errors
/// In tests and debug builds, if a pass breaks the module or a promise.
pub(in crate::transform) fn normal_form(
    module: &Module,
    id: FunctionId,
    mut function: Function,
    known: &mut Inlining,
    trust: Trust,
) -> Result<Function, Vec<Diagnostic>> {
    for (number, stage) in STAGES.iter().enumerate() {
        let is_run = trust.left_out != Some(stage.name);
        if is_run {
            (stage.pass)(module, known, &mut function);
        }
        if cfg!(debug_assertions) {
            check(module, id, &function, known, &done(&STAGES[..=number]))?;
            if is_run && stage.settles && changes(stage, module, known, &function) {
                return Err(vec![broken(stage.name, stage.name, "it leaves nothing for itself to do", function.span)]);
            }
        }
    }
    Ok(function)
}

fn done(stages: &[Stage]) -> Vec<Done<'_, Inlining>> {
    stages.iter().map(|stage| (stage.name, stage.reason, stage.promises)).collect()
}

/// Whether a pass would change a function.
fn changes(stage: &Stage, module: &Module, known: &Inlining, function: &Function) -> bool {
    let mut again = function.clone();
    (stage.pass)(module, &mut known.clone(), &mut again);
    again.body != function.body
}

fn stores_memory(_: &Module, _: &Inlining, function: &Function) -> Option<Span> {
    find(&function.body, &mut |stmt| {
        let StmtKind::Runtime { call, args, .. } = &stmt.kind else { return false };
        let is_address = args.first().is_some_and(|arg| arg.ty.pointee().is_some_and(Type::is_pointer));
        matches!(runtime_class(call), Some(RuntimeClass::Allocate { .. })) && is_address
    })
}

/// A jump that is neither the return at the end of the function nor a break at the end of a loop's body.
fn jumps(_: &Module, _: &Inlining, function: &Function) -> Option<Span> {
    let body = match function.body.split_last() {
        Some((Stmt { kind: StmtKind::Return(_), .. }, rest)) => rest,
        _ => &function.body,
    };
    find(body, &mut |stmt| {
        matches!(stmt.kind, StmtKind::Return(_) | StmtKind::Continue | StmtKind::Switch { .. })
            || stmt.kind.loop_body().is_some_and(leaves_early)
    })
}

/// Whether a loop is left elsewhere than by an `if (c) break;` at the end of its body.
fn leaves_early(body: &Block) -> bool {
    let without = match body.split_last() {
        Some((Stmt { kind: StmtKind::If { then_block, else_block, .. }, .. }, rest))
            if else_block.is_empty() && matches!(then_block.as_slice(), [Stmt { kind: StmtKind::Break, .. }]) =>
        {
            rest
        }
        _ => body,
    };
    has_jump(without, Jump::Break)
}

fn counter_of_another_type(_: &Module, _: &Inlining, function: &Function) -> Option<Span> {
    find(&function.body, &mut |stmt| {
        let StmtKind::For(head) = &stmt.kind else { return false };
        !matches!(function.locals[head.counter].ty, Type::Int(_))
    })
}

fn call_with_effects(module: &Module, known: &Inlining, function: &Function) -> Option<Span> {
    find(&function.body, &mut |stmt| {
        let StmtKind::Call { function, .. } = &stmt.kind else { return false };
        module.rule(*function).is_none() && !known.is_pure(*function)
    })
}

fn shared_memory_inside(_: &Module, _: &Inlining, function: &Function) -> Option<Span> {
    let is_shared = |stmt: &Stmt| {
        walk::declared_local(stmt).is_some_and(|local| function.locals[local].storage != Storage::Private)
    };
    let first = function.body.iter().position(|stmt| !is_shared(stmt)).unwrap_or(function.body.len());
    find(&function.body[first..], &mut |stmt| is_shared(stmt))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::ir::text;

    /// What is said when the passes before this one, and not itself, have been done.
    fn without(skipped: &str, source: &str) -> Option<String> {
        let module = text::parse(source).expect("the text is well-formed");
        let id = FunctionId(module.functions.len() as u32 - 1);
        let mut known = Inlining::new(HashSet::new());
        for callee in module.functions.ids().take(module.functions.len() - 1) {
            normal_form(&module, callee, module.functions[callee].clone(), &mut known, Trust::default())
                .expect("callees are plain");
        }
        let mut function = module.functions[id].clone();
        for (number, stage) in STAGES.iter().enumerate() {
            if stage.name != skipped {
                (stage.pass)(&module, &mut known, &mut function);
            }
            if let Err(found) = check(&module, id, &function, &known, &done(&STAGES[..=number])) {
                return Some(found[0].message.clone());
            }
        }
        None
    }

    #[test]
    fn a_pass_that_is_left_out_is_missed() {
        let cases = [
            ("remove_jumps", "device f(x: float*, n: int) { if (n < 1) { return; } x[0] = 1.0f; }"),
            ("loops_without_numbers", "device f(x: float*) { for t: float = 0.0f; t < 1.0f; t += 0.5f { x[0] = t; } }"),
            ("inline_calls", "device g(x: float*) { x[0] = 2.0f; } device f(x: float*) { call g(x); }"),
        ];
        for (skipped, source) in cases {
            let said = without(skipped, source).unwrap_or_else(|| panic!("nobody misses {skipped}"));
            assert!(said.contains(&format!("after the pass `{skipped}`")), "{skipped}: {said}");
            assert_eq!(without("", source), None, "with all passes nothing is wrong");
        }
    }

    #[test]
    fn names_are_those_of_the_passes_and_all_have_a_reason() {
        let names: HashSet<&str> = STAGES.iter().map(|stage| stage.name).collect();
        assert_eq!(names.len(), STAGES.len());
        assert!(STAGES.iter().all(|stage| !stage.reason.is_empty()));
    }
}
