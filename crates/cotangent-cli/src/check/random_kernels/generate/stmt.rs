//! Random statements.

use super::super::tree::{Kind, Node, Part};
use super::function::spelling;
use super::{Ctx, Float, GLOBAL, Shape, Variable, text};

/// What a block may do with the loop around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    Same,
    Loop(usize),
    Switch,
}

impl Ctx {
    /// The whole of a function: statements, then what makes them matter.
    pub(super) fn body(&mut self) -> Node {
        self.next_id += 1;
        self.block = self.next_id;
        let mut parts = Vec::new();
        while self.statements > 0 {
            if self.in_kernel && self.is_together && self.chance(35) {
                self.together(&mut parts);
            } else {
                self.statement(&mut parts);
            }
        }
        if self.in_kernel {
            for _ in 0..1 + self.below(3) {
                let value = self.all();
                self.store_own(value, &mut parts);
            }
        } else {
            let value = self.returned();
            self.push(&mut parts, Kind::Fixed, value);
        }
        Node { id: self.block, kind: Kind::Block, parts }
    }

    pub(super) fn push(&mut self, parts: &mut Vec<Part>, kind: Kind, own: Vec<Part>) {
        let node = self.node(kind, own);
        parts.push(Part::Node(node));
    }

    /// A sum of something of all that there is, so that no variable is useless.
    fn all(&mut self) -> super::Value {
        let mut total = self.value(2);
        let names: Vec<Variable> = self.scope.iter().rev().take(6).cloned().collect();
        for variable in names {
            if let Some((place, _)) = self.place_in(&variable) {
                let place = self.node(Kind::Float, place);
                let (bound, slope) = (total.bound + 0.4, total.slope + 0.2);
                let parts = vec![Part::Node(total.node), text(" + 0.2f * "), Part::Node(place)];
                total = super::Value { node: self.node(Kind::Float, parts), bound, slope };
            }
        }
        total
    }

    fn store_own(&mut self, value: super::Value, parts: &mut Vec<Part>) {
        let Some((mut own, _)) = self.own_place() else { return };
        let adds = self.chance(30);
        let value = self.tamed(value, adds);
        own.push(text(if adds { " += " } else { " = " }));
        own.extend([Part::Node(value.node), text(";")]);
        self.push(parts, Kind::Statement, own);
    }

    /// `return`, with a value if there is one.
    fn returned(&mut self) -> Vec<Part> {
        match self.result.clone() {
            None => vec![text("return;")],
            Some(Shape::Record(record)) => {
                let known = self.pick(|it| it.shape == Shape::Record(record));
                match known {
                    Some(variable) if self.chance(60) => vec![text(format!("return {};", variable.name))],
                    Some(_) | None => {
                        let mut parts = vec![text(format!("return S{record}@"))];
                        parts.extend(self.fields(record));
                        parts.push(text(";"));
                        parts
                    }
                }
            }
            Some(_) => {
                let value = self.value(2);
                let value = self.tamed(value, false);
                vec![text("return "), Part::Node(value.node), text(";")]
            }
        }
    }

    /// A value that is converted as an initialiser in braces must be.
    pub(super) fn converted(&mut self, float: Float) -> Vec<Part> {
        let value = self.value(1);
        let value = self.tamed(value, false);
        match float {
            Float::Single => vec![text("(float)("), Part::Node(value.node), text(")")],
            Float::Double => vec![Part::Node(value.node)],
        }
    }

    /// The elements of an array, as the braces of an initialiser; the last may be left out.
    pub(super) fn elements(&mut self, float: Float, count: usize) -> Vec<Part> {
        let mut parts = vec![text("{")];
        let given = if self.chance(20) { 1 } else { count };
        for index in 0..given {
            if index > 0 {
                parts.push(text(", "));
            }
            parts.extend(self.converted(float));
        }
        parts.push(text("}"));
        parts
    }

