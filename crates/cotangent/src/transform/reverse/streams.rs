//! Which arrays several streams may add adjoints to at the same time.
//!
//! Two streams may read one array at once; in the reverse sweep both then add to its adjoints. Where the program orders two
//! streams, it is because one writes what the other reads, and the reverse sweep has that order too. So what is contended
//! are the arrays that are read in two streams, whatever stands between them: their adjoints are added to by atomics.
//!
//! And what the host waits for at the end, so that adjoints are there for the caller.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::super::locals::without_spans;
use super::function::Ctx;
use super::host::call_of;
use crate::analysis::{Object, reads_through};
use crate::ir::walk::{self, own_variable};
use crate::ir::{Block, Expr, ExprKind, LocalId, PlaceKind, Stmt, StmtKind};
use crate::rules::{RuntimeClass, runtime_class};

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

impl Ctx<'_> {
    /// The arrays that are read in more than one stream.
    pub(super) fn contended_arrays(&self) -> BTreeSet<Object> {
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

    /// What the host waits for at the end of the reverse sweep. A function that waits for a stream leaves its caller with
    /// results, and so does its gradient.
    pub(super) fn last_waits(&self) -> Block {
        let mut found: Block = Vec::new();
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            let StmtKind::Runtime { call, args, .. } = &stmt.kind else { return };
            if runtime_class(call) != Some(RuntimeClass::Synchronize) {
                return;
            }
            let is_own = |arg: &Expr| match &arg.kind {
                ExprKind::Load(place) => self.is_created(place),
                _ => false,
            };
            if args.iter().any(is_own) {
                // It is waited for where it ends.
                return;
            }
            let can_be_named = args.iter().all(|arg| match self.stream(Some(arg), &[]) {
                Stream::Default => true,
                Stream::Variable(local) => self.primal.params.contains(&local),
                Stream::Unknown => false,
            });
            let (call, args) =
                if can_be_named { (&**call, args.clone()) } else { ("cudaDeviceSynchronize", Vec::new()) };
            let wait = call_of(call, args.iter().map(without_spans).collect());
            if !found.contains(&wait) {
                found.push(wait);
            }
        });
        found
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

    /// The stream of a statement, if it has one or runs in the default stream, and the arrays that it reads.
    fn reads_on_stream<'s>(&self, stmt: &'s Stmt) -> Option<(Option<&'s Expr>, BTreeSet<Object>)> {
        match &stmt.kind {
            StmtKind::Launch(launch) => {
                let positions = reads_through(self.module, launch.kernel);
                let args = positions.iter().filter_map(|position| launch.args.get(*position));
                Some((launch.stream.as_ref(), args.flat_map(|arg| self.objects.reachable(arg)).collect()))
            }
            StmtKind::Runtime { call, args, .. } => {
                let class = runtime_class(call)?;
                let (_, from) = class.ends_of_copy()?;
                let stream = match class {
                    RuntimeClass::Copy { stream, .. } | RuntimeClass::CopyRows { stream } => stream,
                    // To or from a symbol.
                    _ => Some(5),
                };
                let stream = stream.and_then(|position| args.get(position));
                Some((stream, self.objects.targets(args.get(from)?)))
            }
            _ => None,
        }
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
        let is_fixed = self.write_counts.get(&local).is_none_or(|count| *count <= most);
        if is_whole && is_fixed && !is_new_each_time { Stream::Variable(local) } else { Stream::Unknown }
    }
}
