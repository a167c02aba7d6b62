//! Which objects carry derivatives: those that depend on a named parameter and that the result depends on.
//!
//! The order of statements is not looked at, so a variable is active everywhere or nowhere.

use std::collections::BTreeSet;

use super::effects::{call_writes, numbers_written};
use super::fixpoint::grow;
use super::objects::{Base, Object, Objects};
use crate::ir::walk;
use crate::ir::{BinaryOp, Block, Expr, ExprKind, LocalId, Module, Place, RuleKind, StmtKind, Type, UnaryOp};
use crate::rules::runtime_class;

/// The active objects of a function.
#[derive(Clone, Debug)]
pub struct Activity {
    named: BTreeSet<LocalId>,
    /// What is known to carry none.
    constant: BTreeSet<Object>,
    varied: BTreeSet<Object>,
    useful: BTreeSet<Object>,
}

/// Finds the active objects, given the parameters that are named.
pub fn activity(module: &Module, objects: &Objects<'_>, body: &Block, named: &[LocalId]) -> Activity {
    activity_besides(module, objects, body, named, BTreeSet::new())
}

/// The same, where some objects are known to carry no derivatives.
pub fn activity_besides(
    module: &Module,
    objects: &Objects<'_>,
    body: &Block,
    named: &[LocalId],
    constant: BTreeSet<Object>,
) -> Activity {
    let named = named.iter().copied().collect();
    let mut activity = Activity { named, constant, varied: BTreeSet::new(), useful: BTreeSet::new() };
    let mut flows = Vec::new();
    walk::each_stmt(body, &mut |stmt| flows.extend(flow(module, objects, &stmt.kind)));
    let groups = groups(objects, body);
    let size = |activity: &Activity| (activity.varied.len(), activity.useful.len());
    grow(&mut activity, size, |activity| {
        for flow in &flows {
            if flow.from.iter().any(|object| activity.is_varied(object)) {
                activity.varied.extend(flow.to.iter().flatten().cloned());
            }
        }
        // What a value is useful for comes later: in this order, straight code needs one step.
        for flow in flows.iter().rev() {
            if flow.to.as_ref().is_none_or(|to| to.iter().any(|object| activity.is_useful(object))) {
                activity.useful.extend(flow.from.iter().cloned());
            }
        }
        for group in &groups {
            if group.iter().any(|object| activity.is_active(object)) {
                activity.varied.extend(group.iter().cloned());
                activity.useful.extend(group.iter().cloned());
            }
        }
    });
    activity
}

impl Activity {
    /// Takes objects to be active, whatever was found.
    pub fn add(&mut self, objects: impl IntoIterator<Item = Object>) {
        for object in objects {
            self.varied.insert(object.clone());
            self.useful.insert(object);
        }
    }

    /// Takes objects to be constant, whatever was found.
    pub fn remove(&mut self, objects: impl IntoIterator<Item = Object>) {
        for object in objects {
            self.varied.remove(&object);
            self.useful.remove(&object);
        }
    }

    /// Whether an object carries derivatives.
    pub fn is_active(&self, object: &Object) -> bool {
        self.is_varied(object) && self.is_useful(object)
    }

    /// Whether a place may carry derivatives.
    pub fn is_active_place(&self, objects: &Objects<'_>, place: &Place) -> bool {
        objects.of_place(place).iter().any(|object| self.is_active(object))
    }

    /// Whether an expression's value depends on the named parameters in a way that matters.
    pub fn is_active_value(&self, objects: &Objects<'_>, value: &Expr) -> bool {
        let mut loads = BTreeSet::new();
        differentiable_loads(objects, value, &mut loads);
        loads.iter().any(|object| self.is_active(object))
    }

    /// Whether a value depends on the named parameters at all.
    pub fn is_varied_value(&self, objects: &Objects<'_>, value: &Expr) -> bool {
        self.is_varied_value_but_for(objects, value, &|_| false)
    }

    /// The same, where some objects hold what does not depend on them.
    pub fn is_varied_value_but_for(
        &self,
        objects: &Objects<'_>,
        value: &Expr,
        is_constant: &dyn Fn(&Object) -> bool,
    ) -> bool {
        let mut loads = BTreeSet::new();
        differentiable_loads(objects, value, &mut loads);
        loads.iter().any(|object| self.is_varied(object) && !is_constant(object))
    }

    /// Whether an object depends on the named parameters, or what they lead to depends on it.
    pub fn is_touched(&self, object: &Object) -> bool {
        self.is_varied(object) || self.is_useful(object)
    }

    /// Whether an object depends on the named parameters.
    pub fn is_varied(&self, object: &Object) -> bool {
        let is_named = matches!(object.base, Base::Local(local) if self.named.contains(&local));
        let is_varied = is_named || object.base == Base::Unknown || self.varied.contains(object);
        is_varied && !self.constant.contains(object)
    }

    fn is_useful(&self, object: &Object) -> bool {
        let is_named = matches!(object.base, Base::Local(local) if self.named.contains(&local));
        let is_useful =
            (is_named && !object.path.is_empty()) || object.base == Base::Unknown || self.useful.contains(object);
        is_useful && !self.constant.contains(object)
    }
}

/// Sets of objects that one pointer may point to: as it has one adjoint pointer, all of a set are active or none.
fn groups(objects: &Objects<'_>, body: &Block) -> Vec<BTreeSet<Object>> {
    let mut found = BTreeSet::new();
    walk::each_expr(body, &mut |expr| {
        if expr.ty.is_pointer() {
            let targets = objects.targets(expr);
            if targets.len() > 1 {
                found.insert(targets);
            }
        }
    });
    found.into_iter().collect()
}