    /// A block in a statement.
    fn inner_block(&mut self, around: Around, fixed: Option<String>) -> Node {
        let saved = (self.scope.len(), self.block, self.trips, self.in_loop, self.in_switch);
        self.next_id += 1;
        let id = self.next_id;
        self.block = id;
        self.depth += 1;
        match around {
            Around::Same => {}
            Around::Loop(trips) => {
                self.trips *= trips;
                (self.in_loop, self.in_switch) = (true, false);
            }
            Around::Switch => self.in_switch = true,
        }
        let mut parts = Vec::new();
        if let Some(fixed) = fixed {
            self.push(&mut parts, Kind::Fixed, vec![text(fixed)]);
        }
        for _ in 0..1 + self.below(3) {
            self.statement(&mut parts);
        }
        if self.scope.len() > saved.0 {
            // Or what the block declares would be of no use.
            self.assign(&mut parts);
        }
        self.depth -= 1;
        self.scope.truncate(saved.0);
        (self.block, self.trips, self.in_loop, self.in_switch) = (saved.1, saved.2, saved.3, saved.4);
        Node { id, kind: Kind::Block, parts }
    }

    pub(super) fn statement(&mut self, parts: &mut Vec<Part>) {
        self.statements = self.statements.saturating_sub(1);
        match self.below(44) {
            0..=3 => self.declare_scalar(parts),
            4..=10 => self.assign(parts),
            11 | 12 => self.declare_array(parts),
            13 => self.declare_matrix(parts),
            14 | 15 => self.declare_pointer(parts),
            16 | 17 => self.move_pointer(parts),
            18 => self.declare_reference(parts),
            19 | 20 => self.declare_record(parts),
            21 | 22 => self.declare_int(parts),
            23 => self.assign_int(parts),
            24..=26 => self.store(parts),
            27..=29 => self.call_statement(parts),
            30 | 31 => self.leave(parts),
            _ if self.depth >= 3 => self.assign(parts),
            32..=35 => self.branch(parts),
            36..=38 => self.counted(parts),
            39 => self.pointer_loop(parts),
            40 => self.whilst(parts),
            41 => self.do_loop(parts),
            _ => self.switch(parts),
        }
    }

    fn declare_scalar(&mut self, parts: &mut Vec<Part>) {
        let float = self.float();
        let value = self.value(2);
        let value = self.tamed(value, false);
        let name = self.name();
        let own = vec![
            text(format!("{} ", float.spelling())),
            Part::Define(name.clone()),
            text(" = "),
            Part::Node(value.node),
            text(";"),
        ];
        self.push(parts, Kind::Statement, own);
        self.declare(&name, Shape::Scalar(float), true);
    }

    pub(super) fn assign(&mut self, parts: &mut Vec<Part>) {
        let variable = self.pick(|it| it.is_mutable && !matches!(it.shape, Shape::Int(_)));
        let place = variable.and_then(|variable| self.place_in(&variable));
        let Some((mut own, _)) = place else { return self.store(parts) };
        let (sign, adds, value) = match self.below(8) {
            0..=3 => (" = ", false, self.value(3)),
            4 => (" += ", true, self.value(2)),
            5 => (" -= ", true, self.value(2)),
            6 => (" *= ", true, self.cosine()),
            _ => (" /= 1.5f + ", true, self.value(1)),
        };
        let mut value = self.tamed(value, adds);
        if sign.starts_with(" /=") {
            let inner = vec![text("fabsf("), Part::Node(value.node), text(")")];
            value.node = self.node(Kind::Float, inner);
        }
        own.extend([text(sign), Part::Node(value.node), text(";")]);
        self.push(parts, Kind::Statement, own);
    }

    fn cosine(&mut self) -> super::Value {
        let value = self.value(1);
        let parts = vec![text("cosf("), Part::Node(value.node), text(")")];
        super::Value { node: self.node(Kind::Float, parts), bound: 1.0, slope: value.slope.min(0.04) }
    }

    fn store(&mut self, parts: &mut Vec<Part>) {
        if self.own.is_none() {
            return self.declare_scalar(parts);
        }
        let value = self.value(2);
        self.store_own(value, parts);
    }

    fn declare_array(&mut self, parts: &mut Vec<Part>) {
        let (float, count) = (self.float(), 2 + self.below(3));
        let name = self.name();
        let mut own = vec![text(format!("{} ", float.spelling())), Part::Define(name.clone())];
        own.push(text(format!("[{count}] = ")));
        own.extend(self.elements(float, count));
        own.push(text(";"));
        self.push(parts, Kind::Statement, own);
        self.declare(&name, Shape::Array(float, count), true);
    }

