//! A reference to a pointer, or to a record that holds pointers, becomes what it refers to.
//!
//! `const float*& p = q;` goes on with `q`. A pointer has an adjoint pointer beside it, which is found by the pointer's
//! own name alone. `const float** p = &q;` is the same, as long as `p` keeps its value. What lies in memory behind a
//! parameter stays: there the adjoint pointers lie behind the parameter's own adjoint.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::super::locals::NewLocals;
use super::inline::{freeze, points_to_pointers, settled_locals, substitute, substitute_in, without_qualification};
use crate::ir::walk::{self, PartMut, own_variable};
use crate::ir::{Block, Expr, ExprKind, Function, LocalId, Module, StmtKind};

/// Replaces references to pointers by the pointers.
pub(in crate::transform) fn name_pointers(module: &Module, function: &mut Function) {
    let mut settled = settled_locals(function);
    let mut is_named = settled.clone();
    walk::each_expr(&function.body, &mut |expr| {
        if let ExprKind::AddressOf(place) = &expr.kind {
            is_named.retain(|local| own_variable(place) != Some(*local));
        }
    });
    is_named
        .retain(|local| !function.params.contains(local) && points_to_pointers(module, &function.locals[*local].ty));
    settled.retain(|local| !is_named.contains(local));
    let mut names = NewLocals::new(module, function);
    let mut body = std::mem::take(&mut function.body);
    let mut naming = Naming { settled, is_named, values: HashMap::new() };
    naming.block(function, &mut names, &mut body);
    substitute(&mut body, &naming.values);
    function.body = body;
}

struct Naming {
    /// Variables that keep their first value and stay.
    settled: HashSet<LocalId>,
    /// Variables that keep their first value and are to go.
    is_named: HashSet<LocalId>,
    /// What each of those is the address of.
    values: HashMap<LocalId, Expr>,
}

impl Naming {
    fn block(&mut self, function: &mut Function, names: &mut NewLocals, block: &mut Block) {
        let mut out = Block::new();
        for mut stmt in std::mem::take(block) {
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                if let PartMut::Block(inner) = part {
                    self.block(function, names, inner);
                }
                ControlFlow::<()>::Continue(())
            });
            if let StmtKind::Declare { local, init: Some(init) } = &mut stmt.kind
                && self.is_named.contains(local)
            {
                // A reference may be one to what another refers to.
                substitute_in(init, &self.values);
                let init = without_qualification(init.clone());
                if let Some(place) = init.as_address().filter(|place| own_variable(place).is_some()) {
                    let frozen = freeze(function, names, place.clone(), &self.settled, &mut out);
                    let address = Expr::new(ExprKind::AddressOf(frozen), init.ty).at(init.span);
                    self.values.insert(*local, address);
                    continue;
                }
            }
            out.push(stmt);
        }
        *block = out;
    }
}
