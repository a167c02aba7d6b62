//! Random functions: their parameters and statements.

use super::{Choices, TEXTS};
use crate::ir::build::{FunctionBuilder, LoopHead};
use crate::ir::{
    AtomicOp, BarrierKind, BinaryOp, Block, Case, CollectiveOp, Expr, Function, FunctionId, IntKind, Launch, LocalId,
    LoopTest, Module, OpaqueArg, Place, PlaceKind, Scope, Space, StmtKind, Storage, Type, Unread,
};

/// How deep statements are nested at most.
const STMT_DEPTH: usize = 3;
/// How deep expressions are nested at most.
const EXPR_DEPTH: usize = 4;

const COUNTING_BARRIERS: [BarrierKind; 3] = [BarrierKind::BlockCount, BarrierKind::BlockAnd, BarrierKind::BlockOr];

const PLAIN_BARRIERS: [BarrierKind; 4] =
    [BarrierKind::Block, BarrierKind::Fence, BarrierKind::FenceBlock, BarrierKind::FenceSystem];

const ATOMICS: [AtomicOp; 11] = [
    AtomicOp::Add,
    AtomicOp::Subtract,
    AtomicOp::Exchange,
    AtomicOp::Min,
    AtomicOp::Max,
    AtomicOp::And,
    AtomicOp::Or,
    AtomicOp::Xor,
    AtomicOp::Increment,
    AtomicOp::Decrement,
    AtomicOp::CompareAndSwap,
];

const REDUCTIONS: [CollectiveOp; 7] = [
    CollectiveOp::MatchAny,
    CollectiveOp::ReduceAdd,
    CollectiveOp::ReduceMin,
    CollectiveOp::ReduceMax,
    CollectiveOp::ReduceAnd,
    CollectiveOp::ReduceOr,
    CollectiveOp::ReduceXor,
];

/// A point in a function, or outside.
pub(super) struct Body<'a, 'n> {
    pub(super) choices: &'a mut Choices<'n>,
    pub(super) module: &'a Module,
    pub(super) is_device: bool,
    /// The locals that are visible, and their types.
    pub(super) visible: Vec<(LocalId, Type)>,
    counters: Vec<LocalId>,
    result: Type,
    loops: usize,
    breakables: usize,
}

impl<'a, 'n> Body<'a, 'n> {
    /// Outside functions, for initial values of variables.
    pub(super) fn outside(choices: &'a mut Choices<'n>, module: &'a Module) -> Body<'a, 'n> {
        let (visible, counters) = (Vec::new(), Vec::new());
        Body { choices, module, is_device: false, visible, counters, result: Type::Void, loops: 0, breakables: 0 }
    }

    /// A whole function.
    pub(super) fn function(
        choices: &'a mut Choices<'n>,
        module: &'a Module,
        name: &str,
        space: Space,
        result: Type,
    ) -> Function {
        let mut builder = FunctionBuilder::new(module, name, space, result.clone());
        let mut body = Body { is_device: space != Space::Host, result, ..Body::outside(choices, module) };
        for _ in 0..body.choices.below(5) {
            let ty = body.choices.value_type(module, 3);
            let param = builder.param(body.choices.local_name(), ty);
            body.see(&param);
        }
        body.stmts(&mut builder, STMT_DEPTH);
        builder.finish()
    }

    pub(super) fn is_counter(&self, id: LocalId) -> bool {
        self.counters.contains(&id)
    }

    /// A declared local can be mentioned from here on.
    fn see(&mut self, place: &Place) {
        if let PlaceKind::Local(id) = place.kind {
            self.visible.push((id, place.ty.clone()));
        }
    }

    fn block(&mut self, builder: &mut FunctionBuilder<'_>, depth: usize) -> Block {
        let visible = self.visible.len();
        let block = builder.block(|builder| self.stmts(builder, depth));
        self.visible.truncate(visible);
        block
    }

    fn loop_body(&mut self, builder: &mut FunctionBuilder<'_>, depth: usize) -> Block {
        self.loops += 1;
        self.breakables += 1;
        let block = self.block(builder, depth);
        self.breakables -= 1;
        self.loops -= 1;
        block
    }

