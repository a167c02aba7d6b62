//! Places: what can be stored to.

use super::body::{Binding, Body};
use super::constant::convert;
use super::context::{Lowered, broken, problem_with_help};
use super::declarations::is_only_declared;
use super::evaluate::evaluated;
use super::types::{alignment, refuse_volatile};
use crate::clang::{Kind, Node, NodeId};
use crate::diagnostic;
use crate::ir::{BinaryOp, Expr, ExprKind, Global, GlobalId, GlobalStorage, Place, PlaceKind, StmtKind, Storage, Type};

/// What a pointer points to: the place itself, if the pointer is the address of one.
pub(super) fn deref(pointer: Expr) -> Place {
    element(pointer, Expr::int(0))
}

/// `pointer[index]`, as the element of an array or of a shorter pointer where it is one.
pub(super) fn element(pointer: Expr, index: Expr) -> Place {
    let span = pointer.span;
    let pointee = pointer.ty.pointee().cloned();
    match pointer.kind {
        ExprKind::AddressOf(Place { kind: PlaceKind::Index(array, first), ty, .. })
            if first.is_zero() && Some(&ty) == pointee.as_ref() =>
        {
            array.index(index).at(span)
        }
        ExprKind::AddressOf(place) if index.is_zero() && Some(&place.ty) == pointee.as_ref() => place,
        ExprKind::Binary(BinaryOp::Offset, base, offset) if index.is_zero() => element(*base, *offset).at(span),
        kind @ (ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_)) => Place::element(Expr { kind, ty: pointer.ty, span }, index).at(span),
    }
}

