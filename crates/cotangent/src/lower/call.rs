//! Calls: of the user's functions as statements, of pure functions as expressions.

use super::body::Body;
use super::callee::{Callee, Object};
use super::cast::as_placed;
use super::constant::convert;
use super::construct::MAX_INLINING;
use super::context::{Lowered, Pass, broken, problem_with_help};
use super::loops::is_written;
use super::prepared::{Action, PreparedCall};
use super::vector::Member;
use crate::clang::types::{Spelled, parse};
use crate::clang::{Kind, Node};
use crate::diagnostic;
use crate::ir::{BinaryOp, Builtin, Expr, ExprKind, FunctionId, Place, PlaceKind, StmtKind, Type, UnaryOp};
use crate::rules::HalfCall;

impl<'a> Body<'_, 'a> {
    /// The call that an expression is, if it becomes a statement with a result.
    pub(super) fn as_call(&mut self, node: &'a Node) -> Lowered<Option<&'a Node>> {
        match node.kind {
            Kind::ExprWithCleanups | Kind::ParenExpr | Kind::CXXBindTemporaryExpr | Kind::MaterializeTemporaryExpr => {
                match node.inner.first() {
                    Some(inner) => self.as_call(inner),
                    None => Ok(None),
                }
            }
            // What may be passed through is a value.
            Kind::CXXNewExpr | Kind::CallExpr | Kind::CXXMemberCallExpr | Kind::CXXOperatorCallExpr
                if self.is_inside_unread_class(node) =>
            {
                Ok(None)
            }
            Kind::CXXNewExpr => Ok(Some(node)),
            Kind::CallExpr | Kind::CXXMemberCallExpr | Kind::CXXOperatorCallExpr if !node.is_glvalue() => {
                let callee = match self.callee(node) {
                    Err(_) if self.pass == Pass::Host => return Ok(None),
                    callee => callee?,
                };
                let is_statement = match callee {
                    Callee::Function { .. } | Callee::Opaque(_) | Callee::Runtime(_) | Callee::Intrinsic(_) => true,
                    Callee::Math(_)
                    | Callee::MakeVector
                    | Callee::LoadThrough
                    | Callee::StoreThrough
                    | Callee::StandardMax
                    | Callee::StandardMin
                    | Callee::Identity
                    | Callee::Swap
                    | Callee::SineAndCosine(..)
                    | Callee::WholeAndRest(_)
                    | Callee::MantissaAndExponent(..)
                    | Callee::TrailingZeros
                    | Callee::Preparation
                    | Callee::CopyBytes
                    | Callee::Half(_)
                    | Callee::FromHalf(_)
                    | Callee::Constant(_)
                    | Callee::DynamicSharedBytes
                    | Callee::Vector(..)
                    | Callee::CopyAssignment => false,
                };
                Ok(is_statement.then_some(node))
            }
            _ => Ok(None),
        }
    }

    /// The call that an expression is, if it becomes a statement whose result is a reference.
    pub(super) fn as_reference_call(&mut self, node: &'a Node) -> Lowered<Option<&'a Node>> {
        let is_call = matches!(node.kind, Kind::CallExpr | Kind::CXXMemberCallExpr | Kind::CXXOperatorCallExpr);
        if !(is_call && node.is_glvalue()) {
            return Ok(None);
        }
        let callee = self.callee(node)?;
        let is_statement = matches!(callee, Callee::Function { definition, .. } if accessed(definition).is_none());
        Ok(is_statement.then_some(node))
    }

    /// The type of a call's result.
    pub(super) fn call_type(&mut self, node: &'a Node) -> Lowered<Type> {
        let mut ty = self.context.node_type(self.pass, node)?;
        if node.is_glvalue() {
            let is_const = parse(node.ty()).is_some_and(|spelled| spelled.is_const());
            ty = Type::reference(ty);
            if let Type::Pointer(pointer) = &mut ty {
                pointer.is_const = is_const;
            }
        }
        Ok(ty)
    }

    /// The value of a call.
    pub(super) fn call_value(&mut self, node: &'a Node) -> Lowered<Expr> {
        if node.is_glvalue() {
            return self.call_place(node).map(Expr::load);
        }
        match self.callee(node)? {
            Callee::Function { .. } | Callee::Opaque(_) | Callee::Runtime(_) | Callee::Intrinsic(_) => {
                let prepared = self.prepare_call(node)?;
                match self.finish_call(prepared, None)? {
                    Some(value) => Ok(value),
                    None => broken(node.span, "a call without a result that is used"),
                }
            }
            callee => self.pure_call(node, callee),
        }
    }

    /// A call for its effect.
    pub(super) fn call_effect(&mut self, node: &'a Node) -> Lowered<()> {
        if self.output(node)? {
            return Ok(());
        }
        let args: Vec<&'a Node> = node.inner.iter().skip(1).collect();
        match (self.callee(node)?, args.as_slice()) {
            (Callee::Function { .. } | Callee::Opaque(_) | Callee::Runtime(_) | Callee::Intrinsic(_), _) => {
                let mut prepared = self.prepare_call(node)?;
                prepared.result = Type::Void;
                self.finish_call(prepared, None).map(|_| ())
            }
            (Callee::CopyAssignment, [target, value]) => self.assign(target, value).map(|_| ()),
            (Callee::CopyBytes, args) => self.copy_bytes(node, args),
            (Callee::Preparation, [_, value @ ..]) => self.prepare_kernel(value),
            (Callee::Vector(Member::Resize, object), _) => self.resize_vector(node, object),
            (Callee::StoreThrough, [pointer, value]) => {
                let operands = self.values(&[pointer, value])?;
                let Ok([pointer, value]) = <[Expr; 2]>::try_from(operands) else {
                    return broken(node.span, "a store of nothing");
                };
                let place = self.checked_deref(pointer, node)?;
                let value = convert(value, place.ty.clone());
                self.emit(StmtKind::Assign { place, value });
                Ok(())
            }
            (Callee::SineAndCosine(sine, cosine), [angle, first, second]) => {
                let operands = self.values(&[angle, first, second])?;
                let Ok([angle, first, second]) = <[Expr; 3]>::try_from(operands) else {
                    return broken(node.span, "a sine of nothing");
                };
                // Kept, since the results may be stored over it.
                let angle = if matches!(angle.kind, ExprKind::Float(_)) { angle } else { self.keep(angle) };
                for (name, pointer) in [(sine, first), (cosine, second)] {
                    let place = self.checked_deref(pointer, node)?;
                    let value =
                        Expr::new(ExprKind::Math(name.into(), vec![angle.clone()]), angle.ty.clone()).at(node.span);
                    self.emit(StmtKind::Assign { place, value });
                }
                Ok(())
            }
            (Callee::Half(HalfCall::Assign(op)), [target, value]) => {
                self.half_assignment(op, target, value).map(|_| ())
            }
            (Callee::Half(HalfCall::Step(op)), [target, ..]) => self.half_step(op, target).map(|_| ()),
            (Callee::Half(HalfCall::AtomicAdd), _) => self.half_atomic(node, false).map(|_| ()),
            (Callee::Swap, [first, second]) => {
                let first = self.place(first)?;
                let first = self.pointed_to(first);
                let second = self.place(second)?;
                let second = self.pointed_to(second);
                let old = self.keep(Expr::load(first.clone()));
                self.emit(StmtKind::Assign { place: first, value: Expr::load(second.clone()) });
                self.emit(StmtKind::Assign { place: second, value: old });
                Ok(())
            }
            _ if node.is_glvalue() => self.call_place(node).map(|_| ()),
            (callee, _) => self.pure_call(node, callee).map(|_| ()),
        }
    }

    /// A place that stays the same whatever is stored elsewhere: a variable, or what a kept pointer points to.
    pub(super) fn pointed_to(&mut self, place: Place) -> Place {
        if matches!(place.kind, PlaceKind::Local(_)) {
            return place;
        }
        let ty = Type::pointer(place.ty.clone());
        let address = self.address(place, ty);
        let pointer = self.keep(address);
        super::place::deref(pointer)
    }

    /// The place that a call returns a reference to.
    pub(super) fn call_place(&mut self, node: &'a Node) -> Lowered<Place> {
        let args: Vec<&'a Node> = node.inner.iter().skip(1).collect();
        match (self.callee(node)?, args.as_slice()) {
            (Callee::CopyAssignment, [target, value]) => self.assign(target, value),
            (Callee::Identity, [argument]) => self.place(argument),
            (Callee::Half(HalfCall::Assign(op)), [target, value]) => self.half_assignment(op, target, value),
            (Callee::Half(HalfCall::Step(op)), [target]) => self.half_step(op, target),
            (Callee::Vector(member, object), _) => self.vector_place(node, member, object),
            (callee @ (Callee::StandardMax | Callee::StandardMin), _) => {
                let value = self.pure_call(node, callee)?;
                Ok(self.place_of_value(value))
            }
            (Callee::Function { definition, object }, _) => {
                if let Some(returned) = accessed(definition) {
                    return self.accessed_place(node, definition, object, returned);
                }
                let prepared = self.prepare_call(node)?;
                match self.finish_call(prepared, None)? {
                    Some(reference) => Ok(Place::deref(reference).at(node.span)),
                    None => broken(node.span, "a call without a result that is used"),
                }
            }
            _ => broken(node.span, "a call that returns no place"),
        }
    }

    /// The place that a function which only returns one names, its parameters bound to the arguments.
    pub(super) fn accessed_place(
        &mut self,
        node: &'a Node,
        definition: &'a Node,
        object: Option<Object<'a>>,
        returned: &'a Node,
    ) -> Lowered<Place> {
        if self.inlining > MAX_INLINING {
            return broken(node.span, "functions inside one another without end");
        }
        let object_place = match object {
            Some(object) => Some(self.object(object)?),
            None => None,
        };
        let skip = if object.is_some() && node.kind == Kind::CXXOperatorCallExpr { 2 } else { 1 };
        let args: Vec<&Node> = node.inner.iter().skip(skip).collect();
        let args = self.arguments(&args, definition)?;
        self.bind_parameters(definition, &args);
        let outer = self.this.clone();
        if object_place.is_some() {
            self.this = object_place;
        }
        self.inlining += 1;
        let place = self.place(returned);
        self.inlining -= 1;
        self.this = outer;
        place
    }

    /// The object of a member call, as a place.
    fn object(&mut self, object: Object<'a>) -> Lowered<Place> {
        if object.is_arrow {
            let pointer = self.value(object.node)?;
            return self.checked_deref(pointer, object.node);
        }
        self.place(object.node)
    }

    /// `this`, as a pointer.
    pub(super) fn this_value(&mut self, node: &'a Node) -> Lowered<Expr> {
        let Some(this) = self.this.clone() else { return broken(node.span, "a `this` outside of a member") };
        let ty = self.context.node_type(self.pass, node)?;
        self.note_address(&this);
        let ty = as_placed(ty, &this);
        Ok(Expr::new(ExprKind::AddressOf(this), ty).at(node.span))
    }

    /// Lowers a call's arguments; the call itself comes with `finish_call`.
    pub(super) fn prepare_call(&mut self, node: &'a Node) -> Lowered<PreparedCall> {
        if node.kind == Kind::CXXNewExpr {
            return self.prepare_new(node);
        }
        let result = self.call_type(node)?;
        self.refuse_destructor(&result, node)?;
        match self.callee(node)? {
            Callee::Function { definition, object } => {
                let function = self.context.function(self.pass, definition.id, node.span)?;
                let skip = if object.is_some() && node.kind == Kind::CXXOperatorCallExpr { 2 } else { 1 };
                let nodes: Vec<&'a Node> = node.inner.iter().skip(skip).collect();
                let mut args = Vec::new();
                if let Some(object) = object {
                    let place = self.object(object)?;
                    self.note_address(&place);
                    let ty = self.self_type(function, &place);
                    let ty = as_placed(ty, &place);
                    args.push(Expr::new(ExprKind::AddressOf(place), ty).at(object.node.span));
                }
                let before = self.block.len();
                let rest = self.arguments(&nodes, definition)?;
                self.protect(before, &mut args);
                args.extend(rest);
                Ok(PreparedCall { action: Action::Function(function, args), result })
            }
            Callee::Intrinsic(intrinsic) => self.prepare_intrinsic(node, intrinsic, result),
            Callee::Opaque(name) => self.prepare_opaque(node, name, result),
            Callee::Runtime(name) => self.prepare_runtime(node, name, result),
            _ => broken(node.span, "a call that is an expression"),
        }
    }

    fn self_type(&self, function: FunctionId, place: &Place) -> Type {
        let function = &self.context.module.functions[function];
        function
            .params
            .first()
            .map_or_else(|| Type::reference(place.ty.clone()), |param| function.locals[*param].ty.clone())
    }

    /// Emits a prepared call. The result goes to `into`, or to a temporary whose value is returned.
    pub(super) fn finish_call(&mut self, prepared: PreparedCall, into: Option<Place>) -> Lowered<Option<Expr>> {
        let (into, value) = match into {
            Some(place) => (Some(place), None),
            None if prepared.result == Type::Void => (None, None),
            None => {
                let local = self.new_temporary(prepared.result.clone());
                self.emit(StmtKind::Declare { local, init: None });
                let place = self.local_place(local);
                (Some(place.clone()), Some(Expr::load(place)))
            }
        };
        match prepared.action {
            Action::Function(function, args) => self.emit(StmtKind::Call { into, function, args }),
            Action::Statement(make) => self.emit(make(into)),
            Action::Memory(memory) => self.make_memory(memory, into),
        }
        Ok(value)
    }

    /// The arguments of a function, of its parameters' types; for references, the addresses of places.
    pub(super) fn arguments(&mut self, nodes: &[&'a Node], function: &'a Node) -> Lowered<Vec<Expr>> {
        let mut args: Vec<Expr> = Vec::new();
        let params: Vec<&'a Node> = function.children(Kind::ParmVarDecl).collect();
        for (position, node) in nodes.iter().enumerate() {
            let Some(param) = params.get(position) else { return broken(node.span, "an argument without a parameter") };
            if self.context.is_vector_parameter(self.pass, param) {
                args.extend(self.vector_arguments(node, param)?);
                continue;
            }
            let ty = self.parameter_type(function, param)?;
            let before = self.block.len();
            let arg = if ty.is_reference() {
                let place = self.place(node)?;
                self.note_address(&place);
                let ty = as_placed(ty, &place);
                Expr::new(ExprKind::AddressOf(place), ty).at(node.span)
            } else {
                let value = self.value(node)?;
                convert(value, ty)
            };
            self.protect(before, &mut args);
            args.push(arg);
        }
        Ok(args)
    }

    /// The type of a function's parameter: a name in it means what it does where the function stands, not where it is called.
    fn parameter_type(&mut self, function: &Node, param: &Node) -> Lowered<Type> {
        let declarations = self.context.declarations(self.pass);
        let home = declarations.get(function.id).map(|declared| declarations.scope(declared).spelling.clone());
        let Some(home) = home else { return self.context.node_type(self.pass, param) };
        let outer = std::mem::replace(&mut self.context.scope, home);
        let ty = self.context.node_type(self.pass, param);
        self.context.scope = outer;
        ty
    }

    /// Leaves a preparation out, but for what its arguments do. Launches ask for what they need.
    fn prepare_kernel(&mut self, args: &[&'a Node]) -> Lowered<()> {
        self.values(args)?;
        self.context.asks_for_shared = true;
        Ok(())
    }

    /// A call that is an expression.
    fn pure_call(&mut self, node: &'a Node, callee: Callee<'a>) -> Lowered<Expr> {
        let ty = self.context.node_type(self.pass, node)?;
        let nodes: Vec<&'a Node> = node.inner.iter().skip(1).collect();
        match callee {
            Callee::Constant(value) => return Ok(super::expr::float_constant(value, ty).at(node.span)),
            Callee::Half(call) => return self.half_call(node, &call, &ty),
            Callee::FromHalf(object) => return self.half_as(object, &ty),
            Callee::DynamicSharedBytes => {
                return Ok(Expr::new(ExprKind::Builtin(Builtin::DynamicSharedBytes), ty).at(node.span));
            }
            Callee::Vector(member, object) => return self.vector_value(node, member, object),
            Callee::Preparation => {
                self.prepare_kernel(nodes.get(1..).unwrap_or_default())?;
                return Ok(convert(Expr::int(0), ty).at(node.span));
            }
            Callee::CopyBytes => {
                return problem_with_help(
                    diagnostic::UNSUPPORTED_CALL,
                    node.span,
                    "the result of `memcpy` is not supported",
                    "used here",
                    "call it as a statement, and use the pointer that it was given",
                );
            }
            _ => {}
        }
        let args = self.values(&nodes)?;
        let expr = match (callee, args.as_slice()) {
            (Callee::Math(name), _) => {
                let params = parameter_types(node);
                let mut converted = Vec::new();
                for (position, arg) in args.into_iter().enumerate() {
                    let param = match params.get(position) {
                        Some(spelled) => self.context.spelled_type(self.pass, spelled, node.span)?,
                        None => arg.ty.clone(),
                    };
                    if param.is_pointer() && !param.is_reference() {
                        return problem_with_help(
                            diagnostic::UNSUPPORTED_CALL,
                            node.span,
                            format!("`{name}` with a pointer argument is not supported"),
                            "called here",
                            "use functions that return their result",
                        );
                    }
                    converted.push(if param.is_arithmetic() { convert(arg, param) } else { arg });
                }
                Expr::new(ExprKind::Math(name, converted), ty)
            }
            (Callee::MakeVector, _) => Expr::new(ExprKind::Construct(args), ty),
            (Callee::WholeAndRest(whole), [x, pointer]) => {
                self.whole_and_rest(node, whole, x.clone(), pointer.clone())?
            }
            (Callee::MantissaAndExponent(exponent, scale), [x, pointer]) => {
                self.mantissa_and_exponent(node, (exponent, scale), x.clone(), pointer.clone())?
            }
            (Callee::TrailingZeros, [bits]) => trailing_zeros(bits, ty),
            (Callee::LoadThrough, [pointer]) => Expr::load(self.checked_deref(pointer.clone(), node)?),
            (Callee::Identity, [value]) => value.clone(),
            // `std::max(a, b)` is `b` only if `a < b`, `std::min(a, b)` only if `b < a`.
            (Callee::StandardMax, [a, b]) => choose(Expr::binary(BinaryOp::Less, a.clone(), b.clone()), b, a),
            (Callee::StandardMin, [a, b]) => choose(Expr::binary(BinaryOp::Less, b.clone(), a.clone()), b, a),
            _ => return broken(node.span, "a call of an unknown form"),
        };
        Ok(expr.at(node.span))
    }

    /// Stores the exponent of a number; its mantissa, from a half to one. Zero has exponent 0, as have infinity and NaN here,
    /// for which CUDA promises none.
    fn mantissa_and_exponent(
        &mut self,
        node: &'a Node,
        (exponent, scale): (&str, &str),
        x: Expr,
        pointer: Expr,
    ) -> Lowered<Expr> {
        let x = self.keep(x);
        let place = self.checked_deref(pointer, node)?;
        let float = |value| super::expr::float_constant(value, x.ty.clone());
        let is_finite = Expr::new(ExprKind::Math("isfinite".into(), vec![x.clone()]), Type::Bool);
        let is_plain = Expr::binary(BinaryOp::And, Expr::binary(BinaryOp::NotEqual, x.clone(), float(0.0)), is_finite);
        let power = Expr::new(ExprKind::Math(exponent.into(), vec![x.clone()]), Type::INT).at(node.span);
        let power = Expr::binary(BinaryOp::Add, power, Expr::int(1));
        let exponent = self.keep(choose(is_plain, &power, &Expr::int(0)));
        self.emit(StmtKind::Assign { place, value: exponent.clone() });
        let down = Expr::unary(UnaryOp::Negate, exponent);
        Ok(Expr::new(ExprKind::Math(scale.into(), vec![x.clone(), down]), x.ty.clone()))
    }

    /// Stores the whole part of a number; the rest, which is 0 for infinity.
    fn whole_and_rest(&mut self, node: &'a Node, whole: &str, x: Expr, pointer: Expr) -> Lowered<Expr> {
        // Kept, since the whole part may be stored over it.
        let x = self.keep(x);
        let whole = Expr::new(ExprKind::Math(whole.into(), vec![x.clone()]), x.ty.clone()).at(node.span);
        let place = self.checked_deref(pointer, node)?;
        self.emit(StmtKind::Assign { place, value: whole.clone() });
        let is_infinite = Expr::new(ExprKind::Math("isinf".into(), vec![x.clone()]), Type::Bool);
        let zero = super::expr::float_constant(0.0, x.ty.clone());
        Ok(choose(is_infinite, &zero, &Expr::binary(BinaryOp::Subtract, x, whole)))
    }
}

/// By CUDA's function that counts them from one, unless the number is known.
fn trailing_zeros(bits: &Expr, ty: Type) -> Expr {
    if let ExprKind::Int(number) = bits.kind
        && number != 0
    {
        return Expr::new(ExprKind::Int(number.trailing_zeros().into()), ty);
    }
    let first = Expr::new(ExprKind::Math("__ffs".into(), vec![convert(bits.clone(), ty.clone())]), ty.clone());
    Expr::binary(BinaryOp::Subtract, first, convert(Expr::int(1), ty))
}

fn choose(cond: Expr, then: &Expr, otherwise: &Expr) -> Expr {
    let ty = then.ty.clone();
    Expr::new(ExprKind::Select(Box::new(cond), Box::new(then.clone()), Box::new(otherwise.clone())), ty)
}

/// The parameter types of the function that a call names.
fn parameter_types(node: &Node) -> Vec<Spelled> {
    let head = node.inner.first().map_or("", Node::ty);
    let spelled = parse(head);
    match spelled {
        Some(Spelled::Pointer { pointee, .. }) => match *pointee {
            Spelled::Function { params, .. } => params,
            Spelled::Named(_) | Spelled::Pointer { .. } | Spelled::Array { .. } => Vec::new(),
        },
        Some(Spelled::Function { params, .. }) => params,
        Some(Spelled::Named(_) | Spelled::Array { .. }) | None => Vec::new(),
    }
}

/// What a function returns, if that is all it does.
pub(super) fn returned(definition: &Node) -> Option<&Node> {
    let body = definition.child(Kind::CompoundStmt)?;
    let [only] = body.inner.as_slice() else { return None };
    only.inner.first().filter(|_| only.kind == Kind::ReturnStmt)
}

/// The place, of what a function returns, that can be named where the function is called.
pub(super) fn accessor<'n>(definition: &Node, place: &'n Node) -> Option<&'n Node> {
    let changes_parameters = definition
        .children(Kind::ParmVarDecl)
        .any(|param| !param.ty().trim_end().ends_with('&') && is_written(place, param.id));
    (place.is_glvalue() && !changes_parameters).then_some(place)
}

/// The place that a function returns a reference to, if that is all it does.
pub(super) fn accessed(definition: &Node) -> Option<&Node> {
    accessor(definition, returned(definition)?)
}
