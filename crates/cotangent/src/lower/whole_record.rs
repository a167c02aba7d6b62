//! A `memcpy` of a whole record between it and an array of the numbers that it is made of: an assignment for each number.
//!
//! A library of vectors copies to the address of the first member, with the size of the record: `memcpy(&v.x, p, sizeof(v))`.
//! The record is the memory behind its first number, and if all its numbers are of one type, nothing lies between them. A copy
//! from another place of a record, of another size, or of a record with numbers of several types is not taken for one.

use super::body::Body;
use super::call::{accessor, returned};
use super::callee::Callee;
use super::context::Lowered;
use super::place::element;
use crate::clang::{Kind, Node};
use crate::ir::{
    Expr, ExprKind, Function, LocalId, Module, OpaqueArg, Place, PlaceKind, RecordId, Stmt, StmtKind, Type,
};

/// Records with more numbers than this are not taken apart.
const MOST_NUMBERS: usize = 64;

impl<'a> Body<'_, 'a> {
    /// The operands of a copy. The address that a function only returns of a member of its argument is that member's.
    pub(super) fn copied(&mut self, args: &[&'a Node]) -> Lowered<Vec<Expr>> {
        let mut values = Vec::new();
        for arg in args {
            let before = self.block.len();
            let value = match self.address_of_member(arg)? {
                Some(address) => vec![address],
                None => self.values(&[arg])?,
            };
            self.protect(before, &mut values);
            values.extend(value);
        }
        Ok(values)
    }

    fn address_of_member(&mut self, node: &'a Node) -> Lowered<Option<Expr>> {
        let call = without_conversions(node);
        if call.kind != Kind::CallExpr || call.is_glvalue() {
            return Ok(None);
        }
        let Callee::Function { definition, object } = self.callee(call)? else { return Ok(None) };
        let Some(member) = returned(definition).map(without_conversions).and_then(addressed) else { return Ok(None) };
        let Some(member) = accessor(definition, member) else { return Ok(None) };
        let place = self.accessed_place(call, definition, object, member)?;
        let place = self.behind_call(&place).unwrap_or(place);
        let ty = Type::pointer(place.ty.clone());
        Ok(Some(self.address(place, ty)))
    }

    /// A place in what the last call has returned a reference to, as a place in the argument that it was given.
    fn behind_call(&self, place: &Place) -> Option<Place> {
        let Some(StmtKind::Call { into: Some(into), function, args }) = self.block.last().map(|stmt| &stmt.kind) else {
            return None;
        };
        let function = &self.context.module.functions[*function];
        let (last, before) = function.body.split_last()?;
        let StmtKind::Return(Some(Expr { kind: ExprKind::AddressOf(returned), .. })) = &last.kind else { return None };
        if !before.iter().all(|stmt| is_assertion(&self.context.module, function, stmt)) {
            return None;
        }
        let in_argument = with_arguments(returned, &|local| {
            let position = function.params.iter().position(|param| *param == local)?;
            args.get(position).cloned()
        })?;
        let PlaceKind::Local(result) = into.kind else { return None };
        with_arguments(place, &|local| {
            let address = Expr::new(ExprKind::AddressOf(in_argument.clone()), Type::pointer(in_argument.ty.clone()));
            (local == result).then_some(address)
        })
    }

    /// Copies a whole record, if that is what is copied.
    pub(super) fn copy_record(&mut self, to: &Expr, from: &Expr, bytes: &Expr) -> bool {
        let ExprKind::SizeOf(Type::Record(record)) = bytes.kind else { return false };
        let (into, out_of) = (record_at(to, record), record_at(from, record));
        let Some(numbers) = self.numbers_of(record) else { return false };
        let is_array = |pointer: &Expr| pointer.ty.pointee() == Some(&numbers.ty);
        match (into, out_of) {
            (Some(place), Some(value)) => self.emit(StmtKind::Assign { place, value: Expr::load(value) }),
            (Some(place), None) if is_array(from) => {
                let (place, array) = (self.fixed(place), self.kept_pointer(from));
                for (k, number) in (0..).zip(&numbers.paths) {
                    let value = Expr::load(element(array.clone(), Expr::int(k)));
                    self.emit(StmtKind::Assign { place: number.of(place.clone()), value });
                }
            }
            (None, Some(place)) if is_array(to) => {
                let (place, array) = (self.fixed(place), self.kept_pointer(to));
                for (k, number) in (0..).zip(&numbers.paths) {
                    let value = Expr::load(number.of(place.clone()));
                    self.emit(StmtKind::Assign { place: element(array.clone(), Expr::int(k)), value });
                }
            }
            (Some(_) | None, _) => return false,
        }
        true
    }

    /// A pointer that is the same after the first of several stores.
    fn kept_pointer(&mut self, pointer: &Expr) -> Expr {
        match &pointer.kind {
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) if !self.addressed.contains(local) => {
                pointer.clone()
            }
            _ => self.keep(pointer.clone()),
        }
    }

    /// The numbers of a record, in the order of memory, if they are of one type and nothing lies between or behind them.
    fn numbers_of(&self, record: RecordId) -> Option<Numbers> {
        let mut numbers = Numbers { ty: Type::Void, paths: Vec::new() };
        self.numbers_in(&Type::Record(record), &Path(Vec::new()), &mut numbers)?;
        Some(numbers)
    }

    fn numbers_in(&self, ty: &Type, path: &Path, numbers: &mut Numbers) -> Option<()> {
        match ty {
            Type::Record(id) => {
                let record = &self.context.module.records[*id];
                // Of an alignment that was asked for, bytes may be left at the end.
                if record.align.is_some() && !record.is_builtin || record.fields.is_empty() {
                    return None;
                }
                for (field, position) in record.fields.iter().zip(0..) {
                    self.numbers_in(&field.ty, &path.then(Step::Field(position, field.ty.clone())), numbers)?;
                }
            }
            Type::Array(element, length) => {
                for k in 0..i64::try_from(*length).ok()? {
                    self.numbers_in(element, &path.then(Step::Index(k)), numbers)?;
                }
            }
            Type::Int(_) | Type::Float(_) => {
                if numbers.paths.len() == MOST_NUMBERS || !numbers.paths.is_empty() && numbers.ty != *ty {
                    return None;
                }
                numbers.ty = ty.clone();
                numbers.paths.push(path.clone());
            }
            Type::Void | Type::Bool | Type::Pointer(_) | Type::Opaque(_) => return None,
        }
        Some(())
    }
}

