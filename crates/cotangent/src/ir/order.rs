//! The order of a module: records before those that contain them, functions after those they call.
//!
//! It depends on the module's contents only, not on the order of the user's text, so that lowering what was printed
//! gives the same order again: everything is numbered as it is first met from the requested functions. Passes that
//! make functions use it too: what they leave is in the order that its printed text leads back to.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::ControlFlow;

use super::walk::{self, Node, NodeMut};
use super::{
    Block, Expr, ExprKind, Function, FunctionId, GlobalId, Local, LocalId, Module, PlaceKind, PointerType, RecordId,
    Rule, Type,
};
use crate::index::{Id, IdVec};

/// The same module in its normal order. What nothing refers to any more is left out, except functions.
pub fn callees_first(module: &Module) -> Module {
    // A function that no other calls was asked for.
    let called = called(module);
    let roots: Vec<FunctionId> = module.functions.ids().filter(|id| !called.contains(id)).collect();
    needed_by(module, &roots)
}

/// Some functions of a module with all they need and nothing else, in its normal order.
pub fn needed_by(module: &Module, roots: &[FunctionId]) -> Module {
    let mut order = Order {
        module,
        records: Numbering::default(),
        globals: Numbering::default(),
        functions: Numbering::default(),
        open: HashSet::new(),
    };
    for root in roots {
        order.function(*root);
    }
    order.rules();
    let Order { records, globals, functions, .. } = order;
    let rename = Rename { records: &records.numbers, globals: &globals.numbers, functions: &functions.numbers };
    let mut rules: Vec<Rule> = module.rules.iter().filter_map(|rule| rename.rule(rule)).collect();
    rules.sort_by_key(|rule| rule.function);
    Module {
        preamble: module.preamble.clone(),
        needs_program: module.needs_program,
        rules,
        records: records
            .in_order
            .iter()
            .map(|id| {
                let mut record = module.records[*id].clone();
                record.fields.iter_mut().for_each(|field| rename.ty(&mut field.ty));
                record
            })
            .collect(),
        globals: globals
            .in_order
            .iter()
            .map(|id| {
                let mut global = module.globals[*id].clone();
                rename.ty(&mut global.ty);
                if let Some(init) = &mut global.init {
                    rename.expr(init);
                }
                global
            })
            .collect(),
        functions: functions.in_order.iter().map(|id| rename.function(module.functions[*id].clone())).collect(),
    }
}

fn called(module: &Module) -> Vec<FunctionId> {
    let mut called = Vec::new();
    for function in module.functions.iter() {
        walk::each_stmt(&function.body, &mut |stmt| called.extend(stmt.called().map(|called| called.function)));
    }
    called
}

/// Old ids in their new order.
struct Numbering<I> {
    numbers: HashMap<I, I>,
    in_order: Vec<I>,
}

impl<I> Default for Numbering<I> {
    fn default() -> Self {
        Numbering { numbers: HashMap::new(), in_order: Vec::new() }
    }
}

impl<I: Id + Hash> Numbering<I> {
    fn add(&mut self, old: I) {
        self.numbers.insert(old, I::new(self.in_order.len()));
        self.in_order.push(old);
    }
}

struct Order<'m> {
    module: &'m Module,
    records: Numbering<RecordId>,
    globals: Numbering<GlobalId>,
    functions: Numbering<FunctionId>,
    /// Records whose fields are being visited.
    open: HashSet<RecordId>,
}

