//! Statements and declarations of variables.

use super::body::{Binding, Body};
use super::context::{Lowered, Pass, problem, problem_with_help};
use super::lambda::only_lambda;
use super::types::{alignment, refuse_volatile};
use crate::clang::{Kind, Node};
use crate::diagnostic;
use crate::ir::{Expr, ExprKind, Stmt, StmtKind, Storage, Type};

impl<'a> Body<'_, 'a> {
    /// Lowers statements one after another; a problem in one does not keep the others from being looked at.
    pub(super) fn statements(&mut self, nodes: &'a [Node]) {
        for node in nodes {
            self.statement(node);
        }
    }

    /// Lowers a statement into the current block, or reports why not.
    pub(super) fn statement(&mut self, node: &'a Node) {
        let outer = self.span;
        if !node.span.is_none() {
            self.span = node.span;
        }
        if let Err(problem) = self.try_statement(node) {
            self.context.report(problem);
        }
        self.span = outer;
    }

    fn try_statement(&mut self, node: &'a Node) -> Lowered<()> {
        match node.kind {
            Kind::CompoundStmt => {
                // Names of the block end with it, but its statements join the block around it.
                self.scopes.push(Default::default());
                self.scope(|lowering| lowering.statements(&node.inner));
                let names = self.scopes.pop().unwrap_or_default();
                if let Some(scope) = self.scopes.last_mut() {
                    scope.extend(names);
                }
                Ok(())
            }
            Kind::DeclStmt => {
                for declaration in &node.inner {
                    self.declaration(declaration)?;
                }
                Ok(())
            }
            Kind::NullStmt | Kind::Absent => Ok(()),
            Kind::IfStmt => self.if_statement(node),
            Kind::ForStmt => self.for_statement(node),
            Kind::WhileStmt => self.while_statement(node),
            Kind::DoStmt => self.do_statement(node),
            Kind::CXXForRangeStmt => self.range_for_statement(node),
            Kind::SwitchStmt => self.switch_statement(node),
            Kind::BreakStmt => self.break_statement(node),
            Kind::ContinueStmt => self.continue_statement(node),
            Kind::ReturnStmt => self.return_statement(node),
            Kind::AttributedStmt => {
                let before = self.block.len();
                if let Some(inner) = node.inner.last() {
                    self.statement(inner);
                }
                let unroll = self.unroll(node);
                if let Some(Stmt { kind: StmtKind::For(header), .. }) =
                    self.block.get_mut(before..).and_then(|new| new.last_mut())
                {
                    header.unroll = unroll;
                }
                Ok(())
            }
            Kind::GotoStmt | Kind::LabelStmt => problem_with_help(
                diagnostic::UNSUPPORTED_STATEMENT,
                node.span,
                "`goto` is not supported",
                "a jump",
                "use a loop with `break` or `continue`",
            ),
            Kind::GCCAsmStmt => problem_with_help(
                diagnostic::UNSUPPORTED_STATEMENT,
                node.span,
                "inline assembly is not supported",
                "assembly",
                "use the intrinsic function that does the same",
            ),
            // What is thrown leaves the derivative: its handler is another way that the program goes on.
            Kind::CXXTryStmt if self.pass == Pass::Host => {
                node.inner.first().into_iter().for_each(|body| self.statement(body));
                Ok(())
            }
            Kind::CXXTryStmt | Kind::CXXThrowExpr => {
                let problem = problem_with_help(
                    diagnostic::UNSUPPORTED_STATEMENT,
                    node.span,
                    "this exception is not supported",
                    "here",
                    "throw an exception of the standard library, or report errors by a value",
                );
                problem.or_else(|problem| self.pass_effect(node, problem))
            }
            Kind::CaseStmt | Kind::DefaultStmt => problem_with_help(
                diagnostic::UNSUPPORTED_STATEMENT,
                node.span,
                "a `case` inside another statement of the `switch` is not supported",
                "this label",
                "put the label directly into the `switch`",
            ),
            _ => {
                let passed = self.of_unread_class(node, |body, problem| body.pass_effect(node, problem))?;
                if passed.is_some() {
                    return Ok(());
                }
                let before = self.block.len();
                self.effect(node).or_else(|problem| {
                    self.block.truncate(before);
                    self.pass_effect(node, problem)
                })
            }
        }
    }

    fn declaration(&mut self, node: &'a Node) -> Lowered<()> {
        match node.kind {
            Kind::VarDecl => {
                if let Some(init) = initializer(node)
                    && self.of_unread_class(init, |body, problem| body.pass_variable(node, problem))?.is_some()
                {
                    return Ok(());
                }
                let before = self.block.len();
                self.variable(node).or_else(|problem| {
                    self.block.truncate(before);
                    self.pass_variable(node, problem)
                })
            }
            Kind::CXXRecordDecl
            | Kind::TypedefDecl
            | Kind::TypeAliasDecl
            | Kind::StaticAssertDecl
            | Kind::EnumDecl
            | Kind::UsingDecl
            | Kind::UsingDirectiveDecl
            | Kind::NamespaceAliasDecl
            | Kind::EmptyDecl => Ok(()),
            Kind::DecompositionDecl => self.structured_binding(node),
            _ => problem(
                diagnostic::UNSUPPORTED_DECLARATION,
                node.span,
                "this declaration is not supported inside a function",
                "declared here",
            ),
        }
    }

    /// `auto [a, b] = value`: a variable that holds the value, of which the names are fields or elements.
    fn structured_binding(&mut self, node: &'a Node) -> Lowered<()> {
        let parts: Vec<(&'a Node, &'a Node)> =
            node.children(Kind::BindingDecl).filter_map(|name| Some((name, name.inner.first()?))).collect();
        if parts.iter().any(|(_, part)| !matches!(part.kind, Kind::MemberExpr | Kind::ArraySubscriptExpr)) {
            return problem_with_help(
                diagnostic::UNSUPPORTED_DECLARATION,
                node.span,
                "structured bindings of tuples are not supported",
                "declared here",
                "use a struct, or name the parts one by one",
            );
        }
        self.variable(node)?;
        for (name, part) in parts {
            let place = self.place(part)?;
            self.bindings.insert(name.id, Binding::Place(place));
        }
        Ok(())
    }

    /// `({ … })`: the statements, and the value of the last.
    pub(super) fn statement_expression(&mut self, node: &'a Node) -> Lowered<Expr> {
        let Some((last, earlier)) = node.child(Kind::CompoundStmt).and_then(|block| block.inner.split_last()) else {
            return Ok(Expr::int(0));
        };
        self.scopes.push(Default::default());
        let mut result = Ok(Expr::int(0));
        self.scope(|lowering| {
            lowering.statements(earlier);
            match node.ty() {
                "void" => lowering.statement(last),
                // What it names may be gone after the block, and statements that follow may change it.
                _ => result = lowering.value(last).map(|value| lowering.keep(value)),
            }
        });
        let names = self.scopes.pop().unwrap_or_default();
        if let Some(scope) = self.scopes.last_mut() {
            scope.extend(names);
        }
        result
    }

    fn variable(&mut self, node: &'a Node) -> Lowered<()> {
        let is_static = node.data.storage_class.as_deref() == Some("static");
        if !is_static && self.context.vector_elements(self.pass, node.ty()).is_some() {
            return self.vector_variable(node, initializer(node));
        }
        if let Some(lambda) = initializer(node).and_then(only_lambda) {
            self.meet_lambda(lambda);
        }
        let ty = self.context.node_type(self.pass, node)?;
        if node.has(Kind::CUDASharedAttr) {
            refuse_volatile(node)?;
            let is_dynamic = node.data.storage_class.as_deref() == Some("extern");
            let storage = if is_dynamic { Storage::DynamicShared } else { Storage::Shared };
            let local = self.new_local(node.name(), ty, storage, node.span);
            self.locals[local].align = alignment(node);
            self.bindings.insert(node.id, Binding::Local(local));
            self.emit(StmtKind::Declare { local, init: None });
            return Ok(());
        }
        if is_static && !is_constant(node) {
            return refuse_static(node);
        }
        self.refuse_destructor(&ty, node)?;
        let init = node.data.init.as_ref().and_then(|_| initializer(node));
        if ty.is_reference() {
            return self.reference_variable(node, ty, init);
        }
        // A variable of an opaque class begins as its constructor has it.
        let init = init.filter(|init| !(matches!(ty, Type::Opaque(_)) && init.kind == Kind::CXXConstructExpr));
        let Some(init) = init else {
            let local = self.bind_local(node, ty);
            self.emit(StmtKind::Declare { local, init: None });
            return Ok(());
        };
        self.initialized_variable(node, ty, init)
    }

    /// `T& name = place`; of a temporary, it is the variable that holds it.
    fn reference_variable(&mut self, node: &'a Node, ty: Type, init: Option<&'a Node>) -> Lowered<()> {
        let Some(init) = init else { return super::context::broken(node.span, "a reference without a value") };
        if let Some(value) = temporary(init) {
            let pointee = ty.pointee().cloned().unwrap_or(Type::Void);
            return self.initialized_variable(node, pointee, value);
        }
        if let Some(call) = self.as_reference_call(init)?
            && self.call_type(call)? == ty
        {
            let prepared = self.prepare_call(call)?;
            let local = self.bind_local(node, ty);
            self.emit(StmtKind::Declare { local, init: None });
            let place = self.local_place(local);
            return self.finish_call(prepared, Some(place)).map(|_| ());
        }
        let place = self.place(init)?;
        self.note_address(&place);
        let value = Expr::new(ExprKind::AddressOf(place), ty.clone()).at(node.span);
        let local = self.bind_local(node, ty);
        self.emit(StmtKind::Declare { local, init: Some(value) });
        Ok(())
    }

    fn initialized_variable(&mut self, node: &'a Node, ty: Type, init: &'a Node) -> Lowered<()> {
        if let Some(call) = self.as_call(init)? {
            // `T v = f(x)`: the variable first, the result into it.
            if self.call_type(call)? == ty {
                let prepared = self.prepare_call(call)?;
                let local = self.bind_local(node, ty);
                self.emit(StmtKind::Declare { local, init: None });
                let place = self.local_place(local);
                return self.finish_call(prepared, Some(place)).map(|_| ());
            }
        }
        if let Some(constructed) = self.constructor_call(init)? {
            let local = self.bind_local(node, ty);
            self.emit(StmtKind::Declare { local, init: None });
            return self.run_constructor(constructed, self.local_place(local));
        }
        let value = self.initial_value(init, &ty)?;
        let passed = value.as_ref().and_then(|value| self.take_passed(value));
        let local = self.bind_local(node, ty);
        match passed {
            Some(args) => self.declare_passed(local, args),
            None => self.emit(StmtKind::Declare { local, init: value }),
        }
        Ok(())
    }

    pub(super) fn bind_local(&mut self, node: &Node, ty: Type) -> crate::ir::LocalId {
        let names: Vec<&str> = match node.kind {
            Kind::DecompositionDecl => node.children(Kind::BindingDecl).map(Node::name).collect(),
            _ => vec![node.name().trim_start_matches("__")],
        };
        let name = names.join("_");
        let local = self.new_local(if name.is_empty() { "unnamed" } else { &name }, ty, Storage::Private, node.span);
        self.locals[local].align = alignment(node);
        self.bindings.insert(node.id, Binding::Local(local));
        local
    }

    fn return_statement(&mut self, node: &'a Node) -> Lowered<()> {
        let value = match node.inner.first() {
            None => None,
            Some(value) if self.result.is_reference() => {
                let place = self.place(value)?;
                self.note_address(&place);
                Some(Expr::new(ExprKind::AddressOf(place), self.result.clone()).at(node.span))
            }
            Some(value) if self.result == Type::Void => {
                self.effect(value)?;
                None
            }
            Some(value) => Some(self.value(value)?),
        };
        let value = self.free_all_vectors(value);
        self.emit(StmtKind::Return(value));
        Ok(())
    }
}

