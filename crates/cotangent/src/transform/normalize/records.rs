//! Records of the thread's own that hold pointers become variables, one a field.
//!
//! The adjoint of such a record would be two things at once: pointers to adjoints, which follow the forward sweep, and
//! sums, which begin at zero in the reverse sweep. Apart from each other, each is what other variables are. A parameter
//! is taken apart if the function changes it. A field that only ever holds the address of a variable is that variable.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;

use super::super::locals::{NewLocals, assign, declare};
use super::inline::{settled_locals, substitute};
use crate::analysis::uses_memory;
use crate::ir::walk::{self, Node, NodeMut, PartMut, own_variable};
use crate::ir::{Block, Expr, ExprKind, Function, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Storage, Type};

/// Longer arrays in a record are not copied element by element.
const MAX_COPIED: u64 = 32;

/// Takes records apart, and those inside them.
pub(in crate::transform) fn split_records(module: &Module, function: &mut Function) {
    loop {
        let candidates = candidates(module, function);
        if candidates.is_empty() {
            return;
        }
        let mut names = NewLocals::new(module, function);
        let mut parts = BTreeMap::new();
        for local in candidates {
            let fields = parts_of(module, function, &mut names, local);
            parts.insert(local, fields);
        }
        let mut body = std::mem::take(&mut function.body);
        let mut split = Split { module, function, names, parts };
        split.block(&mut body);
        let mut start = split.parameters();
        start.append(&mut body);
        let fields = split.parts.into_values().flatten().collect();
        function.body = start;
        name_variables(function, &fields);
    }
}

/// The records that can be taken apart: every mention is one of a field, or moves the whole value.
fn candidates(module: &Module, function: &Function) -> Vec<LocalId> {
    let mut found: HashSet<LocalId> = HashSet::new();
    let mut others: HashSet<LocalId> = HashSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        let written = walk::written_places(stmt);
        let is_assignment = matches!(stmt.kind, StmtKind::Assign { .. });
        let params = function.params.iter();
        found.extend(params.filter(|param| written.iter().any(|place| own_variable(place) == Some(**param))));
        others.extend(written.iter().filter(|_| !is_assignment).filter_map(|place| place.as_local()));
        match &stmt.kind {
            StmtKind::Declare { local, init } => {
                found.insert(*local);
                others.extend(init.iter().filter(|init| !is_movable(module, init)).map(|_| *local));
            }
            StmtKind::Assign { place, value } if !is_movable(module, value) => others.extend(place.as_local()),
            StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => {}
        }
    });
    let _ = walk::visit_block(&function.body, &mut |node| {
        if let Node::Expr(Expr { kind: ExprKind::AddressOf(place), .. }) = node {
            others.extend(place.as_local());
        }
        ControlFlow::<()>::Continue(())
    });
    let mut found: Vec<LocalId> = found.into_iter().filter(|local| !others.contains(local)).collect();
    found.retain(|local| {
        let variable = &function.locals[*local];
        variable.storage == Storage::Private && is_splittable(module, &variable.ty)
    });
    found.sort();
    found
}

fn is_splittable(module: &Module, ty: &Type) -> bool {
    let Type::Record(record) = ty else { return false };
    let fields = &module.records[*record].fields;
    uses_memory(module, ty)
        && fields.iter().all(|field| match &field.ty {
            Type::Array(_, length) => *length <= MAX_COPIED,
            Type::Void
            | Type::Bool
            | Type::Int(_)
            | Type::Float(_)
            | Type::Pointer(_)
            | Type::Record(_)
            | Type::Opaque(_) => true,
        })
}

