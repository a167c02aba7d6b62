//! Which code of the program may pass through without being read: what stays apart from the device, and from what the
//! function that is differentiated shares with others.
//!
//! Whatever it calls is looked at. It may launch nothing, call none of CUDA's libraries, and mention no variable outside
//! functions that can change, but for texts that nothing else mentions (the name of a log file); then all that it can reach is
//! what it is handed and what it has made. What runs without being called by name is looked at as well: constructors,
//! destructors and operators of the classes that it mentions, every function that may be called in the place of a virtual
//! one, and what the standard library may call. A function that is chosen at run time in another way, or whose body is not
//! there, is not known to stay apart.

use std::collections::HashSet;

use super::context::{Context, Pass};
use super::declarations::Declared;
use super::passed::is_of_library;
use super::stmt::is_constant;
use crate::clang::{Kind, Node, NodeId, is_of_program};

/// Functions that the standard library finds by the classes of their arguments.
const FOUND_BY_ARGUMENTS: &[&str] =
    &["swap", "iter_swap", "iter_move", "begin", "end", "data", "size", "get", "hash_value"];

/// What is looked at, and what was.
#[derive(Default)]
struct Search<'a> {
    open: Vec<&'a Node>,
    seen: HashSet<NodeId>,
    /// Classes that templates take as arguments.
    arguments: HashSet<NodeId>,
    /// Spellings of types that were looked up.
    types: HashSet<&'a str>,
    /// Texts outside functions that it may change.
    texts: Vec<&'a str>,
}

impl<'a> Context<'a> {
    /// Whether code of host functions stays apart.
    pub(super) fn stays_apart(&mut self, node: &'a Node) -> bool {
        let mut search = Search { open: vec![node], ..Search::default() };
        search.open.extend(self.called_by_library.get_or_init(|| {
            let is_made = |declared: &Declared<'a>| declared.node.data.mangled_name.is_some();
            let all = self.declarations(Pass::Host).all();
            all.filter(|it| is_made(it) && self.may_be_called_by_library(*it)).map(|it| it.node).collect()
        }));
        while let Some(node) = search.open.pop() {
            if !self.looks_apart(node, &mut search) {
                return false;
            }
        }
        self.texts_apart.extend(search.texts);
        true
    }

    /// The same of one body, which adds what it calls to what is open.
    fn looks_apart(&self, node: &'a Node, search: &mut Search<'a>) -> bool {
        if search.types.insert(node.ty()) && !self.types_apart(node.ty(), search) {
            return false;
        }
        let is_apart = match node.kind {
            Kind::CUDAKernelCallExpr | Kind::GCCAsmStmt | Kind::UnresolvedLookupExpr => false,
            Kind::CallExpr | Kind::CXXMemberCallExpr => node.inner.first().is_some_and(is_named),
            Kind::DeclRefExpr => {
                let reference = node.data.referenced_decl.as_ref();
                reference.is_none_or(|it| self.mention(it.id, it.name.as_deref().unwrap_or_default(), search))
            }
            Kind::MemberExpr => {
                node.data.referenced_member_decl.is_none_or(|member| self.mention(member, node.name(), search))
            }
            _ => true,
        };
        is_apart && node.inner.iter().all(|inner| self.looks_apart(inner, search))
    }

    /// Looks at what a name means.
    fn mention(&self, id: NodeId, name: &str, search: &mut Search<'a>) -> bool {
        let declarations = self.declarations(Pass::Host);
        // What the standard library declares is not read, and not told.
        let declared = declarations.get(id).filter(|declared| self.is_of_program(*declared));
        let Some(Declared { node, .. }) = declared else { return !is_of_library(name) };
        match node.kind {
            Kind::VarDecl if declarations.is_local(id) || is_constant(node) => true,
            Kind::VarDecl => {
                search.texts.push(node.name());
                is_text(node) && self.module.globals.iter().all(|global| *global.name != *node.name())
            }
            Kind::FunctionDecl
            | Kind::CXXMethodDecl
            | Kind::CXXConstructorDecl
            | Kind::CXXDestructorDecl
            | Kind::CXXConversionDecl => !is_of_library(name) && self.call(id, node, search),
            _ => true,
        }
    }

    /// Whether the program has a declaration, and not the standard library.
    fn is_of_program(&self, declared: Declared<'a>) -> bool {
        is_of_program(self.declarations(Pass::Host).file_name(declared.node.span))
    }

    /// Whether the standard library's templates may call a function of the program that nobody hands them: an operator, what
    /// they find by the classes of arguments, and what the program puts into their namespace.
    fn may_be_called_by_library(&self, declared: Declared<'a>) -> bool {
        let Declared { node, record, .. } = declared;
        let is_found = record.is_none() && (is_operator(node) || FOUND_BY_ARGUMENTS.contains(&node.name()));
        let declarations = self.declarations(Pass::Host);
        // `template <> struct std::hash<Key>` may stand in any namespace.
        let is_added = |class: NodeId| {
            let class = declarations.get(class);
            class.is_some_and(|class| {
                let is_special = class.node.kind == Kind::ClassTemplateSpecializationDecl;
                is_special && class.node.data.parent_decl_context_id.is_some()
            })
        };
        let is_inside = || declarations.scope(declared).namespaces.starts_with("std::") || record.is_some_and(is_added);
        is_function(node) && (is_found || is_inside()) && self.is_of_program(declared)
    }

