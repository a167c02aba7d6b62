//! Pure functions: their value depends on their arguments only, and calling them has no effect.
//!
//! `table` has one entry a function: its spellings and its derivatives. Everything here follows from it.

mod build;
mod formula;
mod helpers;
mod manual;
mod table;

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use formula::Formula;
pub use helpers::helper;
pub use manual::page;

use crate::ir::{BinaryOp, Expr, ExprKind, Real, Type};
use table::{Class, Entry, USUAL_DOMAIN, entries};

/// What is known about a function's derivative.
pub struct Rule {
    entry: &'static Entry,
    is_single: bool,
    is_fast: bool,
    is_half: bool,
    partials: Vec<Partial>,
}

/// The derivative in one argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Partial {
    /// Nothing flows through this argument: it is an integer, or the function does not change with it but by jumps.
    Zero,
    /// A formula of the arguments and the result.
    Expr(Formula),
    /// The argument must not carry a derivative; why.
    Refused(&'static str),
}

/// The rule of a pure function by any of its names, `std::` left out.
pub fn derivative(name: &str) -> Option<&'static Rule> {
    RULES.get(name)
}

/// Whether the derivative of an operation may be infinite where its value is not, or be no number.
pub fn has_pole(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::Divide, _, by) => {
            matches!(expr.ty, Type::Float(_)) && !matches!(by.kind, ExprKind::Float(_))
        }
        ExprKind::Math(name, _) => derivative(name).is_some_and(Rule::has_pole),
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => false,
    }
}

/// Whether the derivative of an operation may be infinite, or be no number, where its value is an ordinary number.
pub fn is_steep(expr: &Expr) -> bool {
    let ExprKind::Math(name, args) = &expr.kind else { return false };
    // A power that is whole, or at least 1, is smooth at 0.
    let is_smooth_power = match &args[..] {
        [_, Expr { kind: ExprKind::Float(Real(by)), .. }] => *by >= 1.0,
        [_, Expr { kind: ExprKind::Cast(by), .. }] => by.ty.is_integral(),
        _ => false,
    };
    derivative(name).is_some_and(|rule| rule.entry.is_steep) && !is_smooth_power
}

/// Whether a function gives one of its arguments, so that the others are without effect.
pub fn chooses(name: &str) -> bool {
    chosen_by(name).is_some()
}

/// How the first argument of a function compares with the second if the function gives the first.
pub fn chosen_by(name: &str) -> Option<BinaryOp> {
    match derivative(name)?.entry.name {
        "fmin" => Some(BinaryOp::LessEqual),
        "fmax" => Some(BinaryOp::GreaterEqual),
        _ => None,
    }
}

/// Whether a pure function has that name, `std::` left out.
pub fn is_math(name: &str) -> bool {
    RULES.contains_key(name)
}

/// All names, for tests and the manual.
pub fn math_functions() -> Vec<String> {
    RULES.keys().cloned().collect()
}

/// The functions of single precision, each with the function that computes the same in double precision.
pub fn single_and_double() -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for entry in entries() {
        let own = [entry.f32, entry.fast].into_iter().filter(|single| !single.is_empty() && !entry.name.is_empty());
        pairs.extend(own.map(|single| (single.to_owned(), entry.name.to_owned())));
        let spellings: Vec<String> = entry.spellings().into_iter().map(|(name, _)| name).collect();
        for single in &spellings {
            // `__fadd_rn` and `__dadd_rn`, `__fmaf_rn` and `__fma_rn`, `__float2int_rz` and `__double2int_rz`, `lrintf`
            // and `lrint`.
            let guesses = [
                single.replacen("__f", "__d", 1),
                single.replacen("maf_", "ma_", 1),
                single.replacen("float", "double", 1),
                single.strip_suffix('f').unwrap_or(single).to_owned(),
            ];
            let double = guesses.into_iter().find(|guess| guess != single && spellings.contains(guess));
            if let Some(double) = double.filter(|_| pairs.iter().all(|(known, _)| known != single)) {
                pairs.push((single.clone(), double));
            }
        }
    }
    pairs
}

impl Rule {
    /// The derivative in the argument at that position.
    pub fn partial(&self, argument: usize) -> &Partial {
        match self.entry.class {
            Class::Derivative(..) => self.partials.get(argument).unwrap_or(&Partial::Zero),
            Class::Inactive => &Partial::Zero,
            Class::Refused(_) => &self.partials[0],
        }
    }

    /// The value of the derivative in one argument of a call, of the call's type, or `float` for half precision.
    /// `result` is the call's value: a variable that holds it, or the call itself. None if [`Rule::partial`] is no
    /// formula, or if the call's type is no floating type.
    pub fn build(&self, argument: usize, args: &[Expr], result: &Expr) -> Option<Expr> {
        let Partial::Expr(formula) = self.partial(argument) else { return None };
        if !matches!(result.ty, Type::Float(_)) {
            return None;
        }
        let result = &Expr::cast(result.clone(), result.ty.at_least_single());
        let call = build::Call { args, result, integer: self.entry.integer(), is_fast: self.is_fast };
        call.build(formula, &result.ty)
    }

    /// Whether a derivative may be infinite, or no number, at some argument.
    pub fn has_pole(&self) -> bool {
        self.entry.has_pole
    }

    /// Whether the name is one for `float` alone.
    pub fn is_single(&self) -> bool {
        self.is_single
    }

    /// Whether the name is one for half precision alone.
    pub fn is_half(&self) -> bool {
        self.is_half
    }

    /// The function's name in `double`, if it has one.
    pub fn in_double(&self) -> Option<String> {
        self.entry.spellings().into_iter().find(|(_, is_single)| !is_single).map(|(name, _)| name)
    }

    /// The parameters of a function with derivatives; else none.
    pub fn parameters(&self) -> Vec<Parameter> {
        let domain = |position| self.entry.domain.get(position).copied().unwrap_or(USUAL_DOMAIN);
        let parameters = self.entry.parameters().into_iter().enumerate();
        parameters
            .map(|(position, (name, is_integer))| Parameter { name, is_integer, domain: domain(position) })
            .collect()
    }
}

/// A parameter of a function with derivatives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Its name in formulas.
    pub name: &'static str,
    /// Whether it is an integer.
    pub is_integer: bool,
    /// Where the derivative is compared with differences.
    pub domain: (f64, f64),
}

/// The rules by name.
static RULES: LazyLock<BTreeMap<String, Rule>> = LazyLock::new(|| {
    let mut rules = BTreeMap::new();
    for entry in entries() {
        let partials = partials(entry);
        for (name, is_single) in entry.spellings() {
            let is_fast = name == entry.fast;
            rules.insert(name, Rule { entry, is_single, is_fast, is_half: false, partials: partials.clone() });
        }
        for name in entry.half_spellings() {
            let partials = partials.clone();
            rules.insert(name, Rule { entry, is_single: false, is_fast: false, is_half: true, partials });
        }
    }
    rules
});

fn partials(entry: &Entry) -> Vec<Partial> {
    let names: Vec<&str> = entry.parameters().iter().map(|(name, _)| *name).collect();
    let partial = |text: &&'static str| match formula::parse(text, &names) {
        Ok(Formula::Number(0.0)) => Partial::Zero,
        Ok(formula) => Partial::Expr(formula),
        Err(error) => panic!("the table of functions has `{text}` for `{}`: {error:?}", entry.name),
    };
    match entry.class {
        Class::Derivative(_, texts) => texts.iter().map(partial).collect(),
        Class::Inactive => Vec::new(),
        Class::Refused(reason) => vec![Partial::Refused(reason)],
    }
}

#[cfg(test)]
mod tests;
