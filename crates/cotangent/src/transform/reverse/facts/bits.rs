//! Bits of an active number must not become a number again: the integers between carry no derivative.

use super::Facts;
use crate::analysis::takes_bits;
use crate::diagnostic::{Diagnostic, NO_DERIVATIVE};
use crate::ir::walk::{self};
use crate::ir::{ExprKind, Name, Type};
use crate::rules::{self};
use crate::source::Span;

/// Functions whose result has the bits of an integer.
const BITS_TO_NUMBERS: &[&str] = &["__int_as_float", "__uint_as_float", "__longlong_as_double", "__hiloint2double"];

impl Facts<'_> {
    /// Bits of an active number must not become a number again: the integers between carry no derivative.
    pub(in crate::transform::reverse) fn lost_bits(&self) -> Vec<Diagnostic> {
        let mut is_taken = false;
        let mut made = Vec::new();
        walk::each_expr(&self.primal.body, &mut |expr| {
            let ExprKind::Math(name, args) = &expr.kind else { return };
            let Some(rule) = rules::derivative(name) else { return };
            let is_refused = matches!(rule.partial(0), rules::Partial::Refused(_));
            is_taken |= is_refused && args.iter().any(|arg| self.activity.is_varied_value(self.objects, arg));
            if matches!(expr.ty, Type::Float(_)) && BITS_TO_NUMBERS.contains(&&**name) {
                made.push((name.clone(), expr.span));
            }
        });
        // A function that is called may take them too.
        for function in self.module.functions.iter() {
            let is_other = function.name != self.primal.name;
            walk::each_expr(&function.body, &mut |expr| is_taken |= is_other && takes_bits(expr));
        }
        if !is_taken {
            return Vec::new();
        }
        let refused = |(name, span): (Name, Span)| {
            let message = format!("`{name}` makes a number of bits that may come from an active number");
            Diagnostic::new(NO_DERIVATIVE, span, message, "integers carry no derivative")
                .help("compute with the number itself, or mark what is constant by a function of its own")
        };
        made.into_iter().map(refused).collect()
    }
}
