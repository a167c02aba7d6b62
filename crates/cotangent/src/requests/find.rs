//! Finds the requests of a program.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::clang::{Ast, Kind, Node, NodeId, Value};
use crate::diagnostic::{
    Diagnostic, REQUEST_BUDGET, REQUEST_IN_HEADER, REQUEST_IN_MACRO, REQUEST_IN_TEMPLATE, REQUEST_NAMES,
    REQUEST_OF_NO_FUNCTION,
};
use crate::source::{FileId, Span};

/// The header that declares what requests call.
const HEADER: &str = "cotangent/cotangent.hpp";

/// What requests call.
const CALLED: [(&str, Direction); 3] =
    [("gradient", Direction::Reverse), ("vjp", Direction::Pure), ("pushforward", Direction::Forward)];

/// In which direction derivatives are propagated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// `gradient`.
    Reverse,
    /// `vjp`: as `gradient`, in the framework form.
    Pure,
    /// `pushforward`.
    Forward,
}

/// Who calls the derivative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The host launches it.
    Kernel,
    /// The device calls it.
    Device,
    /// The host calls it.
    Host,
}

/// A request in the program's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Which derivative.
    pub direction: Direction,
    /// The function, by the name that the linker knows it by.
    pub linker_name: String,
    /// The function's own name.
    pub name: String,
    /// Who calls the derivative.
    pub side: Side,
    /// With respect to which parameters; none for all that can be named.
    pub wrt: Option<Vec<String>>,
    /// The expression that says how much memory its checkpoints may take, if it may have some.
    pub budget: Option<Span>,
    /// The expression that asks.
    pub span: Span,
    /// Where the declaration begins that holds it and is itself held by none.
    pub holder: u32,
}

/// Whether a program includes the header that declares what requests call.
pub fn is_used(ast: &Ast) -> bool {
    ast.sources.files.iter().any(|file| file.name.ends_with(HEADER))
}

