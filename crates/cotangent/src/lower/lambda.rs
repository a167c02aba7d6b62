//! Lambdas: a record of what they capture, and a function that takes it.

use std::collections::HashSet;

use super::body::{Binding, Body};
use super::context::{Capture, Context, Lowered, Pass, broken, problem_with_help};
use super::place::deref;
use crate::clang::{Kind, Node, NodeId};
use crate::diagnostic;
use crate::ir::{Expr, ExprKind, Field, Place, RecordId, Type};

impl<'a> Context<'a> {
    /// The record of a lambda's captures.
    pub(super) fn lambda_record(&mut self, pass: Pass, id: NodeId, lambda: &'a Node) -> Lowered<RecordId> {
        let Some(record) = lambda.child(Kind::CXXRecordDecl) else { return broken(lambda.span, "a lambda of nothing") };
        let mut fields = Vec::new();
        let mut captures = Vec::new();
        for (field, captured) in record.children(Kind::FieldDecl).zip(captured(lambda)) {
            let Some((variable, name)) = variable_of(captured) else {
                return problem_with_help(
                    diagnostic::UNSUPPORTED_EXPRESSION,
                    captured.span,
                    "a capture with a value of its own is not supported",
                    "captured here",
                    "make it a variable before the lambda and capture that",
                );
            };
            let mut ty = self.node_type(pass, field)?;
            let by_reference = ty.is_reference() || variable.is_none();
            if let Type::Pointer(pointer) = &mut ty {
                pointer.is_reference = false;
            }
            let position = u32::try_from(fields.len()).unwrap_or(u32::MAX);
            captures.push(Capture { variable, field: position, by_reference });
            fields.push(Field { name: name.into(), ty });
        }
        for variable in self.shared_in(pass, lambda) {
            let ty = Type::pointer(self.node_type(pass, variable)?);
            let position = u32::try_from(fields.len()).unwrap_or(u32::MAX);
            captures.push(Capture { variable: Some(variable.id), field: position, by_reference: true });
            fields.push(Field { name: variable.name().into(), ty });
        }
        for method in methods(record, "operator()") {
            self.captures.insert((pass, method.id), captures.clone());
        }
        let added = self.add_record(pass, id, "lambda", record);
        self.module.records[added].fields = fields;
        Ok(added)
    }

    /// The shared variables of the function around a lambda that the lambda uses. C++ does not capture what there is one of
    /// for all threads; here the lambda's function gets pointers to them.
    fn shared_in(&self, pass: Pass, lambda: &Node) -> Vec<&'a Node> {
        let (mut own, mut used) = (HashSet::new(), Vec::new());
        collect_variables(lambda, &mut own, &mut used);
        let mut found: Vec<&'a Node> = Vec::new();
        for declared in used.into_iter().filter_map(|id| self.declarations(pass).get(id)) {
            let variable = declared.node;
            let is_static = variable.data.storage_class.as_deref() != Some("extern");
            let is_new = !own.contains(&variable.id) && found.iter().all(|other| other.id != variable.id);
            if variable.has(Kind::CUDASharedAttr)
                && is_static
                && is_new
                && self.declarations(pass).is_local(variable.id)
            {
                found.push(variable);
            }
        }
        found
    }
}

/// The variables that are declared somewhere in a tree, and those that are mentioned.
fn collect_variables(node: &Node, own: &mut HashSet<NodeId>, used: &mut Vec<NodeId>) {
    if node.kind == Kind::VarDecl {
        own.insert(node.id);
    }
    if node.kind == Kind::DeclRefExpr {
        used.extend(node.data.referenced_decl.as_ref().map(|reference| reference.id));
    }
    node.inner.iter().for_each(|inner| collect_variables(inner, own, used));
}

