//! Finds the function that a request means.

use super::arguments::{is_same_argument, is_unnamed};
use super::context::{Context, Lowered, Pass, Problem, problem_with_help};
use super::declarations::{Declarations, Declared, named_function};
use super::passes::Passes;
use crate::clang::{Ast, Kind, Node, NodeId};
use crate::diagnostic::{self, Diagnostic};
use crate::ir::Name;
use crate::source::Span;

/// The variable that holds the address of the function that a request means, where a file was read with one added.
pub(super) const REQUESTED: &str = "__cotangent_requested";

/// A request taken apart: `geo::k<float, 128>(float *, int)`, or by its linker name, `@_Z1kPfi`; `host@_Z1fv` for what the
/// host runs of a function that is the device's too.
pub(super) struct Request<'r> {
    pub(super) name: &'r str,
    pub(super) arguments: Option<Vec<String>>,
    /// The template arguments with their brackets and blanks.
    pub(super) written_arguments: &'r str,
    params: Option<String>,
}

/// Lowers the function that a request means, and returns its name in the module, or reports why not.
pub(super) fn lower_request(context: &mut Context<'_>, request: &str) -> Option<Name> {
    let found = find(context, request).map_err(|diagnostic| Problem::New(Box::new(diagnostic)));
    match found.and_then(|(pass, id, span)| {
        refuse_vectors(context, pass, id)?;
        context.asked.insert(id);
        context.function(pass, id, span)
    }) {
        Ok(function) => Some(context.module.functions[function].name.clone()),
        Err(problem) => {
            context.report(problem);
            None
        }
    }
}

/// The derivative has a pointer and a size in the place of a vector. One by value is the function's own: what becomes of it
/// nobody sees, whereas memory behind a pointer is the caller's.
fn refuse_vectors(context: &Context<'_>, pass: Pass, id: NodeId) -> Lowered<()> {
    let node = context.declarations(pass).get(id).map(|declared| declared.node);
    let is_by_value = |param: &&Node| {
        let is_lasting = param.ty().trim_end().ends_with('&') && !param.ty().trim_end().ends_with("&&");
        !is_lasting && context.vector_elements(pass, param.ty()).is_some()
    };
    match node.and_then(|node| node.children(Kind::ParmVarDecl).find(is_by_value)) {
        None => Ok(()),
        Some(param) => problem_with_help(
            diagnostic::UNSUPPORTED_TYPE,
            param.span,
            format!("the requested function takes the `std::vector` `{}` as its own", param.name()),
            "its changes are lost",
            "take it by reference, `std::vector<T>&` or `const std::vector<T>&`",
        ),
    }
}

/// The functions of the main file that can be asked for, as a request would name them.
pub fn candidates(ast: &Ast) -> Vec<String> {
    let declarations = Declarations::new(ast);
    own_functions(&declarations)
}

/// The functions of the main file, as a request would name them.
fn own_functions(declarations: &Declarations<'_>) -> Vec<String> {
    let is_own = |id: &&NodeId| {
        declarations.get(**id).is_some_and(|declared| Some(declared.node.span.file) == declarations.main_file)
    };
    let mut names: Vec<String> =
        declarations.functions.iter().filter(is_own).filter_map(|id| display(declarations, *id)).collect();
    names.sort();
    names.dedup();
    names
}

fn find(context: &Context<'_>, text: &str) -> Result<(Pass, NodeId, Span), Diagnostic> {
    let on_host = text.strip_prefix("host").filter(|rest| rest.starts_with('@'));
    let request = parse(on_host.unwrap_or(text));
    let device = if on_host.is_some() { Vec::new() } else { matching(&context.device, &request, is_on_device) };
    let mut found: Vec<(Pass, NodeId)> = device.into_iter().map(|id| (Pass::Device, id)).collect();
    if found.is_empty()
        && let Some(host) = &context.host
    {
        let on_host = matching(host, &request, is_on_host);
        found.extend(on_host.into_iter().map(|id| (Pass::Host, id)));
    }
    match found.as_slice() {
        [(pass, id)] => {
            let span = context.declarations(*pass).get(*id).map_or(Span::NONE, |declared| declared.node.span);
            Ok((*pass, *id, span))
        }
        [] => Err(not_found(context.host.as_ref().unwrap_or(&context.device), text)),
        several => {
            let names: Vec<String> =
                several.iter().filter_map(|(pass, id)| display(context.declarations(*pass), *id)).collect();
            Err(Diagnostic::new(diagnostic::AMBIGUOUS, Span::NONE, format!("`{text}` means several functions"), "")
                .help(format!("ask for one of: {}", names.join("; "))))
        }
    }
}