    fn declare_matrix(&mut self, parts: &mut Vec<Part>) {
        let (float, rows, columns) = (self.float(), 2, 2 + self.below(2));
        let name = self.name();
        let mut own = vec![text(format!("{} ", float.spelling())), Part::Define(name.clone())];
        own.push(text(format!("[{rows}][{columns}] = {{")));
        for row in 0..rows {
            if row > 0 {
                own.push(text(", "));
            }
            own.extend(self.elements(float, columns));
        }
        own.push(text("};"));
        self.push(parts, Kind::Statement, own);
        self.declare(&name, Shape::Matrix(float, rows, columns), true);
    }

    fn declare_pointer(&mut self, parts: &mut Vec<Part>) {
        let (float, count, is_written) = (self.float(), 1 + self.below(3), self.chance(60));
        let own_elements = self.own.clone().filter(|own| own.float == float && own.count >= count);
        let target = match own_elements {
            Some(own) if self.chance(25) => Some((vec![text(format!("{} + {}", own.array, own.first))], GLOBAL)),
            Some(_) | None => self.window(float, count, is_written, None),
        };
        let Some((target, group)) = target else { return self.declare_array(parts) };
        let name = self.name();
        let constant = if is_written { "" } else { "const " };
        let mut own = vec![text(format!("{constant}{}* ", float.spelling())), Part::Define(name.clone()), text(" = ")];
        let other = self.window(float, count, is_written, Some(group));
        match other {
            // Between two arrays.
            Some((other, _)) if self.chance(25) => {
                let condition = self.condition();
                own.extend([text("("), Part::Node(condition), text(") ? ")]);
                own.extend(target);
                own.push(text(" : "));
                own.extend(other);
            }
            Some(_) | None => own.extend(target),
        }
        own.push(text(";"));
        self.push(parts, Kind::Statement, own);
        self.declare(&name, Shape::Pointer(float, count), is_written);
        self.in_group(group);
    }

    /// Lets a pointer point to something else, of as many elements at least; or steps on, where that happens only once.
    fn move_pointer(&mut self, parts: &mut Vec<Part>) {
        let local = self.scope.iter().rposition(|it| matches!(it.shape, Shape::Pointer(..)) && it.block != 0);
        let (Some(position), true) = (local, self.depth > 0 || self.in_kernel) else {
            return self.declare_pointer(parts);
        };
        let variable = self.scope[position].clone();
        let Shape::Pointer(float, count) = variable.shape else { return };
        let is_here = variable.block == self.block && !self.in_loop;
        if is_here && count > 1 && self.chance(40) {
            let step = ["++", " += 1", " = 1 + "][self.below(3)];
            let end = if step.ends_with("+ ") { variable.name.clone() } else { String::new() };
            self.push(parts, Kind::Statement, vec![text(format!("{}{step}{end};", variable.name))]);
            self.scope[position].shape = Shape::Pointer(float, count - 1);
            return;
        }
        // It must not outlive what it points to.
        let later = self.scope.split_off(position);
        let target = self.window(float, count, variable.is_mutable, Some(variable.group));
        self.scope.extend(later);
        let Some((target, _)) = target else { return self.declare_pointer(parts) };
        let mut own = vec![text(format!("{} = ", variable.name))];
        own.extend(target);
        own.push(text(";"));
        if self.chance(60) {
            let condition = self.condition();
            own.splice(0..0, [text("if ("), Part::Node(condition), text(") ")]);
        }
        self.push(parts, Kind::Statement, own);
    }

    fn declare_reference(&mut self, parts: &mut Vec<Part>) {
        let variable = self.pick(|it| it.is_mutable && !matches!(it.shape, Shape::Int(_)));
        let place = match (self.own_place(), variable) {
            (Some(own), _) if self.chance(25) => Some(own),
            (_, Some(variable)) => self.place_in(&variable),
            (own, None) => own,
        };
        let Some((place, float)) = place else { return self.declare_scalar(parts) };
        let name = self.name();
        let mut own = vec![text(format!("{}& ", float.spelling())), Part::Define(name.clone()), text(" = ")];
        own.extend(place);
        own.push(text(";"));
        self.push(parts, Kind::Statement, own);
        self.declare(&name, Shape::Scalar(float), true);
    }

