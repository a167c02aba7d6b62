//! Shared memory through which threads hand numbers to those that gather: arrays with an element for each thread.

use crate::ir::layout::layout;
use crate::ir::{Expr, Function, Local, LocalId, Module, Place, Storage, Type};
use crate::source::Span;
use crate::transform::elements::thread_number;
use crate::transform::locals::NewLocals;

/// The most threads that a block has.
const MAX_THREADS: u64 = 1024;

/// The most numbers that threads hand over at one place.
const MAX_HANDED: usize = 4;

/// All arrays, and what is handed over at the place that is looked at.
pub(super) struct Scratch {
    /// The arrays, used at one place after another: a barrier stands between these.
    arrays: Vec<(LocalId, Type)>,
    /// How many of them the function uses, of each type those that come first.
    used: Vec<LocalId>,
    /// What each thread stores to its element, and in which array.
    pub(super) handed: Vec<(LocalId, Expr)>,
}

impl Scratch {
    /// Arrays for the threads of a kernel; which of them are used is found later.
    pub(super) fn new(function: &mut Function, names: &mut NewLocals) -> Scratch {
        let threads = function.launch_bounds.map_or(MAX_THREADS, |bounds| u64::from(bounds.max_threads));
        let mut arrays = Vec::new();
        for element in [Type::FLOAT, Type::DOUBLE] {
            for _ in 0..MAX_HANDED {
                let ty = Type::Array(Box::new(element.clone()), threads);
                let name = names.name("_of_all");
                let local = Local { name, ty: ty.clone(), storage: Storage::Shared, align: None, span: Span::NONE };
                arrays.push((function.locals.push(local), ty));
            }
        }
        Scratch { arrays, used: Vec::new(), handed: Vec::new() }
    }

    /// Has each thread hand over a number, and returns what a thread handed over as an expression of its coordinates.
    pub(super) fn hand(&mut self, value: Expr) -> Option<Expr> {
        let known = self.handed.iter().find(|(_, other)| *other == value).map(|(array, _)| *array);
        let is_free = |(array, ty): &&(LocalId, Type)| {
            *ty.innermost_element() == value.ty && !self.handed.iter().any(|(other, _)| other == array)
        };
        let array = known.or_else(|| self.arrays.iter().find(is_free).map(|(array, _)| *array))?;
        if known.is_none() {
            self.handed.push((array, value));
        }
        Some(Expr::load(self.place(array).index(thread_number())))
    }

    /// An array as a place.
    pub(super) fn place(&self, array: LocalId) -> Place {
        let ty = self.arrays.iter().find(|(other, _)| *other == array).map(|(_, ty)| ty.clone());
        Place::local(array, ty.expect("the array is one of these"))
    }

    /// How much memory there is if what is handed over now is, too.
    pub(super) fn bytes(&self, module: &Module) -> u64 {
        let is_needed = |array: &LocalId| self.used.contains(array) || self.handed.iter().any(|(it, _)| it == array);
        self.arrays.iter().filter(|(array, _)| is_needed(array)).map(|(_, ty)| layout(module, ty).0).sum()
    }

    /// Ends a place: what was handed over, which is then in use.
    pub(super) fn take(&mut self) -> Vec<(LocalId, Expr)> {
        let handed = std::mem::take(&mut self.handed);
        for (array, _) in &handed {
            if !self.used.contains(array) {
                self.used.push(*array);
            }
        }
        handed
    }

    /// The arrays that are in use.
    pub(super) fn used(self) -> Vec<LocalId> {
        self.used
    }
}