impl<'a> Body<'_, 'a> {
    /// The place that an expression names; its effects become statements before it.
    pub(super) fn place(&mut self, node: &'a Node) -> Lowered<Place> {
        match node.kind {
            Kind::ParenExpr
            | Kind::ExprWithCleanups
            | Kind::CXXBindTemporaryExpr
            | Kind::SubstNonTypeTemplateParmExpr => match node.inner.last() {
                Some(inner) => self.place(inner),
                None => broken(node.span, "an empty expression"),
            },
            Kind::MaterializeTemporaryExpr => {
                let Some(inner) = node.inner.first() else { return broken(node.span, "an empty temporary") };
                let value = self.value(inner)?;
                Ok(self.place_of_value(value))
            }
            Kind::DeclRefExpr => self.name_place(node),
            Kind::MemberExpr => {
                self.refuse_unread_class(node)?;
                self.member_place(node)
            }
            Kind::ArraySubscriptExpr => self.subscript_place(node),
            Kind::UnaryOperator => match (node.opcode(), node.inner.first()) {
                ("*", Some(operand)) => {
                    let pointer = self.value(operand)?;
                    self.checked_deref(pointer, node)
                }
                ("++" | "--", Some(_)) if !node.data.is_postfix => self.step(node),
                ("__extension__", Some(operand)) => self.place(operand),
                _ => self.value_as_place(node),
            },
            Kind::BinaryOperator => match (node.opcode(), node.inner.as_slice()) {
                ("=", _) => self.assignment(node),
                (",", [left, right]) => {
                    self.effect(left)?;
                    self.place(right)
                }
                _ => self.value_as_place(node),
            },
            Kind::CompoundAssignOperator => self.compound_assignment(node),
            Kind::ConditionalOperator => self.conditional_place(node),
            Kind::ImplicitCastExpr
            | Kind::CStyleCastExpr
            | Kind::CXXStaticCastExpr
            | Kind::CXXReinterpretCastExpr
            | Kind::CXXConstCastExpr
            | Kind::CXXFunctionalCastExpr => self.cast_place(node),
            Kind::CallExpr | Kind::CXXMemberCallExpr | Kind::CXXOperatorCallExpr if node.is_glvalue() => {
                self.refuse_unread_class(node)?;
                self.call_place(node)
            }
            _ => self.value_as_place(node),
        }
    }

    fn value_as_place(&mut self, node: &'a Node) -> Lowered<Place> {
        let value = self.value(node)?;
        Ok(self.place_of_value(value))
    }

    /// A temporary that holds a value: the one it was loaded from, if it was one, or a new one.
    pub(super) fn place_of_value(&mut self, value: Expr) -> Place {
        if let ExprKind::Load(place) = &value.kind
            && self.is_temporary(place)
        {
            return place.clone();
        }
        let local = self.new_temporary(value.ty.clone());
        self.emit(StmtKind::Declare { local, init: Some(value) });
        self.local_place(local)
    }

    /// Whether a place is a temporary or a part of one: nobody else can see it change.
    fn is_temporary(&self, place: &Place) -> bool {
        match &place.kind {
            PlaceKind::Local(local) => self.locals[*local].name.is_empty(),
            PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => self.is_temporary(base),
            PlaceKind::Global(_) | PlaceKind::Element(..) => false,
        }
    }

    /// What a pointer points to, if it is one to something.
    pub(super) fn checked_deref(&mut self, pointer: Expr, node: &Node) -> Lowered<Place> {
        match pointer.ty.pointee() {
            Some(Type::Void) | None => broken(node.span, "a pointer to nothing that is read"),
            Some(_) => Ok(deref(pointer)),
        }
    }

    fn name_place(&mut self, node: &'a Node) -> Lowered<Place> {
        let Some(reference) = &node.data.referenced_decl else { return broken(node.span, "a name of nothing") };
        match self.bindings.get(&reference.id).cloned() {
            Some(Binding::Local(local)) => {
                let place = self.local_place(local).at(node.span);
                return Ok(if place.ty.is_reference() { Place::deref(Expr::load(place)).at(node.span) } else { place });
            }
            Some(Binding::Place(place)) => return Ok(place),
            Some(Binding::Value(value)) => return Ok(self.place_of_value(value)),
            Some(Binding::Vector(_)) => {
                return problem_with_help(
                    diagnostic::UNSUPPORTED_EXPRESSION,
                    node.span,
                    "a vector as a whole is not supported here",
                    "used here",
                    "use its elements, `v[i]`, or `v.data()` and `v.size()`",
                );
            }
            None => {}
        }
        if let Some(whole) = self.whole_builtin(node)? {
            return Ok(self.place_of_value(whole));
        }
        self.global_place(reference.id, node)
    }

    fn global_place(&mut self, id: NodeId, node: &'a Node) -> Lowered<Place> {
        let Some(declared) = self.context.declarations(self.pass).get(id) else {
            return problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                format!(
                    "`{}` is declared in a system header",
                    node.data.referenced_decl.as_ref().and_then(|decl| decl.name.as_deref()).unwrap_or("this")
                ),
                "not read",
                "copy the value into a variable of your own",
            );
        };
        let variable = declared.node;
        if variable.has(Kind::CUDASharedAttr) {
            return self.shared_outside(variable);
        }
        if let Some(value) = self.computed_constant(id)? {
            return Ok(self.place_of_value(value));
        }
        let global = self.global(id, node)?;
        let global_type = self.context.module.globals[global].ty.clone();
        Ok(Place::new(PlaceKind::Global(global), global_type).at(node.span))
    }

    /// The value of a `constexpr` variable that calls compute, if it is an integer: outside of functions the IR has plain
    /// constants only.
    pub(super) fn computed_constant(&mut self, id: NodeId) -> Lowered<Option<Expr>> {
        let Some(declared) = self.context.declarations(self.pass).get(id) else { return Ok(None) };
        let variable = declared.node;
        let is_local = self.context.declarations(self.pass).is_local(id);
        let init = super::stmt::initializer(variable).filter(|_| variable.data.constexpr && !is_local);
        let Some(init) = init else { return Ok(None) };
        let scope = self.context.declarations(self.pass).scope(declared).spelling.clone();
        let outer = std::mem::replace(&mut self.context.scope, scope);
        let functions = self.context.module.functions.len();
        let (value, block) = self.nested(|body| {
            let ty = body.context.node_type(body.pass, variable)?;
            body.initial_value(init, &ty)
        });
        self.context.scope = outer;
        // What needs no statements is a constant of the module, and an error is told where that is made.
        let Ok(Some(value)) = value else { return Ok(None) };
        let constant = if block.is_empty() { None } else { evaluated(&self.context.module, &block, &value) };
        if constant.is_some() {
            self.context.forget_functions(functions);
        }
        Ok(constant)
    }

    /// A `__shared__` variable declared outside functions: each function that uses it declares it.
    fn shared_outside(&mut self, variable: &'a Node) -> Lowered<Place> {
        refuse_volatile(variable)?;
        let ty = self.context.node_type(self.pass, variable)?;
        let is_dynamic = variable.data.storage_class.as_deref() == Some("extern");
        if !is_dynamic {
            return problem_with_help(
                diagnostic::UNSUPPORTED_DECLARATION,
                variable.span,
                format!("`__shared__ {}` outside of a function is not supported", variable.name()),
                "declared here",
                "declare it inside the kernel",
            );
        }
        let local = self.new_local(variable.name(), ty, Storage::DynamicShared, variable.span);
        self.locals[local].align = alignment(variable);
        self.bindings.insert(variable.id, Binding::Local(local));
        let kind = StmtKind::Declare { local, init: None };
        self.prologue.push(crate::ir::Stmt::new(kind).at(variable.span));
        Ok(self.local_place(local))
    }

    pub(super) fn global(&mut self, id: NodeId, node: &Node) -> Lowered<GlobalId> {
        if let Some(known) = self.context.globals.get(&(self.pass, id)) {
            return Ok(*known);
        }
        let Some(declared) = self.context.declarations(self.pass).get(id) else {
            return broken(node.span, "a variable that it does not declare");
        };
        let variable = declared.node;
        if self.context.texts_apart.contains(variable.name()) {
            return problem_with_help(
                diagnostic::UNSUPPORTED_DECLARATION,
                node.span,
                format!("the text `{}` may be changed by code that is not read", variable.name()),
                "mentioned here",
                "hand the text to the function",
            );
        }
        let is_extern = is_only_declared(variable);
        let linker_name = variable.data.mangled_name.as_deref().filter(|_| is_extern);
        let definition = linker_name.and_then(|name| self.context.declarations(self.pass).defined_variable(name));
        if let Some(definition) = definition {
            let global = self.global(definition, node)?;
            self.context.globals.insert((self.pass, id), global);
            return Ok(global);
        }
        let scope = self.context.declarations(self.pass).scope(declared).clone();
        let members = scope.spelling.strip_prefix(&*scope.namespaces).unwrap_or(&scope.spelling);
        let wanted =
            format!("{}{}", scope.namespaces, super::names::identifier(&format!("{members}{}", variable.name())));
        let outer = std::mem::replace(&mut self.context.scope, scope.spelling.clone());
        let ty = self.context.node_type(self.pass, variable);
        self.context.scope = outer;
        let ty = ty?;
        let storage = if variable.has_written(Kind::CUDAConstantAttr) {
            GlobalStorage::Constant
        } else if variable.has(Kind::HIPManagedAttr) || variable.has(Kind::AnnotateAttr) {
            GlobalStorage::Managed
        } else if variable.has_written(Kind::CUDADeviceAttr) && !variable.data.constexpr {
            GlobalStorage::Device
        } else if super::stmt::is_constant(variable) {
            GlobalStorage::Constexpr
        } else {
            GlobalStorage::Host
        };
        match storage {
            GlobalStorage::Device | GlobalStorage::Managed => refuse_volatile(variable)?,
            GlobalStorage::Constant | GlobalStorage::Constexpr | GlobalStorage::Host => {}
        }
        if !self.context.open_globals.insert((self.pass, id)) {
            return broken(node.span, "a variable whose value depends on itself");
        }
        let init = match variable.data.init.as_ref().and_then(|_| super::stmt::initializer(variable)) {
            Some(init) => self.constant_initial_value(init, &ty),
            None => Ok(None),
        };
        self.context.open_globals.remove(&(self.pass, id));
        let init = init?;
        // The other pass may have the same variable already.
        let known =
            self.context.module.globals.entries().find(|(_, global)| *global.name == *wanted && global.ty == ty);
        let global = match known.map(|(global, _)| global) {
            Some(global) => global,
            None => {
                let (name, align) = (self.context.claim(&wanted), alignment(variable));
                let global = Global { name, ty, storage, is_extern, align, init, span: variable.span };
                self.context.module.globals.push(global)
            }
        };
        self.context.globals.insert((self.pass, id), global);
        Ok(global)
    }

    fn member_place(&mut self, node: &'a Node) -> Lowered<Place> {
        let Some(base) = node.inner.first() else { return broken(node.span, "a member of nothing") };
        let Some(member) = node.data.referenced_member_decl else {
            return broken(node.span, "a member without a name");
        };
        let Some(position) = self.context.declarations(self.pass).field(member) else {
            // A static member is a variable outside functions.
            return self.global_place(member, node);
        };
        let object = if node.data.is_arrow {
            let pointer = self.value(base)?;
            self.checked_deref(pointer, node)?
        } else {
            self.place(base)?
        };
        let union = self.context.declarations(self.pass).get(member).and_then(|declared| declared.record);
        if union.is_some_and(|union| self.context.declarations(self.pass).union_of_one_type(union).is_some()) {
            return Ok(object.at(node.span));
        }
        let Type::Record(record) = object.ty else { return broken(node.span, "a member of what is no record") };
        let Some(field) = self.context.module.records[record].fields.get(position as usize) else {
            return broken(node.span, "a member that the record does not have");
        };
        let (ty, is_reference) = (field.ty.clone(), self.is_reference_member(member));
        let place = object.field(position, ty).at(node.span);
        Ok(if is_reference { deref(Expr::load(place)) } else { place })
    }

    fn is_reference_member(&self, member: NodeId) -> bool {
        let declared = self.context.declarations(self.pass).get(member);
        declared.is_some_and(|declared| declared.node.ty().trim_end().ends_with('&'))
    }

    fn subscript_place(&mut self, node: &'a Node) -> Lowered<Place> {
        let [base, index] = node.inner.as_slice() else { return broken(node.span, "a subscript of an unknown form") };
        let operands = self.values(&[base, index])?;
        let Ok([base, index]) = <[Expr; 2]>::try_from(operands) else {
            return broken(node.span, "a subscript of nothing");
        };
        // `2[a]` is `a[2]`.
        let (base, index) = if base.ty.is_pointer() { (base, index) } else { (index, base) };
        if base.ty.pointee().is_none_or(|pointee| *pointee == Type::Void) {
            return broken(node.span, "a subscript of what is no pointer");
        }
        Ok(element(base, index).at(node.span))
    }

    /// `c ? a : b` as a place: a pointer to one of the two.
    fn conditional_place(&mut self, node: &'a Node) -> Lowered<Place> {
        if !node.is_glvalue() {
            return self.value_as_place(node);
        }
        let [cond, then, otherwise] = node.inner.as_slice() else {
            return broken(node.span, "a `?:` of an unknown form");
        };
        let cond = self.condition(cond)?;
        let before = self.block.len();
        let then = self.place(then)?;
        let otherwise = self.place(otherwise)?;
        if self.block.len() != before {
            return problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                "effects inside a `?:` that is assigned to are not supported",
                "here",
                "write it as an `if`",
            );
        }
        let ty = Type::pointer(then.ty.clone());
        let then = self.address(then, ty.clone());
        let otherwise = convert(self.address(otherwise, ty.clone()), ty.clone());
        let pointer =
            Expr::new(ExprKind::Select(Box::new(cond), Box::new(then), Box::new(otherwise)), ty).at(node.span);
        Ok(deref(pointer))
    }
}
