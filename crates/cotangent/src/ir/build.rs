//! Builds functions statement by statement.
//!
//! The builder keeps what is easily got wrong by hand: locals get names that differ from all that are visible, and are
//! visible only in their block. Statements without such concerns are pushed as they are.

use std::collections::{HashMap, HashSet};

use super::scope::Visible;
use super::{
    BinaryOp, Block, Expr, For, Function, IntKind, Local, LocalId, Module, Name, Place, Space, Stmt, StmtKind, Storage,
    Type,
};
use crate::index::IdVec;
use crate::source::Span;

/// A function under construction.
pub struct FunctionBuilder<'m> {
    function: Function,
    /// Names that no local gets, because the function may mention what has them.
    taken: HashSet<&'m str>,
    visible: Visible,
    /// How often a name was wanted that was not free.
    repetitions: HashMap<Name, u32>,
    block: Block,
}

/// How a counted loop goes on.
pub struct LoopHead {
    /// The comparison that lets another iteration run.
    pub test: BinaryOp,
    /// What the counter is compared with.
    pub to: Expr,
    /// How the counter changes.
    pub step: BinaryOp,
    /// By how much.
    pub by: Expr,
}

impl<'m> FunctionBuilder<'m> {
    /// Begins a function of a module, to which it does not belong yet.
    pub fn new(module: &'m Module, name: &str, space: Space, result: Type) -> FunctionBuilder<'m> {
        let records = module.records.iter().map(|record| &*record.name);
        let globals = module.globals.iter().map(|global| &*global.name);
        let functions = module.functions.iter().map(|function| &*function.name);
        let function = Function {
            name: name.into(),
            space,
            params: Vec::new(),
            result,
            locals: IdVec::new(),
            body: Vec::new(),
            launch_bounds: None,
            is_extern_c: false,
            span: Span::NONE,
            note: None,
        };
        FunctionBuilder {
            function,
            taken: records.chain(globals).chain(functions).collect(),
            visible: Visible::default(),
            repetitions: HashMap::new(),
            block: Vec::new(),
        }
    }

    /// Appends a parameter. Parameters come before everything else.
    pub fn param(&mut self, name: &str, ty: Type) -> Place {
        let (id, place) = self.local(name, ty, Storage::Private);
        self.function.params.push(id);
        place
    }

    /// Declares a local variable in this block.
    pub fn declare(&mut self, name: &str, ty: Type, init: Option<Expr>) -> Place {
        let (local, place) = self.local(name, ty, Storage::Private);
        self.push(StmtKind::Declare { local, init });
        place
    }

    /// Declares shared memory in this block.
    pub fn declare_shared(&mut self, name: &str, ty: Type, storage: Storage) -> Place {
        let (local, place) = self.local(name, ty, storage);
        self.push(StmtKind::Declare { local, init: None });
        place
    }

    /// Appends a statement to this block.
    pub fn push(&mut self, kind: StmtKind) {
        self.block.push(Stmt::new(kind));
    }

    /// Appends an assignment to this block.
    pub fn assign(&mut self, place: Place, value: Expr) {
        self.push(StmtKind::Assign { place, value });
    }

    /// Builds a block of its own, for a statement that will hold it.
    pub fn block(&mut self, build: impl FnOnce(&mut Self)) -> Block {
        let start = self.visible.enter();
        let around = std::mem::take(&mut self.block);
        build(self);
        self.visible.leave(start);
        std::mem::replace(&mut self.block, around)
    }

    /// Appends a branch without an alternative.
    pub fn if_then(&mut self, cond: Expr, build: impl FnOnce(&mut Self)) {
        let then_block = self.block(build);
        self.push(StmtKind::If { cond, then_block, else_block: Vec::new() });
    }

    /// Appends a counted loop. The counter has the type of its first value.
    pub fn for_loop(
        &mut self,
        name: &str,
        from: Expr,
        head: impl FnOnce(&Place) -> LoopHead,
        build: impl FnOnce(&mut Self, Place),
    ) {
        let start = self.visible.enter();
        let (counter, place) = self.local(name, from.ty.clone(), Storage::Private);
        let LoopHead { test, to, step, by } = head(&place);
        let body = self.block(|builder| build(builder, place));
        self.visible.leave(start);
        self.push(StmtKind::For(Box::new(For { counter, from, test, to, step, by, unroll: None, body })));
    }

    /// Appends the loop over the `int`s from 0 to `to`, which is none of them.
    pub fn count(&mut self, name: &str, to: Expr, build: impl FnOnce(&mut Self, Place)) {
        let by = Expr::integer(1, IntKind::Int);
        let head = |_: &Place| LoopHead { test: BinaryOp::Less, to, step: BinaryOp::Add, by };
        self.for_loop(name, Expr::int(0), head, build);
    }

    /// Ends the function.
    pub fn finish(self) -> Function {
        Function { body: self.block, ..self.function }
    }

    fn local(&mut self, wanted: &str, ty: Type, storage: Storage) -> (LocalId, Place) {
        let name = self.free_name(wanted);
        let id = self.function.locals.push(Local {
            name: name.clone(),
            ty: ty.clone(),
            storage,
            align: None,
            span: Span::NONE,
        });
        self.visible.declare(name, id);
        (id, Place::local(id, ty))
    }

    /// The wanted name, with a number after it if it is not free.
    fn free_name(&mut self, wanted: &str) -> Name {
        let is_free = |name: &str, visible: &Visible| visible.get(name).is_none() && !self.taken.contains(name);
        if is_free(wanted, &self.visible) {
            return wanted.into();
        }
        let repetition = self.repetitions.entry(wanted.into()).or_insert(0);
        loop {
            *repetition += 1;
            let name = format!("{wanted}_{repetition}");
            if is_free(&name, &self.visible) {
                return name.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Axis, Builtin, ExprKind, text, validate};
    use expect_test::expect;

    #[test]
    fn names_are_unique_where_they_are_visible() {
        let mut module = text::parse("constexpr n: int = 3;").expect("the text is well-formed");
        let mut builder = FunctionBuilder::new(&module, "k", Space::Kernel, Type::Void);
        let n = builder.param("n", Type::INT);
        let p = builder.param("p", Type::pointer(Type::FLOAT));
        let tile = builder.declare_shared("tile", Type::Array(Box::new(Type::FLOAT), 32), Storage::Shared);
        let thread = Expr::new(ExprKind::Builtin(Builtin::ThreadIdx(Axis::X)), Type::UINT);
        builder.if_then(Expr::binary(BinaryOp::Less, Expr::int(0), Expr::load(n.clone())), |builder| {
            builder.count("i", Expr::load(n.clone()), |builder, i| {
                let value = Expr::load(Place::element(Expr::load(p), Expr::load(i)));
                let t = builder.declare("t", Type::FLOAT, Some(value));
                builder.assign(tile.clone().index(thread), Expr::load(t));
            });
            builder.count("i", Expr::load(n), |builder, i| {
                builder.count("i", Expr::load(i), |builder, _| {
                    builder.declare("t", Type::INT, None);
                    builder.declare("t", Type::INT, None);
                });
            });
        });
        let function = builder.finish();
        module.functions.push(function);
        assert_eq!(validate(&module), Ok(()));
        expect![[r#"
            constexpr n: int = 3;

            kernel k(n_1: int, p: float*) {
              let shared tile: float[32];
              if (0 < n_1) {
                for i: int = 0; i < n_1; i += 1 {
                  let t: float = p[i];
                  tile[threadIdx.x] = t;
                }
                for i: int = 0; i < n_1; i += 1 {
                  for i_1: int = 0; i_1 < i; i_1 += 1 {
                    let t: int;
                    let t_1: int;
                  }
                }
              }
            }
        "#]]
        .assert_eq(&text::print(&module));
    }
}
