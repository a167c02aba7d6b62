//! What of the lowered module the user's program has itself, under which names.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::arguments::is_unnamed;
use super::context::{Context, Pass, Progress};
use super::declarations::Declared;
use super::types::has_enumeration;
use crate::clang::{Kind, NodeId};
use crate::ir::{Name, Provided, ProvidedRecord, RecordId};

const ANONYMOUS: &str = "(anonymous namespace)::";

/// What our headers have in these namespaces does what CUDA's does, in other words: types have other fields, and functions
/// that ours call are not in CUDA's. So derivatives bring their own.
const OWN_WORDS: &[&str] = &["cooperative_groups::", "cub::", "thrust::"];

/// What the program has of what was lowered.
pub(super) fn provided(context: &mut Context<'_>) -> Provided {
    let mut provided = Provided { taken: taken(context), ..Provided::default() };
    provided.records = records(context);
    let is_same = |id: RecordId, context: &Context<'_>, records: &BTreeMap<Name, ProvidedRecord>| {
        let record = &context.module.records[id];
        record.is_builtin || matches!(records.get(&record.name), Some(ProvidedRecord::Same(_)))
    };
    let overloaded = overloaded(context);
    let functions: Vec<_> = context.functions.iter().map(|(key, progress)| (*key, *progress)).collect();
    for ((pass, id), progress) in functions {
        let Progress::Done(function) = progress else { continue };
        let Some(declared) = context.declarations(pass).get(id) else { continue };
        let (node, full_name) = (declared.node, full_name(context, pass, declared));
        let has_enumeration = has_enumeration(context, pass, declared);
        let function = &context.module.functions[function];
        let (name, params) = (function.name.clone(), function.params.clone());
        let mut types = params.iter().map(|param| &function.locals[*param].ty).chain([&function.result]);
        let is_plain = node.kind == Kind::FunctionDecl
            && declared.record.is_none()
            && context.declarations(pass).template_arguments(node).is_empty()
            && full_name.as_deref() == Some(&*name)
            && !is_in_own_words(&name)
            && !overloaded.contains(&name)
            && types.all(|ty| ty.mentioned_record().is_none_or(|record| is_same(record, context, &provided.records)))
            && !has_enumeration
            && !node.children(Kind::ParmVarDecl).any(|param| context.is_vector_parameter(pass, param));
        let kind = if is_plain { &mut provided.functions } else { &mut provided.unnamed };
        kind.insert(name);
    }
    let globals: Vec<_> = context.globals.iter().map(|(key, global)| (*key, *global)).collect();
    for ((pass, id), global) in globals {
        let Some(declared) = context.declarations(pass).get(id) else { continue };
        let global = &context.module.globals[global];
        let is_plain = full_name(context, pass, declared).as_deref() == Some(&*global.name)
            && declared.node.kind == Kind::VarDecl
            && global.ty.mentioned_record().is_none_or(|record| is_same(record, context, &provided.records));
        let kind = if is_plain { &mut provided.globals } else { &mut provided.unnamed };
        kind.insert(global.name.clone());
    }
    provided
}

fn is_in_own_words(name: &str) -> bool {
    OWN_WORDS.iter().any(|namespace| name.starts_with(namespace))
}

/// A declaration's name with its namespaces, if it is a member of nothing else.
fn full_name(context: &Context<'_>, pass: Pass, declared: Declared<'_>) -> Option<String> {
    let declarations = context.declarations(pass);
    let scope = declarations.scope(declared);
    let is_named =
        scope.spelling.replace(ANONYMOUS, "") == scope.namespaces && !declarations.is_local(declared.node.id);
    is_named.then(|| format!("{}{}", scope.namespaces, declared.node.name()))
}

fn passes(context: &Context<'_>) -> Vec<Pass> {
    let host = context.host.is_some().then_some(Pass::Host);
    [Pass::Device].into_iter().chain(host).collect()
}

fn taken(context: &Context<'_>) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    for pass in passes(context) {
        let all = context.declarations(pass).all();
        names.extend(all.filter_map(|declared| full_name(context, pass, declared)).map(Name::from));
    }
    names
}