    fn stmts(&mut self, builder: &mut FunctionBuilder<'_>, depth: usize) {
        for _ in 0..self.choices.below(7) {
            match self.choices.below(4) {
                0 => self.declare(builder),
                1 if depth > 0 => self.control(builder, depth - 1),
                2 => self.across_threads(builder),
                _ => self.simple(builder),
            }
        }
    }

    fn any_value(&mut self) -> Expr {
        let ty = self.choices.value_type(self.module, 2);
        self.value(&ty, EXPR_DEPTH)
    }

    fn values(&mut self, ty: &Type, count: usize) -> Vec<Expr> {
        (0..count).map(|_| self.value(ty, EXPR_DEPTH)).collect()
    }

    /// Where a result goes, if anywhere.
    fn into(&mut self, ty: &Type) -> Option<Place> {
        let is_possible = *ty != Type::Void && !ty.is_reference();
        (is_possible && self.choices.chance()).then(|| self.target(ty, 2))
    }

    fn declare(&mut self, builder: &mut FunctionBuilder<'_>) {
        let ty = self.choices.object_type(self.module, 3);
        let name = self.choices.local_name();
        let place = match self.choices.below(6) {
            4 if self.is_device => builder.declare_shared(name, ty, Storage::Shared),
            5 if self.is_device && !ty.is_reference() => {
                builder.declare_shared(name, Type::Array(Box::new(ty), 0), Storage::DynamicShared)
            }
            3 => builder.declare(name, ty, None),
            _ => {
                let init = self.initial_value(&ty, EXPR_DEPTH);
                builder.declare(name, ty, Some(init))
            }
        };
        self.see(&place);
    }

    fn simple(&mut self, builder: &mut FunctionBuilder<'_>) {
        let kind = match self.choices.below(8) {
            0 => {
                let value = self.any_value();
                let ty = if value.ty.is_reference() { Type::INT } else { value.ty.clone() };
                let value = if ty == value.ty { value } else { Expr::int(1) };
                StmtKind::Assign { place: self.target(&ty, EXPR_DEPTH), value }
            }
            1 => {
                let ty = self.choices.pick(&[Type::FLOAT, Type::DOUBLE]);
                StmtKind::Accumulate { place: self.target(&ty, EXPR_DEPTH), value: self.value(&ty, EXPR_DEPTH) }
            }
            2 if self.breakables > 0 => StmtKind::Break,
            3 if self.loops > 0 => StmtKind::Continue,
            4 => {
                let ty = self.result.clone();
                StmtKind::Return(if ty == Type::Void { None } else { Some(self.value(&ty, EXPR_DEPTH)) })
            }
            5 if !self.visible.is_empty() => {
                let (record, _) = self.choices.pick(&self.visible.clone());
                if self.choices.chance() {
                    StmtKind::Pop { record, into: self.target(&Type::FLOAT, 2) }
                } else {
                    StmtKind::Push { record, value: self.any_value() }
                }
            }
            6 => match self.call() {
                Some(call) => call,
                None => return,
            },
            _ => self.opaque(),
        };
        builder.push(kind);
    }

    fn call(&mut self) -> Option<StmtKind> {
        let space = if self.is_device { Space::Device } else { Space::Host };
        let candidates = self.functions(space);
        if candidates.is_empty() {
            return None;
        }
        let function = self.choices.pick(&candidates);
        let (result, args) = (self.module.functions[function].result.clone(), self.args(function));
        Some(StmtKind::Call { into: self.into(&result), function, args })
    }

    fn functions(&self, space: Space) -> Vec<FunctionId> {
        let functions = self.module.functions.entries();
        functions.filter(|(_, function)| function.space == space).map(|(id, _)| id).collect()
    }

    fn args(&mut self, function: FunctionId) -> Vec<Expr> {
        let function = &self.module.functions[function];
        function.params.iter().map(|param| self.value(&function.locals[*param].ty, EXPR_DEPTH)).collect()
    }