/// The numbers that a record is made of.
struct Numbers {
    ty: Type,
    paths: Vec<Path>,
}

/// The way from a record to one of its numbers.
#[derive(Clone)]
struct Path(Vec<Step>);

#[derive(Clone)]
enum Step {
    Field(u32, Type),
    Index(i64),
}

impl Path {
    fn then(&self, step: Step) -> Path {
        Path(self.0.iter().cloned().chain([step]).collect())
    }

    fn of(&self, record: Place) -> Place {
        self.0.iter().fold(record, |place, step| match step {
            Step::Field(position, ty) => place.field(*position, ty.clone()),
            Step::Index(k) => place.index(Expr::int(*k)),
        })
    }
}

/// The record of a type that begins where a pointer points to: what it points to, or what that is the first part of.
fn record_at(pointer: &Expr, record: RecordId) -> Option<Place> {
    if pointer.ty.pointee() == Some(&Type::Record(record)) {
        return Some(super::place::deref(pointer.clone()));
    }
    let ExprKind::AddressOf(place) = &pointer.kind else { return None };
    let mut place = place;
    while place.ty != Type::Record(record) {
        place = match &place.kind {
            PlaceKind::Field(whole, 0) => whole,
            PlaceKind::Index(whole, index) if index.is_zero() => whole,
            PlaceKind::Field(..)
            | PlaceKind::Index(..)
            | PlaceKind::Local(_)
            | PlaceKind::Global(_)
            | PlaceKind::Element(..) => return None,
        };
    }
    Some(place.clone())
}

/// Whether a statement does nothing but end the program if something is not so, or compute a variable of its own to tell.
fn is_assertion(module: &Module, function: &Function, stmt: &Stmt) -> bool {
    let is_assertion = |stmt: &Stmt| is_assertion(module, function, stmt);
    let is_own = |place: &Place| matches!(&place.kind, PlaceKind::Local(local) if !function.params.contains(local));
    match &stmt.kind {
        StmtKind::If { then_block, else_block, .. } => then_block.iter().chain(else_block).all(is_assertion),
        StmtKind::Declare { .. } => true,
        StmtKind::Assign { place, .. } => is_own(place),
        StmtKind::Call { into: Some(into), function: callee, .. } => {
            let only_returns = matches!(&*module.functions[*callee].body, [Stmt { kind: StmtKind::Return(_), .. }]);
            only_returns && is_own(into)
        }
        StmtKind::Opaque { into, args, .. } => {
            into.is_none() && args.iter().all(|arg| !matches!(arg, OpaqueArg::Variable(_)))
        }
        StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Barrier { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Runtime { .. }
        | StmtKind::Launch(_)
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. } => false,
    }
}

/// A place with what stands for the variables that are read in it; nothing if it is not made of them and of constants alone.
fn with_arguments(place: &Place, argument: &dyn Fn(LocalId) -> Option<Expr>) -> Option<Place> {
    let value = |expr: &Expr| match &expr.kind {
        ExprKind::Int(_) => Some(expr.clone()),
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => argument(*local),
        _ => None,
    };
    Some(match &place.kind {
        PlaceKind::Element(pointer, index) => element(value(pointer)?, value(index)?),
        PlaceKind::Field(base, position) => with_arguments(base, argument)?.field(*position, place.ty.clone()),
        PlaceKind::Index(base, index) => with_arguments(base, argument)?.index(value(index)?),
        PlaceKind::Local(_) | PlaceKind::Global(_) => return None,
    })
}

/// An expression without parentheses and conversions of the pointer around it.
fn without_conversions(node: &Node) -> &Node {
    match node.kind {
        Kind::ParenExpr | Kind::ImplicitCastExpr => node.inner.first().map_or(node, without_conversions),
        _ => node,
    }
}

/// What the address is taken of.
fn addressed(node: &Node) -> Option<&Node> {
    node.inner.first().filter(|_| node.kind == Kind::UnaryOperator && node.opcode() == "&")
}
