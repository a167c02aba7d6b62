//! A comment where the reverse sweep begins, if the sweeps are apart.

use std::collections::BTreeSet;

use super::AdjointParam;
use crate::ir::walk;
use crate::ir::{Block, Expr, Function, LocalId, PlaceKind, Stmt, StmtKind, Storage};

/// What the comment says.
const COMMENT: &str = "the reverse sweep";

/// Adds the comment to a derivative. Where both sweeps are in one loop or branch there is none.
pub(super) fn tell_sweeps(function: &mut Function, adjoints: &[AdjointParam]) {
    // Adjoints of shared memory are filled with zeros before anything else.
    let is_private = |local: &LocalId| function.locals[*local].storage == Storage::Private;
    let mut shadows: BTreeSet<LocalId> = adjoints.iter().map(|param| param.adjoint).filter(is_private).collect();
    // Pointers that follow those of the program.
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
            && function.locals[*local].ty.is_pointer()
            && shadows.iter().any(|shadow| walk::expr_mentions(init, *shadow))
        {
            shadows.insert(*local);
        }
    });
    let mut body = std::mem::take(&mut function.body);
    tell(&shadows, &mut body, false);
    function.body = body;
}

fn tell(shadows: &BTreeSet<LocalId>, block: &mut Block, is_inside: bool) {
    let begin = block.iter().position(|stmt| is_reverse(shadows, stmt));
    let end = block.iter().rposition(|stmt| stores(shadows, stmt));
    let (Some(begin), Some(end)) = (begin, end) else { return };
    if end < begin {
        let first = &mut block[begin];
        let note = first.note.take().map(|note| format!("{COMMENT}\n{note}"));
        first.note = Some(note.unwrap_or_else(|| COMMENT.to_owned()).into());
    } else if let StmtKind::If { then_block, else_block, .. } = &mut block[begin].kind
        && begin == end
        && else_block.is_empty()
        && !is_inside
    {
        // All of it stands inside one guard.
        tell(shadows, then_block, true);
    }
}

/// Whether a statement uses what pointers to adjoints lead to, or hands them on. To declare or move one is no use yet.
fn is_reverse(shadows: &BTreeSet<LocalId>, stmt: &Stmt) -> bool {
    let is_shadow = |expr: &Expr| shadows.iter().any(|shadow| walk::expr_mentions(expr, *shadow));
    let mut found = false;
    walk::each_place(std::slice::from_ref(stmt), &mut |place| {
        found |= matches!(&place.kind, PlaceKind::Element(pointer, _) if is_shadow(pointer));
    });
    walk::each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
        found |= stmt.called().is_some_and(|called| called.args.iter().any(is_shadow));
    });
    found
}

/// Whether a statement stores what the program stores: to memory that is no adjoint's.
fn stores(shadows: &BTreeSet<LocalId>, stmt: &Stmt) -> bool {
    let mut found = false;
    walk::each_stmt(std::slice::from_ref(stmt), &mut |stmt| {
        for place in walk::written_places(stmt) {
            let is_memory = matches!(&place.kind, PlaceKind::Element(pointer, _)
                if !shadows.iter().any(|shadow| walk::expr_mentions(pointer, *shadow)));
            found |= is_memory;
        }
    });
    found
}
