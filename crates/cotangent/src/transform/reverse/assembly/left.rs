//! Keeps what a function leaves in arrays whose stores are taken back, and gives it back at the end.

use super::super::plan::left::{Left, Stretch};
use super::Assembly;
use super::flat::trips;
use crate::ir::{BinaryOp, Block, Expr, ExprKind, For, LocalId, Place, Stmt, StmtKind, Type};
use crate::rules::RESERVE;
use crate::transform::locals::{assign, declare, when};

/// What stands between the sweeps, and after them.
#[derive(Default)]
pub(super) struct Copies {
    pub(super) between: Block,
    pub(super) after: Block,
}

impl Assembly<'_> {
    /// The copies of what the function leaves in these arrays.
    pub(super) fn copies_of_left(&mut self, arrays: &[Left]) -> Copies {
        let mut copies = Copies::default();
        for Left { param, stretches } in arrays {
            let array = Place::local(*param, self.rules.vars.function.locals[*param].ty.clone());
            let before = copies.between.len();
            for stretch in stretches {
                match &stretch.along {
                    Some(along) => self.copy_elements(&array, stretch, along, &mut copies),
                    None => self.copy_element(&array, stretch, &mut copies),
                }
            }
            if let Some(first) = copies.between.get_mut(before) {
                let name = self.rules.vars.name_of(*param);
                first.note = Some(format!("kept: {name} ends as the function leaves it").into());
            }
        }
        copies
    }

    /// One element, in a variable.
    fn copy_element(&mut self, array: &Place, stretch: &Stretch, copies: &mut Copies) {
        let own = Place::element(Expr::load(array.clone()), stretch.first.clone());
        let name = format!("{}_kept", self.rules.vars.base_name(array));
        let kept = Place::local(self.rules.vars.add(&name, own.ty.clone()), own.ty.clone());
        let zero = self.rules.vars.zero(&own.ty);
        copies.between.extend(kept.as_local().map(|local| declare(local, Some(zero))));
        copies.between.extend(if_reached(stretch, vec![assign(kept.clone(), Expr::load(own.clone()))]));
        copies.after.extend(if_reached(stretch, vec![assign(own, Expr::load(kept))]));
    }

    /// Several elements, in the record.
    fn copy_elements(&mut self, array: &Place, stretch: &Stretch, along: &For, copies: &mut Copies) {
        let vars = &mut self.rules.vars;
        let name = vars.base_name(array);
        let length = vars.add(&format!("{name}_stored"), Type::LONG);
        let kept = vars.add(&format!("{name}_kept"), array.ty.clone());
        let into = Some(Place::local(kept, array.ty.clone()));
        let args = vec![load(length, &Type::LONG)];
        copies.between.extend([
            declare(length, Some(count(stretch, along))),
            declare(kept, None),
            Stmt::new(StmtKind::Runtime { call: RESERVE.into(), args, into }),
        ]);
        let mut each = |is_kept: bool| {
            let counter = vars.add("k", Type::LONG);
            let number = load(counter, &Type::LONG);
            let first = match stretch.first.as_int() {
                Some(0) => None,
                Some(constant) => Some(long(constant)),
                None => Some(Expr::cast(stretch.first.clone(), Type::LONG)),
            };
            let index = match first {
                None => number.clone(),
                Some(first) => Expr::binary(BinaryOp::Add, first, number.clone()),
            };
            let own = Place::element(Expr::load(array.clone()), index);
            let copy = Place::element(load(kept, &array.ty), number);
            let (from, to) = if is_kept { (own, copy) } else { (copy, own) };
            Stmt::new(StmtKind::For(Box::new(For {
                counter,
                from: long(0),
                test: BinaryOp::Less,
                to: load(length, &Type::LONG),
                step: BinaryOp::Add,
                by: long(1),
                unroll: None,
                body: vec![assign(to, Expr::load(from))],
            })))
        };
        copies.between.push(each(true));
        copies.after.push(each(false));
        self.uses_record = true;
    }
}

fn load(local: LocalId, ty: &Type) -> Expr {
    Expr::load(Place::local(local, ty.clone()))
}

fn long(value: i128) -> Expr {
    Expr::new(ExprKind::Int(value), Type::LONG)
}

/// Whether the loops around a stretch run; none if there are none.
fn is_reached(stretch: &Stretch) -> Option<Expr> {
    let runs = |head: &For| Expr::binary(head.test, head.from.clone(), head.to.clone());
    stretch.around.iter().map(runs).reduce(|left, right| Expr::binary(BinaryOp::And, left, right))
}

fn if_reached(stretch: &Stretch, block: Block) -> Block {
    match is_reached(stretch) {
        None => block,
        Some(reached) => when(reached, block, Block::new()).into_iter().collect(),
    }
}

/// How many elements a stretch has: none if a loop around it does not run.
fn count(stretch: &Stretch, along: &For) -> Expr {
    let all = trips(along);
    match is_reached(stretch) {
        None => all,
        Some(reached) => {
            let kind = ExprKind::Select(Box::new(reached), Box::new(all), Box::new(long(0)));
            Expr::new(kind, Type::LONG)
        }
    }
}
