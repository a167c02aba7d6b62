//! Whether what a file declares means the same when another file comes before it.
//!
//! Files of a program are read one after the other, as one text. Macros, `using namespace` and further overloads of the first
//! could change what the others mean, so each is read alone too, and both trees are compared.

use std::borrow::Cow;
use std::collections::HashMap;

use super::ast::{Ast, Base, Kind, Node, Reference, TypeName};
use super::sieve::is_of_program;
use crate::source::Span;

/// The first declaration of the program's own in a file that is read alone to which none is equal in another tree.
pub fn changed_declaration(alone: &Ast, together: &Ast) -> Option<Span> {
    let mut known: HashMap<Key<'_>, Vec<&Node>> = HashMap::new();
    for node in own_declarations(together) {
        known.entry(key(node)).or_default().push(node);
    }
    let is_there = |node: &&Node| known.get(&key(node)).is_some_and(|all| all.iter().any(|other| is_same(node, other)));
    own_declarations(alone).into_iter().find(|node| !is_there(node)).map(|node| node.span)
}

type Key<'a> = (Kind, &'a str, Option<&'a str>);

fn key(node: &Node) -> Key<'_> {
    (node.kind, node.name(), node.data.mangled_name.as_deref())
}

/// What stands in the program's own files, outside of other declarations. Of the standard library some is read too, but what
/// is instantiated of its templates depends on what else is included.
fn own_declarations(ast: &Ast) -> Vec<&Node> {
    let is_own = |node: &&Node| {
        let file = ast.sources.files.get(node.span.file);
        file.is_some_and(|file| is_of_program(&file.name) && file.text.is_some())
    };
    let mut found = Vec::new();
    let mut open: Vec<&Node> = ast.declarations.iter().rev().filter(is_own).collect();
    while let Some(node) = open.pop() {
        match node.kind {
            Kind::NamespaceDecl | Kind::LinkageSpecDecl => open.extend(node.inner.iter().rev()),
            _ if node.data.is_implicit => {}
            _ => found.push(node),
        }
    }
    found
}

fn is_same(left: &Node, right: &Node) -> bool {
    let (a, b) = (&left.data, &right.data);
    left.kind == right.kind
        && a.name == b.name
        && a.mangled_name == b.mangled_name
        && is_same_type(a.ty.as_ref(), b.ty.as_ref())
        && a.value_category == b.value_category
        && a.value == b.value
        && a.opcode == b.opcode
        && a.is_postfix == b.is_postfix
        && a.cast_kind == b.cast_kind
        && is_same_reference(a.referenced_decl.as_deref(), b.referenced_decl.as_deref())
        && is_same_reference(a.any_init.as_deref(), b.any_init.as_deref())
        && a.storage_class == b.storage_class
        && a.init == b.init
        && a.constexpr == b.constexpr
        && a.is_constexpr == b.is_constexpr
        && is_same_type(a.ctor_type.as_ref(), b.ctor_type.as_ref())
        && is_same_type(a.compute_lhs_type.as_ref(), b.compute_lhs_type.as_ref())
        && is_same_type(a.arg_type.as_ref(), b.arg_type.as_ref())
        && is_same_type(a.fixed_underlying_type.as_ref(), b.fixed_underlying_type.as_ref())
        && a.tag_used == b.tag_used
        && a.is_array == b.is_array
        && a.bases.len() == b.bases.len()
        && a.bases.iter().zip(&b.bases).all(|(Base { ty: a }, Base { ty: b })| is_same_type(Some(a), Some(b)))
        && a.array_filler.len() == b.array_filler.len()
        && a.array_filler.iter().zip(&b.array_filler).all(|(left, right)| is_same(left, right))
        && has_same_parts(left, right)
}

/// Another file may instantiate templates that a file alone does not, in another order, and more of what is in them.
/// Comments mean nothing, and Clang gives an instance that of any of its declarations.
fn has_same_parts(left: &Node, right: &Node) -> bool {
    let is_template = matches!(left.kind, Kind::FunctionTemplateDecl | Kind::ClassTemplateDecl);
    let is_of_body = |part: &Node| matches!(part.kind, Kind::CompoundStmt | Kind::CXXCtorInitializer);
    let has_body = left.has(Kind::CompoundStmt);
    let is_written = |part: &Node| !part.data.is_implicit && part.kind != Kind::FullComment;
    let mut rest = right.inner.iter().filter(|part| is_written(part) && (has_body || !is_of_body(part)));
    let mut parts = left.inner.iter().filter(|part| is_written(part));
    if is_template {
        let is_only_named =
            |part: &Node| part.kind == Kind::ClassTemplateSpecializationDecl && !part.data.complete_definition;
        // The text of a function template means nothing yet: whether its operators are overloaded is known of its instances.
        let is_pattern = |part: &Node| part.has(Kind::CompoundStmt) && !part.has(Kind::TemplateArgument);
        let is_same_pattern = |part: &Node, other: &Node| {
            is_pattern(part) && is_pattern(other) && is_same_type(part.data.ty.as_ref(), other.data.ty.as_ref())
        };
        let is_there =
            |part: &Node| right.inner.iter().any(|other| is_same_pattern(part, other) || is_same(part, other));
        return parts.all(|part| is_only_named(part) || is_there(part));
    }
    parts.all(|part| rest.next().is_some_and(|other| is_same(part, other))) && rest.next().is_none()
}

fn is_same_reference(left: Option<&Reference>, right: Option<&Reference>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => {
            left.kind == right.kind && left.name == right.name && is_same_type(left.ty.as_ref(), right.ty.as_ref())
        }
        (left, right) => left.is_none() && right.is_none(),
    }
}

fn is_same_type(left: Option<&TypeName>, right: Option<&TypeName>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left == right || without_folders(&left.0) == without_folders(&right.0),
        (left, right) => left.is_none() && right.is_none(),
    }
}

/// A type without a name is spelt by its place, and the folder of that place as the file was found: `./grid.h` after the first
/// file, with its whole path alone. Its own declaration is compared too, so that the folder need not be.
fn without_folders(spelling: &str) -> Cow<'_, str> {
    let mut parts = spelling.split(" at ");
    let first = parts.next().unwrap_or_default();
    let mut result = Cow::Borrowed(first);
    for part in parts {
        let path = part.find(':').map_or("", |end| &part[..end]);
        let name = path.rfind('/').map_or(0, |slash| slash + 1);
        *result.to_mut() += &format!(" at {}", &part[name..]);
    }
    result
}