/// Values that flow from objects to objects; to none for what leaves the function.
struct Flow {
    from: BTreeSet<Object>,
    to: Option<BTreeSet<Object>>,
}

fn flow(module: &Module, objects: &Objects<'_>, stmt: &StmtKind) -> Option<Flow> {
    let from_values = |values: &[&Expr]| {
        let mut from = BTreeSet::new();
        values.iter().for_each(|value| differentiable_loads(objects, value, &mut from));
        from
    };
    match stmt {
        StmtKind::Declare { local, init: Some(init) } => {
            Some(Flow { from: from_values(&[init]), to: Some(BTreeSet::from([Object::local(*local)])) })
        }
        StmtKind::Assign { place, value } | StmtKind::Accumulate { place, value } => {
            Some(Flow { from: from_values(&[value]), to: Some(objects.of_place(place)) })
        }
        StmtKind::Atomic { place, value, compare, into, .. } => {
            let mut from = from_values(&[value]);
            let mut to = objects.of_place(place);
            if carries_floats(module, &place.ty) {
                from.extend(to.iter().cloned());
            }
            compare.iter().for_each(|value| differentiable_loads(objects, value, &mut from));
            into.iter().for_each(|into| to.extend(objects.of_place(into)));
            Some(Flow { from, to: Some(to) })
        }
        StmtKind::Call { into, function, args } => {
            let mut to = BTreeSet::new();
            match module.rule(*function).map(|rule| rule.kind) {
                Some(RuleKind::Constant) => return None,
                Some(RuleKind::Pushforward(_)) | None => {}
                Some(RuleKind::Pullback(_) | RuleKind::Split { .. }) => {
                    to.extend(call_writes(objects, *function, args))
                }
            }
            if let Some(into) = into.as_ref().filter(|into| carries_floats(module, &into.ty)) {
                to.extend(objects.of_place(into));
            }
            if to.is_empty() {
                return None;
            }
            let mut from = from_values(&args.iter().collect::<Vec<_>>());
            args.iter().for_each(|arg| from.extend(objects.reachable(arg)));
            Some(Flow { from, to: Some(to) })
        }
        StmtKind::Collective { into: Some(into), args, .. } => {
            if !carries_floats(module, &into.ty) {
                return None;
            }
            let mut from = from_values(&args.iter().collect::<Vec<_>>());
            args.iter().for_each(|arg| from.extend(objects.reachable(arg)));
            Some(Flow { from, to: Some(objects.of_place(into)) })
        }
        StmtKind::Launch(launch) => {
            let mut from = from_values(&launch.args.iter().collect::<Vec<_>>());
            launch.args.iter().for_each(|arg| from.extend(objects.reachable(arg)));
            Some(Flow { from, to: Some(numbers_written(objects, launch.kernel, &launch.args)) })
        }
        StmtKind::Runtime { call, args, .. } => {
            let (to, from) = runtime_class(call)?.ends_of_copy()?;
            Some(Flow { from: objects.targets(args.get(from)?), to: Some(objects.targets(args.get(to)?)) })
        }
        StmtKind::Return(Some(value)) => Some(Flow { from: from_values(&[value]), to: None }),
        StmtKind::Declare { init: None, .. }
        | StmtKind::Collective { into: None, .. }
        | StmtKind::Return(None)
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Barrier { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => None,
    }
}

/// Whether values of a type may carry derivatives: floats, directly or in fields and elements.
pub fn carries_floats(module: &Module, ty: &Type) -> bool {
    match ty {
        Type::Float(_) => true,
        Type::Array(element, _) => carries_floats(module, element),
        Type::Record(record) => module.records[*record].fields.iter().any(|field| carries_floats(module, &field.ty)),
        Type::Void | Type::Bool | Type::Int(_) | Type::Pointer(_) | Type::Opaque(_) => false,
    }
}

/// The objects on which a value depends differentiably: not through an integer, a comparison or an index.
fn differentiable_loads(objects: &Objects<'_>, value: &Expr, found: &mut BTreeSet<Object>) {
    match &value.kind {
        ExprKind::Load(place) => match place.ty {
            Type::Float(_) | Type::Record(_) | Type::Array(..) => found.extend(objects.of_place(place)),
            Type::Void | Type::Bool | Type::Int(_) | Type::Pointer(_) | Type::Opaque(_) => {}
        },
        ExprKind::Unary(UnaryOp::Negate, operand) => differentiable_loads(objects, operand, found),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide, left, right)
            if matches!(value.ty, Type::Float(_)) =>
        {
            differentiable_loads(objects, left, found);
            differentiable_loads(objects, right, found);
        }
        ExprKind::Select(_, then, otherwise) => {
            differentiable_loads(objects, then, found);
            differentiable_loads(objects, otherwise, found);
        }
        ExprKind::Cast(operand) if !value.ty.is_integral() => differentiable_loads(objects, operand, found),
        ExprKind::Math(_, operands) if matches!(value.ty, Type::Float(_)) => {
            operands.iter().for_each(|operand| differentiable_loads(objects, operand, found));
        }
        ExprKind::Construct(operands) => {
            operands.iter().for_each(|operand| differentiable_loads(objects, operand, found));
        }
        ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::AddressOf(_)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_) => {}
    }
}
