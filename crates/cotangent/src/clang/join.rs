//! Joins the dumps of two runs of Clang into one program: the headers that Cotangent ships, and a file whose other
//! headers were precompiled and are in no dump.
//!
//! Clang's ids are addresses, so those of two runs mean nothing to each other. What the file refers to and does not
//! declare is looked for in the headers by kind, name and type. A name that may mean a declaration of a library which
//! nobody has dumped is never taken for that of a header: it gets a name that no table knows, and calls of it are
//! refused.

use std::collections::{HashMap, HashSet};

use memchr::memmem;

use super::ast::{Ast, Kind, Node, NodeId, Reference};
use crate::source::{Sources, Span};

/// How a sieved dump begins its list of declarations, and how it ends.
const LIST: &[u8] = b"\n\"inner\": [";
const END: &[u8] = b"\n]\n}\n";

/// Where the headers of ours lie that stand for a library's and are read with the program.
const SHIPPED: &str = "/common/cotangent/";

/// The name of the function that is called when an object is.
const CALL: &str = "operator()";

/// The highest bit of an id. No address of a process has it.
const HIGHEST: u64 = 1 << 63;

/// One dump of two sieved ones: the headers' declarations, with ids that no process has, and then the program's.
pub fn after(headers: &[u8], program: &[u8]) -> Vec<u8> {
    let mut joined = with_ids_apart(headers.strip_suffix(END).unwrap_or(headers));
    match memmem::find(program, LIST) {
        Some(list) => {
            let declarations = &program[list + LIST.len()..];
            if declarations != END {
                joined.push(b',');
            }
            joined.extend_from_slice(declarations);
        }
        // An empty program.
        None => joined.extend_from_slice(END),
    }
    joined
}

/// The dump with the highest bit of every id set, which no address of a process has.
fn with_ids_apart(dump: &[u8]) -> Vec<u8> {
    const ID: &[u8] = b"\"0x";
    let mut out = Vec::with_capacity(dump.len() + dump.len() / 8);
    let mut rest = dump;
    while let Some(at) = memmem::find(rest, ID) {
        let digits = &rest[at + ID.len()..];
        let count = digits.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        out.extend_from_slice(&rest[..at + ID.len()]);
        if count < 16 && digits[..count] != *b"0" && digits.get(count) == Some(&b'"') {
            out.push(b'8');
            out.resize(out.len() + 15 - count, b'0');
        }
        out.extend_from_slice(&digits[..count]);
        rest = &digits[count..];
    }
    out.extend_from_slice(rest);
    out
}

/// Resolves what the program refers to in the headers, in a tree that was read from what [`after`] gave. The texts of
/// its files must be there.
pub fn resolve(ast: &mut Ast) {
    // What a precompiled header makes Clang declare at the end stands nowhere. The last declaration tells the file.
    while ast.declarations.last().is_some_and(|last| last.span.is_none()) {
        ast.declarations.pop();
    }
    let is_of_headers = |node: &Node| node.id.0 & HIGHEST != 0;
    let first_own = ast.declarations.iter().rposition(is_of_headers).map_or(0, |last| last + 1);
    let (headers, program) = ast.declarations.split_at_mut(first_own);
    let mut index = Index::default();
    headers.iter().for_each(|node| index.visit(node, ""));
    let mut names = Names::default();
    // What we add to a library's namespace hides nothing.
    let is_ours = |node: &&Node| {
        let file = ast.sources.files.get(node.span.file);
        file.is_some_and(|file| file.name.contains(SHIPPED))
    };
    program.iter().filter(is_ours).for_each(|node| names.own(node));
    program.iter().filter(|node| !is_ours(node)).for_each(|node| names.visit(node, false));
    let resolver = Resolver { index, names, sources: &ast.sources };
    program.iter_mut().for_each(|node| resolver.node(node));
}

/// A declaration of a header.
struct Candidate {
    id: NodeId,
    /// Namespaces and records around it, with a trailing `::`.
    scope: String,
    /// The same for every declaration of one thing.
    entity: String,
    /// Whether it is the one with a body or fields.
    is_definition: bool,
}