/// The initial value of a variable: its last child that is no attribute.
pub(super) fn initializer(node: &Node) -> Option<&Node> {
    node.inner.iter().rfind(|child| !child.ty().is_empty() && child.kind != Kind::BindingDecl)
}

/// The value of a temporary that a reference is bound to.
pub(super) fn temporary(node: &Node) -> Option<&Node> {
    match node.kind {
        Kind::MaterializeTemporaryExpr => node.inner.first(),
        Kind::ExprWithCleanups | Kind::ParenExpr => node.inner.first().and_then(temporary),
        Kind::ImplicitCastExpr if node.data.cast_kind.as_deref() == Some("NoOp") => {
            node.inner.first().and_then(temporary)
        }
        _ => None,
    }
}

/// Refuses a variable of a function that keeps its value between calls.
pub(super) fn refuse_static<T>(node: &Node) -> Lowered<T> {
    problem_with_help(
        diagnostic::UNSUPPORTED_DECLARATION,
        node.span,
        format!("the static variable `{}` is not supported", node.name()),
        "keeps its value between calls",
        "make it `const`, or a `__device__` variable outside of the function",
    )
}

/// Whether a variable is `const` or `constexpr`.
pub(super) fn is_constant(node: &Node) -> bool {
    node.data.constexpr || crate::clang::types::parse(node.ty()).is_some_and(|ty| ty.is_const())
}
