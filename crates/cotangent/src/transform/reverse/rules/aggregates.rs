//! Records with pointers that launches take by value: the pointers in them, and the records of adjoints beside them.

use super::Rules;
use crate::analysis::{carries_floats, uses_memory};
use crate::diagnostic::{Diagnostic, NO_DERIVATIVE};
use crate::ir::{Block, Expr, ExprKind, Type};
use crate::source::Span;
use crate::transform::locals::aggregate;
use crate::transform::runtime_calls::call_of;

/// Where memory is allocated and freed for the time of a launch.
pub(in crate::transform::reverse) struct Scratch<'a> {
    pub(in crate::transform::reverse) stream: &'a Expr,
    pub(in crate::transform::reverse) before: &'a mut Block,
    pub(in crate::transform::reverse) after: &'a mut Block,
}

impl Rules<'_> {
    /// The pointers that a value is or holds; none if some of them cannot be named.
    pub(in crate::transform::reverse) fn pointers_in(&self, value: &Expr) -> Option<Vec<Expr>> {
        if value.ty.is_pointer() {
            return Some(vec![value.clone()]);
        }
        if !uses_memory(self.facts.module, &value.ty) {
            return Some(Vec::new());
        }
        let parts: Option<Vec<Vec<Expr>>> = self.fields(value)?.iter().map(|field| self.pointers_in(field)).collect();
        parts.map(|parts| parts.concat())
    }

    /// What the adjoint of a record holds before its kernel's reverse sweep: pointers to adjoints, and zeros. None for
    /// what holds no pointers, and nothing at all if a pointer has no shadow, which is reported.
    pub(in crate::transform::reverse) fn shadow_record(
        &mut self,
        value: &Expr,
        span: Span,
        scratch: &mut Scratch<'_>,
    ) -> Option<Option<Expr>> {
        if !uses_memory(self.facts.module, &value.ty) {
            return Some(None);
        }
        let Some(fields) = self.fields(value) else {
            self.report_record(span, "a record whose pointers are not known is passed by value");
            return None;
        };
        let mut shadows = Vec::new();
        for field in fields {
            let shadow = match &field.ty {
                Type::Pointer(_) => self.shadow_field(&field, span, scratch)?,
                Type::Void
                | Type::Bool
                | Type::Int(_)
                | Type::Float(_)
                | Type::Array(..)
                | Type::Record(_)
                | Type::Opaque(_) => {
                    self.shadow_record(&field, span, scratch)?.unwrap_or_else(|| self.facts.module.zero(&field.ty))
                }
            };
            shadows.push(shadow);
        }
        Some(Some(aggregate(shadows, value.ty.clone())))
    }

    /// The shadow of a pointer in a record. The kernel's reverse sweep adds to whatever holds numbers, so those that are
    /// constant have a shadow too, for the time of the launch.
    fn shadow_field(&mut self, field: &Expr, span: Span, scratch: &mut Scratch<'_>) -> Option<Expr> {
        let reached = self.facts.objects.reachable(field);
        if reached.iter().any(|object| self.facts.activity.is_active(object)) {
            let shadow = self.shadow_pointer(field)?;
            return Some(Expr::cast(shadow, field.ty.clone()));
        }
        let has_numbers = |ty: &Type| carries_floats(self.facts.module, ty) || uses_memory(self.facts.module, ty);
        if !field.ty.pointee().is_some_and(has_numbers) {
            return Some(Expr::new(ExprKind::Null, field.ty.clone()));
        }
        let Some(bytes) = self.facts.known_bytes(field, &self.frames) else {
            self.report_record(
                span,
                "a record holds pointers to active values, and to constant ones of unknown number",
            );
            return None;
        };
        let ty = Type::pointer(field.ty.pointee().cloned().unwrap_or(Type::Void));
        let zeros = ("cotangent::stream_zeros", vec![bytes, scratch.stream.clone()]);
        let place = self.vars.result_of(zeros, "_d_unused", ty, scratch.before);
        scratch.after.push(call_of("cotangent::release", vec![Expr::load(place.clone()), scratch.stream.clone()]));
        Some(Expr::cast(Expr::load(place), field.ty.clone()))
    }

    fn report_record(&mut self, span: Span, message: &str) {
        self.report(
            Diagnostic::new(NO_DERIVATIVE, span, message, "its adjoint would need pointers of its own")
                .help("pass the pointers as arguments of their own"),
        );
    }

    /// The fields of a record, as values; none if they cannot be named.
    fn fields(&self, value: &Expr) -> Option<Vec<Expr>> {
        let Type::Record(record) = value.ty else { return None };
        let fields = (0u32..).zip(&self.facts.module.records[record].fields);
        match &value.kind {
            ExprKind::Construct(operands) => Some(operands.clone()),
            ExprKind::Load(place) => Some(
                fields.map(|(position, field)| Expr::load(place.clone().field(position, field.ty.clone()))).collect(),
            ),
            ExprKind::Cast(operand) => self.fields(operand),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_) => None,
        }
    }
}