    /// Looks at a function that may be called.
    fn call(&self, id: NodeId, node: &'a Node, search: &mut Search<'a>) -> bool {
        let declarations = self.declarations(Pass::Host);
        match declarations.definition(id).and_then(|id| declarations.get(id)) {
            Some(definition) => {
                if search.seen.insert(definition.node.id) {
                    search.open.push(definition.node);
                }
                true
            }
            // Those of the compiler do what those of the members do, which are looked at; in the place of a pure function one
            // of a derived class is called.
            None => node.data.is_implicit || node.data.explicitly_defaulted.is_some() || node.data.is_pure,
        }
    }

    /// Looks at what runs for the classes in a type without being called by name.
    fn types_apart(&self, spelling: &str, search: &mut Search<'a>) -> bool {
        names_in(spelling).into_iter().all(|(name, role)| {
            let Some(record) = self.find_record(Pass::Host, name) else { return true };
            let is_new = match role {
                Role::Object => search.seen.insert(record),
                Role::Argument => search.arguments.insert(record),
            };
            !is_new || self.class_apart(record, role, search)
        })
    }

    fn class_apart(&self, record: NodeId, role: Role, search: &mut Search<'a>) -> bool {
        let Some(declared) = self.declarations(Pass::Host).get(record) else { return false };
        let node = declared.node;
        // What the library's own classes call is what their arguments have.
        if !self.is_of_program(declared) {
            return true;
        }
        // Fields may begin with the value of a call.
        search.open.extend(node.children(Kind::FieldDecl));
        // Of a derived class any member may be called where a virtual function of its base is.
        let is_of_family = !node.data.bases.is_empty() || node.inner.iter().any(|member| member.data.is_virtual);
        let runs = |member: &&Node| match role {
            Role::Object if !is_of_family => is_operator(member) || is_made_or_ended(member),
            Role::Object | Role::Argument => is_function(member),
        };
        node.data.bases.iter().all(|base| self.types_apart(&base.ty.0, search))
            && node.inner.iter().filter(runs).all(|member| self.call(member.id, member, search))
            && (!is_of_family || self.derived_apart(record, search))
    }

    /// Looks at the classes that are derived from one. Those of other files are to it as functions of other files are.
    fn derived_apart(&self, base: NodeId, search: &mut Search<'a>) -> bool {
        let is_base = |spelling: &str| {
            names_in(spelling).into_iter().any(|(name, _)| self.find_record(Pass::Host, name) == Some(base))
        };
        let derived: Vec<NodeId> = self
            .declarations(Pass::Host)
            .all()
            .filter(|it| it.node.data.bases.iter().any(|base| is_base(&base.ty.0)))
            .map(|it| it.node.id)
            .collect();
        derived.into_iter().all(|record| !search.seen.insert(record) || self.class_apart(record, Role::Object, search))
    }
}

/// How a type mentions a class.
#[derive(Clone, Copy)]
enum Role {
    /// Objects of it are made, copied and ended.
    Object,
    /// A template takes it as an argument, and may call any of its functions, as `std::vector` calls its allocator's.
    Argument,
}

/// The names in a type's spelling, those of templates with their arguments and without.
fn names_in(spelling: &str) -> Vec<(&str, Role)> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let mut found = Vec::new();
    let mut role = Role::Object;
    let mut rest = spelling;
    while let Some(start) = rest.find(is_part) {
        if rest[..start].contains('<') {
            role = Role::Argument;
        }
        rest = &rest[start..];
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        found.push((&rest[..end], role));
        found.extend(closing(&rest[end..]).map(|close| (&rest[..end + close], role)));
        rest = &rest[end..];
    }
    found
}

/// Where the arguments of a template end that a text begins with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if depth == 1 => return Some(at + 1),
            '>' => depth -= 1,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// Whether a variable is a text, or an array of texts.
pub(super) fn is_text(variable: &Node) -> bool {
    let element = variable.ty().split('[').next().unwrap_or_default().trim_end();
    variable.kind == Kind::VarDecl && matches!(element, "char *" | "const char *" | "char *const" | "const char *const")
}

fn is_made_or_ended(member: &Node) -> bool {
    matches!(member.kind, Kind::CXXConstructorDecl | Kind::CXXDestructorDecl)
}

fn is_operator(node: &Node) -> bool {
    let is_function = matches!(node.kind, Kind::FunctionDecl | Kind::CXXMethodDecl);
    node.kind == Kind::CXXConversionDecl || is_function && node.name().starts_with("operator")
}

fn is_function(node: &Node) -> bool {
    is_operator(node) || is_made_or_ended(node) || matches!(node.kind, Kind::FunctionDecl | Kind::CXXMethodDecl)
}

/// Whether the function that is called is named, and not a value.
fn is_named(callee: &Node) -> bool {
    match callee.kind {
        Kind::MemberExpr => callee.data.referenced_member_decl.is_some(),
        Kind::DeclRefExpr => {
            callee.data.referenced_decl.as_ref().is_some_and(|it| !matches!(it.kind, Kind::VarDecl | Kind::ParmVarDecl))
        }
        Kind::ImplicitCastExpr => {
            let is_function =
                matches!(callee.data.cast_kind.as_deref(), Some("FunctionToPointerDecay" | "BuiltinFnToFnPtr"));
            is_function && callee.inner.first().is_some_and(is_named)
        }
        Kind::ParenExpr => callee.inner.first().is_some_and(is_named),
        _ => false,
    }
}
