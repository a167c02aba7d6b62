//! Host code that is passed through: a part of the forward sweep alone, if nothing active is handed to it.

use super::{Pair, Rules};
use crate::analysis::{Base, Object};
use crate::diagnostic::{Diagnostic, NO_DERIVATIVE};
use crate::ir::{Block, Expr, OpaqueArg, Place, PlaceKind, Stmt, Type};
use crate::transform::runtime_calls::{PASSED_HELP, UNREAD_HELP, UNREAD_IS_ACTIVE, handed_variable};

impl Rules<'_> {
    /// Code that is not read.
    pub(in crate::transform::reverse) fn passed(&mut self, stmt: &Stmt, args: &[OpaqueArg]) -> Pair {
        for value in args.iter().filter_map(OpaqueArg::value) {
            if self.leads_to_active(&value) {
                let name =
                    handed_variable(&value).map_or("this", |local| self.facts.primal.local_name(local)).to_owned();
                let message = format!("code that is not read is handed `{name}`, which leads to active values");
                self.refuse_passed(stmt, message, PASSED_HELP);
            }
        }
        // It may look at whatever any such code has made, whoever keeps the address.
        if self.facts.activity.is_varied(&Object::unread()) {
            self.refuse_passed(stmt, UNREAD_IS_ACTIVE.to_owned(), UNREAD_HELP);
        }
        for (id, global) in self.facts.module.globals.entries() {
            let value = Expr::load(Place::new(PlaceKind::Global(id), global.ty.clone()));
            if global.is_open() && self.leads_to_active(&value) {
                let message = format!("code that is not read may use `{}`, which leads to active values", global.name);
                self.refuse_passed(stmt, message, PASSED_HELP);
            }
        }
        Pair { forward: vec![stmt.clone()], reverse: Block::new() }
    }

    fn leads_to_active(&self, value: &Expr) -> bool {
        let reached = self.facts.objects.reachable(value);
        // A handle that is made here is made by code that is not read, which was handed nothing active. One that is handed in
        // may keep anything.
        if matches!(value.ty.pointee(), Some(Type::Opaque(_))) {
            return reached.iter().any(|object| match object.base {
                // The latter is looked at once for all such code.
                Base::Unknown | Base::Unread => false,
                Base::Local(_) | Base::Global(_) => true,
            });
        }
        // What such code writes to memory is constant: none of it is ever handed anything that varies.
        reached.iter().any(|object| self.facts.activity.is_varied(object))
            || self.facts.activity.is_varied_value(self.facts.objects, value)
    }

    fn refuse_passed(&mut self, stmt: &Stmt, message: String, help: &str) {
        self.report(Diagnostic::new(NO_DERIVATIVE, stmt.span, message, "its derivative is not known").help(help));
    }
}
