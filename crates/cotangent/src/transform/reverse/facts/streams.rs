//! Which arrays several streams may add adjoints to at the same time.
//!
//! Two streams may read one array at once; in the reverse sweep both then add to its adjoints. Where the program orders two
//! streams, it is because one writes what the other reads, and the reverse sweep has that order too. So what is contended
//! are the arrays that are read in two streams, whatever stands between them: their adjoints are added to by atomics.
//!
//! And what the host waits for at the end, so that adjoints are there for the caller.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::Facts;
use crate::analysis::{Object, reads_through};
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{Block, Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, StmtKind};
use crate::rules::{RuntimeClass, WAIT_FOR_DEVICE, runtime_class};
use crate::transform::launch::{self};
use crate::transform::locals::without_spans;
use crate::transform::runtime_calls::{call_of, wait_for};

/// The stream of a launch or copy, if it is one and the same whenever it is come by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Default,
    Variable(LocalId),
    /// Another one each time, perhaps.
    Unknown,
}

/// A launch or copy.
struct Reader {
    stream: Stream,
    is_in_loop: bool,
    read: BTreeSet<Object>,
}

/// The stream that a launch, copy or fill names, or none for the default stream; nothing for other statements.
fn stream_of(stmt: &Stmt) -> Option<Option<&Expr>> {
    match &stmt.kind {
        StmtKind::Launch(launch) => Some(launch.stream.as_ref()),
        StmtKind::Runtime { call, args, .. } => {
            let position = runtime_class(call)?.stream_of_move()?;
            Some(position.and_then(|position| args.get(position)))
        }
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => None,
    }
}

