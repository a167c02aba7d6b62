//! What a kernel does to the memory of its parameters: read it, store to it, or both.
//!
//! An array that is only stored to has no adjoint before the function, and one of which each element is stored to once at most
//! has nothing to forget: whoever reads the adjoint of an element reads it once.

use std::collections::{BTreeMap, BTreeSet};

use super::affine::{Atom, INDEX_BITS, Operation, Values};
use super::locals::locals;
use super::location::{Location, Step};
use super::ordering::{Ordering, ordering};
use super::polynomial::{AtomId, Polynomial};
use super::race::written;
use super::region::{Frame, index_bounds};
use super::root::{Root, Roots};
use super::site::{Site, sites};
use crate::ir::walk;
use crate::ir::{Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind, Space, StmtKind};

/// What a kernel does to the memory that a parameter points to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamUse {
    /// It stores nothing there.
    Read,
    /// It stores there and does nothing else: to each element once at most if `is_once`.
    Stored { is_once: bool },
    /// It may do both.
    Both,
}

/// What a kernel does to the memory of each parameter that is a pointer.
pub fn param_uses(module: &Module, id: FunctionId) -> BTreeMap<LocalId, ParamUse> {
    let function = &module.functions[id];
    let locals = locals(function);
    let roots = Roots::new(module, function, &locals);
    let memory = written(&roots, &function.body);
    let values = Values::new(module, function, &locals, &roots, memory.clone());
    let stores = sites(&values, function).stores;
    let looked_at = looked_at(&roots, function);
    // Threads that wait for each other may store to one element one after the other.
    let order = ordering(module, id);
    let params = function.params.iter().filter(|param| function.locals[**param].ty.is_pointer());
    let of = |param: &LocalId| {
        let root = Root::Param(*param);
        if !memory.iter().any(|it| *it == root || it.is_open()) {
            return ParamUse::Read;
        }
        let is_met = |found: &BTreeSet<Root>| found.iter().any(|it| *it == root || it.is_open());
        let own: Vec<&Site<'_>> = stores.iter().filter(|site| is_met(&site.roots)).collect();
        let is_only_here = own.iter().all(|site| site.roots.len() == 1 && site.roots.contains(&root));
        if function.space != Space::Kernel || is_met(&looked_at) || !is_only_here {
            return ParamUse::Both;
        }
        ParamUse::Stored { is_once: is_once(&values, &own, order) }
    };
    params.map(|param| (*param, of(param))).collect()
}

/// The memory that is read, or handed to statements that may do anything to it.
fn looked_at(roots: &Roots<'_>, function: &Function) -> BTreeSet<Root> {
    let mut found = BTreeSet::new();
    walk::each_expr(&function.body, &mut |expr| {
        if let ExprKind::Load(place) = &expr.kind
            && !matches!(place.kind, PlaceKind::Local(_))
        {
            found.extend(roots.place(place));
        }
    });
    walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Barrier { .. } => {}
        // Where it puts its result is a store like any other.
        StmtKind::Call { args, .. } => {
            let pointers = args.iter().filter(|arg| arg.ty.is_pointer());
            pointers.for_each(|arg| found.extend(roots.pointer(arg)));
            found.extend(roots.written_by_call(stmt));
        }
        StmtKind::Accumulate { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => walk::each_expr(std::slice::from_ref(stmt), &mut |expr| {
            if expr.ty.is_pointer() {
                found.extend(roots.pointer(expr));
            }
        }),
    });
    found
}

/// Whether a launch makes each of these stores to another element.
///
/// The premise is that no two threads store active values to one element between the same barriers, so a thread's own stores are
/// compared. If threads meet at all, the stores stand between the same barriers, in no loop that has one.
fn is_once(values: &Values<'_>, stores: &[&Site<'_>], order: Ordering) -> bool {
    let is_one_moment = || {
        let first = stores.first().map(|site| (site.phase, site.moment));
        let hides = |site: &&Site<'_>| site.frames.iter().any(Frame::hides_order);
        stores.iter().all(|site| Some((site.phase, site.moment)) == first) && !stores.iter().any(hides)
    };
    let is_ordered = match order {
        Ordering::None => true,
        Ordering::Barriers => is_one_moment(),
        Ordering::Hidden => false,
    };
    let Some(found) = stores.iter().map(|site| Reach::of(values, site)).collect::<Option<Vec<_>>>() else {
        return false;
    };
    is_ordered
        && (0..found.len()).all(|first| {
            found[first].tells_iterations_apart()
                && (first + 1..found.len()).all(|other| found[first].misses(&found[other]))
        })
}

/// The elements that a thread stores to by one statement.
struct Reach<'s> {
    frames: &'s [Frame],
    location: &'s Location,
    /// For each loop around the statement the counter, its factor in the index, and how many values it has at most.
    counters: Vec<(LocalId, Polynomial, Option<Polynomial>)>,
    /// What else is in the index.
    rest: Polynomial,
}

