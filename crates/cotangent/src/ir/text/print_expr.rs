//! Writes types, expressions and places in the text form.

use std::fmt::Write;

use super::print::Printer;
use super::words::{AXES, FLOAT_SUFFIXES, INFINITIES, INT_SUFFIXES, push_name, word};
use crate::ir::{Builtin, Expr, ExprKind, FloatKind, Module, Place, PlaceKind, PointerType, Real, Type, UnaryOp};

impl Printer<'_> {
    /// A type.
    pub(super) fn ty(&mut self, ty: &Type) {
        push_type(&mut self.out, self.module, ty);
    }

    /// An expression. Whatever has more than one operand stands in parentheses.
    pub(super) fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Bool(value) => self.push(if *value { "true" } else { "false" }),
            ExprKind::Int(value) => {
                self.number(*value);
                if let Type::Int(kind) = expr.ty {
                    self.push(word(INT_SUFFIXES, kind));
                }
            }
            ExprKind::Float(value) => {
                let kind = if let Type::Float(kind) = expr.ty { kind } else { FloatKind::Double };
                push_real(&mut self.out, *value, kind);
            }
            ExprKind::Null => {
                self.push("null(");
                self.ty(&expr.ty);
                self.push(")");
            }
            ExprKind::Load(place) => self.place(place),
            ExprKind::AddressOf(place) => self.address_of(place, &expr.ty),
            ExprKind::Unary(op, operand) => self.unary(*op, operand),
            ExprKind::Binary(op, left, right) => {
                self.push("(");
                self.expr(left);
                self.push(" ");
                self.push(op.spelling());
                self.push(" ");
                self.expr(right);
                self.push(")");
            }
            ExprKind::Select(cond, then, otherwise) => {
                self.push("(");
                self.expr(cond);
                self.push(" ? ");
                self.expr(then);
                self.push(" : ");
                self.expr(otherwise);
                self.push(")");
            }
            ExprKind::Cast(operand) => {
                self.push("(");
                self.expr(operand);
                self.push(" as ");
                self.ty(&expr.ty);
                self.push(")");
            }
            ExprKind::Math(name, args) => {
                self.name(name);
                if args.first().is_none_or(|first| first.ty != expr.ty) {
                    self.push("::<");
                    self.ty(&expr.ty);
                    self.push(">");
                }
                self.args(args);
            }
            ExprKind::Builtin(builtin) => self.push(&builtin_text(*builtin)),
            ExprKind::SizeOf(ty) => {
                self.push("sizeof(");
                self.ty(ty);
                self.push(")");
            }
            ExprKind::Construct(operands) => {
                self.push("make ");
                self.ty(&expr.ty);
                self.args(operands);
            }
        }
    }

    fn address_of(&mut self, place: &Place, ty: &Type) {
        self.push("&");
        if let Type::Pointer(pointer) = ty {
            let PointerType { pointee: _, is_const, is_restrict, is_volatile, is_reference } = **pointer;
            for (is_there, text) in
                [(is_const, "const "), (is_volatile, "volatile "), (is_restrict, "restrict "), (is_reference, "ref ")]
            {
                self.push(if is_there { text } else { "" });
            }
        }
        self.place(place);
    }

    /// A negated constant is told from a negative one by its parentheses.
    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        self.push(match op {
            UnaryOp::Negate => "-",
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
        });
        if op == UnaryOp::Negate && matches!(operand.kind, ExprKind::Int(_) | ExprKind::Float(_)) {
            self.push("(");
            self.expr(operand);
            self.push(")");
        } else {
            let is_doubled = op == UnaryOp::Negate && matches!(operand.kind, ExprKind::Unary(UnaryOp::Negate, _));
            self.push(if is_doubled { " " } else { "" });
            self.expr(operand);
        }
    }

    /// A place, as an operand of a prefix operator or alone.
    pub(super) fn place(&mut self, place: &Place) {
        match &place.kind {
            PlaceKind::Local(id) => self.local_name(*id),
            PlaceKind::Global(id) => match self.module.globals.get(*id) {
                Some(global) => self.name(&global.name),
                None => self.missing(*id),
            },
            PlaceKind::Element(pointer, index) => {
                if index.is_int_zero() {
                    self.push("*");
                    self.expr(pointer);
                } else {
                    self.base_expr(pointer);
                    self.index(index);
                }
            }
            PlaceKind::Field(base, position) => {
                if let PlaceKind::Element(pointer, index) = &base.kind
                    && index.is_int_zero()
                {
                    self.base_expr(pointer);
                    self.push("->");
                } else {
                    self.base_place(base);
                    self.push(".");
                }
                match field_name(self.module, &base.ty, *position) {
                    Some(name) => push_name(&mut self.out, name),
                    None => {
                        self.push("`?");
                        self.number(*position);
                        self.push("`");
                    }
                }
            }
            PlaceKind::Index(base, index) => {
                self.base_place(base);
                self.index(index);
            }
        }
    }

    fn index(&mut self, index: &Expr) {
        self.push("[");
        self.expr(index);
        self.push("]");
    }

    /// A place before `[` or `.`: prefix operators bind less.
    fn base_place(&mut self, base: &Place) {
        let is_deref = matches!(&base.kind, PlaceKind::Element(_, index) if index.is_int_zero());
        if is_deref {
            self.push("(");
            self.place(base);
            self.push(")");
        } else {
            self.place(base);
        }
    }

    /// A pointer before `[` or `->`.
    fn base_expr(&mut self, base: &Expr) {
        match &base.kind {
            ExprKind::Load(place) => self.base_place(place),
            ExprKind::AddressOf(_) | ExprKind::Unary(..) => {
                self.push("(");
                self.expr(base);
                self.push(")");
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => self.expr(base),
        }
    }
}

