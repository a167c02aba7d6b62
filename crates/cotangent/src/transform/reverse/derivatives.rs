//! What the derivative of one function needs of others: derivatives that are written on the way.

use std::collections::BTreeSet;

use super::super::gather::Gathered;
use super::super::shadow::Widening;
use super::super::{Analyses, RecordBudget, Trust, launch};
use super::plan::left::Left;
use crate::analysis::Object;
use crate::diagnostic::Diagnostic;
use crate::ir::{FunctionId, LocalId, Module, Name};

/// What a derivative is for.
pub(super) enum Kind {
    /// The user asked for it, with respect to these parameters. The memory of some ends as it was before; that of the restored
    /// ones is taken back too, and ends as the function leaves it.
    Gradient { wrt: Vec<LocalId>, rolled_back: Vec<LocalId>, restored: Vec<Left> },
    /// The same in two functions; what the saved parameters lead to may change between them, and so may variables outside
    /// functions. To the adjoints of the contended parameters kernels of other streams may add.
    Split { wrt: Vec<LocalId>, saved: Vec<LocalId>, contended: Vec<LocalId>, variables: Vec<Object> },
    /// A derivative calls it.
    Pullback(Pattern),
    /// The forward sweep of a derivative calls it in the place of the function itself: it returns the value, and adds the
    /// adjoints for a seed of one.
    Slopes(Pattern),
}

/// Which arguments of a call are active, and how.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Pattern {
    pub(super) adders: Vec<Adders>,
}

/// Who adds to the adjoint of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Adders {
    /// Nobody: it has none.
    Constant,
    /// One thread.
    Private,
    /// Several threads at once.
    Shared,
    /// Several threads at once, or one in its own memory: nobody knows the caller of the derivative.
    Anywhere,
}

/// The derivatives of one function.
#[derive(Clone)]
pub(super) struct Derived {
    /// The gradient, the pullback, or the reverse sweep of the split form.
    pub(super) function: FunctionId,
    /// The forward sweep, where it is a function of its own.
    pub(super) augmented: Option<FunctionId>,
    /// How many slots of the record a thread needs; none if nothing is recorded.
    pub(super) slots: Option<launch::Slots>,
    /// The host function that says how large the record is.
    pub(super) bytes: Option<FunctionId>,
    /// Of the split form, the positions of the parameters whose memory the reverse sweep reads.
    pub(super) needed: Vec<usize>,
    /// The parameters that overlap no other array.
    pub(super) apart: Vec<Name>,
    /// What can be launched in the place of a kernel.
    pub(super) gathered: Option<Gathered>,
}

/// What the user chooses for all derivatives of a request.
#[derive(Clone, Default)]
pub(super) struct Options {
    /// How many slots the record has for each thread, where the user says so.
    pub(super) record_slots: Option<u32>,
    /// How much a thread may record for an iteration of a loop.
    pub(super) record_budget: Option<RecordBudget>,
    /// Whether loops of host functions are run again from checkpoints.
    pub(super) is_checkpointed: bool,
    /// Which adjoints are wider than what they are the adjoints of.
    pub(super) widening: Widening,
    /// Whether something may choose among kernels before a launch: not where what is added has a fixed order, which it gets after gathers would
    /// be written, nor where only what runs on the device is printed.
    pub(super) chooses: bool,
    /// The parameters of the requested kernel whose adjoints stay as they are, if it is that which is differentiated.
    pub(super) kept: Option<(FunctionId, BTreeSet<LocalId>)>,
    /// What is not believed, in tests.
    pub(super) trust: Trust,
    /// Whether facts are asked for that save time and memory only.
    pub(super) analyses: Analyses,
}

/// The parameters of a kernel that are active, that may change between its sweeps, and that other streams add to.
pub(super) type SplitParams<'a> = [&'a [LocalId]; 3];

/// Writes derivatives of other functions when they are asked for.
pub(super) trait Derivatives {
    /// The pullback of a function for a pattern of arguments.
    fn pullback(
        &mut self,
        normal: &Module,
        callee: FunctionId,
        pattern: Pattern,
    ) -> Result<FunctionId, Vec<Diagnostic>>;

    /// The function that returns its value and gives the slopes of its numbers too, for a pattern of arguments.
    fn with_slopes(
        &mut self,
        normal: &Module,
        callee: FunctionId,
        pattern: Pattern,
    ) -> Result<FunctionId, Vec<Diagnostic>>;

    /// The split form of a kernel that is launched; `variables` are what changes outside functions.
    fn split(
        &mut self,
        normal: &Module,
        kernel: FunctionId,
        params: SplitParams<'_>,
        variables: &[Object],
    ) -> Result<Derived, Vec<Diagnostic>>;

    /// A function of Cotangent's own, by its name in the rules.
    fn helper(&mut self, name: &str) -> Option<FunctionId>;

    /// A function of Cotangent's own, by its name and its text.
    fn helper_of(&mut self, name: &str, text: &str) -> Option<FunctionId>;

    /// A name for a derivative that nothing else has.
    fn free_name(&self, wanted: String) -> Name;

    fn options(&self) -> &Options;

    /// The program with the derivatives that are written after it.
    fn written(&self) -> &Module;

    /// The same, to add to it.
    fn written_mut(&mut self) -> &mut Module;
}
