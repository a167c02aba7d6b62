//! Functions of the CUDA runtime that host code calls, and those of Cotangent's own that derivatives call: by name, with
//! what each does, returns and takes. The class of a call gives its effects, its adjoint and its tangent; the other columns
//! say how it is printed; the manual's page is printed from all of them.

mod enumerations;
mod manual;
mod table;
#[cfg(test)]
mod tests;

use table::{Row, TABLE};

/// The manual's page of the runtime, in Markdown.
pub use enumerations::Enumeration;
pub use manual::page;
pub use table::{
    ALIGNED_MEMORY, ALLOCATE, CHECK_BLOCK, CHECKPOINT, COPY, COPY_KIND, DEVICE_TO_HOST, FREES, HOST_TO_HOST,
    HOST_ZEROS, LAST_ERROR, PITCHED_MEMORY, PREPARATIONS, PUSH, RESERVE, SET_EVENT, SNAPSHOT, STEPS, STREAM_WAITS,
    TAPE, WAIT_FOR_DEVICE, WAIT_FOR_STREAM,
};

/// What a call does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuntimeClass {
    /// Stores a pointer to new memory through its first argument; the second is its size. `maker` returns it instead.
    Allocate { maker: &'static str },
    /// Returns new memory of a size. `zeros` returns memory of the same kind that holds zeros; `free` frees it.
    Memory { zeros: &'static str, free: &'static str },
    /// Frees what its first argument points to. `later` does that when the derivative ends; none where the call is one of
    /// several of which every way takes one, as the ends of a scope are.
    Free { later: Option<&'static str> },
    /// Copies or fills memory.
    Move(Move),
    /// Copies to or from a variable outside functions.
    Symbol(Symbol),
    /// Makes a stream or an event. `wait` is called for it before `destroy`, which does not wait for what is still to be
    /// done.
    Create { wait: Option<&'static str>, destroy: &'static str },
    /// Ends a stream or an event.
    Destroy,
    /// The host waits.
    Synchronize,
    /// An event happens when the stream has come so far.
    Record,
    /// A stream waits for an event.
    WaitFor,
    /// Asks or configures; nothing that carries derivatives is touched.
    Query,
    /// A function of `cotangent/runtime.hpp` that only derivatives call.
    Own,
}

/// A copy or a fill: which argument is what, and what derivatives call instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// Where it goes to: a pointer, or a record whose first field is one.
    pub to: usize,
    /// Where it comes from; none for a fill, after which nothing depends on what was there.
    pub from: Option<Source>,
    /// Sets the derivatives of the target to zero.
    pub clear: Call,
    /// The stream, which the calls below take last where it is given.
    pub stream: Option<usize>,
}

/// Where a copy comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    pub from: usize,
    /// The direction.
    pub kind: usize,
    /// Adds the adjoints of the target to those of the source, and clears them.
    pub add: Call,
    /// The same where several streams add.
    pub add_at_once: &'static str,
}

/// A copy to or from a variable outside functions, whose derivatives lie in memory: what derivatives call is as for any
/// copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub to: usize,
    pub source: Source,
    pub clear: Call,
    /// Where the stream is, if one is given.
    pub stream: usize,
    /// Whether the variable is where it comes from; otherwise it goes there.
    pub is_from: bool,
    /// How many bytes after the variable's beginning; none where it is left out.
    pub offset: usize,
    /// The direction where it is left out.
    pub usual_kind: i64,
    /// Copies the tangents.
    pub copy: Call,
    /// The same in a stream.
    pub copy_async: &'static str,
}

/// A call by its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub name: &'static str,
    pub args: &'static [Arg],
}

/// An argument of a call that derivatives make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A pointer to the derivatives of the target.
    To,
    /// A pointer to the derivatives of the source.
    From,
    /// The same as in the program, by its position there.
    Same(usize),
}

impl RuntimeClass {
    /// The positions of the arguments that a copy goes to and comes from.
    pub fn ends_of_copy(self) -> Option<(usize, usize)> {
        match self.ends()? {
            (to, Some(from)) => Some((to, from)),
            (_, None) => None,
        }
    }

