//! Calls that are statements of the IR: barriers, atomics, exchanges, launches, the runtime, `printf`.

use super::body::Body;
use super::constant::convert;
use super::context::{Lowered, Pass, broken, problem, problem_with_help};
use super::prepared::{Action, PreparedCall};
use crate::clang::{Kind, Node, Value};
use crate::diagnostic;
use crate::ir::{
    AtomicOp, BinaryOp, CollectiveOp, Expr, ExprKind, Launch, Name, OpaqueArg, Stmt, StmtKind, Type, Unread,
};
use crate::rules::{
    ALIGNED_MEMORY, ALLOCATE, CHECK_BLOCK, COPY, COPY_KIND, HOST_TO_HOST, HOST_ZEROS, Intrinsic, PITCHED_MEMORY,
};

/// Functions of C that become functions of the runtime's table.
pub(super) const C_FUNCTIONS: &[&str] = &["aligned_alloc", "calloc", "memalign", "memcpy"];

/// The distance that GPUs give to rows is a multiple of so many bytes. The adjoint's rows must lie as the rows do, and all
/// that a program may know of the distance is in the variable.
const PITCH: i64 = 512;

impl<'a> Body<'_, 'a> {
    /// Lowers the arguments of a barrier, atomic or exchange.
    pub(super) fn prepare_intrinsic(
        &mut self,
        node: &'a Node,
        intrinsic: Intrinsic,
        result: Type,
    ) -> Lowered<PreparedCall> {
        let nodes: Vec<&'a Node> = node.inner.iter().skip(1).collect();
        let mut args = self.values(&nodes)?;
        let action: Box<dyn FnOnce(Option<crate::ir::Place>) -> StmtKind> = match intrinsic {
            Intrinsic::Barrier(kind) => {
                let argument = args.pop();
                Box::new(move |into| StmtKind::Barrier { kind, argument, into })
            }
            Intrinsic::Collective(op) => {
                let mask = if op == CollectiveOp::ActiveMask || args.is_empty() { None } else { Some(args.remove(0)) };
                Box::new(move |into| StmtKind::Collective { op, mask, args, into })
            }
            Intrinsic::Atomic(op, scope) => {
                let mut args = args.into_iter();
                let (Some(pointer), Some(first)) = (args.next(), args.next()) else {
                    return broken(node.span, "an atomic without arguments");
                };
                let place = self.checked_deref(pointer, node)?;
                let ty = place.ty.clone();
                if !matches!(ty, Type::Int(_) | Type::Float(_)) {
                    return problem(
                        diagnostic::UNSUPPORTED_CALL,
                        node.span,
                        "an atomic on a type other than a number is not supported",
                        "here",
                    );
                }
                let (value, compare) = match (op, args.next()) {
                    (AtomicOp::CompareAndSwap, Some(value)) => (value, Some(convert(first, ty.clone()))),
                    (AtomicOp::CompareAndSwap, None) => return broken(node.span, "an atomic without a value"),
                    _ => (first, None),
                };
                let value = convert(value, ty);
                Box::new(move |into| StmtKind::Atomic { op, scope, place, value, compare, into })
            }
        };
        Ok(PreparedCall { action: Action::Statement(action), result })
    }

    /// Lowers the arguments of a function without a body that changes nothing.
    pub(super) fn prepare_opaque(&mut self, node: &'a Node, callee: Name, result: Type) -> Lowered<PreparedCall> {
        let mut args: Vec<OpaqueArg> = Vec::new();
        for argument in node.inner.iter().skip(1) {
            // Where it prints to is a name, not a value.
            let stream = (&*callee == "fprintf" && args.is_empty()).then(|| standard_stream(argument)).flatten();
            if let Some(text) = stream.or_else(|| string_literal(argument)) {
                // The second text of a failed assertion is the path of a file on this machine.
                let is_path = callee.starts_with("__assert") && args.len() == 1;
                let text = if is_path { text.rsplit('/').next().unwrap_or_default().to_owned() } else { text };
                args.push(OpaqueArg::Text(text.into()));
                continue;
            }
            let before = self.block.len();
            let value = self.value(argument)?;
            let earlier = args.iter_mut().filter_map(|arg| match arg {
                OpaqueArg::Value(value) => Some(value),
                OpaqueArg::Text(_) | OpaqueArg::Variable(_) => None,
            });
            self.protect(before, earlier);
            args.push(OpaqueArg::Value(value));
        }
        let action =
            Action::Statement(Box::new(move |into| StmtKind::Opaque { code: Unread::Call(callee), args, into }));
        Ok(PreparedCall { action, result })
    }

    /// Lowers the arguments of a function of the CUDA runtime.
    /// Those of [`C_FUNCTIONS`] become those of the table that do the same.
    pub(super) fn prepare_runtime(&mut self, node: &'a Node, call: Name, result: Type) -> Lowered<PreparedCall> {
        if self.pass == Pass::Device {
            return problem_with_help(
                diagnostic::UNSUPPORTED_CALL,
                node.span,
                format!("`{call}` in device code is not supported"),
                "called here",
                "call it on the host",
            );
        }
        let mut args: Vec<Expr> = Vec::new();
        for argument in node.inner.iter().skip(1) {
            // Defaults are left out, as the user left them out.
            if argument.kind == Kind::CXXDefaultArgExpr {
                continue;
            }
            let before = self.block.len();
            let value = if argument.is_glvalue() { self.symbol(argument)? } else { self.value(argument)? };
            self.protect(before, &mut args);
            args.push(value);
        }
        let (call, args, result) = match (&*call, args.as_slice()) {
            ("calloc", [count, size]) => {
                let bytes = Expr::binary(BinaryOp::Multiply, count.clone(), size.clone());
                (HOST_ZEROS.into(), vec![bytes], result)
            }
            ("aligned_alloc" | "memalign", [alignment, bytes]) => {
                (ALIGNED_MEMORY.into(), vec![bytes.clone(), alignment.clone()], result)
            }
            ("memcpy", [to, from, bytes]) => {
                let kind = Expr::cast(Expr::int(HOST_TO_HOST), Type::Opaque(COPY_KIND.name.into()));
                (COPY.into(), vec![to.clone(), from.clone(), bytes.clone(), kind], Type::Void)
            }
            (PITCHED_MEMORY, [pointer, pitch, width, height]) => {
                let args = self.pitched_memory(pointer.clone(), pitch.clone(), width.clone(), height.clone());
                (ALLOCATE.into(), args, result)
            }
            _ => (call, args, result),
        };
        let action = Action::Statement(Box::new(move |into| StmtKind::Runtime { call, args, into }));
        Ok(PreparedCall { action, result })
    }

    /// Stores the distance of rows; the arguments of the call that makes the memory.
    fn pitched_memory(&mut self, mut pointer: Expr, pitch: Expr, width: Expr, mut height: Expr) -> Vec<Expr> {
        let size = |number: i64| convert(Expr::int(number), Type::SIZE);
        let up = Expr::binary(BinaryOp::Add, convert(width, Type::SIZE), size(PITCH - 1));
        let rows = Expr::binary(BinaryOp::Divide, up, size(PITCH));
        let value = Expr::binary(BinaryOp::Multiply, rows, size(PITCH));
        let place = super::place::deref(pitch);
        let before = self.block.len();
        self.emit(StmtKind::Assign { place: place.clone(), value });
        self.protect(before, [&mut pointer, &mut height]);
        vec![pointer, Expr::binary(BinaryOp::Multiply, Expr::load(place), convert(height, Type::SIZE))]
    }

    /// A variable given by reference: a symbol.
    fn symbol(&mut self, node: &'a Node) -> Lowered<Expr> {
        let place = self.place(node)?;
        let ty = Type::reference(place.ty.clone());
        Ok(Expr::new(ExprKind::AddressOf(place), ty).at(node.span))
    }

    /// `kernel<<<grid, block, shared, stream>>>(args)`.
    pub(super) fn launch(&mut self, node: &'a Node) -> Lowered<()> {
        let [head, config, args @ ..] = node.inner.as_slice() else { return broken(node.span, "a launch of nothing") };
        let reference = find_reference(head);
        let Some(reference) = reference else {
            return problem_with_help(
                diagnostic::UNSUPPORTED_CALL,
                node.span,
                "a launch through a pointer is not supported",
                "launched here",
                "launch the kernel by its name",
            );
        };
        let declared = self.context.declarations(self.pass).get(reference);
        let linker_name = declared.and_then(|declared| declared.node.data.mangled_name.clone());
        let definition = linker_name.and_then(|name| self.context.device.by_linker_name(&name));
        let Some(definition) = definition else {
            return problem_with_help(
                diagnostic::NO_BODY,
                node.span,
                "the body of the kernel is not in this translation unit",
                "launched here",
                "include the file that defines it",
            );
        };
        let [_, grid, block, shared, stream] = config.inner.as_slice() else {
            return broken(node.span, "a launch without a configuration");
        };
        // The check before a derivative's launch is a part of it.
        let is_check = |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Runtime { call, .. } if &**call == CHECK_BLOCK);
        let is_checked = self.block.pop_if(|stmt| is_check(stmt)).is_some();
        let grid = self.extents(grid)?;
        let block = self.extents(block)?;
        let shared = self.optional(shared, |value| value.is_zero())?;
        let stream = self.optional(stream, |value| matches!(value.kind, ExprKind::Null))?;
        let kernel = self.context.function(Pass::Device, definition, node.span)?;
        let Some(declaration) = self.context.declarations(self.pass).get(reference) else {
            return broken(node.span, "a launch of nothing");
        };
        let nodes: Vec<&'a Node> = args.iter().collect();
        let args = self.arguments(&nodes, declaration.node)?;
        self.emit(StmtKind::Launch(Box::new(Launch { kernel, is_checked, grid, block, shared, stream, args })));
        Ok(())
    }

    fn optional(&mut self, node: &'a Node, is_default: impl Fn(&Expr) -> bool) -> Lowered<Option<Expr>> {
        if node.kind == Kind::CXXDefaultArgExpr {
            return Ok(None);
        }
        let value = self.value(node)?;
        Ok((!is_default(&value)).then_some(value))
    }

    /// The three extents of a grid or block.
    fn extents(&mut self, node: &'a Node) -> Lowered<[Expr; 3]> {
        let value = self.value(node)?;
        if let ExprKind::Construct(values) = &value.kind {
            let one = || convert(Expr::int(1), Type::UINT);
            let mut values = values.iter().cloned();
            return Ok(std::array::from_fn(|_| values.next().unwrap_or_else(one)));
        }
        let Type::Record(_) = value.ty else { return broken(node.span, "a launch whose size is no `dim3`") };
        // A variable's own extents are read where the launch is.
        let place = if let ExprKind::Load(place) = value.kind { place } else { self.place_of_value(value) };
        Ok(std::array::from_fn(|axis| {
            Expr::load(place.clone().field(u32::try_from(axis).unwrap_or(0), Type::UINT)).at(node.span)
        }))
    }
}

