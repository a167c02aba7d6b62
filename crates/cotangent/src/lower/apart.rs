//! Which code of the program may pass through without being read: what stays apart from the device, and from what the
//! function that is differentiated shares with others.
//!
//! Whatever it calls is looked at. It may launch nothing, call none of CUDA's libraries, and mention no variable outside
//! functions that can change; then all that it can reach is what it is handed and what it has made. What runs without being
//! called by name, constructors, destructors and operators of the classes that it mentions, is looked at as well. A function
//! that is chosen at run time, or whose body is not there, is not known to stay apart.

use std::collections::HashSet;

use super::context::{Context, Pass};
use super::declarations::Declared;
use super::passed::is_of_library;
use super::stmt::is_constant;
use crate::clang::{Kind, Node, NodeId, is_not_system};

/// What is looked at, and what was.
struct Search<'a> {
    open: Vec<&'a Node>,
    seen: HashSet<NodeId>,
    /// Spellings of types that were looked up.
    types: HashSet<&'a str>,
}

impl<'a> Context<'a> {
    /// Whether code of host functions stays apart.
    pub(super) fn stays_apart(&self, node: &'a Node) -> bool {
        let mut search = Search { open: vec![node], seen: HashSet::new(), types: HashSet::new() };
        // The standard library's templates may call them.
        let operators = self.declarations(Pass::Host).all().filter(|it| it.record.is_none() && is_operator(it.node));
        let is_made = |declared: &Declared<'a>| declared.node.data.mangled_name.is_some();
        search.open.extend(operators.filter(|it| is_made(it) && self.is_of_program(*it)).map(|it| it.node));
        while let Some(node) = search.open.pop() {
            if !self.looks_apart(node, &mut search) {
                return false;
            }
        }
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
            Kind::VarDecl => declarations.is_local(id) || is_constant(node),
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
        let declarations = self.declarations(Pass::Host);
        let is_standard = declarations.scope(declared).namespaces.starts_with("std::");
        is_not_system(declarations.file_name(declared.node.span)) && !is_standard
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
            // Those of the compiler do what those of the members do, which are looked at.
            None => node.data.is_implicit || node.data.explicitly_defaulted.is_some(),
        }
    }

    /// Looks at what runs for the classes in a type without being called by name.
    fn types_apart(&self, spelling: &str, search: &mut Search<'a>) -> bool {
        let records: Vec<NodeId> =
            names_in(spelling).into_iter().filter_map(|name| self.find_record(Pass::Host, name)).collect();
        records.into_iter().all(|record| !search.seen.insert(record) || self.class_apart(record, search))
    }

    fn class_apart(&self, record: NodeId, search: &mut Search<'a>) -> bool {
        let Some(Declared { node, .. }) = self.declarations(Pass::Host).get(record) else { return false };
        // Fields may begin with the value of a call.
        search.open.extend(node.children(Kind::FieldDecl));
        let mut members = node.inner.iter().filter(|member| is_operator(member) || is_made_or_ended(member));
        // What derived classes do in the place of a virtual function is not known.
        node.inner.iter().all(|member| !member.data.is_virtual)
            && node.data.bases.iter().all(|base| self.types_apart(&base.ty.0, search))
            && members.all(|member| self.call(member.id, member, search))
    }
}

/// The names in a type's spelling, those of templates with their arguments and without.
fn names_in(spelling: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let mut found = Vec::new();
    let mut rest = spelling;
    while let Some(start) = rest.find(is_part) {
        rest = &rest[start..];
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        found.push(&rest[..end]);
        found.extend(closing(&rest[end..]).map(|close| &rest[..end + close]));
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

fn is_made_or_ended(member: &Node) -> bool {
    matches!(member.kind, Kind::CXXConstructorDecl | Kind::CXXDestructorDecl)
}

fn is_operator(node: &Node) -> bool {
    let is_function = matches!(node.kind, Kind::FunctionDecl | Kind::CXXMethodDecl);
    node.kind == Kind::CXXConversionDecl || is_function && node.name().starts_with("operator")
}

/// Whether the function that is called is named, and not a value.
fn is_named(callee: &Node) -> bool {
    match callee.kind {
        Kind::MemberExpr => callee.data.referenced_member_decl.is_some(),
        Kind::DeclRefExpr => {
            callee.data.referenced_decl.as_ref().is_some_and(|it| !matches!(it.kind, Kind::VarDecl | Kind::ParmVarDecl))
        }
        Kind::ImplicitCastExpr if callee.data.cast_kind.as_deref() == Some("FunctionToPointerDecay") => {
            callee.inner.first().is_some_and(is_named)
        }
        Kind::ParenExpr => callee.inner.first().is_some_and(is_named),
        _ => false,
    }
}
