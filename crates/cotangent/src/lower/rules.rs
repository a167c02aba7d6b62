//! Rules that the program states about its functions, by the macros of `cotangent/rules.hpp`.
//!
//! Each is an alias of a type whose template arguments are functions (`cotangent::Pullback<f, f_back>`), which Clang has
//! resolved: overloads are chosen, templates instantiated.

use super::context::{Context, Pass, Problem, Progress};
use super::declarations::Registration;
use crate::clang::{Kind, NodeId};
use crate::diagnostic::{self, Diagnostic};
use crate::ir::{FunctionId, Rule, RuleKind};

/// Adds the rules about the functions that were lowered. What is never called needs none.
pub(super) fn lower_rules(context: &mut Context<'_>) {
    for registration in context.device.registrations.clone() {
        let span = registration.node.span;
        if !names_functions(context, &registration) {
            let message = "a rule names what is no function of this file";
            let found = Diagnostic::new(diagnostic::RULE_CONFLICT, span, message, "stated here");
            context
                .report(Problem::New(Box::new(found.help("name functions themselves, not variables that hold them"))));
            continue;
        }
        let Some(function) = lowered(context, &registration) else { continue };
        if context.module.rule(function).is_some() {
            let name = &context.module.functions[function].name;
            let message = format!("`{name}` has a rule already");
            let found = Diagnostic::new(diagnostic::RULE_CONFLICT, span, message, "this is its second");
            context.report(Problem::New(Box::new(found.help("leave one of them"))));
            continue;
        }
        let mut named = Vec::new();
        for id in registration.functions.iter().skip(1) {
            match context.function(Pass::Device, *id, span) {
                Ok(id) => named.push(id),
                Err(problem) => context.report(problem),
            }
        }
        let kind = match (registration.word, named.as_slice()) {
            ("Pullback", [pullback]) => RuleKind::Pullback(*pullback),
            ("Rule", [augmented, reverse]) => RuleKind::Split { augmented: *augmented, reverse: *reverse },
            ("Constant", []) => RuleKind::Constant,
            _ => continue,
        };
        context.module.rules.push(Rule { function, kind, span });
    }
}

/// Whether each argument of a rule is a function.
fn names_functions(context: &Context<'_>, registration: &Registration<'_>) -> bool {
    let is_function = |id: &NodeId| {
        let declared = context.device.get(*id);
        declared.is_some_and(|found| matches!(found.node.kind, Kind::FunctionDecl | Kind::CXXMethodDecl))
    };
    let wanted = match registration.word {
        "Pullback" => 2,
        "Rule" => 3,
        _ => 1,
    };
    registration.functions.len() == wanted && registration.functions.iter().all(is_function)
}

/// The function that a rule is about, if it was lowered.
fn lowered(context: &Context<'_>, registration: &Registration<'_>) -> Option<FunctionId> {
    let definition = context.device.definition(*registration.functions.first()?)?;
    match context.functions.get(&(Pass::Device, definition)) {
        Some(Progress::Done(function)) => Some(*function),
        Some(Progress::Running | Progress::Failed) | None => None,
    }
}