impl Order<'_> {
    /// Functions that rules of functions which are there name. They come last, since they may call what they are about.
    fn rules(&mut self) {
        loop {
            let before = self.functions.in_order.len();
            for rule in &self.module.rules {
                if self.functions.numbers.contains_key(&rule.function) {
                    rule.kind.functions().into_iter().for_each(|function| self.function(function));
                }
            }
            if self.functions.in_order.len() == before {
                return;
            }
        }
    }

    fn function(&mut self, id: FunctionId) {
        if self.functions.numbers.contains_key(&id) {
            return;
        }
        let module = self.module;
        let function = &module.functions[id];
        for param in &function.params {
            self.ty(&function.locals[*param].ty);
        }
        self.ty(&function.result);
        let mut callees = Vec::new();
        let _ = walk::visit_block(&function.body, &mut |node| {
            match node {
                Node::Stmt(stmt) => {
                    if let Some(local) = walk::declared_local(stmt) {
                        self.ty(&function.locals[local].ty);
                    }
                    callees.extend(stmt.called().map(|called| called.function));
                }
                Node::Expr(expr) => self.expr(expr),
                Node::Place(place) => {
                    if let PlaceKind::Global(global) = &place.kind {
                        self.global(*global);
                    }
                }
            }
            ControlFlow::<()>::Continue(())
        });
        for callee in callees {
            self.function(callee);
        }
        self.functions.add(id);
    }

    fn expr(&mut self, expr: &Expr) {
        self.ty(&expr.ty);
        if let ExprKind::SizeOf(ty) = &expr.kind {
            self.ty(ty);
        }
    }

    fn global(&mut self, id: GlobalId) {
        if self.globals.numbers.contains_key(&id) {
            return;
        }
        let module = self.module;
        let global = &module.globals[id];
        self.ty(&global.ty);
        if let Some(init) = &global.init {
            let _ = walk::visit_expr(init, &mut |node| {
                match node {
                    Node::Expr(expr) => self.expr(expr),
                    Node::Place(place) => {
                        if let PlaceKind::Global(global) = &place.kind {
                            self.global(*global);
                        }
                    }
                    Node::Stmt(_) => {}
                }
                ControlFlow::<()>::Continue(())
            });
        }
        if !self.globals.numbers.contains_key(&id) {
            self.globals.add(id);
        }
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            // A record that contains itself is none that C++ has; the validator says so.
            Type::Record(id) if !self.records.numbers.contains_key(id) && self.open.insert(*id) => {
                let module = self.module;
                let fields = &module.records[*id].fields;
                // What it contains comes before it, what it points to may come after.
                fields.iter().filter(|field| !field.ty.is_pointer()).for_each(|field| self.ty(&field.ty));
                self.records.add(*id);
                fields.iter().filter(|field| field.ty.is_pointer()).for_each(|field| self.ty(&field.ty));
            }
            Type::Pointer(pointer) => self.ty(&pointer.pointee),
            Type::Array(element, _) => self.ty(element),
            Type::Record(_) | Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => {}
        }
    }
}

struct Rename<'n> {
    records: &'n HashMap<RecordId, RecordId>,
    globals: &'n HashMap<GlobalId, GlobalId>,
    functions: &'n HashMap<FunctionId, FunctionId>,
}

impl Rename<'_> {
    /// A rule, if what it is about is there.
    fn rule(&self, rule: &Rule) -> Option<Rule> {
        let function = *self.functions.get(&rule.function)?;
        let kind = rule.kind.map(|id| *self.functions.get(&id).unwrap_or(&id));
        Some(Rule { function, kind, span: rule.span })
    }

    fn ty(&self, ty: &mut Type) {
        match ty {
            Type::Record(id) => *id = *self.records.get(id).unwrap_or(id),
            Type::Pointer(pointer) => {
                let PointerType { pointee, .. } = &mut **pointer;
                self.ty(pointee);
            }
            Type::Array(element, _) => self.ty(element),
            Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => {}
        }
    }

    fn expr(&self, expr: &mut Expr) {
        let _ = walk::visit_expr_mut(expr, &mut |node| {
            self.node(node);
            ControlFlow::<()>::Continue(())
        });
    }

    fn node(&self, node: NodeMut<'_>) {
        match node {
            NodeMut::Stmt(stmt) => {
                if let Some((function, _)) = stmt.called_mut() {
                    *function = *self.functions.get(function).unwrap_or(function);
                }
            }
            NodeMut::Expr(expr) => {
                self.ty(&mut expr.ty);
                if let ExprKind::SizeOf(ty) = &mut expr.kind {
                    self.ty(ty);
                }
            }
            NodeMut::Place(place) => {
                self.ty(&mut place.ty);
                if let PlaceKind::Global(global) = &mut place.kind {
                    *global = *self.globals.get(global).unwrap_or(global);
                }
            }
        }
    }

    fn function(&self, mut function: Function) -> Function {
        self.ty(&mut function.result);
        function.locals.iter_mut().for_each(|local| self.ty(&mut local.ty));
        let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
            self.node(node);
            ControlFlow::<()>::Continue(())
        });
        function
    }
}

/// The locals that are parameters or declared, in the order of their declaration; others are left out.
pub fn declared_only(
    params: &mut [LocalId],
    locals: IdVec<LocalId, Local>,
    block: &mut Block,
) -> IdVec<LocalId, Local> {
    let mut numbering = Numbering::default();
    params.iter().for_each(|param| numbering.add(*param));
    walk::each_stmt(block, &mut |stmt| walk::declared_local(stmt).into_iter().for_each(|local| numbering.add(local)));
    let new = |old: &mut LocalId| *old = *numbering.numbers.get(old).unwrap_or(old);
    params.iter_mut().for_each(new);
    walk::each_local_mut(block, &mut { new });
    numbering.in_order.iter().map(|old| locals[*old].clone()).collect()
}
