//! What a program does after its last output: it checks, prints and frees.
//!
//! *The rest.* Nothing that comes after all outputs are taken changes them, so the derivative is the same without it. It is
//! left out of the text, but for the statements that free something: what is allocated before must be freed.

use std::collections::BTreeSet;

use super::{each, names};
use crate::clang::{Kind, Node, NodeId};

/// The functions that end what was made before.
const ENDS: &[&str] = &["cudaFree", "cudaFreeAsync", "cudaFreeHost", "free", "cudaStreamDestroy", "cudaEventDestroy"];

/// The statements of a body from an offset on that can be left out; none if others jump to one of them.
pub(super) fn rest(body: &Node, from: u32) -> Vec<&Node> {
    let after: Vec<&Node> = body.inner.iter().filter(|statement| statement.span.start >= from).collect();
    let (mut declared, mut is_target) = (BTreeSet::new(), false);
    for statement in &after {
        each(statement, &mut |node| {
            is_target |= node.kind == Kind::LabelStmt;
            if node.kind == Kind::VarDecl {
                declared.insert(node.id);
            }
        });
    }
    if is_target {
        return Vec::new();
    }
    after.into_iter().filter(|statement| !frees(statement) || mentions_any(statement, &declared)).collect()
}

fn frees(statement: &Node) -> bool {
    let mut found = false;
    each(statement, &mut |node| {
        let is_call = || node.kind == Kind::CallExpr && node.inner.first().is_some_and(is_end);
        found |= node.kind == Kind::CXXDeleteExpr || is_call();
    });
    found
}

fn is_end(callee: &Node) -> bool {
    ENDS.iter().any(|end| names(callee, end))
}

fn mentions_any(statement: &Node, variables: &BTreeSet<NodeId>) -> bool {
    let mut found = false;
    each(statement, &mut |node| {
        found |= node.data.referenced_decl.as_ref().is_some_and(|it| variables.contains(&it.id));
    });
    found
}