/// The names that several functions have, or a template.
fn overloaded(context: &Context<'_>) -> HashSet<Name> {
    let mut linker_names: BTreeMap<Name, HashSet<&str>> = BTreeMap::new();
    for pass in passes(context) {
        for declared in context.declarations(pass).all().filter(|declared| declared.node.kind == Kind::FunctionDecl) {
            let Some(name) = full_name(context, pass, declared) else { continue };
            let linker_name = declared.node.data.mangled_name.as_deref().unwrap_or("");
            linker_names.entry(name.into()).or_default().insert(linker_name);
        }
    }
    linker_names.into_iter().filter(|(_, all)| all.len() > 1 || all.contains("")).map(|(name, _)| name).collect()
}

fn records(context: &mut Context<'_>) -> BTreeMap<Name, ProvidedRecord> {
    let mut found = BTreeMap::new();
    let mut fields = Vec::new();
    let all: Vec<((Pass, NodeId), RecordId)> = context.records.iter().map(|(key, record)| (*key, *record)).collect();
    for ((pass, id), record) in all {
        let (name, is_builtin) =
            (context.module.records[record].name.clone(), context.module.records[record].is_builtin);
        let Some(declared) = context.declarations(pass).get(id).filter(|_| !is_builtin) else { continue };
        let spelling = spelling(context, pass, declared);
        let is_plain = is_plain(context, pass, declared);
        found.insert(
            name.clone(),
            match spelling {
                Some(spelling) if is_plain => ProvidedRecord::Same(spelling),
                spelling => ProvidedRecord::Copied(spelling),
            },
        );
        let inner = context.module.records[record].fields.iter().filter_map(|field| field.ty.mentioned_record());
        fields.push((name, inner.collect::<Vec<_>>()));
    }
    // What holds or leads to a copy is a copy itself.
    loop {
        let is_copied = |record: &RecordId| {
            let record = &context.module.records[*record];
            !record.is_builtin && !matches!(found.get(&record.name), Some(ProvidedRecord::Same(_)))
        };
        let next = fields.iter().find_map(|(name, inner)| match found.get(name) {
            Some(ProvidedRecord::Same(spelling)) if inner.iter().any(is_copied) => Some((name, spelling.clone())),
            _ => None,
        });
        let Some((name, spelling)) = next else { return found };
        found.insert(name.clone(), ProvidedRecord::Copied(Some(spelling)));
    }
}

/// How the program's type is written at the end of its text, without the leading `::`.
pub(super) fn spelling(context: &Context<'_>, pass: Pass, declared: Declared<'_>) -> Option<String> {
    let declarations = context.declarations(pass);
    let node = declared.node;
    let is_member_of_class = declared.record.and_then(|outer| declarations.get(outer)).is_some_and(|outer| {
        // Its access is not told.
        outer.node.data.tag_used.as_deref() == Some("class")
    });
    let is_ours = is_in_own_words(&declarations.scope(declared).spelling);
    if declarations.is_local(node.id) || declarations.lambda(node.id).is_some() || is_member_of_class || is_ours {
        return None;
    }
    let name = declarations.name_of(node);
    let arguments = declarations.template_arguments(node);
    // `true` may be told as -1, and what is in parentheses has no name.
    if name.is_empty() || arguments.iter().any(|argument| argument == "-1" || is_unnamed(argument)) {
        return None;
    }
    let arguments = if arguments.is_empty() { String::new() } else { format!("<{}>", arguments.join(", ")) };
    let spelling = format!("{}{name}{arguments}", declarations.scope(declared).spelling).replace(ANONYMOUS, "");
    (!spelling.contains('(')).then_some(spelling)
}

/// Whether a struct of the same fields is the same type for all that is done with it.
fn is_plain(context: &mut Context<'_>, pass: Pass, declared: Declared<'_>) -> bool {
    let node = declared.node;
    let mut fields = node.children(Kind::FieldDecl);
    let is_assignable = fields.all(|field| !field.ty().starts_with("const ") && !field.ty().ends_with('&'));
    let is_aggregate = node.data.definition_data.is_aggregate && node.data.bases.is_empty();
    is_aggregate && is_assignable && !has_enumeration(context, pass, declared)
}