impl<'s> Reach<'s> {
    fn of(values: &Values<'_>, site: &'s Site<'_>) -> Option<Reach<'s>> {
        let location = site.location.as_ref()?;
        if !location.path.is_empty() || location.tail.contains(&Step::Somewhere) {
            return None;
        }
        let mut counters = Vec::new();
        let mut rest = location.index.clone();
        for frame in &site.frames {
            match frame {
                Frame::Branch { .. } | Frame::Chosen { .. } => {}
                Frame::Other { .. } => return None,
                Frame::Count { counter, range, .. } => {
                    let ty = values.function.locals[*counter].ty.clone();
                    let (factor, remainder) = rest.divided(&values.index(&Expr::load(Place::local(*counter, ty)))?)?;
                    rest = remainder;
                    let extent = range.as_ref().and_then(index_bounds).and_then(|bounds| extent(values, bounds));
                    counters.push((*counter, factor, extent));
                }
            }
        }
        let is_fixed = |value: &Polynomial| counters.is_empty() || !may_change(values, value);
        let are_fixed = is_fixed(&rest) && counters.iter().all(|(_, factor, _)| is_fixed(factor));
        are_fixed.then_some(Reach { frames: &site.frames, location, counters, rest })
    }

    /// Whether each iteration stores to another element: the counters are digits of the index. The factor of the first is a
    /// number, and each is the one before it times how many values that counter has.
    fn tells_iterations_apart(&self) -> bool {
        let mut left: Vec<_> = self.counters.iter().collect();
        let number = |factor: &Polynomial| factor.as_constant().filter(|it| *it != 0);
        let Some(first) = (0..left.len())
            .filter_map(|at| Some((number(&left[at].1)?.abs(), at)))
            .min()
            .map(|(_, first)| left.swap_remove(first))
        else {
            return left.is_empty();
        };
        let (_, mut factor, mut extent) = first.clone();
        while !left.is_empty() {
            let next = extent.as_ref().and_then(|extent| factor.times(extent));
            let Some(at) = left.iter().position(|(_, factor, _)| Some(factor) == next.as_ref()) else { return false };
            (_, factor, extent) = left.swap_remove(at).clone();
        }
        true
    }

    /// Whether two statements never store to one element.
    fn misses(&self, other: &Reach<'_>) -> bool {
        if excludes(before_loops(self.frames), before_loops(other.frames)) {
            return true;
        }
        let factors = |reach: &Reach<'_>| -> BTreeMap<LocalId, Polynomial> {
            reach.counters.iter().map(|(counter, factor, _)| (*counter, factor.clone())).collect()
        };
        if factors(self) != factors(other) {
            return false;
        }
        match self.rest.plus(-1, &other.rest).and_then(|difference| difference.as_constant()) {
            Some(0) => {
                excludes(self.frames, other.frames) || are_different_parts(&self.location.tail, &other.location.tail)
            }
            // All factors are multiples of the least one.
            Some(difference) => {
                let least = self.counters.iter().filter_map(|(_, factor, _)| factor.as_constant()).map(i128::abs).min();
                least.is_none_or(|least| difference % least != 0)
            }
            None => false,
        }
    }
}

/// The branches that are taken once.
fn before_loops(frames: &[Frame]) -> &[Frame] {
    let loops = frames.iter().position(|frame| matches!(frame, Frame::Count { .. } | Frame::Other { .. }));
    &frames[..loops.unwrap_or(frames.len())]
}

/// Whether one statement stands in the one branch of an `if`, and another in the other.
fn excludes(one: &[Frame], other: &[Frame]) -> bool {
    let branch = |frame: &Frame| match frame {
        Frame::Branch { number, is_then, .. } => Some((*number, *is_then)),
        Frame::Count { .. } | Frame::Chosen { .. } | Frame::Other { .. } => None,
    };
    let others: BTreeSet<_> = other.iter().filter_map(branch).collect();
    one.iter().filter_map(branch).any(|(number, is_then)| others.contains(&(number, !is_then)))
}

fn are_different_parts(one: &[Step], other: &[Step]) -> bool {
    one.iter().zip(other).any(|(one, other)| one != other)
}

/// How many values a counter has at most, between these bounds.
fn extent(values: &Values<'_>, [least, greatest]: [Polynomial; 2]) -> Option<Polynomial> {
    let count = greatest.plus(1, &Polynomial::constant(1, INDEX_BITS))?;
    if is_of_coordinates(values, &least) { Some(count) } else { count.plus(-1, &least) }
}

/// Whether a value is a sum of products of coordinates of the thread, and so not below zero.
fn is_of_coordinates(values: &Values<'_>, value: &Polynomial) -> bool {
    let is_coordinate = |atom: &AtomId| match values.atom_of(*atom) {
        Atom::Builtin(_) => true,
        Atom::Widened { is_signed: false, value } => is_of_coordinates(values, &value),
        Atom::Variable(_) | Atom::Widened { .. } | Atom::Operation { .. } | Atom::Loaded { .. } => false,
    };
    value.terms().all(|(product, factor)| factor > 0 && product.iter().all(is_coordinate))
}