/// How code outside of all namespaces names the function that a request means: with its namespaces, with template arguments that
/// the request leaves out, and with its parameters if a host function has the same name. The request itself if that is not known.
pub fn spelled(passes: Passes<'_>, request: &str) -> String {
    let parsed = parse(request);
    let device = Declarations::new(passes.device);
    let host = passes.host.map(Declarations::new);
    let on_host = host.as_ref().map(|host| matching(host, &parsed, is_on_host)).unwrap_or_default();
    let on_device = matching(&device, &parsed, is_on_device);
    let (declarations, id) = match (on_device.as_slice(), on_host.as_slice(), &host) {
        ([id], _, _) => (&device, *id),
        ([], [id], Some(host)) => (host, *id),
        _ => return request.to_owned(),
    };
    let Some(declared) = declarations.get(id).filter(|_| !request.contains('@')) else { return request.to_owned() };
    let node = declared.node;
    let scope = &declarations.scope(declared).spelling;
    if scope.contains('(') {
        // A namespace without a name.
        return request.to_owned();
    }
    let own = declarations.template_arguments(node);
    let arguments = match &parsed.arguments {
        Some(_) => parsed.written_arguments.to_owned(),
        None if own.is_empty() => String::new(),
        None => format!("<{}>", own.join(", ")),
    };
    let params = match request.find('(') {
        Some(open) => request[open..].to_owned(),
        None if node.has(Kind::CUDAGlobalAttr) && !on_host.is_empty() => format!("({})", parameters(node)),
        None => String::new(),
    };
    format!("{scope}{}{arguments}{params}", node.name())
}

/// No function is meant; those of the file are listed.
pub(super) fn not_found(declarations: &Declarations<'_>, text: &str) -> Diagnostic {
    let mut known = own_functions(declarations);
    let help = if known.is_empty() {
        "the file defines no function that can be asked for".to_owned()
    } else {
        // Those of a similar name first: a file may define hundreds.
        known.sort_by_key(|name| std::cmp::Reverse(letters_in_common(name, parse(text).name)));
        let more = known.len().saturating_sub(MOST_LISTED);
        known.truncate(MOST_LISTED);
        let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
        format!("the file defines: {}{rest}", known.join(", "))
    };
    let message = format!("there is no function `{text}` with a body");
    Diagnostic::new(diagnostic::NOT_FOUND, Span::NONE, message, "").help(help)
}

/// How many functions are listed for one that is not there.
const MOST_LISTED: usize = 20;

/// How many letters two names share at their beginning or end, whatever their case; namespaces, template arguments and
/// parameters left out.
fn letters_in_common(known: &str, asked: &str) -> usize {
    let last_part = |name: &str| {
        let name = name.split(['<', '(']).next().unwrap_or_default();
        name.rsplit("::").next().unwrap_or_default().to_ascii_lowercase().into_bytes()
    };
    let (known, asked) = (last_part(known), last_part(asked));
    let ahead = known.iter().zip(&asked).take_while(|(one, other)| one == other).count();
    let behind = known.iter().rev().zip(asked.iter().rev()).take_while(|(one, other)| one == other).count();
    ahead.max(behind)
}

/// Whether the device's pass is to be asked for a function.
pub(super) fn is_on_device(node: &Node) -> bool {
    node.has(Kind::CUDAGlobalAttr) || node.has(Kind::CUDADeviceAttr)
}

/// Whether the host's pass has the function that is meant.
pub(super) fn is_on_host(node: &Node) -> bool {
    !node.has(Kind::CUDAGlobalAttr)
}

/// Whether a request means functions of that full name.
pub(super) fn means(request: &Request<'_>, full_name: &str) -> bool {
    full_name == request.name || full_name.ends_with(&format!("::{}", request.name))
}

