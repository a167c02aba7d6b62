//! Shared memory is declared where the function begins: it lives as long as the block does, wherever its declaration
//! stands.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::super::locals::rename;
use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, Function, LocalId, Stmt, StmtKind, Storage};

/// Moves the declarations of shared memory to the beginning. All `extern` arrays of one type are one.
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
    function.body = [kept, body].concat();
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