impl Candidate {
    fn new(node: &Node, scope: &str) -> Candidate {
        Candidate {
            id: node.id,
            scope: scope.to_owned(),
            entity: node.data.mangled_name.as_deref().map_or_else(|| format!("{scope}{}", node.name()), str::to_owned),
            is_definition: node.has(Kind::CompoundStmt) || node.data.complete_definition,
        }
    }
}

/// The headers' declarations, by what a reference tells.
#[derive(Default)]
struct Index {
    /// By kind, name and type; the type is empty for what references tell none of.
    by_name: HashMap<(Kind, String, String), Vec<Candidate>>,
    /// Members, by the record's full name and their own.
    members: HashMap<(String, String), Vec<Candidate>>,
}

impl Index {
    fn visit(&mut self, node: &Node, scope: &str) {
        let inside = format!("{scope}{}::", node.name());
        match node.kind {
            Kind::NamespaceDecl | Kind::CXXRecordDecl => {
                self.add(node, scope);
                // Names of an inline namespace are spelled with and without it, and types with it.
                node.inner.iter().for_each(|child| self.visit(child, &inside));
            }
            Kind::EnumDecl => {
                self.add(node, scope);
                node.inner.iter().for_each(|child| self.visit(child, scope));
            }
            Kind::FunctionDecl
            | Kind::CXXMethodDecl
            | Kind::CXXConversionDecl
            | Kind::CXXConstructorDecl
            | Kind::FieldDecl
            | Kind::VarDecl
            | Kind::EnumConstantDecl => self.add(node, scope),
            Kind::LinkageSpecDecl => node.inner.iter().for_each(|child| self.visit(child, scope)),
            Kind::ClassTemplateSpecializationDecl => self.functor(node, scope),
            _ => {}
        }
    }

    /// What an instantiated class does when an object of it is called. Only the type of the object tells which is meant, so it is
    /// a member and has no name by which a reference finds it.
    fn functor(&mut self, class: &Node, scope: &str) {
        let arguments: Vec<&str> = class.children(Kind::TemplateArgument).map(Node::ty).collect();
        let record = format!("{scope}{}<{}>", class.name(), arguments.join(", "));
        for method in class.children(Kind::CXXMethodDecl).filter(|method| method.name() == CALL) {
            let key = (record.clone(), CALL.to_owned());
            self.members.entry(key).or_default().push(Candidate::new(method, &record));
        }
    }

    fn add(&mut self, node: &Node, scope: &str) {
        let candidate = || Candidate::new(node, scope);
        let key = (node.kind, node.name().to_owned(), node.ty().to_owned());
        self.by_name.entry(key).or_default().push(candidate());
        let record = scope.strip_suffix("::").unwrap_or(scope);
        self.members.entry((record.to_owned(), node.name().to_owned())).or_default().push(candidate());
    }
}

/// What the program says about names of namespaces.
#[derive(Default)]
struct Names {
    /// Everything that it declares itself.
    own: HashSet<NodeId>,
    /// What its names for namespaces stand for.
    aliases: HashMap<String, String>,
    /// Whether the namespace of a library is used as a whole. Its names stand beside those outside of namespaces, and Clang
    /// refuses a call that may mean either.
    is_used: bool,
    /// What stands in a namespace of a library that the program adds to. In there, the library's names hide those outside.
    inside: HashSet<NodeId>,
    /// Names that are taken from a namespace one by one.
    taken: HashSet<String>,
}

impl Names {
    /// Notes declarations, and nothing about names.
    fn own(&mut self, node: &Node) {
        self.own.insert(node.id);
        node.inner.iter().chain(&node.data.array_filler).for_each(|child| self.own(child));
    }