fn find_reference(node: &Node) -> Option<crate::clang::NodeId> {
    match (&node.data.referenced_decl, node.kind) {
        (Some(reference), Kind::DeclRefExpr) => Some(reference.id),
        (_, Kind::ImplicitCastExpr | Kind::ParenExpr) => node.inner.first().and_then(find_reference),
        _ => None,
    }
}

/// The text of a string literal, conversions around it left out.
pub(super) fn string_literal(node: &Node) -> Option<String> {
    quoted_literal(node).map(unescape)
}

/// The same in quotes and with escapes.
pub(super) fn quoted_literal(node: &Node) -> Option<&str> {
    match (node.kind, &node.data.value) {
        (Kind::StringLiteral, Some(Value::Text(quoted))) => Some(quoted),
        (Kind::ImplicitCastExpr | Kind::ParenExpr | Kind::PredefinedExpr, _) => {
            node.inner.last().and_then(quoted_literal)
        }
        (Kind::UnaryOperator, _) if node.opcode() == "__extension__" => node.inner.last().and_then(quoted_literal),
        _ => None,
    }
}

/// The characters of a literal as Clang prints it, in quotes and with escapes.
fn unescape(quoted: &str) -> String {
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
    let mut out = String::new();
    let mut characters = inner.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a') => out.push('\x07'),
            Some('b') => out.push('\x08'),
            Some('f') => out.push('\x0c'),
            Some('v') => out.push('\x0b'),
            Some(digit) if digit.is_digit(8) => {
                let mut code = digit.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(next) = characters.peek().and_then(|next| next.to_digit(8)) else { break };
                    code = code * 8 + next;
                    characters.next();
                }
                out.push(char::from_u32(code).unwrap_or('?'));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

/// The name of one of C's streams for messages.
fn standard_stream(node: &Node) -> Option<String> {
    match (node.kind, &node.data.referenced_decl) {
        (Kind::DeclRefExpr, Some(reference)) => {
            let name = reference.name.clone()?;
            ["stderr", "stdout"].contains(&&*name).then(|| name.to_string())
        }
        (Kind::ImplicitCastExpr | Kind::ParenExpr, _) => standard_stream(node.inner.first()?),
        _ => None,
    }
}
