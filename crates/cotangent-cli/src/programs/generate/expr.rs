//! Expressions whose values and slopes are of order one if those of their parts are, and conditions.

use super::Ctx;
use crate::check::random_kernels::tree::{Kind, Node};

/// Functions of one and of two numbers. Those with a kink are rare.
const FORMS: &[(&str, usize)] = &[
    ("0.8 * $", 1),
    ("sin($)", 1),
    ("cos($)", 1),
    ("tanh($)", 1),
    ("(1.0 - 0.6 * $)", 1),
    ("exp(-$ * $)", 1),
    ("0.6 * sqrt(1.0 + $ * $)", 1),
    ("0.7 * $ * $", 2),
    ("(0.6 * $ + 0.5 * $)", 2),
    ("($ - 0.4 * $)", 2),
    ("$ / (1.0 + $ * $)", 2),
    ("sin($) * $", 2),
    ("0.6 * $ * cos($)", 2),
    ("0.8 * fmax($, $)", 2),
];

impl Ctx {
    /// An expression of these parts. Where a form uses an operand twice it is an atom.
    pub(super) fn expr(&mut self, atoms: &[String], depth: usize) -> Node {
        if depth == 0 || self.chance(20) {
            return self.atom(atoms);
        }
        let (form, operands) = self.one_of(FORMS);
        let dollars = form.matches('$').count();
        let mut inner = Vec::new();
        if dollars == operands {
            for _ in 0..operands {
                inner.push(self.expr(atoms, depth - 1));
            }
        } else {
            // The last operand is repeated.
            let repeated = self.atom(atoms);
            if operands == 2 {
                inner.push(self.expr(atoms, depth - 1));
            }
            while inner.len() < dollars {
                inner.push(repeated.clone());
            }
        }
        self.node(Kind::Float, form, inner)
    }

    pub(super) fn atom(&mut self, atoms: &[String]) -> Node {
        if atoms.is_empty() || self.chance(4) {
            let literal = self.literal();
            return self.node(Kind::Float, &literal, Vec::new());
        }
        let text = self.one_of(atoms);
        self.node(Kind::Float, &text, Vec::new())
    }

    pub(super) fn literal(&mut self) -> String {
        format!("0.{}", 15 + self.below(80))
    }

    /// What host code can compute with: its numbers, and counters as numbers.
    pub(super) fn scalar_atoms(&mut self) -> Vec<String> {
        let mut atoms: Vec<String> = self.scalars.iter().map(|scalar| scalar.name.clone()).collect();
        // What was read last is used most.
        atoms.extend(self.scalars.iter().rev().take(2).map(|scalar| scalar.name.clone()));
        for host in &self.host_buffers {
            atoms.push(format!("{}[{}]", host.name, host.count - 1));
            atoms.push(format!("{}[0]", host.name));
        }
        atoms
    }
}