/// Appends a type: the base, then `*`, `&` and `[n]` from the inside out. A run of `[n]` reads as in C++, the
/// outermost first. `const` and `volatile` stand before the `*` or `&` that they belong to, or for the first of them
/// before the base.
pub(super) fn push_type(out: &mut String, module: &Module, ty: &Type) {
    let mut layers = Vec::new();
    let mut base = ty;
    loop {
        layers.push(base);
        match base {
            Type::Pointer(pointer) => base = &pointer.pointee,
            Type::Array(element, _) => base = element,
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Record(_) | Type::Opaque(_) => break,
        }
    }
    layers.pop();
    layers.reverse();
    if let Some(Type::Pointer(pointer)) = layers.iter().find(|layer| layer.is_pointer()) {
        push_qualifiers(out, pointer);
    }
    push_base(out, module, base);
    let mut is_first_pointer = true;
    for run in layers.chunk_by(|left, right| matches!((left, right), (Type::Array(..), Type::Array(..)))) {
        for layer in run.iter().rev() {
            match layer {
                Type::Pointer(pointer) => {
                    if !is_first_pointer {
                        out.push_str(if pointer.is_const || pointer.is_volatile { " " } else { "" });
                        push_qualifiers(out, pointer);
                        out.truncate(out.trim_end().len());
                    }
                    is_first_pointer = false;
                    out.push(if pointer.is_reference { '&' } else { '*' });
                    out.push_str(if pointer.is_restrict { " restrict" } else { "" });
                }
                Type::Array(_, length) => {
                    let _ = write!(out, "[{length}]");
                }
                Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Record(_) | Type::Opaque(_) => {}
            }
        }
    }
}

fn push_qualifiers(out: &mut String, pointer: &PointerType) {
    out.push_str(if pointer.is_const { "const " } else { "" });
    out.push_str(if pointer.is_volatile { "volatile " } else { "" });
}

fn push_base(out: &mut String, module: &Module, ty: &Type) {
    match ty {
        Type::Void => out.push_str("void"),
        Type::Bool => out.push_str("bool"),
        Type::Int(kind) => out.push_str(kind.spelling()),
        Type::Float(kind) => out.push_str(kind.spelling()),
        Type::Record(id) => match module.records.get(*id) {
            Some(record) => push_name(out, &record.name),
            None => {
                let _ = write!(out, "`?{}`", id.0);
            }
        },
        Type::Opaque(name) => {
            out.push_str("opaque ");
            push_name(out, name);
        }
        Type::Pointer(_) | Type::Array(..) => {}
    }
}

/// The shortest digits that give the value back in its own precision; the bits of the double where there are none.
fn push_real(out: &mut String, Real(value): Real, kind: FloatKind) {
    let suffix = word(FLOAT_SUFFIXES, kind);
    let narrow = value as f32;
    let is_narrow = f64::from(narrow).to_bits() == value.to_bits();
    let _ = if value.is_infinite() {
        write!(out, "{}{}", if value < 0.0 { "-" } else { "" }, word(INFINITIES, kind))
    } else if value.is_nan() {
        write!(out, "0x{:016x}{suffix}", value.to_bits())
    } else if kind == FloatKind::Double {
        write!(out, "{value:?}")
    } else if is_narrow {
        write!(out, "{narrow:?}{suffix}")
    } else {
        write!(out, "0x{:016x}{suffix}", value.to_bits())
    };
}

fn builtin_text(builtin: Builtin) -> String {
    let (name, axis) = match builtin {
        Builtin::ThreadIdx(axis) => ("threadIdx", axis),
        Builtin::BlockIdx(axis) => ("blockIdx", axis),
        Builtin::BlockDim(axis) => ("blockDim", axis),
        Builtin::GridDim(axis) => ("gridDim", axis),
        Builtin::WarpSize => return "warpSize".to_owned(),
        Builtin::DynamicSharedBytes => return "dynamicSharedBytes".to_owned(),
    };
    format!("{name}.{}", word(AXES, axis))
}

fn field_name<'m>(module: &'m Module, ty: &Type, position: u32) -> Option<&'m str> {
    let Type::Record(id) = ty else { return None };
    let field = module.records.get(*id)?.fields.get(position as usize)?;
    Some(&field.name)
}
