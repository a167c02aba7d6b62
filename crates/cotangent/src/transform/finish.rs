//! The way from what reverse mode writes to the derivative that is printed: which passes, in which order, and why.

use std::collections::{HashMap, HashSet};

use super::accumulate::{accumulate, accumulate_atomically, accumulate_plainly};
use super::call_once::call_once;
use super::fuse::fuse;
use super::merge::merge;
use super::names::names_in_order;
use super::on_device::keep_on_device;
use super::privatize::privatize;
use super::promises::{Done, Promise, check, find};
use super::references::references_to_pointers;
use super::share::share;
use super::simplify::simplify;
use super::sink::sink;
use super::sweeps::tell_sweeps;
use super::tiles::gather_tiles;
use super::together::together;
use super::{AdjointParam, Analyses, Fact, Trust};
use crate::diagnostic::Diagnostic;
use crate::ir::{ExprKind, Function, FunctionId, LocalId, Module, Name, Space, StmtKind, order};
use crate::source::Span;

/// What the passes know beside the module.
pub(super) struct Finish<'a> {
    pub(super) adjoints: &'a [AdjointParam],
    /// Which variables of the reverse sweep stand for which of the forward sweep.
    pub(super) copies: &'a HashMap<LocalId, LocalId>,
    /// The names that the program has for its variables.
    pub(super) own: &'a HashSet<Name>,
    pub(super) analyses: Analyses,
    pub(super) trust: Trust,
}

impl Finish<'_> {
    /// Whether it is asked which additions other threads may meet.
    fn proves(&self) -> bool {
        let Trust { doubted, denied, .. } = self.trust;
        self.analyses == Analyses::On && doubted != Some(Fact::Alone) && denied != Some(Fact::Alone)
    }
}