    fn visit(&mut self, node: &Node, is_inside: bool) {
        self.own.insert(node.id);
        let is_added_to = |id: &NodeId| !self.own.contains(id) || self.inside.contains(id);
        let original = node.data.original_namespace.as_ref().filter(|_| node.kind == Kind::NamespaceDecl);
        // A member that is defined outside of its class looks its names up where the class stands.
        let is_inside = is_inside
            || original.is_some_and(|first| is_added_to(&first.id))
            || node.data.parent_decl_context_id.as_ref().is_some_and(is_added_to);
        if is_inside {
            self.inside.insert(node.id);
        }
        let name_of = |reference: &Option<Box<Reference>>| {
            reference.as_ref().and_then(|reference| reference.name.as_deref().map(str::to_owned))
        };
        match node.kind {
            Kind::NamespaceAliasDecl => {
                self.aliases.extend(name_of(&node.data.aliased_namespace).map(|meant| (node.name().to_owned(), meant)));
            }
            Kind::UsingDirectiveDecl => {
                let is_own = node.data.nominated_namespace.as_ref().is_some_and(|meant| self.own.contains(&meant.id));
                let is_known = name_of(&node.data.nominated_namespace).is_some_and(|name| is_read(&name));
                self.is_used |= !is_own && !is_known && !node.data.is_implicit;
            }
            Kind::UsingDecl if !is_read(node.name()) => {
                self.taken.extend(node.name().rsplit("::").next().map(str::to_owned));
            }
            _ => {}
        }
        node.inner.iter().chain(&node.data.array_filler).for_each(|child| self.visit(child, is_inside));
    }
}

/// Whether a namespace is one that the tables know, or of the headers.
fn is_read(namespace: &str) -> bool {
    let first = namespace.trim_start_matches("::").split("::").next();
    matches!(first, Some("std" | "cooperative_groups" | "cotangent" | ""))
}

/// Whether C's `<math.h>`, which every CUDA program includes, has a function of this name and type. Another one of the same type
/// in a namespace that is used as a whole would make the call ambiguous, and Clang refuse it.
fn is_of_c(name: &str, ty: &str) -> bool {
    const ONE: &[&str] = &[
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "cbrt",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "erfc",
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "floor",
        "log",
        "log10",
        "log1p",
        "log2",
        "nearbyint",
        "rint",
        "round",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
    ];
    const TWO: &[&str] = &["atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "pow"];
    let (plain, number) =
        if ty.starts_with("float") { (name.strip_suffix('f'), "float") } else { (Some(name), "double") };
    let is_one_of = |names: &[&str]| plain.is_some_and(|plain| names.contains(&plain));
    let ty = ty.split(" noexcept").next().unwrap_or_default();
    (is_one_of(ONE) && ty == format!("{number} ({number})"))
        || (is_one_of(TWO) && ty == format!("{number} ({number}, {number})"))
}

struct Resolver<'s> {
    index: Index,
    names: Names,
    sources: &'s Sources,
}