/// Whether the fields of a value can be named one by one.
fn is_movable(module: &Module, value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Load(_) | ExprKind::Construct(_) => true,
        ExprKind::Cast(operand) => is_movable(module, operand),
        ExprKind::Select(_, then, otherwise) => {
            let has_arrays = match &value.ty {
                Type::Record(record) => {
                    module.records[*record].fields.iter().any(|field| matches!(field.ty, Type::Array(..)))
                }
                Type::Void
                | Type::Bool
                | Type::Int(_)
                | Type::Float(_)
                | Type::Pointer(_)
                | Type::Array(..)
                | Type::Opaque(_) => true,
            };
            !has_arrays && is_movable(module, then) && is_movable(module, otherwise)
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_) => false,
    }
}

/// The variables for the fields of a record.
fn parts_of(module: &Module, function: &mut Function, names: &mut NewLocals, local: LocalId) -> Vec<LocalId> {
    let Type::Record(record) = function.locals[local].ty else { return Vec::new() };
    let name = function.locals[local].name.clone();
    let fields = module.records[record].fields.iter();
    fields.map(|field| names.add(function, &format!("{name}_{}", field.name), field.ty.unrestricted())).collect()
}

struct Split<'a> {
    module: &'a Module,
    function: &'a mut Function,
    names: NewLocals,
    parts: BTreeMap<LocalId, Vec<LocalId>>,
}

impl Split<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Block::new();
        for mut stmt in std::mem::take(block) {
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                match part {
                    PartMut::Expr(expr) => drop(walk::visit_expr_mut(expr, &mut |node| self.replace(node))),
                    PartMut::Place(place) => drop(walk::visit_place_mut(place, &mut |node| self.replace(node))),
                    PartMut::Block(inner) => self.block(inner),
                }
                ControlFlow::<()>::Continue(())
            });
            match &stmt.kind {
                StmtKind::Declare { local, init } if self.parts.contains_key(local) => {
                    for (position, part) in self.parts[local].clone().into_iter().enumerate() {
                        let init = init.as_ref().map(|init| self.field(init, position, part));
                        out.push(declare(part, init).at(stmt.span));
                    }
                }
                StmtKind::Assign { place: Place { kind: PlaceKind::Local(local), .. }, value }
                    if self.parts.contains_key(local) =>
                {
                    self.assign(*local, value, &stmt, &mut out);
                }
                StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::Call { .. }
                | StmtKind::If { .. }
                | StmtKind::For(_)
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Barrier { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Launch(_)
                | StmtKind::Runtime { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. }
                | StmtKind::Opaque { .. } => out.push(stmt),
            }
        }
        *block = out;
    }

    /// A field is the variable for it, and a whole value is made of all of them.
    fn replace(&self, node: NodeMut<'_>) -> ControlFlow<()> {
        match node {
            NodeMut::Place(place) => {
                if let PlaceKind::Field(base, position) = &place.kind
                    && let Some(parts) = base.as_local().and_then(|local| self.parts.get(&local))
                {
                    *place = self.variable(parts[*position as usize]).at(place.span);
                }
            }
            NodeMut::Expr(expr) => {
                if let ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) = &expr.kind
                    && let Some(parts) = self.parts.get(local)
                {
                    let values = parts.iter().map(|part| value_of(&self.variable(*part))).collect();
                    expr.kind = ExprKind::Construct(values);
                }
            }
            NodeMut::Stmt(_) => {}
        }
        ControlFlow::Continue(())
    }

    fn variable(&self, local: LocalId) -> Place {
        Place::local(local, self.function.locals[local].ty.clone())
    }

    /// The value of a field of a value.
    fn field(&self, value: &Expr, position: usize, part: LocalId) -> Expr {
        let ty = self.function.locals[part].ty.clone();
        let field = match &value.kind {
            ExprKind::Construct(operands) => operands.get(position).cloned(),
            ExprKind::Load(place) => Some(value_of(&place.clone().field(position as u32, ty.clone()))),
            ExprKind::Cast(operand) => Some(self.field(operand, position, part)),
            ExprKind::Select(cond, then, otherwise) => {
                let [then, otherwise] = [then, otherwise].map(|value| Box::new(self.field(value, position, part)));
                Some(Expr::new(ExprKind::Select(cond.clone(), then, otherwise), ty.clone()))
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_) => None,
        };
        field.unwrap_or_else(|| self.module.zero(&ty))
    }

    fn assign(&mut self, local: LocalId, value: &Expr, stmt: &Stmt, out: &mut Block) {
        let parts = self.parts[&local].clone();
        let mut values: Vec<Expr> =
            parts.iter().enumerate().map(|(position, part)| self.field(value, position, *part)).collect();
        // All are computed before any changes.
        let is_mixed = values.iter().any(|value| parts.iter().any(|part| walk::expr_mentions(value, *part)));
        if is_mixed {
            for (value, part) in values.iter_mut().zip(&parts) {
                let variable = self.function.locals[*part].clone();
                let kept = self.names.add(self.function, &variable.name, variable.ty);
                out.push(declare(kept, Some(value.clone())).at(stmt.span));
                *value = value_of(&self.variable(kept));
            }
        }
        for (value, part) in values.into_iter().zip(parts) {
            self.assign_part(self.variable(part), value, stmt, out);
        }
    }

    /// An assignment; of an array, element by element.
    fn assign_part(&self, place: Place, value: Expr, stmt: &Stmt, out: &mut Block) {
        let (Type::Array(element, length), ExprKind::Construct(operands)) = (&place.ty, &value.kind) else {
            out.push(assign(place, value).at(stmt.span));
            return;
        };
        for index in 0..*length {
            let operand = operands.get(index as usize).cloned().unwrap_or_else(|| self.module.zero(element));
            self.assign_part(place.clone().index(Expr::int(index as i64)), operand, stmt, out);
        }
    }

    /// What the variables for parameters begin with.
    fn parameters(&self) -> Block {
        let params = self.function.params.iter().filter_map(|param| Some((*param, self.parts.get(param)?)));
        let mut out = Block::new();
        for (param, parts) in params {
            let value = Expr::load(self.variable(param));
            let fields = parts.iter().enumerate();
            out.extend(fields.map(|(position, part)| declare(*part, Some(self.field(&value, position, *part)))));
        }
        out
    }
}