    fn declare_record(&mut self, parts: &mut Vec<Part>) {
        if self.records.is_empty() {
            return self.declare_array(parts);
        }
        let record = self.below(self.records.len());
        let shape = Shape::Record(record);
        let known = self.pick(|it| it.shape == shape);
        let target = self.pick(|it| it.shape == shape && it.is_mutable);
        if let (Some(known), Some(target)) = (&known, &target)
            && self.chance(40)
        {
            return self.push(parts, Kind::Statement, vec![text(format!("{} = {};", target.name, known.name))]);
        }
        let name = self.name();
        let mut own = vec![text(format!("S{record}@ ")), Part::Define(name.clone()), text(" = ")];
        match known {
            Some(known) if self.chance(40) => own.push(text(known.name)),
            Some(_) | None => own.extend(self.fields(record)),
        }
        own.push(text(";"));
        self.push(parts, Kind::Statement, own);
        self.declare(&name, shape, true);
    }

    fn declare_int(&mut self, parts: &mut Vec<Part>) {
        let (int, bound) = (self.int(2), 2 + self.below(4));
        let name = self.name();
        let own = vec![
            text("int "),
            Part::Define(name.clone()),
            text(" = ("),
            Part::Node(int),
            text(format!(") % {bound};")),
        ];
        self.push(parts, Kind::Statement, own);
        self.declare(&name, Shape::Int(bound), true);
    }

    fn assign_int(&mut self, parts: &mut Vec<Part>) {
        let Some(variable) = self.pick(|it| it.is_mutable && matches!(it.shape, Shape::Int(_))) else {
            return self.declare_int(parts);
        };
        let Shape::Int(bound) = variable.shape else { return };
        let int = self.int(2);
        let own = vec![text(format!("{} = (", variable.name)), Part::Node(int), text(format!(") % {bound};"))];
        self.push(parts, Kind::Statement, own);
    }

    fn call_statement(&mut self, parts: &mut Vec<Part>) {
        let cost = 0.4 * self.trips as f64;
        if self.devices.is_empty() || cost > self.budget {
            return self.assign(parts);
        }
        let chosen = self.below(self.devices.len());
        let device = self.devices[chosen].clone();
        let Some(call) = self.call(&device) else { return self.assign(parts) };
        self.budget -= cost;
        let mut own = Vec::new();
        let mut declared = None;
        if let Some(result) = &device.result {
            let target = self.pick(|it| it.shape == *result && it.is_mutable);
            match target {
                Some(target) if self.chance(50) => own.push(text(format!("{} = ", target.name))),
                Some(_) | None => {
                    let name = self.name();
                    own.extend([text(format!("{} ", spelling(result))), Part::Define(name.clone()), text(" = ")]);
                    declared = Some((name, result.clone()));
                }
            }
        }
        own.extend(call);
        own.push(text(";"));
        self.push(parts, Kind::Statement, own);
        if let Some((name, shape)) = declared {
            self.declare(&name, shape, true);
        }
    }

    /// `break`, `continue` or `return`, on a condition.
    fn leave(&mut self, parts: &mut Vec<Part>) {
        let condition = self.condition();
        let what = match self.below(4) {
            0 | 1 if self.in_loop && !self.in_switch && self.depth > 0 => vec![text("break;")],
            2 if self.in_loop => vec![text("continue;")],
            _ if (self.depth > 0 || self.chance(40)) && !(self.in_kernel && self.is_together) => self.returned(),
            _ => return self.assign(parts),
        };
        let mut own = vec![text("if ("), Part::Node(condition), text(") ")];
        own.extend(what);
        self.push(parts, Kind::Statement, own);
    }

    fn branch(&mut self, parts: &mut Vec<Part>) {
        let condition = self.condition();
        let then = self.inner_block(Around::Same, None);
        let mut own = vec![text("if ("), Part::Node(condition), text(") "), Part::Node(then)];
        if self.chance(50) {
            let other = self.inner_block(Around::Same, None);
            own.extend([text(" else "), Part::Node(other)]);
        }
        self.push(parts, Kind::Statement, own);
    }

    /// How often a loop goes round: little inside of others.
    fn trip_count(&mut self) -> usize {
        if self.trips >= 12 { 2 } else { 2 + self.below(4) }
    }