/// The functions with a body that a request means: with exactly its template arguments, or else with those that may be
/// written so, or else the one that Clang says its arguments mean.
pub(super) fn matching(
    declarations: &Declarations<'_>,
    request: &Request<'_>,
    wanted: impl Fn(&Node) -> bool,
) -> Vec<NodeId> {
    let exact = matching_by(declarations, request, &wanted, |own, asked| own == asked);
    if !exact.is_empty() {
        return exact;
    }
    let alike =
        matching_by(declarations, request, &wanted, |own, asked| !is_unnamed(own) && is_same_argument(own, asked));
    if !alike.is_empty() {
        return alike;
    }
    let instantiated = instantiated(declarations, request).filter(|id| {
        declarations.get(*id).is_some_and(|declared| has_parameters(request, declared.node) && wanted(declared.node))
    });
    instantiated.into_iter().collect()
}

/// The function that was instantiated for a request. Clang knows which arguments are left to their defaults, that `0` may
/// be `false`, and what a name of the program stands for.
fn instantiated(declarations: &Declarations<'_>, request: &Request<'_>) -> Option<NodeId> {
    request.arguments.as_ref()?;
    let variable = declarations.all().find(|declared| declared.node.name() == REQUESTED)?.node;
    let function = declarations.definition(named_function(variable)?)?;
    means(request, &qualified(declarations, declarations.get(function)?)).then_some(function)
}

fn has_parameters(request: &Request<'_>, node: &Node) -> bool {
    request.params.as_ref().is_none_or(|params| squeeze(&parameters(node)) == *params)
}

fn matching_by(
    declarations: &Declarations<'_>,
    request: &Request<'_>,
    wanted: impl Fn(&Node) -> bool,
    is_same: fn(&str, &str) -> bool,
) -> Vec<NodeId> {
    let matches = |id: &&NodeId| {
        let Some(declared) = declarations.get(**id) else { return false };
        let node = declared.node;
        if let Some(linker_name) = request.name.strip_prefix('@') {
            return node.data.mangled_name.as_deref() == Some(linker_name) && wanted(node);
        }
        let has_name = means(request, &qualified(declarations, declared));
        let has_arguments = request.arguments.as_ref().is_none_or(|arguments| {
            let own = declarations.template_arguments(node);
            let mut pairs = own.iter().zip(arguments);
            own.len() == arguments.len() && pairs.all(|(own, asked)| is_same(&squeeze(own), asked))
        });
        let is_plain = matches!(node.kind, Kind::FunctionDecl | Kind::CXXMethodDecl);
        has_name && has_arguments && has_parameters(request, node) && is_plain && wanted(node)
    };
    let found: Vec<NodeId> = declarations.functions.iter().filter(matches).copied().collect();
    // `area` means the function of that name rather than members of that name.
    let is_exact =
        |id: &&NodeId| declarations.get(**id).is_some_and(|declared| qualified(declarations, declared) == request.name);
    let exact: Vec<NodeId> = found.iter().filter(is_exact).copied().collect();
    if exact.is_empty() { found } else { exact }
}

fn qualified(declarations: &Declarations<'_>, declared: Declared<'_>) -> String {
    format!("{}{}", declarations.scope(declared).spelling, declared.node.name())
}

/// Takes a request apart.
pub(super) fn parse(text: &str) -> Request<'_> {
    let text = text.trim();
    let (head, params) = match text.find('(') {
        Some(open) => (&text[..open], Some(squeeze(text[open..].trim_start_matches('(').trim_end_matches(')')))),
        None => (text, None),
    };
    match crate::clang::types::template_arguments(head.trim()) {
        Some((name, arguments)) => {
            let arguments = arguments.iter().map(|argument| squeeze(argument)).collect();
            Request { name, arguments: Some(arguments), written_arguments: &head.trim()[name.len()..], params }
        }
        None => Request { name: head.trim(), arguments: None, written_arguments: "", params },
    }
}

/// Without blanks, so that `float *` and `float*` are the same.
fn squeeze(text: &str) -> String {
    text.chars().filter(|character| !character.is_whitespace()).collect()
}

fn parameters(node: &Node) -> String {
    let types: Vec<&str> = node.children(Kind::ParmVarDecl).map(Node::ty).collect();
    types.join(", ")
}

fn display(declarations: &Declarations<'_>, id: NodeId) -> Option<String> {
    let declared = declarations.get(id)?;
    let node = declared.node;
    if !matches!(node.kind, Kind::FunctionDecl | Kind::CXXMethodDecl) || node.data.is_implicit {
        return None;
    }
    let arguments = declarations.template_arguments(node);
    let arguments = if arguments.is_empty() { String::new() } else { format!("<{}>", arguments.join(", ")) };
    Some(format!("{}{}{arguments}({})", declarations.scope(declared).spelling, node.name(), parameters(node)))
}
