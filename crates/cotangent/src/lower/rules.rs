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
        let is_pushforward = registration.word == "Pushforward";
        let is_second = match is_pushforward {
            true => context.module.pushforward(function).is_some(),
            false => context.module.rule(function).is_some(),
        };
        if is_second {
            let name = &context.module.functions[function].name;
            let what = if is_pushforward { "pushforward" } else { "rule" };
            let message = format!("`{name}` has a {what} already");
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
            ("Pushforward", [pushforward]) => RuleKind::Pushforward(*pushforward),
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
        "Pullback" | "Pushforward" => 2,
        "Rule" => 3,
        _ => 1,
    };
    registration.functions.len() == wanted && registration.functions.iter().all(is_function)
}

/// The function that a rule is about, if it was lowered.
fn lowered(context: &Context<'_>, registration: &Registration<'_>) -> Option<FunctionId> {
    let first = *registration.functions.first()?;
    let definition = context.device.definition(first).or_else(|| context.with_rule(Pass::Device, first))?;
    match context.functions.get(&(Pass::Device, definition)) {
        Some(Progress::Done(function)) => Some(*function),
        Some(Progress::Running | Progress::Failed) | None => None,
    }
}