/// One pass.
struct Stage {
    name: &'static str,
    /// What the derivative would lack without it.
    reason: &'static str,
    pass: fn(&mut Module, FunctionId, &Finish<'_>),
    /// What holds afterwards.
    promises: &'static [Promise<()>],
}

/// All passes, in order.
const STAGES: [Stage; 14] = [
    Stage {
        name: "references_to_pointers",
        reason: "C++ has no reference that is bound later than it is declared",
        pass: |module, id, _| {
            let mut function = module.functions[id].clone();
            references_to_pointers(module, &mut function);
            module.functions.set(id, function);
        },
        promises: &[Promise { words: "references are bound where they are declared", broken: unbound_reference }],
    },
    Stage {
        name: "simplify",
        reason: "rules write each term alone; a reader wants sums, and no value that nobody reads",
        pass: |module, id, _| simplify(&mut module.functions[id]),
        promises: &[],
    },
    Stage {
        name: "fuse",
        reason: "what both sweeps of a loop read is read once, and what they compute is computed once",
        pass: |module, id, known| {
            if known.analyses == Analyses::On {
                fuse_sweeps(module, id, known.copies);
            }
        },
        promises: &[],
    },
    Stage {
        name: "call_once",
        reason: "host compilers call a function of the math library as often as it is written",
        pass: |module, id, known| {
            if known.analyses == Analyses::On {
                call_once(module, id);
            }
        },
        promises: &[],
    },
    Stage {
        name: "merge",
        reason: "an element that is read several times needs one addition to memory, not one a time",
        pass: |module, id, known| {
            if known.proves() {
                merge(module, id);
            }
        },
        promises: &[],
    },
    Stage {
        name: "on_device",
        reason: "a loop of the host that launches kernels need not wait in each iteration for what they sum for it",
        pass: |module, id, known| {
            if known.analyses == Analyses::On && module.functions[id].space == Space::Host {
                keep_on_device(&mut module.functions[id]);
            }
        },
        promises: &[],
    },
    Stage {
        name: "sums_of_loops",
        reason: "a loop of the host that adds to one element needs one addition to memory, not one an iteration",
        pass: |module, id, known| {
            if known.analyses == Analyses::On && module.functions[id].space == Space::Host {
                privatize(module, id);
            }
        },
        promises: &[],
    },
    Stage {
        name: "accumulate",
        reason: "whether an addition must be atomic is known once all of them are there",
        pass: |module, id, known| {
            if known.proves() {
                accumulate(module, id, known.adjoints);
            } else if known.trust.denied == Some(Fact::Alone) {
                accumulate_plainly(module, id);
            } else {
                accumulate_atomically(module, id);
            }
        },
        promises: &[Promise { words: "every addition is decided: plain or atomic", broken: undecided_addition }],
    },
    Stage {
        name: "together",
        reason: "a block whose threads add to one place needs one atomic, not one a thread",
        pass: |module, id, known| {
            if known.proves() {
                together(module, id, known.adjoints, known.trust);
            }
        },
        promises: &[],
    },
    Stage {
        name: "gather_tiles",
        reason: "an element of a shared array that many threads add to needs no atomic if one thread sums what they add",
        pass: |module, id, known| {
            if known.proves() {
                gather_tiles(module, id, known.adjoints, known.trust);
            }
        },
        promises: &[],
    },
    Stage {
        name: "privatize",
        reason: "a loop that adds to one place needs one atomic, not one an iteration",
        pass: |module, id, known| {
            if known.proves() {
                privatize(module, id);
            }
        },
        promises: &[],
    },
    Stage {
        name: "tell_sweeps",
        reason: "a reader looks for the place where the derivatives begin",
        pass: |module, id, known| tell_sweeps(&mut module.functions[id], known.adjoints),
        promises: &[],
    },
    Stage {
        name: "declared_only",
        reason: "what is printed lowers to the same module: its variables are numbered as they are declared",
        pass: |module, id, _| {
            let function = &mut module.functions[id];
            let locals = std::mem::take(&mut function.locals);
            function.locals = order::declared_only(&mut function.params, locals, &mut function.body);
        },
        promises: &[Promise { words: "every variable is declared, once, in order", broken: undeclared }],
    },
    Stage {
        name: "names_in_order",
        reason: "numbers in names tell a reader which variable came first",
        pass: |module, id, known| {
            let mut function = module.functions[id].clone();
            names_in_order(module, &mut function, known.own);
            module.functions.set(id, function);
        },
        promises: &[],
    },
];

/// Fuses sweeps from the outside in: what two of them share may show that others inside are sweeps of one statement.
fn fuse_sweeps(module: &mut Module, id: FunctionId, copies: &HashMap<LocalId, LocalId>) {
    loop {
        let before = module.functions[id].body.clone();
        fuse(module, id, copies);
        share(module, id);
        sink(&mut module.functions[id]);
        if module.functions[id].body == before {
            return;
        }
        simplify(&mut module.functions[id]);
    }
}

/// The names of the passes, in order.
pub(super) fn passes() -> impl Iterator<Item = &'static str> {
    STAGES.iter().map(|stage| stage.name)
}

/// Makes of a function that reverse mode wrote the derivative that is printed.
///
/// # Errors
/// In tests and debug builds, if a pass breaks the module or a promise.
pub(super) fn finish(module: &mut Module, id: FunctionId, known: &Finish<'_>) -> Result<(), Vec<Diagnostic>> {
    for (number, stage) in STAGES.iter().enumerate() {
        if known.trust.runs(stage.name) {
            (stage.pass)(module, id, known);
        }
        if cfg!(debug_assertions) {
            let done: Vec<Done<'_, ()>> =
                STAGES[..=number].iter().map(|stage| (stage.name, stage.reason, stage.promises)).collect();
            check(module, id, &module.functions[id], &(), &done)?;
        }
    }
    Ok(())
}

fn unbound_reference(_: &Module, (): &(), function: &Function) -> Option<Span> {
    find(&function.body, &mut |stmt| {
        let StmtKind::Declare { local, init } = &stmt.kind else { return false };
        let is_bound = init.as_ref().is_some_and(|init| init.kind != ExprKind::Null);
        function.locals[*local].ty.is_reference() && !is_bound
    })
}

fn undecided_addition(_: &Module, (): &(), function: &Function) -> Option<Span> {
    find(&function.body, &mut |stmt| matches!(stmt.kind, StmtKind::Accumulate { .. }))
}

fn undeclared(_: &Module, (): &(), function: &Function) -> Option<Span> {
    let mut declared = function.clone();
    let locals = std::mem::take(&mut declared.locals);
    declared.locals = order::declared_only(&mut declared.params, locals, &mut declared.body);
    (declared != *function).then_some(function.span)
}
