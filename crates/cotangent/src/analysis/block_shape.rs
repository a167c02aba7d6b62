//! How many threads a block has along each axis, where a kernel that uses shared arrays says so.
//!
//! Three things tell it, of statements that all threads of a block run:
//!
//! *Not more.* A thread that stores to `tile[threadIdx.y][threadIdx.x]` is inside of that array.
//!
//! *Not fewer.* Let all stores to a dimension of an array be at one coordinate. What is read there was stored, so if all elements
//! up to the 15th are read, some thread has the coordinate 15.
//!
//! *One.* If all threads store an active value to an element that a coordinate says nothing about, those that differ in that
//! coordinate alone would race: there is one value of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::affine::Values;
use super::evidence::evidence;
use super::locals::Locals;
use super::race::{AdjointParam, written};
use super::root::Roots;
use crate::ir::walk::{self, Part};
use crate::ir::{
    Axis, BinaryOp, Builtin, Expr, ExprKind, For, Function, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Storage,
    Type,
};

/// What is known of the extents of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    least: [u64; 3],
    most: [u64; 3],
}

impl Default for Shape {
    fn default() -> Self {
        Shape { least: [1; 3], most: [u64::MAX; 3] }
    }
}

impl Shape {
    /// The extent along an axis, if it is known.
    pub fn extent(&self, axis: Axis) -> Option<u64> {
        let number = number_of(axis);
        (self.least[number] == self.most[number]).then_some(self.most[number])
    }

    /// All extents, if they are known.
    pub fn extents(&self) -> Option<[u64; 3]> {
        let [x, y, z] = Axis::ALL.map(|axis| self.extent(axis));
        Some([x?, y?, z?])
    }
}

/// What a kernel tells about its blocks.
pub struct Shapes<'f> {
    function: &'f Function,
    uses: &'f Locals<'f>,
    /// Stores that no two threads make to one element.
    apart: Vec<Stmt>,
    /// The coordinate at which all stores to a dimension of a shared array are.
    stored: BTreeMap<(LocalId, usize), Axis>,
}

impl<'f> Shapes<'f> {
    /// Looks at all stores of a kernel. `uses` are the uses of its variables.
    pub fn new(module: &Module, function: &'f Function, uses: &'f Locals<'f>, adjoints: &[AdjointParam]) -> Self {
        let roots = Roots::new(module, function, uses);
        let values = Values::new(module, function, uses, &roots, written(&roots, &function.body));
        let meant = evidence(&values, adjoints);
        let mut shapes = Shapes { function, uses, apart: Vec::new(), stored: BTreeMap::new() };
        let mut unknown = BTreeSet::new();
        walk::each_expr(&function.body, &mut |expr| {
            if let ExprKind::AddressOf(place) = &expr.kind {
                unknown.extend(walk::own_variable(place));
            }
        });
        let mut others = BTreeSet::new();
        walk::each_stmt(&function.body, &mut |stmt| {
            if meant.contains(&std::ptr::from_ref(stmt)) {
                shapes.apart.push(stmt.clone());
            }
            for place in walk::written_places(stmt) {
                let Some(array) = walk::own_variable(place) else { continue };
                let Some((_, indices)) = shapes.element(place).filter(|_| matches!(stmt.kind, StmtKind::Assign { .. }))
                else {
                    unknown.insert(array);
                    continue;
                };
                for (dimension, (index, _)) in indices.into_iter().enumerate() {
                    let key = (array, dimension);
                    match (coordinate(uses, index), shapes.stored.get(&key)) {
                        (Some(axis), None) => drop(shapes.stored.insert(key, axis)),
                        (Some(axis), Some(known)) if *known == axis => {}
                        (Some(_) | None, _) => drop(others.insert(key)),
                    }
                }
            }
        });
        shapes.stored.retain(|key, _| !others.contains(key) && !unknown.contains(&key.0));
        shapes
    }

    /// What statements that stand side by side, and that all threads of a block run, add to what is known.
    pub fn learn(&self, shape: &mut Shape, block: &[Stmt]) {
        for stmt in block {
            self.stores(shape, stmt);
            self.loads(shape, stmt, &mut Vec::new());
        }
    }

    fn stores(&self, shape: &mut Shape, stmt: &Stmt) {
        let StmtKind::Assign { place, .. } = &stmt.kind else { return };
        let Some((_, indices)) = self.element(place) else { return };
        let coordinates: Vec<Option<Axis>> = indices.iter().map(|(index, _)| coordinate(self.uses, index)).collect();
        for (axis, (_, length)) in coordinates.iter().zip(&indices) {
            if let Some(axis) = axis {
                let most = &mut shape.most[number_of(*axis)];
                *most = (*most).min(*length);
            }
        }
        if coordinates.iter().all(Option::is_some) && self.apart.contains(stmt) {
            for axis in Axis::ALL.into_iter().filter(|axis| !coordinates.contains(&Some(*axis))) {
                shape.most[number_of(axis)] = 1;
            }
        }
    }

