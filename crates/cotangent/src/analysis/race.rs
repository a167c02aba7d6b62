//! Which adjoint updates may meet those of other threads.
//!
//! Unknown means that they may. The theorems by which they do not are functions of their own;
//! docs/design/accumulation.md has them together.

use std::collections::HashMap;

use super::locals::{Locals, locals};
use super::root::{Root, Roots};
use crate::ir::{Function, FunctionId, LocalId, Module, Place, Space, StmtKind, walk};

/// An adjoint parameter of a derivative, and whose adjoint it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdjointParam {
    /// The adjoint.
    pub adjoint: LocalId,
    /// The parameter whose adjoint it is.
    pub primal: LocalId,
    /// Whether other threads may hold the same pointer.
    pub is_shared: bool,
}

/// How an adjoint may be added to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addition {
    /// No other thread adds there at the same time.
    Plain,
    /// Another thread may.
    Atomic(Sharing),
}

/// Why an addition is atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// It is not known which memory is meant.
    UnknownMemory,
    /// No proof was found that threads add to different elements.
    SomeThreads,
}

/// Decides for each `Accumulate` of a function, in the order of the text.
pub fn additions(module: &Module, function: FunctionId, adjoints: &[AdjointParam]) -> Vec<Addition> {
    let function = &module.functions[function];
    let locals = locals(function);
    let ctx = Ctx::new(module, function, &locals, adjoints);
    let mut additions = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Accumulate { place, .. } = &stmt.kind {
            additions.push(ctx.addition(place));
        }
    });
    additions
}

struct Ctx<'f> {
    function: &'f Function,
    roots: Roots<'f>,
    /// Whether other threads may hold the same pointer, of adjoint parameters.
    is_shared: HashMap<LocalId, bool>,
}

impl<'f> Ctx<'f> {
    fn new(module: &'f Module, function: &'f Function, locals: &'f Locals<'f>, adjoints: &[AdjointParam]) -> Ctx<'f> {
        let is_shared = adjoints.iter().map(|param| (param.adjoint, param.is_shared)).collect();
        Ctx { function, roots: Roots::new(module, function, locals), is_shared }
    }

    fn addition(&self, place: &Place) -> Addition {
        let roots = self.roots.place(place);
        if self.function.space == Space::Host || roots.iter().all(|root| self.is_private(*root)) {
            return Addition::Plain;
        }
        if roots.contains(&Root::Unknown) {
            return Addition::Atomic(Sharing::UnknownMemory);
        }
        Addition::Atomic(Sharing::SomeThreads)
    }

    /// *Private memory.* No other thread knows where a thread's own variables are, or holds a pointer that is not
    /// shared.
    fn is_private(&self, root: Root) -> bool {
        match root {
            Root::Private(_) => true,
            Root::Param(param) => self.is_shared.get(&param) == Some(&false),
            Root::Behind(_) | Root::Shared(_) | Root::Global(_) | Root::Unknown => false,
        }
    }
}