/// Whether a value may be another one in another iteration.
fn may_change(values: &Values<'_>, value: &Polynomial) -> bool {
    values.mentions(value, &mut |atom| match atom {
        Atom::Variable(local) => !values.function.params.contains(local),
        Atom::Loaded { location } => matches!(location.root, Root::Private(_)),
        // A function of nothing may be a clock.
        Atom::Operation { operation: Operation::Math(_), operands } => operands.is_empty(),
        Atom::Builtin(_) | Atom::Widened { .. } | Atom::Operation { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// What a kernel does to `y`; `i` is its thread.
    fn use_of_y(body: &str) -> ParamUse {
        let source = format!(
            "kernel k(x: const float*, y: float*, p: const int*, n: int, m: int) {{
                 let i: int = (((blockIdx.x * blockDim.x) + threadIdx.x) as int); {body}
             }}"
        );
        let module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let id = module.function("k").unwrap();
        param_uses(&module, id)[&module.functions[id].params[1]]
    }

    const ONCE: ParamUse = ParamUse::Stored { is_once: true };
    const OFTEN: ParamUse = ParamUse::Stored { is_once: false };

    #[test]
    fn one_store_of_a_thread_is_once() {
        assert_eq!(use_of_y("y[i] = x[i];"), ONCE);
        assert_eq!(use_of_y("if (i < n) { y[p[i]] = x[i]; }"), ONCE);
        assert_eq!(use_of_y("let q: float* = (y + n); *(q + i) = x[i];"), ONCE);
        assert_eq!(use_of_y("let s: float = x[i];"), ParamUse::Read);
    }

    #[test]
    fn what_is_looked_at_is_both() {
        assert_eq!(use_of_y("y[i] = x[i]; y[i] = (2.0f * y[i]);"), ParamUse::Both);
        assert_eq!(use_of_y("atomic add(y[0], x[i]);"), ParamUse::Both);
    }

    #[test]
    fn stores_to_different_elements_are_once() {
        assert_eq!(use_of_y("y[(i * 2)] = x[i]; y[((i * 2) + 1)] = 1.0f;"), ONCE);
        assert_eq!(use_of_y("y[i] = x[i]; y[(i + n)] = x[i];"), OFTEN, "n may be zero");
        assert_eq!(use_of_y("y[i] = 0.0f; y[i] = x[i];"), OFTEN);
        assert_eq!(use_of_y("if (i < n) { y[i] = 0.0f; } else { y[i] = x[i]; }"), ONCE);
    }

    #[test]
    fn loops_that_count_through_elements_are_once() {
        assert_eq!(use_of_y("for k: int = 0; k < n; k += 1 { y[((i * n) + k)] = x[k]; }"), ONCE);
        assert_eq!(use_of_y("for k: int = i; k < n; k += m { y[k] = x[k]; }"), ONCE);
        assert_eq!(use_of_y("for k: int = 0; k < n; k += 1 { y[i] = x[k]; }"), OFTEN);
        assert_eq!(use_of_y("for k: int = 0; k < n; k += 1 { y[(i + (k * m))] = x[k]; }"), OFTEN, "m may be zero");
        assert_eq!(use_of_y("for k: int = 0; k < n; k += 1 { y[p[k]] = x[k]; }"), OFTEN);
        let nested = |index: &str| {
            use_of_y(&format!(
                "for j: int = 0; j < n; j += 1 {{ for k: int = 0; k < m; k += 1 {{ y[{index}] = x[k]; }} }}"
            ))
        };
        assert_eq!(nested("((j * m) + k)"), ONCE);
        assert_eq!(nested("((j * n) + k)"), OFTEN);
        assert_eq!(nested("((j * 2) + k)"), OFTEN);
    }

    #[test]
    fn statements_of_one_loop_are_compared() {
        let in_loop = |body: &str| use_of_y(&format!("for k: int = 0; k < n; k += 1 {{ {body} }}"));
        assert_eq!(in_loop("y[(k * 3)] = x[k]; y[((k * 3) + 1)] = x[k];"), ONCE);
        assert_eq!(in_loop("y[(k * 3)] = x[k]; y[((k * 3) + 3)] = x[k];"), OFTEN);
        assert_eq!(in_loop("if (k < m) { y[k] = x[k]; } else { y[k] = 0.0f; }"), ONCE);
        assert_eq!(in_loop("if (k < m) { y[k] = x[k]; } else { y[(k + 1)] = 0.0f; }"), OFTEN);
        assert_eq!(use_of_y("y[0] = 0.0f; for k: int = 0; k < n; k += 1 { y[k] = x[k]; }"), OFTEN);
    }

    #[test]
    fn threads_that_meet_may_store_one_after_the_other() {
        assert_eq!(use_of_y("barrier block; y[i] = x[i];"), ONCE);
        assert_eq!(use_of_y("y[i] = x[i]; barrier block; y[(i + 1)] = x[i];"), OFTEN);
        assert_eq!(use_of_y("for k: int = 0; k < n; k += 1 { barrier block; y[((i * n) + k)] = x[k]; }"), OFTEN);
    }
}