    /// What is read whenever a statement runs. `counters` are those of loops around it, with their last value.
    fn loads(&self, shape: &mut Shape, stmt: &Stmt, counters: &mut Vec<(LocalId, u64)>) {
        let _ = walk::stmt_parts(stmt, &mut |part| {
            match part {
                Part::Expr(expr) => self.loads_of(shape, expr, counters),
                Part::Place(place) => self.loads_of_place(shape, place, counters),
                Part::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        if let StmtKind::For(head) = &stmt.kind
            && let Some(last) = self.last(head)
        {
            counters.push((head.counter, last));
            head.body.iter().for_each(|inner| self.loads(shape, inner, counters));
            counters.pop();
        }
    }

    /// What is read whenever an expression is evaluated.
    fn loads_of(&self, shape: &mut Shape, expr: &Expr, counters: &[(LocalId, u64)]) {
        match &expr.kind {
            // Not all of it may be evaluated.
            ExprKind::Select(cond, ..) | ExprKind::Binary(BinaryOp::And | BinaryOp::Or, cond, _) => {
                self.loads_of(shape, cond, counters);
                return;
            }
            ExprKind::Load(place) => self.element_read(shape, place, counters),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => {}
        }
        let _ = walk::expr_parts(expr, &mut |part| {
            match part {
                Part::Expr(operand) => self.loads_of(shape, operand, counters),
                Part::Place(place) => self.loads_of_place(shape, place, counters),
                Part::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    }

    /// What the indices of a place read.
    fn loads_of_place(&self, shape: &mut Shape, place: &Place, counters: &[(LocalId, u64)]) {
        let _ = walk::place_parts(place, &mut |part| {
            match part {
                Part::Expr(index) => self.loads_of(shape, index, counters),
                Part::Place(base) => self.loads_of_place(shape, base, counters),
                Part::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    }

    fn element_read(&self, shape: &mut Shape, place: &Place, counters: &[(LocalId, u64)]) {
        let Some((array, indices)) = self.element(place) else { return };
        for (dimension, (index, _)) in indices.into_iter().enumerate() {
            let Some(axis) = self.stored.get(&(array, dimension)) else { continue };
            let Some(counter) = plain(self.uses, index).as_local() else { continue };
            let Some((_, last)) = counters.iter().find(|(other, _)| *other == counter) else { continue };
            let least = &mut shape.least[number_of(*axis)];
            *least = (*least).max(last + 1);
        }
    }

    /// The greatest value of a counter that takes constant values, at least one.
    fn last(&self, head: &For) -> Option<u64> {
        let (from, to) = (head.from.as_int()?, head.to.as_int()?);
        let is_by_one = head.by.as_int() == Some(1) && self.uses[head.counter].is_constant();
        let last = match (head.step, head.test) {
            (BinaryOp::Add, BinaryOp::Less) if from < to => to - 1,
            (BinaryOp::Add, BinaryOp::LessEqual) if from <= to => to,
            (BinaryOp::Subtract, BinaryOp::Greater) if from > to => from,
            (BinaryOp::Subtract, BinaryOp::GreaterEqual) if from >= to => from,
            (_, _) => return None,
        };
        u64::try_from(last).ok().filter(|_| is_by_one)
    }

    /// An element of a shared array of known extents: the indices, the outermost first, and how many there are of each.
    fn element<'p>(&self, place: &'p Place) -> Option<(LocalId, Vec<(&'p Expr, u64)>)> {
        let mut indices = Vec::new();
        let mut base = place;
        while let PlaceKind::Index(array, index) = &base.kind {
            let Type::Array(_, length) = array.ty else { return None };
            indices.insert(0, (&**index, length));
            base = array;
        }
        let array = base.as_local().filter(|local| self.function.locals[*local].storage == Storage::Shared)?;
        (!indices.is_empty() && !matches!(place.ty, Type::Array(..))).then_some((array, indices))
    }
}

/// The coordinate of the thread that an index is.
pub fn coordinate(uses: &Locals<'_>, index: &Expr) -> Option<Axis> {
    if let ExprKind::Builtin(Builtin::ThreadIdx(axis)) = plain(uses, index).kind { Some(axis) } else { None }
}

/// What an index is, without conversions and under the name that it has first.
fn plain<'e>(uses: &'e Locals<'_>, index: &'e Expr) -> &'e Expr {
    let is_wide = |expr: &Expr| matches!(&expr.ty, Type::Int(kind) if kind.bits() >= 32);
    let value = index.as_local().and_then(|local| uses[local].constant());
    let operand = if let ExprKind::Cast(operand) = &index.kind { Some(&**operand) } else { value };
    operand.filter(|operand| is_wide(index) && is_wide(operand)).map_or(index, |operand| plain(uses, operand))
}

fn number_of(axis: Axis) -> usize {
    Axis::ALL.iter().position(|other| *other == axis).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::locals::locals;
    use crate::ir::{FunctionId, text};

    /// The extents that a kernel tells.
    fn extents(body: &str) -> [Option<u64>; 3] {
        let text = format!(
            "kernel k(x: const float*, n: int, d_x: float*) {{
               let shared s: float[8][16]; let shared d_s: float[8][16]; let t: float = 0.0f; {body} d_x[threadIdx.x] = t;
             }}"
        );
        let module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let function = &module.functions[FunctionId(0)];
        let named = |name: &str| function.locals.ids().find(|local| function.local_name(*local) == name);
        let adjoints: Vec<AdjointParam> = [("x", "d_x"), ("s", "d_s")]
            .into_iter()
            .filter_map(|(primal, adjoint)| Some((named(primal)?, named(adjoint)?)))
            .map(|(primal, adjoint)| AdjointParam {
                adjoint,
                primal,
                is_shared: true,
                is_anywhere: false,
                is_contended: false,
            })
            .collect();
        let uses = locals(function);
        let mut shape = Shape::default();
        Shapes::new(&module, function, &uses, &adjoints).learn(&mut shape, &function.body);
        Axis::ALL.map(|axis| shape.extent(axis))
    }

    const STORE: &str = "s[threadIdx.y][threadIdx.x] = x[threadIdx.x]; barrier block;";
    const ROW: &str = "for k: int = 0; k < 16; k += 1 { t = (t + s[threadIdx.y][k]); }";
    const COLUMN: &str = "for j: int = 7; j >= 0; j -= 1 { t = (t + s[j][threadIdx.x]); }";

    #[test]
    fn what_all_threads_store_and_read_tells_how_many_there_are() {
        assert_eq!(extents(&[STORE, ROW, COLUMN].concat()), [Some(16), Some(8), Some(1)]);
        let named = "let i: int = (threadIdx.x as int); s[threadIdx.y][i] = x[i]; barrier block;";
        assert_eq!(extents(&[named, ROW].concat()), [Some(16), None, Some(1)]);
    }

    #[test]
    fn what_some_threads_do_tells_nothing() {
        let guarded = "if ((threadIdx.x as int) < n) { s[threadIdx.y][threadIdx.x] = x[threadIdx.x]; } barrier block;";
        assert_eq!(extents(&[guarded, ROW, COLUMN].concat()), [None, None, None]);
        let [row, column] = [ROW, COLUMN].map(|read| format!("if (n > 3) {{ {read} }}"));
        assert_eq!(extents(&[STORE, &row, &column].concat()), [None, None, Some(1)]);
        let chosen = "for k: int = 0; k < 16; k += 1 { t = (t + ((n > k) ? s[threadIdx.y][k] : 0.0f)); }";
        assert_eq!(extents(&[STORE, chosen].concat()), [None, None, Some(1)]);
    }

    #[test]
    fn elements_that_are_not_read_may_have_no_thread() {
        let fewer = "for k: int = 0; k < 15; k += 1 { t = (t + s[threadIdx.y][k]); }";
        assert_eq!(extents(&[STORE, fewer].concat()), [None, None, Some(1)]);
        let unknown = "for k: int = 0; k < n; k += 1 { t = (t + s[threadIdx.y][k]); }";
        assert_eq!(extents(&[STORE, unknown].concat()), [None, None, Some(1)]);
    }

    #[test]
    fn elements_that_are_stored_otherwise_too_may_have_no_thread() {
        let second = "s[threadIdx.y][(threadIdx.x + 8u)] = x[threadIdx.x]; barrier block;";
        assert_eq!(extents(&[STORE, second, ROW, COLUMN].concat()), [None, Some(8), Some(1)]);
        let turned = "s[threadIdx.x][threadIdx.y] = x[threadIdx.x]; barrier block;";
        assert_eq!(extents(&[STORE, turned, ROW, COLUMN].concat())[..2], [None, None]);
    }

    #[test]
    fn threads_may_store_one_constant_together() {
        let constant = "s[threadIdx.y][threadIdx.x] = 1.0f; barrier block;";
        assert_eq!(extents(&[constant, ROW, COLUMN].concat()), [Some(16), Some(8), None]);
    }
}