impl Facts<'_> {
    /// The arrays that are read in more than one stream.
    pub(in crate::transform::reverse) fn contended_arrays(&self) -> BTreeSet<Object> {
        let mut readers = Vec::new();
        self.readers(&self.primal.body, &mut Vec::new(), &mut readers);
        let mut found = BTreeSet::new();
        for (position, reader) in readers.iter().enumerate() {
            if reader.is_in_loop && reader.stream == Stream::Unknown {
                found.extend(reader.read.iter().cloned());
            }
            for other in &readers[..position] {
                if reader.stream != other.stream || reader.stream == Stream::Unknown {
                    let meets = |object: &&Object| other.read.iter().any(|known| known.overlaps(object));
                    found.extend(reader.read.iter().filter(meets).cloned());
                }
            }
        }
        found
    }

    /// Whether host code reads or writes memory itself: it is managed or pinned, and the host must wait before it comes to
    /// adjoints that a stream works on. The primal program need not, where the host comes first.
    pub(in crate::transform::reverse) fn is_touched_by_host(&self, objects: &BTreeSet<Object>) -> bool {
        let is_meant = |object: &Object| {
            object.as_local().is_none()
                && self.activity.is_active(object)
                && objects.iter().any(|other| other.overlaps(object))
        };
        walk::visit_block(&self.primal.body, &mut |node| {
            let touched = match node {
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => self.objects.of_place(place),
                Node::Stmt(Stmt { kind: StmtKind::Call { args, .. }, .. }) => {
                    args.iter().flat_map(|arg| self.objects.reachable(arg)).collect()
                }
                Node::Stmt(stmt) => {
                    walk::written_places(stmt).into_iter().flat_map(|place| self.objects.of_place(place)).collect()
                }
                Node::Expr(_) | Node::Place(_) => BTreeSet::new(),
            };
            if touched.iter().any(is_meant) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .is_break()
    }

    /// Where the host waited for a copy, what came after it, in whichever stream, now comes first, and must be done.
    pub(in crate::transform::reverse) fn wait_of_copy(&self, stream: Option<usize>, kind: &Expr) -> Option<Stmt> {
        launch::is_waited_for(stream, kind).then(|| call_of(WAIT_FOR_DEVICE, Vec::new()))
    }

    /// The same for a copy that has no adjoint. Without other streams than the default one all is in order anyhow.
    pub(in crate::transform::reverse) fn wait_of_constant_copy(
        &self,
        stream: Option<usize>,
        kind: &Expr,
    ) -> Option<Stmt> {
        self.wait_of_copy(stream, kind).filter(|_| self.has_other_streams())
    }

    /// Whether a wait of the host puts something in order that streams do not: something runs in another stream than the default
    /// one, or a derivative that the user wrote may.
    pub(in crate::transform::reverse) fn waits_for_streams(&self) -> bool {
        let mut has_rule = false;
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            let StmtKind::Call { function, .. } = stmt.kind else { return };
            has_rule |= self.module.rule(function).is_some();
        });
        has_rule || self.has_other_streams()
    }

    /// Whether something may run in another stream than the default one.
    fn has_other_streams(&self) -> bool {
        let mut has = false;
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            has |= stream_of(stmt).is_some_and(|stream| self.stream(stream, &[]) != Stream::Default);
        });
        has
    }

    /// After the reverse of a copy in managed memory, which only the device works on, the host may come next. From host
    /// memory or to it, `add_copied` waits itself.
    pub(in crate::transform::reverse) fn wait_after(
        &self,
        args: &[Expr],
        kind: &Expr,
        stream: Option<usize>,
    ) -> Option<Stmt> {
        let is_of_host = launch::copy_kind(kind).is_some_and(|kind| kind < launch::DEVICE_TO_DEVICE);
        let ends = args.iter().filter(|arg| arg.ty.is_pointer());
        let targets: BTreeSet<Object> = ends.flat_map(|end| self.objects.targets(end)).collect();
        let is_next = !is_of_host && self.is_touched_by_host(&targets);
        is_next.then(|| wait_for(stream.and_then(|position| args.get(position)).cloned()))
    }

    /// What the host waits for at the end of the reverse sweep. A function that waits for a stream leaves its caller with
    /// results, and so does its gradient. The stream that was waited for came last, and now comes first: what waits for it
    /// by an event comes last.
    pub(in crate::transform::reverse) fn last_waits(&self) -> Block {
        let Some(found) = self.waits_in_text() else { return Block::new() };
        let everything = call_of(WAIT_FOR_DEVICE, Vec::new());
        if found.contains(&everything) {
            return found;
        }
        let mut readers = Vec::new();
        self.readers(&self.primal.body, &mut Vec::new(), &mut readers);
        let is_waited_for = |reader: &Reader| match reader.stream {
            Stream::Default => found.iter().any(|wait| self.waits_for(wait, Stream::Default)),
            Stream::Variable(local) => {
                let handle = Place::local(local, self.primal.locals[local].ty.clone());
                self.is_created(&handle) || found.iter().any(|wait| self.waits_for(wait, reader.stream))
            }
            Stream::Unknown => false,
        };
        if readers.iter().all(is_waited_for) { found } else { vec![everything] }
    }

    fn waits_for(&self, wait: &Stmt, stream: Stream) -> bool {
        let StmtKind::Runtime { args, .. } = &wait.kind else { return false };
        args.first().is_some_and(|arg| self.stream(Some(arg), &[]) == stream)
    }

    /// What the text waits for, but for streams that the function makes itself; none if it waits for nothing at all.
    fn waits_in_text(&self) -> Option<Block> {
        let mut waits: Option<Block> = None;
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            let StmtKind::Runtime { call, args, .. } = &stmt.kind else { return };
            if runtime_class(call) != Some(RuntimeClass::Synchronize) {
                return;
            }
            let found = waits.get_or_insert_default();
            let is_own = |arg: &Expr| arg.as_load().is_some_and(|place| self.is_created(place));
            if args.iter().any(is_own) {
                // It is waited for where it ends.
                return;
            }
            let can_be_named = args.iter().all(|arg| match self.stream(Some(arg), &[]) {
                Stream::Default => true,
                Stream::Variable(local) => self.primal.params.contains(&local),
                Stream::Unknown => false,
            });
            let (call, args) = if can_be_named { (&**call, args.clone()) } else { (WAIT_FOR_DEVICE, Vec::new()) };
            let wait = call_of(call, args.iter().map(without_spans).collect());
            if !found.contains(&wait) {
                found.push(wait);
            }
        });
        waits
    }

    /// `loops` are the variables that live in each loop around.
    fn readers(&self, block: &Block, loops: &mut Vec<HashSet<LocalId>>, out: &mut Vec<Reader>) {
        for stmt in block {
            if let Some((stream, read)) = self.reads_on_stream(stmt) {
                out.push(Reader { stream: self.stream(stream, loops), is_in_loop: !loops.is_empty(), read });
            }
            let is_loop = matches!(stmt.kind, StmtKind::For(_) | StmtKind::While { .. });
            if is_loop {
                loops.push(self.declared_in(std::slice::from_ref(stmt)));
            }
            let _ = walk::stmt_parts(stmt, &mut |part| {
                if let walk::Part::Block(inner) = part {
                    self.readers(inner, loops, out);
                }
                ControlFlow::<()>::Continue(())
            });
            if is_loop {
                loops.pop();
            }
        }
    }

    /// The stream of a launch or copy, and the arrays that it reads.
    fn reads_on_stream<'s>(&self, stmt: &'s Stmt) -> Option<(Option<&'s Expr>, BTreeSet<Object>)> {
        let stream = stream_of(stmt)?;
        if let StmtKind::Launch(launch) = &stmt.kind {
            let positions = reads_through(self.module, launch.kernel);
            let args = positions.iter().filter_map(|position| launch.args.get(*position));
            return Some((stream, args.flat_map(|arg| self.objects.reachable(arg)).collect()));
        }
        let StmtKind::Runtime { call, args, .. } = &stmt.kind else { return None };
        let (_, from) = runtime_class(call)?.ends_of_copy()?;
        Some((stream, self.objects.targets(args.get(from)?)))
    }

    fn stream(&self, stream: Option<&Expr>, loops: &[HashSet<LocalId>]) -> Stream {
        let place = match stream.map(|stream| &stream.kind) {
            None | Some(ExprKind::Null | ExprKind::Int(0)) => return Stream::Default,
            Some(ExprKind::Load(place)) => place,
            Some(_) => return Stream::Unknown,
        };
        let Some(local) = own_variable(place).filter(|_| place.ty.is_pointer()) else { return Stream::Unknown };
        let is_whole = matches!(place.kind, PlaceKind::Local(_));
        let is_new_each_time = loops.iter().any(|declared| declared.contains(&local));
        let most = usize::from(!self.primal.params.contains(&local));
        let is_fixed = self.locals.write_counts.get(&local).is_none_or(|count| *count <= most);
        if is_whole && is_fixed && !is_new_each_time { Stream::Variable(local) } else { Stream::Unknown }
    }
}
