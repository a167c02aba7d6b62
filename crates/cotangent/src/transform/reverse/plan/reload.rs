//! Which shared arrays the reverse sweep of a loop fills again, as the loop did: the tiles of a tiled product.
//!
//! *The same elements each time.* Let all stores to a shared array stand in one loop, and let them be to the same
//! elements in each iteration: what decides whether a store runs, and its index, do not change from one iteration to
//! another. An element that is read was stored to before, or the program reads what nobody wrote. So it was stored to in
//! an iteration; then it is in every one; and if all stores of an iteration stand before the read, they alone give the
//! array its contents. A reverse iteration that repeats them has what the read saw.
//!
//! The barriers between the stores and the read are repeated with them. The next reverse iteration stores again only
//! after the reverse of those barriers, which follows the reverse of the read.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Values;
use crate::analysis::Object;
use crate::analysis::ordering::has_barrier;
use crate::ir::same::same_place;
use crate::ir::walk::{self, own_variable};
use crate::ir::{Block, Expr, LocalId, Place, PlaceKind, Stmt, StmtKind, Storage};
use crate::transform::Fact;

/// A store to the array that is looked at.
struct Store {
    place: Place,
    /// Whether it runs in all iterations or in none.
    is_constant: bool,
}

struct Body<'a> {
    array: LocalId,
    /// Variables that the loop declares with a value that never changes, and the value.
    inits: HashMap<LocalId, &'a Expr>,
    /// Whether there is more than one iteration.
    is_repeated: bool,
    declared: &'a HashSet<LocalId>,
    /// What stores to the array cannot be repeated as they are.
    is_hidden: bool,
}