/// The requests in a file, in its order; nothing if the program does not include the header that declares them.
///
/// Both passes are asked, since either may have text that the other has not; the files of both have the same ids.
///
/// # Errors
/// Requests that cannot be answered.
pub fn find(host: &Ast, device: &Ast, main: FileId) -> Result<Option<Vec<Request>>, Vec<Diagnostic>> {
    let mut found = BTreeMap::new();
    let mut problems = Vec::new();
    let mut is_included = false;
    for ast in [host, device] {
        let mut finder = Finder { main, functions: HashMap::new(), called: HashMap::new(), found: &mut found };
        finder.index(ast);
        is_included |= !finder.called.is_empty();
        for node in &ast.declarations {
            let place = Place { holder: node.span, in_template: false, on_host: true, on_device: false };
            finder.visit(node, place);
        }
    }
    let mut requests = Vec::new();
    for result in found.into_values() {
        match result {
            Ok(request) => requests.push(request),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(is_included.then_some(requests)) } else { Err(problems) }
}

/// Where a node stands.
#[derive(Clone, Copy)]
struct Place {
    holder: Span,
    in_template: bool,
    /// Whether the host runs it.
    on_host: bool,
    /// Whether the device does.
    on_device: bool,
}

struct Finder<'a, 'f> {
    main: FileId,
    functions: HashMap<NodeId, &'a Node>,
    /// The functions that requests call.
    called: HashMap<NodeId, Direction>,
    /// By place, since a tree may show one request several times.
    found: &'f mut BTreeMap<(FileId, u32), Result<Request, Diagnostic>>,
}

impl<'a> Finder<'a, '_> {
    fn index(&mut self, ast: &'a Ast) {
        let is_header = |file: FileId| ast.sources.files.get(file).is_some_and(|file| file.name.ends_with(HEADER));
        let headers: HashSet<FileId> = ast.sources.files.ids().filter(|file| is_header(*file)).collect();
        ast.declarations.iter().for_each(|node| self.index_functions(node, &headers));
    }

    fn index_functions(&mut self, node: &'a Node, headers: &HashSet<FileId>) {
        if matches!(node.kind, Kind::FunctionDecl | Kind::CXXMethodDecl) {
            self.functions.insert(node.id, node);
            let called = CALLED.iter().find(|(name, _)| *name == node.name());
            if let Some((_, direction)) = called.filter(|_| headers.contains(&node.span.file)) {
                self.called.insert(node.id, *direction);
            }
        }
        node.inner.iter().for_each(|child| self.index_functions(child, headers));
    }

    fn visit(&mut self, node: &'a Node, mut place: Place) {
        match node.kind {
            Kind::FunctionTemplateDecl
            | Kind::ClassTemplateDecl
            | Kind::ClassTemplateSpecializationDecl
            | Kind::VarTemplateDecl => place.in_template = true,
            Kind::FunctionDecl | Kind::CXXMethodDecl => {
                place.on_device = node.has(Kind::CUDADeviceAttr) || node.has(Kind::CUDAGlobalAttr);
                place.on_host = node.has(Kind::CUDAHostAttr) || !place.on_device;
            }
            Kind::CallExpr => {
                if let Some(direction) = self.direction(node) {
                    let request = self.request(node, direction, place);
                    self.found.entry((node.span.file, node.span.start)).or_insert(request);
                    return;
                }
            }
            _ => {}
        }
        node.inner.iter().for_each(|child| self.visit(child, place));
    }

    /// What a call asks for, if it asks.
    fn direction(&self, call: &Node) -> Option<Direction> {
        let callee = named(call.inner.first()?)?;
        self.called.get(&callee.data.referenced_decl.as_ref()?.id).copied()
    }

    fn request(&self, call: &'a Node, direction: Direction, place: Place) -> Result<Request, Diagnostic> {
        let refused = |code, message: &str, help: &str| {
            Err(Diagnostic::new(code, call.span, message, "asked for here").help(help))
        };
        if call.span.file != self.main {
            return refused(
                REQUEST_IN_HEADER,
                "a request in a header is not answered",
                "ask in the file that is compiled, and pass the object on",
            );
        }
        if call.spelling.is_some() {
            return refused(
                REQUEST_IN_MACRO,
                "a request in a macro is not answered",
                "write the call out: its place in the text is where the derivative goes",
            );
        }
        if place.in_template {
            return refused(
                REQUEST_IN_TEMPLATE,
                "a request in a template is not answered",
                "ask in a function that is no template, and pass the object to the template",
            );
        }
        let wrt = match call.inner.get(2).map(literal) {
            None | Some(Literal::Default) => None,
            Some(Literal::Names(names)) => Some(names),
            Some(Literal::Other) => {
                return refused(
                    REQUEST_NAMES,
                    "the names of a request are no string literal",
                    "write the parameters out, as in \"x, y\": they are needed before the program runs",
                );
            }
        };
        let function = call.inner.get(1).and_then(named).and_then(|name| name.data.referenced_decl.as_ref());
        let function = function.and_then(|reference| self.functions.get(&reference.id));
        let Some((function, linker_name)) = function.and_then(|node| Some((node, node.data.mangled_name.as_ref()?)))
        else {
            return refused(
                REQUEST_OF_NO_FUNCTION,
                "a request does not name a function",
                "name the function itself, not a pointer to it: its text is differentiated",
            );
        };
        let is_for_device = function.has(Kind::CUDADeviceAttr);
        let is_for_host = function.has(Kind::CUDAHostAttr) || !is_for_device;
        let side = if function.has(Kind::CUDAGlobalAttr) {
            Side::Kernel
        } else if is_for_device && is_for_host && place.on_device && place.on_host {
            return refused(
                REQUEST_OF_NO_FUNCTION,
                "a request in a function of host and device could mean either",
                "ask in a function of one of them",
            );
        } else if is_for_device && (place.on_device || !is_for_host) {
            Side::Device
        } else {
            Side::Host
        };
        let budget = call.inner.get(3).filter(|node| node.kind != Kind::CXXDefaultArgExpr).map(|node| node.span);
        if budget.is_some() && side != Side::Host {
            return refused(
                REQUEST_BUDGET,
                "a budget is for loops of a function of the host",
                "leave it out; what a kernel records is limited by `--record-budget`",
            );
        }
        Ok(Request {
            direction,
            linker_name: linker_name.to_string(),
            name: function.name().to_owned(),
            side,
            wrt,
            budget,
            span: call.span,
            holder: place.holder.start,
        })
    }
}

/// What stands for the names.
enum Literal {
    /// Nothing was given.
    Default,
    Names(Vec<String>),
    Other,
}

fn literal(node: &Node) -> Literal {
    match (node.kind, &node.data.value) {
        (Kind::CXXDefaultArgExpr, _) => Literal::Default,
        (Kind::StringLiteral, Some(Value::Text(text))) => {
            let names = text.trim_matches('"').split(',').map(|name| name.trim().to_owned());
            Literal::Names(names.collect())
        }
        (Kind::ImplicitCastExpr | Kind::ParenExpr, _) => node.inner.first().map_or(Literal::Other, literal),
        _ => Literal::Other,
    }
}

/// The name in an expression that is nothing but one.
fn named(node: &Node) -> Option<&Node> {
    match node.kind {
        Kind::DeclRefExpr => Some(node),
        Kind::ImplicitCastExpr
        | Kind::ParenExpr
        | Kind::CStyleCastExpr
        | Kind::CXXStaticCastExpr
        | Kind::ConstantExpr => node.inner.first().and_then(named),
        Kind::UnaryOperator if node.opcode() == "&" => node.inner.first().and_then(named),
        _ => None,
    }
}