impl Resolver<'_> {
    fn node(&self, node: &mut Node) {
        let place = node.spelling.as_deref().copied().unwrap_or(node.span);
        let (kind, is_inside) = (node.kind, self.names.inside.contains(&node.id));
        if let Some(member) = node.data.referenced_member_decl.filter(|id| self.is_unknown(*id)) {
            node.data.referenced_member_decl = self.member(node).or(Some(member));
        }
        if node.kind == Kind::CXXOperatorCallExpr {
            self.called_object(node);
        }
        for reference in node.data.references_mut().filter(|reference| self.is_unknown(reference.id)) {
            self.reference(reference, place, kind, is_inside);
        }
        node.inner.iter_mut().chain(node.data.array_filler_mut()).for_each(|child| self.node(child));
    }

    fn is_unknown(&self, id: NodeId) -> bool {
        id != NodeId::default() && !self.names.own.contains(&id)
    }

    fn reference(&self, reference: &mut Reference, place: Span, kind: Kind, is_inside: bool) {
        let Some(name) = reference.name.as_deref().map(str::to_owned) else { return };
        let is_function = reference.kind == Kind::FunctionDecl && !name.starts_with("operator");
        let written = is_function && kind == Kind::DeclRefExpr;
        let qualifier = if written { self.qualifier(place, &name, is_inside) } else { Some(String::new()) };
        let ty = reference.ty.as_ref().map_or("", |ty| &ty.0).to_owned();
        let candidates =
            self.index.by_name.get(&(reference.kind, name.clone(), ty.clone())).map_or(&[][..], Vec::as_slice);
        let may_mean = |candidate: &&Candidate| qualifier.as_ref().is_some_and(|at| candidate.scope.ends_with(&**at));
        if let Some(found) = only_one(candidates.iter().filter(may_mean)) {
            reference.id = found;
        } else if written
            && !name.starts_with("__builtin_")
            && !qualifier.as_deref().is_some_and(|at| self.is_told(at) || (at.is_empty() && is_of_c(&name, &ty)))
        {
            let qualifier = qualifier.unwrap_or_default();
            reference.name = Some(format!("{}::{name}", qualifier.trim_end_matches("::")).into());
        }
    }

    /// Whether a function that is named with this qualifier is known by its name.
    fn is_told(&self, qualifier: &str) -> bool {
        if qualifier.is_empty() { !self.names.is_used } else { is_read(qualifier) }
    }

    /// What stands before a name where it is used, with a trailing `::` unless empty; nothing if it cannot be known.
    fn qualifier(&self, place: Span, name: &str, is_inside: bool) -> Option<String> {
        let text = self.sources.text(place)?;
        let before = text[..text.find(name)?].trim_end();
        let qualifier: String = before.chars().filter(|next| !next.is_whitespace()).collect();
        let qualifier = qualifier.strip_prefix("::").unwrap_or(&qualifier);
        if qualifier.is_empty() {
            // Names that begin so are the compiler's.
            let may_hide = self.names.taken.contains(name) || (is_inside && !name.starts_with("__"));
            let is_hidden = before.is_empty() && may_hide;
            return (!is_hidden).then(String::new);
        }
        let (first, rest) = qualifier.split_once("::")?;
        let first = self.names.aliases.get(first).map_or(first, String::as_str);
        Some(format!("{first}::{rest}"))
    }

    /// Finds what is called where an object of a functor is.
    fn called_object(&self, call: &mut Node) {
        let [head, object, ..] = call.inner.as_mut_slice() else { return };
        let mut head = head;
        while head.kind == Kind::ImplicitCastExpr
            && let Some(inner) = head.inner.first_mut()
        {
            head = inner;
        }
        let Some(reference) = head.data.referenced_decl.as_deref_mut() else { return };
        if self.is_unknown(reference.id) && reference.name.as_deref() == Some(CALL) {
            reference.id = self.member_of(object.ty(), CALL).unwrap_or(reference.id);
        }
    }

    /// The member that an expression names, by the type of its object.
    fn member(&self, node: &Node) -> Option<NodeId> {
        self.member_of(node.inner.first()?.ty(), node.name())
    }

    fn member_of(&self, object: &str, name: &str) -> Option<NodeId> {
        let ty = object.trim_end_matches([' ', '*', '&']);
        let ty = ty.strip_suffix(" const").unwrap_or(ty).trim_end_matches([' ', '*', '&']);
        let record = ty.trim_start_matches("const ").trim_start_matches("volatile ").trim_start_matches("struct ");
        only_one(self.index.members.get(&(record.to_owned(), name.to_owned()))?.iter())
    }
}

/// The declaration that they all are of; the definition, if it is among them.
fn only_one<'c>(candidates: impl Iterator<Item = &'c Candidate> + Clone) -> Option<NodeId> {
    let first = candidates.clone().next()?;
    let is_one = candidates.clone().all(|candidate| candidate.entity == first.entity);
    let definition = candidates.clone().find(|candidate| candidate.is_definition);
    is_one.then(|| definition.unwrap_or(first).id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_two_runs_never_meet() {
        let headers = b"{\n\"id\": \"0x12ab\",\n\"inner\": [\n{\"id\": \"0x0\"},\n{\"id\": \"0x55d0c0ffee10\"}\n]\n}\n";
        let program = b"{\n\"id\": \"0x12ab\",\n\"inner\": [\n{\"id\": \"0x55d0c0ffee10\"}\n]\n}\n";
        let joined = String::from_utf8(after(headers, program)).expect("it is text");
        let value: serde_json::Value = serde_json::from_str(&joined).expect("a dump of its own");
        let ids: Vec<&str> =
            value["inner"].as_array().expect("a list").iter().filter_map(|n| n["id"].as_str()).collect();
        assert_eq!(ids, ["0x0", "0x800055d0c0ffee10", "0x55d0c0ffee10"]);
    }
}