impl Values<'_> {
    /// The shared arrays that can be filled again before the reverse of a loop's iteration, or of the whole function.
    /// `declared` are the variables that live inside.
    pub(in crate::transform::reverse) fn reloadable(
        &self,
        body: &[Stmt],
        declared: &HashSet<LocalId>,
        is_repeated: bool,
    ) -> BTreeSet<LocalId> {
        let shared = self
            .vars
            .facts
            .primal
            .locals
            .ids()
            .filter(|local| self.vars.facts.primal.locals[*local].storage != Storage::Private);
        let is_believed = |array: &LocalId| {
            let found = self.is_reloadable(*array, body, declared, is_repeated);
            self.vars.facts.trust.answer(Fact::Reload, false, found) && self.count_writes(*array, body) > 0
        };
        shared.filter(is_believed).collect()
    }

    fn is_reloadable(&self, array: LocalId, block: &[Stmt], declared: &HashSet<LocalId>, is_repeated: bool) -> bool {
        let inside = self.count_writes(array, block);
        if inside == 0 || inside != self.count_writes(array, &self.vars.facts.primal.body) {
            return false;
        }
        let mut inits = HashMap::new();
        walk::each_stmt(block, &mut |stmt| {
            if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind
                && self.vars.facts.locals.write_counts.get(local) == Some(&1)
            {
                inits.insert(*local, init);
            }
        });
        let mut body = Body { array, inits, is_repeated, declared, is_hidden: false };
        let mut stores = Vec::new();
        let inner = match block {
            [only] if is_repeated => only.kind.loop_body().map_or(block, Vec::as_slice),
            _ => block,
        };
        self.stores(inner, &mut body, &mut stores);
        let constant: Vec<&Place> = stores.iter().filter(|it| it.is_constant).map(|it| &it.place).collect();
        let has_same = |store: &Store| constant.iter().any(|place| same_place(place, &store.place));
        !body.is_hidden && stores.iter().all(|store| store.is_constant || has_same(store))
    }

    fn count_writes(&self, array: LocalId, block: &[Stmt]) -> usize {
        let mut count = 0;
        walk::each_stmt(block, &mut |stmt| count += usize::from(self.writes(stmt, array)));
        count
    }

    fn writes(&self, stmt: &Stmt, array: LocalId) -> bool {
        walk::written_places(stmt)
            .into_iter()
            .any(|place| self.vars.facts.objects.of_place(place).contains(&Object::local(array)))
    }

    /// The stores to the array in a block.
    fn stores(&self, block: &[Stmt], body: &mut Body<'_>, out: &mut Vec<Store>) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Assign { place, .. } if self.writes(stmt, body.array) => {
                    let is_constant = self.is_constant_place(place, body);
                    out.push(Store { place: place.clone(), is_constant });
                }
                _ if self.count_writes(body.array, std::slice::from_ref(stmt)) == 0 => {}
                StmtKind::If { cond, then_block, else_block } => {
                    let (mut then_stores, mut else_stores) = (Vec::new(), Vec::new());
                    self.stores(then_block, body, &mut then_stores);
                    self.stores(else_block, body, &mut else_stores);
                    let is_constant = self.is_constant(cond, body);
                    let in_both = |place: &Place, others: &[Store]| {
                        others.iter().any(|other| other.is_constant && same_place(&other.place, place))
                    };
                    for (these, others) in [(&then_stores, &else_stores), (&else_stores, &then_stores)] {
                        out.extend(these.iter().map(|store| Store {
                            place: store.place.clone(),
                            is_constant: store.is_constant && (is_constant || in_both(&store.place, others)),
                        }));
                    }
                }
                StmtKind::For(head) => {
                    body.is_hidden |= !self.can_be_repeated(stmt, &head.body);
                    let is_constant = [&head.from, &head.to, &head.by].into_iter().all(|it| self.is_constant(it, body));
                    let before = out.len();
                    self.stores(&head.body, body, out);
                    out[before..].iter_mut().for_each(|store| store.is_constant &= is_constant);
                }
                StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::Call { .. }
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Barrier { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Launch(_)
                | StmtKind::Runtime { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. }
                | StmtKind::Opaque { .. } => body.is_hidden = true,
            }
        }
    }

    /// Whether a loop inside can be repeated whole: it waits for nobody and reads nothing that changes.
    fn can_be_repeated(&self, stmt: &Stmt, body: &Block) -> bool {
        let reads_stable =
            !walk::block_loads_any(std::slice::from_ref(stmt), &mut |place| !self.is_own_or_intact(place));
        !has_barrier(body) && reads_stable
    }

    /// Whether a place is a variable of the thread, or memory that the kernel does not write.
    fn is_own_or_intact(&self, place: &Place) -> bool {
        self.vars.facts.objects.of_place(place).iter().all(|object| match object.as_local() {
            Some(local) => self.vars.is_register(local),
            None => !self.vars.facts.is_volatile(object),
        })
    }

    /// Whether an expression has the same value in all iterations. The counters of loops inside have the same values.
    fn is_constant(&self, expr: &Expr, body: &Body<'_>) -> bool {
        !body.is_repeated || !walk::loads_any(expr, &mut |place| !self.is_constant_load(place, body))
    }

    fn is_constant_load(&self, place: &Place, body: &Body<'_>) -> bool {
        let Some(local) = own_variable(place) else {
            // Memory that nobody writes; the address is looked at by itself.
            let is_intact = |object: &Object| object.as_local().is_none() && !self.vars.facts.is_volatile(object);
            return self.vars.facts.objects.of_place(place).iter().all(is_intact);
        };
        let object = Object::local(local);
        if body.declared.contains(&local)
            || self.frames.outermost_first().iter().any(|frame| frame.declared.contains(&local))
        {
            // A counter of a loop inside, or a variable that gets the same value each time.
            let is_own_counter = !body.inits.contains_key(&local) && self.is_inner_counter(local, body);
            return is_own_counter || body.inits.get(&local).is_some_and(|init| self.is_constant(init, body));
        }
        self.vars.is_register(local)
            && self.vars.facts.locals.write_counts.get(&local).is_none_or(|count| *count <= 1)
            && !self.frames.outermost_first().iter().any(|frame| frame.is_loop && frame.unstable.contains(&object))
    }

    /// Whether a variable counts the iterations of a loop around a store to the array.
    fn is_inner_counter(&self, local: LocalId, body: &Body<'_>) -> bool {
        let mut is_found = false;
        walk::each_stmt(&self.vars.facts.primal.body, &mut |stmt| {
            if let StmtKind::For(head) = &stmt.kind {
                is_found |= head.counter == local
                    && body.declared.contains(&local)
                    && self.count_writes(body.array, &head.body) > 0
                    && !has_barrier(&head.body);
            }
        });
        is_found
    }

    fn is_constant_place(&self, place: &Place, body: &Body<'_>) -> bool {
        match &place.kind {
            PlaceKind::Local(_) => true,
            PlaceKind::Global(_) => false,
            PlaceKind::Field(base, _) => self.is_constant_place(base, body),
            PlaceKind::Index(base, index) => self.is_constant_place(base, body) && self.is_constant(index, body),
            PlaceKind::Element(pointer, index) => self.is_constant(pointer, body) && self.is_constant(index, body),
        }
    }
}