impl<'a> Body<'_, 'a> {
    /// Notes that this is the lambda which its spelling means from here on: all instantiations of a template share it.
    pub(super) fn meet_lambda(&mut self, node: &'a Node) {
        if let Some(record) = node.child(Kind::CXXRecordDecl) {
            self.context.lambdas.insert((self.pass, node.ty().to_owned()), record.id);
        }
    }

    /// The value of a lambda expression: its captures now.
    pub(super) fn lambda(&mut self, node: &'a Node) -> Lowered<Expr> {
        let Some(record) = node.child(Kind::CXXRecordDecl) else { return broken(node.span, "a lambda of nothing") };
        self.meet_lambda(node);
        let record = self.context.record(self.pass, record.id, node.span)?;
        let fields: Vec<Type> =
            self.context.module.records[record].fields.iter().map(|field| field.ty.clone()).collect();
        let mut values = Vec::new();
        let mut fields = fields.into_iter();
        for (captured, ty) in captured(node).zip(fields.by_ref()) {
            let value = if captured.is_glvalue() {
                let place = self.place(captured)?;
                self.address(place, ty)
            } else {
                self.value(captured)?
            };
            values.push(value);
        }
        for (variable, ty) in self.context.shared_in(self.pass, node).into_iter().zip(fields) {
            let place = match self.bindings.get(&variable.id) {
                Some(Binding::Local(local)) => self.local_place(*local),
                Some(Binding::Place(place)) => place.clone(),
                Some(Binding::Value(_) | Binding::Vector(_)) | None => {
                    return broken(node.span, "a shared variable that is not declared before it is used");
                }
            };
            let address = self.address(place, ty);
            values.push(address);
        }
        Ok(Expr::new(ExprKind::Construct(values), Type::Record(record)).at(node.span))
    }

    /// Binds the captured variables to the fields of the lambda that is called.
    pub(super) fn bind_captures(&mut self, object: &Place, captures: &[Capture]) -> Lowered<()> {
        let Type::Record(record) = object.ty else { return broken(self.span, "a lambda that is no record") };
        for capture in captures {
            let Some(field) = self.context.module.records[record].fields.get(capture.field as usize) else {
                return broken(self.span, "a capture without a field");
            };
            let mut place = object.clone().field(capture.field, field.ty.clone());
            if capture.by_reference {
                place = deref(Expr::load(place));
            }
            match capture.variable {
                Some(variable) => {
                    self.bindings.insert(variable, Binding::Place(place));
                }
                None => self.this = Some(place),
            }
        }
        Ok(())
    }
}

/// The lambda that an initialiser is, under copies of it.
pub(super) fn only_lambda(node: &Node) -> Option<&Node> {
    match (&node.kind, &*node.inner) {
        (Kind::LambdaExpr, _) => Some(node),
        (_, [only]) => only_lambda(only),
        _ => None,
    }
}

/// The expressions that a lambda captures: what stands between its class and its body.
fn captured(lambda: &Node) -> impl Iterator<Item = &Node> {
    lambda.inner.iter().filter(|child| !matches!(child.kind, Kind::CXXRecordDecl | Kind::CompoundStmt))
}

/// The variable that a captured expression reads, and its name; no variable for `this`.
fn variable_of(captured: &Node) -> Option<(Option<NodeId>, String)> {
    match captured.kind {
        Kind::DeclRefExpr => {
            let reference = captured.data.referenced_decl.as_ref()?;
            Some((Some(reference.id), reference.name.as_deref().unwrap_or("captured").to_owned()))
        }
        Kind::CXXThisExpr => Some((None, "object".to_owned())),
        Kind::ImplicitCastExpr | Kind::CXXConstructExpr | Kind::ParenExpr | Kind::MaterializeTemporaryExpr => {
            captured.inner.first().and_then(variable_of)
        }
        _ => None,
    }
}

/// The methods of a record with that name, those of templates included.
fn methods<'n>(record: &'n Node, name: &'n str) -> impl Iterator<Item = &'n Node> {
    let own = record.children(Kind::CXXMethodDecl);
    let instantiated =
        record.children(Kind::FunctionTemplateDecl).flat_map(|template| template.children(Kind::CXXMethodDecl));
    own.chain(instantiated).filter(move |method| method.name() == name)
}