/// The value of a place; an array's is made of those of its elements.
fn value_of(place: &Place) -> Expr {
    let Type::Array(_, length) = &place.ty else { return Expr::load(place.clone()) };
    let elements = (0..*length).map(|index| value_of(&place.clone().index(Expr::int(index as i64))));
    Expr::new(ExprKind::Construct(elements.collect()), place.ty.clone())
}

/// Whether a pointer is the address of a variable, or one that a variable or its field holds for ever.
fn names_variable(pointer: &Expr, settled: &HashSet<LocalId>) -> bool {
    fn is_settled(place: &Place, settled: &HashSet<LocalId>) -> bool {
        match &place.kind {
            PlaceKind::Local(local) => settled.contains(local),
            PlaceKind::Field(base, _) => is_settled(base, settled),
            PlaceKind::Global(_) | PlaceKind::Index(..) | PlaceKind::Element(..) => false,
        }
    }
    match &pointer.kind {
        ExprKind::AddressOf(place) => place.as_local().is_some(),
        ExprKind::Load(place) => pointer.ty.is_pointer() && is_settled(place, settled),
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => false,
    }
}

/// Puts variables in the place of fields that hold their addresses, or the same pointer, and nothing else.
fn name_variables(function: &mut Function, fields: &HashSet<LocalId>) {
    let settled = settled_locals(function);
    let mut values: HashMap<LocalId, Expr> = HashMap::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
            && fields.contains(local)
            && settled.contains(local)
            && names_variable(init, &settled)
        {
            values.insert(*local, init.clone());
        }
    });
    remove_declarations(&mut function.body, &values);
    substitute(&mut function.body, &values);
}

fn remove_declarations(block: &mut Block, values: &HashMap<LocalId, Expr>) {
    block.retain(|stmt| !matches!(&stmt.kind, StmtKind::Declare { local, .. } if values.contains_key(local)));
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                remove_declarations(inner, values);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}
