//! Output to the standard streams, `std::cerr << "n = " << n << std::endl`: read as the `fprintf` that prints the same in
//! the streams' own format. Error messages are most of what host code prints.

use super::body::Body;
use super::constant::{constant_value, convert};
use super::context::{Lowered, Pass, problem_with_help};
use super::intrinsic::string_literal;
use crate::clang::{Kind, Node};
use crate::diagnostic;
use crate::ir::{Expr, FloatKind, IntKind, OpaqueArg, StmtKind, Type, Unread};

/// C's streams for those of C++.
const STREAMS: &[(&str, &str)] = &[("cout", "stdout"), ("cerr", "stderr"), ("clog", "stderr")];

/// What manipulators print; that they flush cannot be seen in a value.
const MANIPULATORS: &[(&str, &str)] = &[("endl", "\n"), ("flush", "")];

impl<'a> Body<'_, 'a> {
    /// Prints what an expression gives to a standard stream; `false`, and nothing changed, if it does not.
    pub(super) fn output(&mut self, node: &'a Node) -> Lowered<bool> {
        let mut items = Vec::new();
        let Some(stream) = self.stream(node, &mut items).filter(|_| self.pass == Pass::Host) else { return Ok(false) };
        let (mut format, mut values): (String, Vec<Expr>) = Default::default();
        for item in items {
            let text =
                string_literal(item).or_else(|| manipulator(item).map(str::to_owned)).or_else(|| character(item));
            if let Some(text) = text {
                format.push_str(&text.replace('%', "%%"));
                continue;
            }
            let before = self.block.len();
            let value = self.value(item)?;
            self.protect(before, &mut values);
            let Some((letters, ty)) = conversion(&value.ty) else {
                return problem_with_help(
                    diagnostic::UNSUPPORTED_EXPRESSION,
                    item.span,
                    "output of this type is not supported",
                    "printed here",
                    "print numbers and texts, or leave the output to the caller",
                );
            };
            format.push_str(letters);
            values.push(convert(value, ty));
        }
        let texts = [OpaqueArg::Text(stream.into()), OpaqueArg::Text(format.as_str().into())];
        let args = texts.into_iter().chain(values.into_iter().map(OpaqueArg::Value)).collect();
        self.emit(StmtKind::Opaque { code: Unread::Call("fprintf".into()), args, into: None });
        Ok(true)
    }

    /// The stream that an expression writes to, and what it writes, in order.
    fn stream(&self, node: &'a Node, items: &mut Vec<&'a Node>) -> Option<&'static str> {
        match (node.kind, node.inner.as_slice()) {
            (Kind::CXXOperatorCallExpr, [operator, target, item]) if name(operator) == Some("operator<<") => {
                let stream = self.stream(target, items)?;
                items.push(item);
                Some(stream)
            }
            (Kind::DeclRefExpr, _) => {
                // The standard library's declarations are not read: one that is known is the user's own.
                let reference = node.data.referenced_decl.as_ref()?;
                let is_known = self.context.declarations(self.pass).get(reference.id).is_some();
                let is_stream = node.ty().starts_with("std::basic_ostream<char") && !is_known;
                let found = STREAMS.iter().find(|(known, _)| Some(*known) == reference.name.as_deref());
                found.filter(|_| is_stream).map(|(_, stream)| *stream)
            }
            _ => None,
        }
    }
}

/// What a manipulator prints.
fn manipulator(node: &Node) -> Option<&'static str> {
    let name = name(node).filter(|_| node.ty().contains("basic_ostream"))?;
    MANIPULATORS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A character that is written out.
fn character(node: &Node) -> Option<String> {
    let code = constant_value(node).filter(|_| node.kind == Kind::CharacterLiteral)?;
    u8::try_from(code).ok().filter(u8::is_ascii).map(|code| char::from(code).to_string())
}

/// The name of a function.
fn name(node: &Node) -> Option<&str> {
    match node.kind {
        Kind::ImplicitCastExpr | Kind::ParenExpr => node.inner.first().and_then(name),
        _ => node.data.referenced_decl.as_ref().and_then(|reference| reference.name.as_deref()),
    }
}

/// How `fprintf` prints a type as streams do, and the type that it takes.
fn conversion(ty: &Type) -> Option<(&'static str, Type)> {
    let letters = match ty {
        Type::Bool => return Some(("%d", Type::INT)),
        Type::Float(FloatKind::Float | FloatKind::Double) => return Some(("%g", Type::DOUBLE)),
        Type::Float(FloatKind::Half | FloatKind::BFloat) => return None,
        Type::Int(kind) => match kind {
            IntKind::Char | IntKind::SignedChar | IntKind::UnsignedChar => return Some(("%c", Type::INT)),
            IntKind::Short | IntKind::UnsignedShort => return Some(("%d", Type::INT)),
            IntKind::Int => "%d",
            IntKind::UnsignedInt => "%u",
            IntKind::Long => "%ld",
            IntKind::UnsignedLong => "%lu",
            IntKind::LongLong => "%lld",
            IntKind::UnsignedLongLong => "%llu",
        },
        Type::Pointer(pointer) => match pointer.pointee {
            Type::Int(IntKind::Char) => "%s",
            Type::Void => "%p",
            Type::Bool | Type::Int(_) | Type::Float(_) | Type::Pointer(_) => return None,
            Type::Array(..) | Type::Record(_) | Type::Opaque(_) => return None,
        },
        Type::Void | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => return None,
    };
    Some((letters, ty.clone()))
}