    fn counted(&mut self, parts: &mut Vec<Part>) {
        let count = self.trip_count();
        let name = self.name();
        let bound = self.pick(|it| matches!(it.shape, Shape::Int(bound) if bound <= 5));
        let (head, trips, values) = match (self.below(6), bound) {
            (0, _) => (format!(" = {}; {name} >= 0; {name}--) ", count - 1), count, count),
            (1, _) => (format!(" = 0; {name} < {}; {name} += 2) ", count * 2), count, count * 2),
            (2, Some(bound)) if !bound.is_mutable => (format!(" = 0; {name} < {}; ++{name}) ", bound.name), 5, 5),
            (3, Some(bound)) => {
                // The variable may change in the loop, but never beyond its bound.
                let Shape::Int(limit) = bound.shape else { return };
                (format!(" = 0; {name} < {}; {name}++) ", bound.name), limit, limit)
            }
            _ => (format!(" = 0; {name} < {count}; {name}++) "), count, count),
        };
        self.declare(&name, Shape::Int(values), false);
        let block = self.inner_block(Around::Loop(trips), None);
        self.scope.pop();
        let own = vec![text("for (int "), Part::Define(name), text(head), Part::Node(block)];
        self.push(parts, Kind::Loop, own);
    }

    /// `for (const float* p = a; p < a + 3; p++)`
    fn pointer_loop(&mut self, parts: &mut Vec<Part>) {
        let array = self.pick(|it| {
            matches!(it.shape, Shape::Array(..))
                || (matches!(it.shape, Shape::Pointer(_, count) if count <= 5) && !it.is_mutable)
        });
        let Some(array) = array else { return self.counted(parts) };
        let (Shape::Array(float, count) | Shape::Pointer(float, count)) = array.shape else { return };
        let is_written = array.is_mutable && self.chance(50);
        let (name, constant) = (self.name(), if is_written { "" } else { "const " });
        // Another name for the array: it may point elsewhere before the loop has ended.
        let (start, of) = (self.name(), array.name);
        let head =
            [text(format!("const {}* ", float.spelling())), Part::Define(start.clone()), text(format!(" = {of};\n"))];
        let mut own = head.to_vec();
        own.extend([text(format!("for ({constant}{}* ", float.spelling())), Part::Define(name.clone())]);
        own.push(text(format!(" = {of}; {name} < {start} + {count}; {name}++) ")));
        self.declare(&name, Shape::Pointer(float, 1), is_written);
        self.in_group(array.group);
        // Nothing may let it point to anything else.
        if let Some(variable) = self.scope.last_mut() {
            variable.block = 0;
        }
        let block = self.inner_block(Around::Loop(count), None);
        self.scope.pop();
        own.push(Part::Node(block));
        self.push(parts, Kind::Loop, own);
    }

    fn whilst(&mut self, parts: &mut Vec<Part>) {
        let (name, count) = (self.name(), self.trip_count());
        let condition = self.condition();
        self.declare(&name, Shape::Int(count + 1), false);
        let block = self.inner_block(Around::Loop(count), Some(format!("{name}++;")));
        self.scope.pop();
        let own = vec![
            text("int "),
            Part::Define(name.clone()),
            text(format!(" = 0;\nwhile ({name} < {count} && ")),
            Part::Node(condition),
            text(") "),
            Part::Node(block),
        ];
        self.push(parts, Kind::Loop, own);
    }

    fn do_loop(&mut self, parts: &mut Vec<Part>) {
        let (name, count) = (self.name(), self.trip_count());
        let condition = self.condition();
        self.declare(&name, Shape::Int(count + 1), false);
        let block = self.inner_block(Around::Loop(count), Some(format!("{name}++;")));
        self.scope.pop();
        let own = vec![
            text("int "),
            Part::Define(name.clone()),
            text(" = 0;\ndo "),
            Part::Node(block),
            text(format!(" while ({name} < {count} && ")),
            Part::Node(condition),
            text(");"),
        ];
        self.push(parts, Kind::Loop, own);
    }

    fn switch(&mut self, parts: &mut Vec<Part>) {
        let int = self.int(1);
        let cases = 2 + self.below(2);
        let mut own = vec![text("switch (("), Part::Node(int), text(format!(") % {}) {{", cases + 1))];
        for case in 0..cases {
            let is_default = case + 1 == cases && self.chance(60);
            let label = if is_default { "default: ".to_owned() } else { format!("case {case}: ") };
            let block = self.inner_block(Around::Switch, None);
            own.extend([text(format!("\n  {label}")), Part::Node(block)]);
            // Without it, the next case comes too.
            if self.chance(65) {
                own.push(text(" break;"));
            }
        }
        own.push(text("\n}"));
        self.push(parts, Kind::Switch, own);
    }
}
