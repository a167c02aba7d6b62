//! Expressions: their values, and their effects as statements.

use super::body::{Binding, Body};
use super::cast::pointer_like;
use super::constant::{constant_value, convert, negate, rounded};
use super::context::{Lowered, broken, problem_with_help};
use crate::clang::{Kind, Node, Value};
use crate::diagnostic;
use crate::ir::{BinaryOp, Expr, ExprKind, IntKind, Place, Real, Stmt, StmtKind, Type, UnaryOp};

/// C++'s binary operators by spelling.
const BINARY_OPERATORS: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Subtract,
    BinaryOp::Multiply,
    BinaryOp::Divide,
    BinaryOp::Remainder,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::ShiftLeft,
    BinaryOp::ShiftRight,
    BinaryOp::Equal,
    BinaryOp::NotEqual,
    BinaryOp::Less,
    BinaryOp::LessEqual,
    BinaryOp::Greater,
    BinaryOp::GreaterEqual,
    BinaryOp::And,
    BinaryOp::Or,
];

/// The operator of that spelling, on numbers.
pub(super) fn binary_operator(spelling: &str) -> Option<BinaryOp> {
    BINARY_OPERATORS.iter().copied().find(|op| op.spelling() == spelling)
}

impl<'a> Body<'_, 'a> {
    /// The value of an expression; its effects become statements before it.
    pub(super) fn value(&mut self, node: &'a Node) -> Lowered<Expr> {
        let before = self.block.len();
        if let Some(passed) = self.value_of_unread_class(node)? {
            return Ok(passed.at(node.span));
        }
        let expr = self.value_unspanned(node).or_else(|problem| {
            self.block.truncate(before);
            self.pass_value(node, problem)
        })?;
        Ok(if expr.span.is_none() { expr.at(node.span) } else { expr })
    }

    /// The same, but it is not passed through itself.
    pub(super) fn value_unspanned(&mut self, node: &'a Node) -> Lowered<Expr> {
        match node.kind {
            Kind::ParenExpr
            | Kind::ExprWithCleanups
            | Kind::CXXDefaultArgExpr
            | Kind::CXXBindTemporaryExpr
            | Kind::SubstNonTypeTemplateParmExpr
            | Kind::MaterializeTemporaryExpr
            | Kind::ConstantExpr => match node.inner.last() {
                Some(inner) => self.value(inner),
                None => broken(node.span, "an empty expression"),
            },
            Kind::IntegerLiteral | Kind::CharacterLiteral | Kind::FloatingLiteral | Kind::CXXBoolLiteralExpr => {
                self.literal(node)
            }
            Kind::CXXNullPtrLiteralExpr | Kind::GNUNullExpr => {
                let ty = self.context.node_type(self.pass, node)?;
                Ok(Expr::new(ExprKind::Null, if ty.is_pointer() { ty } else { Type::pointer(Type::Void) }))
            }
            Kind::DeclRefExpr => self.name_value(node),
            Kind::MemberExpr | Kind::ArraySubscriptExpr | Kind::PseudoObjectExpr => {
                if let Some(builtin) = self.builtin_variable(node) {
                    return Ok(builtin);
                }
                self.place(node).map(Expr::load)
            }
            Kind::UnaryOperator => self.unary_value(node),
            Kind::BinaryOperator => self.binary_value(node),
            Kind::CompoundAssignOperator => self.place(node).map(Expr::load),
            Kind::ConditionalOperator => self.conditional_value(node),
            Kind::ImplicitCastExpr
            | Kind::CStyleCastExpr
            | Kind::CXXStaticCastExpr
            | Kind::CXXReinterpretCastExpr
            | Kind::CXXConstCastExpr
            | Kind::CXXFunctionalCastExpr => self.cast_value(node),
            Kind::CallExpr | Kind::CXXMemberCallExpr | Kind::CXXOperatorCallExpr => self.call_value(node),
            Kind::CXXConstructExpr | Kind::CXXTemporaryObjectExpr => self.constructed_value(node),
            Kind::InitListExpr | Kind::ImplicitValueInitExpr | Kind::CXXScalarValueInitExpr => {
                let ty = self.context.node_type(self.pass, node)?;
                match self.initial_value(node, &ty)? {
                    Some(value) => Ok(value),
                    None => broken(node.span, "an initial value that is none"),
                }
            }
            Kind::StmtExpr => self.statement_expression(node),
            Kind::CXXThisExpr => self.this_value(node),
            Kind::LambdaExpr => self.lambda(node),
            Kind::UnaryExprOrTypeTraitExpr => self.size_of(node),
            Kind::CXXNewExpr => {
                let prepared = self.prepare_new(node)?;
                match self.finish_call(prepared, None)? {
                    Some(pointer) => Ok(pointer),
                    None => broken(node.span, "a `new` without a result"),
                }
            }
            _ => problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                "this expression is not supported",
                "here",
                "write it with operators, calls and variables of plain types",
            ),
        }
    }

    /// The values of several expressions, evaluated in this order.
    pub(super) fn values(&mut self, nodes: &[&'a Node]) -> Lowered<Vec<Expr>> {
        let mut values: Vec<Expr> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let before = self.block.len();
            let value = self.value(node)?;
            self.protect(before, &mut values);
            values.push(value);
        }
        Ok(values)
    }

    /// The truth of an expression.
    pub(super) fn condition(&mut self, node: &'a Node) -> Lowered<Expr> {
        let value = self.value(node)?;
        Ok(convert(value, Type::Bool))
    }

    /// Runs an expression for its effects.
    pub(super) fn effect(&mut self, node: &'a Node) -> Lowered<()> {
        match node.kind {
            Kind::ParenExpr | Kind::ExprWithCleanups | Kind::CXXBindTemporaryExpr => match node.inner.first() {
                Some(inner) => self.effect(inner),
                None => Ok(()),
            },
            Kind::UnaryOperator if matches!(node.opcode(), "++" | "--") => self.step(node).map(|_| ()),
            Kind::BinaryOperator if node.opcode() == "," => {
                for operand in &node.inner {
                    self.effect(operand)?;
                }
                Ok(())
            }
            Kind::BinaryOperator if node.opcode() == "=" => self.assignment(node).map(|_| ()),
            Kind::CompoundAssignOperator => self.compound_assignment(node).map(|_| ()),
            Kind::CallExpr | Kind::CXXMemberCallExpr | Kind::CXXOperatorCallExpr => self.call_effect(node),
            Kind::CUDAKernelCallExpr => self.launch(node),
            Kind::CXXDeleteExpr => self.delete(node),
            Kind::ImplicitCastExpr | Kind::CStyleCastExpr | Kind::CXXStaticCastExpr | Kind::CXXFunctionalCastExpr
                if matches!(node.data.cast_kind.as_deref(), Some("ToVoid" | "LValueToRValue" | "NoOp")) =>
            {
                match node.inner.first() {
                    Some(inner) => self.effect(inner),
                    None => Ok(()),
                }
            }
            Kind::ConditionalOperator => self.conditional_effect(node),
            // A name or a literal alone does nothing.
            _ if node.is_glvalue() => self.place(node).map(|_| ()),
            _ => self.value(node).map(|_| ()),
        }
    }

    fn conditional_effect(&mut self, node: &'a Node) -> Lowered<()> {
        let [cond, then, otherwise] = node.inner.as_slice() else {
            return broken(node.span, "a `?:` of an unknown form");
        };
        let cond = self.condition(cond)?;
        let (result, then_block) = self.nested(|body| body.effect(then));
        result?;
        let (result, else_block) = self.nested(|body| body.effect(otherwise));
        result?;
        if !(then_block.is_empty() && else_block.is_empty()) {
            self.emit(StmtKind::If { cond, then_block, else_block });
        }
        Ok(())
    }

    fn literal(&mut self, node: &'a Node) -> Lowered<Expr> {
        let ty = self.context.node_type(self.pass, node)?;
        let kind = match (&ty, &node.data.value) {
            (Type::Bool, Some(Value::Bool(truth))) => ExprKind::Bool(*truth),
            (Type::Int(kind), _) => match constant_value(node) {
                Some(value) => ExprKind::Int(kind.wrap(value)),
                None => return broken(node.span, "an integer without a value"),
            },
            (Type::Float(kind), Some(Value::Text(text))) => {
                match text.parse::<f64>().ok().and_then(|value| rounded(value, *kind)) {
                    Some(real) => ExprKind::Float(real),
                    None => return broken(node.span, "a number that is none"),
                }
            }
            _ => return broken(node.span, "a literal of an unknown form"),
        };
        Ok(Expr::new(kind, ty))
    }

    /// A name used for its value without a conversion: an enumerator, a constant, or a template's argument.
    fn name_value(&mut self, node: &'a Node) -> Lowered<Expr> {
        let Some(reference) = &node.data.referenced_decl else { return broken(node.span, "a name of nothing") };
        if reference.kind == Kind::EnumConstantDecl {
            let ty = self.context.node_type(self.pass, node)?;
            let Some(value) = self.context.declarations(self.pass).enumerator(reference.id) else {
                return broken(node.span, "an enumerator without a value");
            };
            return Ok(if let Type::Int(kind) = ty {
                Expr::integer(value, kind)
            } else {
                Expr::cast(Expr::integer(value, IntKind::Int), ty)
            });
        }
        if let Some(Binding::Value(value)) = self.bindings.get(&reference.id) {
            return Ok(value.clone());
        }
        if let Some(builtin) = self.builtin_variable(node) {
            return Ok(builtin);
        }
        if let Some(whole) = self.whole_builtin(node)? {
            return Ok(whole);
        }
        if !self.bindings.contains_key(&reference.id)
            && let Some(value) = self.computed_constant(reference.id)?
        {
            return Ok(value);
        }
        self.place(node).map(Expr::load)
    }

    fn unary_value(&mut self, node: &'a Node) -> Lowered<Expr> {
        let Some(operand) = node.inner.first() else { return broken(node.span, "an operator without an operand") };
        match node.opcode() {
            "-" => Ok(negate(self.value(operand)?)),
            "+" => self.value(operand),
            "!" => {
                let operand = self.condition(operand)?;
                Ok(Expr::unary(UnaryOp::Not, operand))
            }
            "~" => Ok(Expr::unary(UnaryOp::BitNot, self.value(operand)?)),
            "*" => self.place(node).map(Expr::load),
            "&" => {
                let place = self.place(operand)?;
                let ty = pointer_like(node.ty(), place.ty.clone());
                Ok(self.address(place, ty))
            }
            "++" | "--" if node.data.is_postfix => {
                let place = self.place(operand)?;
                let old = self.keep(Expr::load(place.clone()));
                self.step_place(node, place)?;
                Ok(old)
            }
            "++" | "--" => self.step(node).map(Expr::load),
            "__extension__" => self.value(operand),
            other => problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                format!("the operator `{other}` is not supported"),
                "here",
                "write it with other operators",
            ),
        }
    }

    fn binary_value(&mut self, node: &'a Node) -> Lowered<Expr> {
        let [left, right] = node.inner.as_slice() else { return broken(node.span, "an operator without two operands") };
        match node.opcode() {
            "=" => return self.assignment(node).map(Expr::load),
            "," => {
                self.effect(left)?;
                return self.value(right);
            }
            "&&" | "||" => return self.logical_value(node, left, right),
            _ => {}
        }
        let Some(op) = binary_operator(node.opcode()) else {
            return problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                format!("the operator `{}` is not supported", node.opcode()),
                "here",
                "write it with other operators",
            );
        };
        let operands = self.values(&[left, right])?;
        let Ok([left, right]) = <[Expr; 2]>::try_from(operands) else {
            return broken(node.span, "an operator without operands");
        };
        self.combine(op, left, right, node)
    }

    /// An operator on two values, for pointers by its meaning there.
    pub(super) fn combine(&mut self, op: BinaryOp, left: Expr, right: Expr, node: &Node) -> Lowered<Expr> {
        let expr = match (op, left.ty.is_pointer(), right.ty.is_pointer()) {
            (BinaryOp::Add, true, false) => Expr::binary(BinaryOp::Offset, left, right),
            (BinaryOp::Add, false, true) => Expr::binary(BinaryOp::Offset, right, left),
            (BinaryOp::Subtract, true, false) => Expr::binary(BinaryOp::Offset, left, negate(signed(right))),
            (BinaryOp::Subtract, true, true) => Expr::binary(BinaryOp::Distance, left, right),
            (_, true, false) if op.is_comparison() => {
                let right = convert(right, left.ty.clone());
                Expr::binary(op, left, right)
            }
            (_, false, true) if op.is_comparison() => {
                let left = convert(left, right.ty.clone());
                Expr::binary(op, left, right)
            }
            _ => Expr::binary(op, left, right),
        };
        Ok(expr.at(node.span))
    }

    /// `a && b` and `a || b`: where the right side has effects, it runs only if it matters.
    fn logical_value(&mut self, node: &'a Node, left: &'a Node, right: &'a Node) -> Lowered<Expr> {
        let left = self.condition(left)?;
        let (value, block) = self.nested(|body| body.condition(right));
        let value = value?;
        let is_and = node.opcode() == "&&";
        if block.is_empty() {
            let op = if is_and { BinaryOp::And } else { BinaryOp::Or };
            return Ok(Expr::binary(op, left, value));
        }
        let local = self.new_temporary(Type::Bool);
        self.emit(StmtKind::Declare { local, init: Some(left) });
        let place = self.local_place(local);
        let (result, then_block) = self.nested(|body| -> Lowered<()> {
            let value = body.condition(right)?;
            body.emit(StmtKind::Assign { place: place.clone(), value });
            Ok(())
        });
        result?;
        let truth = Expr::load(place.clone());
        let cond = if is_and { truth } else { Expr::unary(UnaryOp::Not, truth) };
        self.emit(StmtKind::If { cond, then_block, else_block: Vec::new() });
        Ok(Expr::load(place))
    }

    /// `c ? a : b`: where a branch has effects, it becomes an `if`.
    fn conditional_value(&mut self, node: &'a Node) -> Lowered<Expr> {
        let [cond, then, otherwise] = node.inner.as_slice() else {
            return broken(node.span, "a `?:` of an unknown form");
        };
        let cond = self.condition(cond)?;
        let (then_value, then_block) = self.nested(|body| body.value(then));
        let (else_value, else_block) = self.nested(|body| body.value(otherwise));
        let (then_value, else_value) = (then_value?, else_value?);
        let ty = then_value.ty.clone();
        if then_block.is_empty() && else_block.is_empty() {
            let else_value = convert(else_value, ty.clone());
            return Ok(Expr::new(ExprKind::Select(Box::new(cond), Box::new(then_value), Box::new(else_value)), ty));
        }
        let local = self.new_temporary(ty);
        self.emit(StmtKind::Declare { local, init: None });
        let place = self.local_place(local);
        let branch = |body: &mut Self, node: &'a Node| -> Lowered<Vec<Stmt>> {
            let place = place.clone();
            let (result, block) = body.nested(|body| -> Lowered<()> { body.value_into(node, place) });
            result.map(|()| block)
        };
        let then_block = branch(self, then)?;
        let else_block = branch(self, otherwise)?;
        self.emit(StmtKind::If { cond, then_block, else_block });
        Ok(Expr::load(place))
    }

    /// Stores the value of an expression; a call's result goes there directly.
    fn value_into(&mut self, node: &'a Node, place: Place) -> Lowered<()> {
        if let Some(call) = self.as_call(node)?
            && self.call_type(call)? == place.ty
        {
            let prepared = self.prepare_call(call)?;
            return self.finish_call(prepared, Some(place)).map(|_| ());
        }
        let value = self.value(node)?;
        self.emit(StmtKind::Assign { place, value });
        Ok(())
    }

    fn size_of(&mut self, node: &'a Node) -> Lowered<Expr> {
        if node.name() != "sizeof" {
            return problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                format!("`{}` is not supported", node.name()),
                "here",
                "write the number",
            );
        }
        let spelling = match (&node.data.arg_type, node.inner.first()) {
            (Some(ty), _) => ty.0.clone(),
            (None, Some(operand)) => operand.ty().into(),
            (None, None) => return broken(node.span, "a `sizeof` of nothing"),
        };
        let ty = self.context.type_of(self.pass, &spelling, node.span)?;
        Ok(Expr::new(ExprKind::SizeOf(ty), Type::SIZE))
    }
}

/// An integer in a type that holds its negative.
fn signed(value: Expr) -> Expr {
    let is_signed = matches!(value.ty, Type::Int(kind) if kind.is_signed());
    if is_signed { value } else { convert(value, Type::LONG) }
}

/// The floating constant of a type.
pub(super) fn float_constant(value: f64, ty: Type) -> Expr {
    Expr::new(ExprKind::Float(Real(value)), ty)
}
