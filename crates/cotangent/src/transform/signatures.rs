//! The signatures of functions that the user wrote as derivatives of others, and whether those that rules name have them.

use super::differentiable::{differentiable_parameters, leads_to_floats};
use super::shadow::{shadow_name, shadow_type};
use crate::analysis::carries_floats;
use crate::diagnostic::{Diagnostic, RULE_CONFLICT, RULE_SIGNATURE};
use crate::ir::{Function, FunctionId, Module, Rule, RuleKind, Type, text};
use crate::source::Span;

/// Where an augmented function's record holds what the function returns.
pub(super) const VALUE_FIELD: &str = "value";

/// Checks that the functions which rules name fit what they are about.
pub(super) fn check_rules(module: &Module) -> Result<(), Vec<Diagnostic>> {
    let found: Vec<Diagnostic> = module.rules.iter().filter_map(|rule| check(module, rule)).collect();
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// The type of a parameter's adjoint.
pub(super) fn adjoint_type(ty: &Type) -> Type {
    match ty {
        Type::Pointer(pointer) => Type::pointer(shadow_type(&pointer.pointee)),
        Type::Void
        | Type::Bool
        | Type::Int(_)
        | Type::Float(_)
        | Type::Array(..)
        | Type::Record(_)
        | Type::Opaque(_) => Type::pointer(ty.clone()),
    }
}

/// Whether the result of a function has a seed.
pub(super) fn has_seed(module: &Module, function: &Function) -> bool {
    carries_floats(module, &function.result)
}

/// A function that is marked as constant, and writes what carries derivatives.
pub(super) fn writes_active(module: &Module, callee: FunctionId, span: Span) -> Diagnostic {
    let name = &module.functions[callee].name;
    let message = format!("`{name}` is marked as constant, and writes to memory that carries derivatives");
    Diagnostic::new(RULE_CONFLICT, span, message, "what was there, and its derivative, may be lost")
        .help("give it a pullback that sets the adjoints of what it overwrites to zero, or write to memory of its own")
}

fn check(module: &Module, rule: &Rule) -> Option<Diagnostic> {
    let function = &module.functions[rule.function];
    match rule.kind {
        RuleKind::Constant => None,
        RuleKind::Pushforward(pushforward) => {
            let found = &module.functions[pushforward];
            mismatch(module, rule, found, &function.result, &[tangents(module, rule.function)], "")
        }
        RuleKind::Pullback(pullback) => {
            let found = &module.functions[pullback];
            let expected = derivative(module, rule.function, None);
            mismatch(module, rule, found, &Type::Void, &[expected], "")
        }
        RuleKind::Split { augmented, reverse } => {
            let (first, second) = (&module.functions[augmented], &module.functions[reverse]);
            let has_value = has_value(module, &first.result, &function.result);
            if !has_value || types(first) != primal(function).types {
                return Some(wrong_augmented(module, rule, function, first));
            }
            let by_value = derivative(module, rule.function, Some(first.result.clone()));
            let mut by_reference = Type::reference(first.result.clone());
            if let Type::Pointer(pointer) = &mut by_reference {
                pointer.is_const = true;
            }
            let by_reference = derivative(module, rule.function, Some(by_reference));
            let also = "; the record may be a `const` reference too";
            mismatch(module, rule, second, &Type::Void, &[by_value, by_reference], also)
        }
    }
}

/// Parameters as they are expected.
struct Expected {
    names: Vec<String>,
    types: Vec<Type>,
}

/// The parameters of the function itself.
fn primal(function: &Function) -> Expected {
    let names = function.params.iter().map(|param| function.local_name(*param).to_owned()).collect();
    Expected { names, types: types(function) }
}

fn types(function: &Function) -> Vec<Type> {
    function.params.iter().map(|param| function.locals[*param].ty.unrestricted()).collect()
}

/// The parameters of a derivative: those of the function, its record, its seed, its adjoints.
fn derivative(module: &Module, id: FunctionId, record: Option<Type>) -> Expected {
    let function = &module.functions[id];
    let mut expected = primal(function);
    let mut add = |name: &str, ty: Type| {
        expected.names.push(name.to_owned());
        expected.types.push(ty);
    };
    if let Some(record) = record {
        add("record", record);
    }
    if has_seed(module, function) {
        add("seed", function.result.clone());
    }
    for param in differentiable_parameters(module, id) {
        let local = &function.locals[param];
        debug_assert!(leads_to_floats(module, &local.ty));
        add(&shadow_name(&local.name), adjoint_type(&local.ty));
    }
    expected
}

/// The parameters of a pushforward: those of the function, their tangents, where the tangent of the result goes.
fn tangents(module: &Module, id: FunctionId) -> Expected {
    let function = &module.functions[id];
    let mut expected = primal(function);
    for param in differentiable_parameters(module, id) {
        let local = &function.locals[param];
        expected.names.push(shadow_name(&local.name).to_string());
        expected.types.push(tangent_type(&local.ty));
    }
    if has_seed(module, function) {
        expected.names.push("_d_result".to_owned());
        expected.types.push(Type::pointer(function.result.clone()));
    }
    expected
}

/// How the pushforward of a function is declared that the user writes.
pub(super) fn pushforward_signature(module: &Module, id: FunctionId) -> String {
    let function = &module.functions[id];
    let name = format!("{}_pushforward", function.name);
    spelling(module, &text::print_type(module, &function.result), &name, &tangents(module, id))
}

/// The type of a parameter's tangent: a value's is a value.
pub(super) fn tangent_type(ty: &Type) -> Type {
    if ty.is_pointer() { adjoint_type(ty) } else { ty.clone() }
}

/// Whether an augmented function's result is a struct that holds the function's.
fn has_value(module: &Module, record: &Type, result: &Type) -> bool {
    let Type::Record(record) = record else { return false };
    let mut fields = module.records[*record].fields.iter();
    *result == Type::Void || fields.any(|field| &*field.name == VALUE_FIELD && field.ty == *result)
}

fn mismatch(
    module: &Module,
    rule: &Rule,
    found: &Function,
    result: &Type,
    expected: &[Expected],
    also: &str,
) -> Option<Diagnostic> {
    if found.result == *result && expected.iter().any(|expected| types(found) == expected.types) {
        return None;
    }
    let function = &module.functions[rule.function].name;
    let message = format!("`{}` does not have the signature of a derivative of `{function}`", found.name);
    let is = spelling(module, &text::print_type(module, &found.result), &found.name, &primal(found));
    let should = spelling(module, &text::print_type(module, result), &found.name, expected.first()?);
    let label = format!("it is `{is}`");
    Some(Diagnostic::new(RULE_SIGNATURE, rule.span, message, label).help(format!("expected: `{should}`{also}")))
}

fn wrong_augmented(module: &Module, rule: &Rule, function: &Function, found: &Function) -> Diagnostic {
    let message = format!("`{}` cannot run in the place of `{}`", found.name, function.name);
    let is = spelling(module, &text::print_type(module, &found.result), &found.name, &primal(found));
    let record = if let Type::Record(record) = found.result {
        module.records[record].name.to_string()
    } else {
        "Record".to_owned()
    };
    let should = spelling(module, &record, &found.name, &primal(function));
    let value = if function.result == Type::Void {
        String::new()
    } else {
        format!(" with a field `{} {VALUE_FIELD}`", text::print_type(module, &function.result))
    };
    Diagnostic::new(RULE_SIGNATURE, rule.span, message, format!("it is `{is}`"))
        .help(format!("expected: `{should}`, where `{record}` is a struct{value}"))
}

fn spelling(module: &Module, result: &str, name: &str, params: &Expected) -> String {
    let params = params.names.iter().zip(&params.types);
    let params: Vec<String> = params.map(|(name, ty)| format!("{} {name}", text::print_type(module, ty))).collect();
    format!("__device__ {result} {name}({})", params.join(", "))
}
