//! Shared memory is declared where the function begins: it lives as long as the block does, wherever its declaration
//! stands.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::super::locals::{declare, rename};
use crate::ir::walk::{self, NodeMut, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, LocalId, Place, PlaceKind, Stmt, StmtKind, Storage, Type};

/// What every type may need that lies in dynamic shared memory.
const DYNAMIC_ALIGNMENT: u32 = 16;

/// Moves the declarations of shared memory to the beginning. All `extern` arrays are one memory: those of one type are one
/// variable, and those of other types are pointers to it.
pub(in crate::transform) fn gather_shared(function: &mut Function) {
    let mut declarations = Block::new();
    let mut body = std::mem::take(&mut function.body);
    take(function, &mut body, &mut declarations);
    let mut kept: Vec<Stmt> = Vec::new();
    let mut map: HashMap<LocalId, LocalId> = HashMap::new();
    for stmt in declarations {
        let Some(local) = walk::declared_local(&stmt) else { continue };
        match kept.iter().filter_map(walk::declared_local).find(|known| is_same(function, *known, local)) {
            Some(known) => drop(map.insert(local, known)),
            None => kept.push(stmt),
        }
    }
    rename(&mut body, &map);
    let views = views(function, &mut kept, &mut body);
    function.body = [kept, views, body].concat();
}

/// The same for a function that has several names for dynamic shared memory; others stay as they are.
pub(in crate::transform) fn gather_dynamic(function: &mut Function) {
    let mut names = 0;
    walk::each_stmt(&function.body, &mut |stmt| {
        let local = walk::declared_local(stmt);
        names += usize::from(local.is_some_and(|local| function.locals[local].storage == Storage::DynamicShared));
    });
    if names > 1 {
        gather_shared(function);
    }
}

/// Makes every dynamic array but the first a pointer to the first. As variables of their own they would look like
/// memory of their own, and what is stored by one name and read by another would be lost.
fn views(function: &mut Function, kept: &mut Block, body: &mut Block) -> Block {
    let is_dynamic = |local: &LocalId| function.locals[*local].storage == Storage::DynamicShared;
    let dynamic: Vec<LocalId> = kept.iter().filter_map(walk::declared_local).filter(is_dynamic).collect();
    let Some((first, others)) = dynamic.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Block::new();
    };
    kept.retain(|stmt| walk::declared_local(stmt).is_none_or(|local| !others.contains(&local)));
    let whole = Place::local(*first, function.locals[*first].ty.clone());
    // The others may need more than the first one's type does.
    let memory = &mut function.locals[*first];
    memory.align = Some(memory.align.map_or(DYNAMIC_ALIGNMENT, |align| align.max(DYNAMIC_ALIGNMENT)));
    let mut out = Block::new();
    for other in others {
        let variable = &mut function.locals[*other];
        let Type::Array(element, _) = variable.ty.clone() else { continue };
        variable.storage = Storage::Private;
        variable.align = None;
        variable.ty = Type::pointer(*element);
        let pointer = Place::local(*other, variable.ty.clone());
        let begin = whole.clone().index(Expr::int(0));
        let ty = Type::pointer(begin.ty.clone());
        let begin = Expr::cast(Expr::new(ExprKind::AddressOf(begin), ty), pointer.ty.clone());
        out.push(declare(*other, Some(begin)));
        point_to(body, &pointer);
    }
    out
}

/// Replaces an array by a pointer to its first element. An array of no length has no other use than its elements.
fn point_to(body: &mut Block, pointer: &Place) {
    let is_array = |place: &Place| place.kind == pointer.kind && matches!(place.ty, Type::Array(..));
    let _ = walk::visit_block_mut(body, &mut |node| {
        if let NodeMut::Place(place) = node
            && let PlaceKind::Index(base, index) = &place.kind
            && is_array(base)
        {
            place.kind = PlaceKind::Element(Box::new(Expr::load(pointer.clone())), index.clone());
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Whether two declarations are of the same memory: the same one twice, or dynamic memory under one type.
fn is_same(function: &Function, left: LocalId, right: LocalId) -> bool {
    let (first, second) = (&function.locals[left], &function.locals[right]);
    left == right || first.storage == Storage::DynamicShared && second.storage == first.storage && first.ty == second.ty
}

fn take(function: &Function, block: &mut Block, out: &mut Block) {
    let is_shared = |stmt: &Stmt| matches!(stmt.kind, StmtKind::Declare { local, .. } if function.locals[local].storage != Storage::Private);
    let (shared, rest): (Block, Block) = std::mem::take(block).into_iter().partition(is_shared);
    out.extend(shared);
    *block = rest;
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                take(function, inner, out);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};
    use expect_test::expect;

    #[test]
    fn declarations_stand_first_and_dynamic_memory_is_one() {
        let mut module = text::parse(
            "kernel k(x: float*, n: int) {
               for i: int = 0; i < n; i += 1 {
                 let shared s: float[4];
                 s[0] = x[i];
               }
               let dynamic a: float[0];
               let dynamic b: float[0];
               a[0] = 1.0f;
               b[1] = 2.0f;
             }",
        )
        .expect("the text is well-formed");
        module.functions.iter_mut().for_each(gather_shared);
        assert_eq!(validate(&module), Ok(()));
        expect![[r#"
            kernel k(x: float*, n: int) {
              unused dynamic b#5: float[0];
              let dynamic a#4: float[0];
              let shared s#3: float[4];
              for i: int = 0; i < n; i += 1 {
                s[0] = x[i];
              }
              a[0] = 1.0f;
              a[1] = 2.0f;
            }
        "#]]
        .assert_eq(&text::print(&module));
    }
}