    fn opaque(&mut self) -> StmtKind {
        if let Some(place) = self.into(&Type::LONG).filter(|_| self.choices.chance()) {
            let args = vec![OpaqueArg::Text(self.choices.pick(TEXTS).into()), OpaqueArg::Variable(place)];
            return StmtKind::Opaque { code: Unread::Passed, args, into: self.into(&Type::LONG) };
        }
        let args = (0..self.choices.below(3)).map(|_| {
            if self.choices.chance() {
                OpaqueArg::Value(self.any_value())
            } else {
                OpaqueArg::Text(self.choices.pick(TEXTS).into())
            }
        });
        let args = args.collect();
        let code = Unread::Call(self.choices.pick(&["printf", "__trap", "clock"]).into());
        StmtKind::Opaque { code, args, into: self.into(&Type::LONG) }
    }

    fn control(&mut self, builder: &mut FunctionBuilder<'_>, depth: usize) {
        let kind = match self.choices.below(4) {
            0 => {
                let cond = self.value(&Type::Bool, EXPR_DEPTH);
                let then_block = self.block(builder, depth);
                let else_block = if self.choices.chance() { self.block(builder, depth) } else { Vec::new() };
                StmtKind::If { cond, then_block, else_block }
            }
            1 => {
                let cond = self.value(&Type::Bool, EXPR_DEPTH);
                let test = self.choices.pick(&[LoopTest::Before, LoopTest::After]);
                StmtKind::While { cond, body: self.loop_body(builder, depth), test }
            }
            2 => {
                self.breakables += 1;
                let mut cases = Vec::new();
                for index in 0..self.choices.below(4) as i128 {
                    let values = (0..self.choices.below(3) as i128).map(|value| 10 * index + value - 5).collect();
                    let is_default = index == 1 && self.choices.chance();
                    cases.push(Case { values, is_default, body: self.block(builder, depth) });
                }
                self.breakables -= 1;
                StmtKind::Switch { value: self.value(&Type::INT, EXPR_DEPTH), cases }
            }
            _ => return self.for_loop(builder, depth),
        };
        builder.push(kind);
    }

    fn for_loop(&mut self, builder: &mut FunctionBuilder<'_>, depth: usize) {
        let kind = self.choices.pick(&IntKind::ALL);
        let ty = match self.choices.below(3) {
            0 => Type::Int(kind),
            1 => Type::DOUBLE,
            _ => Type::pointer(Type::FLOAT),
        };
        let from = self.value(&ty, EXPR_DEPTH);
        let tests = [BinaryOp::Less, BinaryOp::NotEqual, BinaryOp::GreaterEqual];
        let (test, name) = (self.choices.pick(&tests), self.choices.local_name());
        let (step, by) = if ty.is_pointer() {
            (BinaryOp::Offset, Type::Int(kind))
        } else if self.choices.chance() && ty == Type::Int(kind) {
            (self.choices.pick(&[BinaryOp::ShiftLeft, BinaryOp::ShiftRight]), Type::INT)
        } else {
            let steps = [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Divide];
            (self.choices.pick(&steps), ty.clone())
        };
        let visible = self.visible.len();
        // The builder asks for the head first and for the body then, and both see the counter.
        let this = std::cell::RefCell::new(self);
        let head = |counter: &Place| {
            let mut this = this.borrow_mut();
            this.see(counter);
            if let PlaceKind::Local(id) = counter.kind {
                this.counters.push(id);
            }
            LoopHead { test, to: this.value(&ty, EXPR_DEPTH), step, by: this.value(&by, EXPR_DEPTH) }
        };
        builder.for_loop(name, from, head, |builder, _| {
            let mut this = this.borrow_mut();
            this.loops += 1;
            this.breakables += 1;
            this.stmts(builder, depth);
            this.breakables -= 1;
            this.loops -= 1;
        });
        this.into_inner().visible.truncate(visible);
    }

    /// What only the device does, or only the host.
    fn across_threads(&mut self, builder: &mut FunctionBuilder<'_>) {
        let kind = match (self.is_device, self.choices.below(3)) {
            (true, 0) => self.barrier(),
            (true, 1) => self.atomic(),
            (true, _) => self.collective(),
            (false, 0) => {
                let count = self.choices.below(4);
                let args = (0..count).map(|_| self.any_value()).collect();
                let call = self.choices.pick(&["cudaMalloc", "cudaMemcpyAsync"]).into();
                StmtKind::Runtime { call, args, into: self.into(&Type::INT) }
            }
            (false, _) => {
                let kernels = self.functions(Space::Kernel);
                if kernels.is_empty() {
                    return;
                }
                let kernel = self.choices.pick(&kernels);
                let stream = Type::Opaque("cudaStream_t".into());
                StmtKind::Launch(Box::new(Launch {
                    kernel,
                    is_checked: self.choices.chance(),
                    grid: std::array::from_fn(|_| self.value(&Type::UINT, 2)),
                    block: std::array::from_fn(|_| self.value(&Type::UINT, 2)),
                    shared: self.choices.chance().then(|| self.value(&Type::SIZE, 2)),
                    stream: self.choices.chance().then(|| self.value(&stream, 2)),
                    args: self.args(kernel),
                }))
            }
        };
        builder.push(kind);
    }