    /// The positions of the arguments that a copy or a fill goes to and comes from.
    pub fn ends(self) -> Option<(usize, Option<usize>)> {
        match self {
            RuntimeClass::Move(Move { to, from, .. }) => Some((to, from.map(|source| source.from))),
            RuntimeClass::Symbol(Symbol { to, source, .. }) => Some((to, Some(source.from))),
            RuntimeClass::Allocate { .. }
            | RuntimeClass::Memory { .. }
            | RuntimeClass::Free { .. }
            | RuntimeClass::Create { .. }
            | RuntimeClass::Destroy
            | RuntimeClass::Synchronize
            | RuntimeClass::Record
            | RuntimeClass::WaitFor
            | RuntimeClass::Query
            | RuntimeClass::Own => None,
        }
    }

    /// The position of the stream in which a copy or a fill is done, if one may be given; nothing for other calls.
    pub fn stream_of_move(self) -> Option<Option<usize>> {
        match self {
            RuntimeClass::Move(Move { stream, .. }) => Some(stream),
            RuntimeClass::Symbol(Symbol { stream, .. }) => Some(Some(stream)),
            RuntimeClass::Allocate { .. }
            | RuntimeClass::Memory { .. }
            | RuntimeClass::Free { .. }
            | RuntimeClass::Create { .. }
            | RuntimeClass::Destroy
            | RuntimeClass::Synchronize
            | RuntimeClass::Record
            | RuntimeClass::WaitFor
            | RuntimeClass::Query
            | RuntimeClass::Own => None,
        }
    }
}

/// What a function returns, as far as a call of it must say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returns {
    /// What its declaration says.
    Declared,
    /// A pointer to what it is asked for: `float* p = cotangent::device_memory<float>(bytes)`.
    PointerToAsked,
    /// What it is asked for: `float v = cotangent::pop<float>(_tape)`.
    Asked,
}

/// What a function of the runtime does; none if there is no function of that name that host code may call here.
pub fn runtime_class(name: &str) -> Option<RuntimeClass> {
    row(name).map(|row| row.class)
}

/// Whether the CUDA runtime has a function of that name that host code may call here.
pub fn is_runtime(name: &str) -> bool {
    row(name).is_some()
}

/// The same, with those of which lowering makes other calls, or none.
pub fn is_of_runtime(name: &str) -> bool {
    is_runtime(name) || name == PITCHED_MEMORY || PREPARATIONS.contains(&name)
}

/// What a function of the runtime returns; none if it is not one.
pub fn runtime_returns(name: &str) -> Option<Returns> {
    row(name).map(|row| row.returns)
}

/// The enumeration that a call takes at a position, if it takes one there.
pub fn runtime_enumeration(name: &str, position: usize) -> Option<&'static Enumeration> {
    row(name)?.takes.filter(|(taken, _)| *taken == position).map(|(_, enumeration)| enumeration)
}

/// Whether a call adds to numbers that other streams may add to at the same time.
pub fn adds_at_once(name: &str) -> bool {
    name.ends_with("_at_once")
}

/// The header that declares a function; none for those of CUDA, which nvcc includes by itself.
pub fn runtime_header(name: &str) -> Option<&'static str> {
    TABLE.iter().find(|(_, rows)| rows.iter().any(|row| row.name == name)).and_then(|(header, _)| *header)
}

/// Whether a call frees memory, in a program or in a derivative.
pub fn frees(name: &str) -> bool {
    let is_of_memory = |row: &Row| matches!(row.class, RuntimeClass::Memory { free, .. } if free == name);
    matches!(runtime_class(name), Some(RuntimeClass::Free { .. })) || rows().any(is_of_memory)
}

/// Whether a call of a derivative frees memory when the derivative ends.
pub fn frees_later(name: &str) -> bool {
    rows().any(|row| matches!(row.class, RuntimeClass::Free { later: Some(later) } if later == name))
}

fn row(name: &str) -> Option<&'static Row> {
    rows().find(|row| row.name == name)
}

fn rows() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().flat_map(|(_, rows)| *rows)
}
