//! `new` and `delete` of numbers in host code: calls of the runtime that make and free memory, and stores of its first
//! values.

use super::body::Body;
use super::constant::convert;
use super::context::{Lowered, Pass, broken, problem_with_help};
use super::place::element;
use super::prepared::{Action, Memory, PreparedCall};
use crate::clang::{Kind, Node};
use crate::diagnostic;
use crate::ir::{BinaryOp, Expr, ExprKind, Place, StmtKind, Type};

impl<'a> Body<'_, 'a> {
    /// `new T`, `new T(value)`, `new T[count]`, `new T[count]()`, `new T[count]{values}`, `new T[count][4]`.
    pub(super) fn prepare_new(&mut self, node: &'a Node) -> Lowered<PreparedCall> {
        self.refuse_on_device(node)?;
        let result = self.context.node_type(self.pass, node)?;
        let element = result.pointee().cloned().unwrap_or(Type::Void);
        // Where there is no memory the derivative throws, and does not get as far as to look for null.
        let (is_nothrow, parts) = match node.inner.split_last() {
            Some((last, parts)) if node.data.is_placement && is_nothrow(last) => (true, parts),
            Some(_) | None => (false, node.inner.as_slice()),
        };
        if node.data.is_placement && !is_nothrow || !is_of_numbers(&element) {
            return problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                "a `new` of anything but numbers, or in given memory, is not supported",
                "made here",
                "make arrays of numbers, one for each field",
            );
        }
        let (count, init) = match (node.data.is_array, parts) {
            (true, [count, rest @ ..]) => (Some(self.value(count)?), rest.first()),
            (false, rest) => (None, rest.first()),
            (true, []) => return broken(node.span, "a `new` of an array without a size"),
        };
        let before = self.block.len();
        let values = match init {
            // The rows of `new T[count][4]{…}` would have to be stored one by one.
            Some(init) if matches!(element, Type::Array(..)) && init.kind != Kind::ImplicitValueInitExpr => {
                return problem_with_help(
                    diagnostic::UNSUPPORTED_EXPRESSION,
                    node.span,
                    "a `new` of arrays with values is not supported",
                    "made here",
                    "store the values in a loop",
                );
            }
            Some(init) => self.first_values(init, &element)?,
            None => Vec::new(),
        };
        let mut bytes = Expr::new(ExprKind::SizeOf(element), Type::SIZE).at(node.span);
        let is_array = count.is_some();
        if let Some(mut count) = count {
            self.protect(before, [&mut count]);
            bytes = Expr::binary(BinaryOp::Multiply, convert(count, Type::SIZE), bytes);
        }
        // A list says nothing of the elements after it: they are zero.
        let is_zero = init.is_some() && (node.data.is_array || values.is_empty());
        let call = match (is_array, is_zero) {
            (true, true) => "cotangent::array_zeros",
            (true, false) => "cotangent::array_memory",
            (false, true) => "cotangent::value_zeros",
            (false, false) => "cotangent::value_memory",
        };
        let memory = Memory { call: call.into(), bytes, values };
        Ok(PreparedCall { action: Action::Memory(memory), result })
    }

    /// The values that an initialiser states one by one.
    fn first_values(&mut self, init: &'a Node, ty: &Type) -> Lowered<Vec<Expr>> {
        match init.kind {
            Kind::ImplicitValueInitExpr | Kind::CXXScalarValueInitExpr => Ok(Vec::new()),
            Kind::InitListExpr => {
                // With a filler, the list holds it first and then the given elements.
                let given: &'a [Node] = match init.data.array_filler.as_slice() {
                    [] => &init.inner,
                    [_, elements @ ..] => elements,
                };
                let given: Vec<&'a Node> = given.iter().collect();
                let values = self.values(&given)?;
                Ok(values.into_iter().map(|value| convert(value, ty.clone())).collect())
            }
            _ => Ok(vec![convert(self.value(init)?, ty.clone())]),
        }
    }

    /// Makes memory, and stores its first values.
    pub(super) fn make_memory(&mut self, memory: Memory, into: Option<Place>) {
        let Memory { call, bytes, values } = memory;
        self.emit(StmtKind::Runtime { call, args: vec![bytes], into: into.clone() });
        let Some(pointer) = into else { return };
        for (index, value) in (0..).zip(values) {
            let place = element(Expr::load(pointer.clone()), Expr::int(index)).at(self.span);
            self.emit(StmtKind::Assign { place, value });
        }
    }

    /// `delete p`, `delete[] p`.
    pub(super) fn delete(&mut self, node: &'a Node) -> Lowered<()> {
        self.refuse_on_device(node)?;
        let Some(pointer) = node.inner.first() else { return broken(node.span, "a `delete` of nothing") };
        let pointer = self.value(pointer)?;
        if !pointer.ty.pointee().is_some_and(is_of_numbers) {
            return problem_with_help(
                diagnostic::UNSUPPORTED_EXPRESSION,
                node.span,
                "a `delete` of anything but numbers is not supported",
                "freed here",
                "leave that to the caller",
            );
        }
        let call = if node.data.is_array { "cotangent::free_array" } else { "cotangent::free_value" };
        self.emit(StmtKind::Runtime { call: call.into(), args: vec![pointer], into: None });
        Ok(())
    }

    fn refuse_on_device(&self, node: &Node) -> Lowered<()> {
        if self.pass == Pass::Host {
            return Ok(());
        }
        problem_with_help(
            diagnostic::UNSUPPORTED_EXPRESSION,
            node.span,
            "`new` and `delete` in device code are not supported",
            "allocates or frees memory",
            "allocate before the launch and pass the pointer",
        )
    }
}

/// Numbers, or rows of them: nothing that has to be constructed.
fn is_of_numbers(ty: &Type) -> bool {
    matches!(ty.innermost_element(), Type::Int(_) | Type::Float(_))
}

/// Whether an argument of `new` is `std::nothrow`.
fn is_nothrow(arg: &Node) -> bool {
    let named = arg.data.referenced_decl.as_ref().and_then(|named| named.name.as_deref());
    arg.kind == Kind::DeclRefExpr && named == Some("nothrow")
}
