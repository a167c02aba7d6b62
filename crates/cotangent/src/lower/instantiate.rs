//! What to add to a file so that it has the instantiation that a request names. Clang instantiates a template only where
//! it is used, and a library's templates are often used by other files.

use super::declarations::Declarations;
use super::passes::Passes;
use super::request::{REQUESTED, Request, is_on_device, is_on_host, matching, means, not_found, parse};
use crate::clang::{Ast, Kind, Node};
use crate::diagnostic::{self, Diagnostic};
use crate::ir::Space;

/// An instantiation that a request names and the file has not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    /// A declaration that uses it, to stand after the end of the file.
    pub declaration: String,
    /// What is to be said if no function has these template arguments.
    pub diagnostic: Diagnostic,
}

/// The instantiation that a request needs, if it names template arguments, no function of the file has them, and one
/// template has that name.
pub fn missing_instantiation(passes: Passes<'_>, request: &str) -> Option<Missing> {
    let parsed = parse(request);
    parsed.arguments.as_ref()?;
    let is_there = !matching(&Declarations::new(passes.device), &parsed, is_on_device).is_empty()
        || passes.host.is_some_and(|host| !matching(&Declarations::new(host), &parsed, is_on_host).is_empty());
    if is_there {
        return None;
    }
    let template = template(passes.device, &parsed)?;
    let pattern = template.node.child(Kind::FunctionDecl).or(template.node.child(Kind::CXXMethodDecl))?;
    // A variable of the host cannot hold the address of what only the device has.
    let is_only_on_device = pattern.has(Kind::CUDADeviceAttr) && !pattern.has(Kind::CUDAHostAttr);
    let space = if is_only_on_device { "__device__ " } else { "" };
    let (name, arguments) = (&template.name, parsed.written_arguments);
    let declaration = format!("static {space}auto const {REQUESTED} = &::{name}{arguments};\n");
    let message = format!("`{name}{arguments}` is not one function");
    let diagnostic = Diagnostic::new(diagnostic::NOT_FOUND, template.node.span, message, "the template")
        .help("give each of its parameters an argument of its kind, as the template lists them");
    Some(Missing { declaration, diagnostic })
}

/// Where a function runs that a request means, which need not be one that can be lowered; nor need a template be
/// instantiated.
///
/// # Errors
/// The diagnostic, if there is no such function.
pub fn space_of(passes: Passes<'_>, request: &str) -> Result<Space, Diagnostic> {
    let parsed = parse(request);
    let space = |node: &Node| match node {
        _ if node.has(Kind::CUDAGlobalAttr) => Space::Kernel,
        _ if node.has(Kind::CUDADeviceAttr) && !node.has(Kind::CUDAHostAttr) => Space::Device,
        _ => Space::Host,
    };
    for ast in passes.host.into_iter().chain([passes.device]) {
        let declarations = Declarations::new(ast);
        let found = matching(&declarations, &parsed, |_| true).first().and_then(|id| declarations.get(*id));
        let template = || template(ast, &parsed).map(|template| template.node);
        let pattern = |node: &'_ Node| node.child(Kind::FunctionDecl).map(space);
        if let Some(space) = found.map(|declared| space(declared.node)).or_else(|| template().and_then(pattern)) {
            return Ok(space);
        }
    }
    Err(not_found(&Declarations::new(passes.host.unwrap_or(passes.device)), request))
}

struct Template<'a> {
    node: &'a Node,
    /// With its namespaces, as code outside of them spells it.
    name: String,
}

/// The template that a request means, unless there are several of different names.
fn template<'a>(ast: &'a Ast, request: &Request<'_>) -> Option<Template<'a>> {
    let mut found = Vec::new();
    collect(&ast.declarations, "", request, &mut found);
    if found.iter().any(|template| template.name == request.name) {
        found.retain(|template| template.name == request.name);
    }
    let first = found.pop()?;
    found.iter().all(|other| other.name == first.name).then_some(first)
}

fn collect<'a>(nodes: &'a [Node], scope: &str, request: &Request<'_>, found: &mut Vec<Template<'a>>) {
    for node in nodes {
        match node.kind {
            Kind::LinkageSpecDecl => collect(&node.inner, scope, request, found),
            Kind::NamespaceDecl | Kind::CXXRecordDecl => {
                let name = node.name();
                let inner = if name.is_empty() { scope.to_owned() } else { format!("{scope}{name}::") };
                collect(&node.inner, &inner, request, found);
            }
            Kind::FunctionTemplateDecl => {
                let name = format!("{scope}{}", node.name());
                if means(request, &name) {
                    found.push(Template { node, name });
                }
            }
            _ => {}
        }
    }
}
