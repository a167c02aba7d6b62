//! Classes of the program that lowering cannot read: a pointer to an object of one is a handle, and code that uses it passes
//! through.

use super::body::Body;
use super::context::{Context, Lowered, Pass, Problem, UnreadClass};
use super::provided::spelling;
use crate::clang::types::{Spelled, parse};
use crate::clang::{Kind, Node, NodeId};
use crate::diagnostic::Diagnostic;
use crate::ir::Expr;

impl UnreadClass {
    /// A use of it that must be read.
    fn problem_at(&self, node: &Node) -> Problem {
        let message = format!("this needs the class `{}`, which is not read: {}", self.name, self.reason.message);
        let help = "code may use it that neither launches, nor calls CUDA, nor needs variables outside functions";
        Problem::New(Box::new(Diagnostic::new(self.reason.code, node.span, message, "used here").help(help)))
    }
}

/// How an expression uses an object of such a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// By a member: nobody else can say what that is.
    Inside,
    /// It hands it to a function, which may be read.
    Handed,
}

impl<'a> Context<'a> {
    /// The class of host code that a type is or leads to, if that cannot be read.
    pub(super) fn unread_class(&mut self, pass: Pass, spelled: &str) -> Option<UnreadClass> {
        if pass != Pass::Host {
            return None;
        }
        let name = class_of(parse(spelled)?)?;
        let Some(id) = self.find_record(pass, &name) else {
            let alias = self.find_alias(pass, &name)?.to_owned();
            return self.unread_class(pass, &alias);
        };
        if !self.unread_classes.contains_key(&id) {
            let found = self.tried_class(id);
            self.unread_classes.insert(id, found);
        }
        self.unread_classes[&id].clone()
    }

    /// Tries to read a class, and takes back what was made of one that cannot be.
    fn tried_class(&mut self, id: NodeId) -> Option<UnreadClass> {
        let pass = Pass::Host;
        let declared = self.declarations(pass).get(id)?;
        let name = spelling(self, pass, declared)?;
        let before = (self.records.clone(), self.same_records.clone(), self.taken.clone());
        let records = self.module.records.len();
        let Err(Problem::New(reason)) = self.record(pass, id, declared.node.span) else { return None };
        (self.records, self.same_records, self.taken) = before;
        self.module.records.truncate(records);
        self.destructors.retain(|record| self.module.records.get(*record).is_some());
        Some(UnreadClass { name: name.into(), reason })
    }
}

/// The name of the type that a type is or leads to; no template's.
fn class_of(spelled: Spelled) -> Option<String> {
    match spelled {
        Spelled::Named(named) => Some(named.name).filter(|name| !name.contains(['<', '('])),
        Spelled::Pointer { pointee, .. } => class_of(*pointee),
        Spelled::Array { .. } | Spelled::Function { .. } => None,
    }
}

impl<'a> Body<'_, 'a> {
    /// What `pass` makes of an expression that uses an object of a class which is not read; nothing if it uses none, or hands
    /// it to a function that has to be read.
    pub(super) fn of_unread_class<T>(
        &mut self,
        node: &'a Node,
        pass: impl FnOnce(&mut Self, Problem) -> Lowered<T>,
    ) -> Lowered<Option<T>> {
        let Some((class, how)) = self.used_class(node) else { return Ok(None) };
        let before = self.block.len();
        match pass(self, class.problem_at(node)) {
            Ok(passed) => Ok(Some(passed)),
            Err(problem) => {
                self.block.truncate(before);
                if how == Use::Inside { Err(problem) } else { Ok(None) }
            }
        }
    }

    /// The value of an expression that passes through because of its class.
    pub(super) fn value_of_unread_class(&mut self, node: &'a Node) -> Lowered<Option<Expr>> {
        self.of_unread_class(node, |body, problem| body.pass_value(node, problem))
    }

    /// Whether an expression is about the inside of an object whose class is not read.
    pub(super) fn is_inside_unread_class(&mut self, node: &'a Node) -> bool {
        matches!(self.used_class(node), Some((_, Use::Inside)))
    }

    /// Refuses to read a place inside of an object whose class is not read.
    pub(super) fn refuse_unread_class(&mut self, node: &'a Node) -> Lowered<()> {
        match self.used_class(node) {
            Some((class, Use::Inside)) => Err(class.problem_at(node)),
            Some((_, Use::Handed)) | None => Ok(()),
        }
    }

    fn class_of(&mut self, node: &Node) -> Option<UnreadClass> {
        self.context.unread_class(self.pass, node.ty())
    }

    /// The class that is not read of an object that an expression uses by more than its address.
    fn used_class(&mut self, node: &'a Node) -> Option<(UnreadClass, Use)> {
        if self.pass != Pass::Host {
            return None;
        }
        let inside = |class: UnreadClass| (class, Use::Inside);
        let (first, rest) = node.inner.split_first()?;
        match node.kind {
            Kind::ParenExpr
            | Kind::ExprWithCleanups
            | Kind::ImplicitCastExpr
            | Kind::CStyleCastExpr
            | Kind::CXXStaticCastExpr
            | Kind::CXXFunctionalCastExpr
            | Kind::UnaryOperator
            | Kind::ArraySubscriptExpr
            | Kind::CompoundAssignOperator => self.used_class(first),
            Kind::BinaryOperator if node.opcode() == "=" => self.used_class(first),
            Kind::MemberExpr => self.class_of(first).map(inside).or_else(|| self.used_class(first)),
            Kind::CXXNewExpr => self.class_of(node).map(inside),
            Kind::CXXDeleteExpr => self.class_of(first).map(inside).or_else(|| self.used_class(first)),
            Kind::CXXOperatorCallExpr => {
                rest.iter().find_map(|arg| self.class_of(arg).map(inside).or_else(|| self.used_class(arg)))
            }
            Kind::CallExpr | Kind::CXXMemberCallExpr => {
                let called = if node.kind == Kind::CXXMemberCallExpr { self.used_class(first) } else { None };
                called.or_else(|| rest.iter().find_map(|arg| self.class_of(arg)).map(|class| (class, Use::Handed)))
            }
            _ => None,
        }
    }
}