    fn barrier(&mut self) -> StmtKind {
        match self.choices.below(3) {
            0 => StmtKind::Barrier { kind: self.choices.pick(&PLAIN_BARRIERS), argument: None, into: None },
            1 => {
                let argument = self.choices.chance().then(|| self.value(&Type::UINT, EXPR_DEPTH));
                StmtKind::Barrier { kind: BarrierKind::Warp, argument, into: None }
            }
            _ => StmtKind::Barrier {
                kind: self.choices.pick(&COUNTING_BARRIERS),
                argument: Some(self.value(&Type::INT, EXPR_DEPTH)),
                into: self.into(&Type::INT),
            },
        }
    }

    fn atomic(&mut self) -> StmtKind {
        let op = self.choices.pick(&ATOMICS);
        let ty = self.choices.pick(&[Type::INT, Type::UINT, Type::SIZE, Type::FLOAT, Type::DOUBLE]);
        let has_compare = op == AtomicOp::CompareAndSwap;
        let scope = self.choices.pick(&[Scope::Device, Scope::Block, Scope::System, Scope::Anywhere, Scope::Together]);
        if [Scope::Anywhere, Scope::Together].contains(&scope) {
            let (place, value) = (self.target(&ty, EXPR_DEPTH), self.value(&ty, EXPR_DEPTH));
            return StmtKind::Atomic { op: AtomicOp::Add, scope, place, value, compare: None, into: None };
        }
        StmtKind::Atomic {
            op,
            scope,
            place: self.target(&ty, EXPR_DEPTH),
            value: self.value(&ty, EXPR_DEPTH),
            compare: has_compare.then(|| self.value(&ty, EXPR_DEPTH)),
            into: self.into(&ty),
        }
    }

    fn collective(&mut self) -> StmtKind {
        let ty = self.choices.pick(&[Type::INT, Type::UINT, Type::FLOAT]);
        let width = self.choices.below(2);
        let (op, mut args, more, count, result) = match self.choices.below(6) {
            0 => {
                let op = self.choices.pick(&[CollectiveOp::Shuffle, CollectiveOp::ShuffleXor]);
                (op, self.values(&ty, 1), Type::INT, 1 + width, ty)
            }
            1 => {
                let op = self.choices.pick(&[CollectiveOp::ShuffleUp, CollectiveOp::ShuffleDown]);
                let args = vec![self.value(&ty, EXPR_DEPTH), self.value(&Type::UINT, EXPR_DEPTH)];
                (op, args, Type::INT, width, ty)
            }
            2 => {
                let op = self.choices.pick(&[CollectiveOp::Any, CollectiveOp::All]);
                (op, Vec::new(), Type::INT, 1, Type::INT)
            }
            3 => {
                let op = self.choices.pick(&REDUCTIONS);
                let result = if op == CollectiveOp::MatchAny { Type::UINT } else { ty.clone() };
                (op, Vec::new(), ty, 1, result)
            }
            4 => (CollectiveOp::MatchAll, self.values(&ty, 1), Type::pointer(Type::INT), 1, Type::UINT),
            _ => {
                let op = self.choices.pick(&[CollectiveOp::Ballot, CollectiveOp::ActiveMask]);
                (op, Vec::new(), Type::INT, usize::from(op == CollectiveOp::Ballot), Type::UINT)
            }
        };
        args.extend(self.values(&more, count));
        let has_mask = op != CollectiveOp::ActiveMask;
        let mask = has_mask.then(|| self.value(&Type::UINT, EXPR_DEPTH));
        StmtKind::Collective { op, mask, args, into: self.into(&result) }
    }
}
