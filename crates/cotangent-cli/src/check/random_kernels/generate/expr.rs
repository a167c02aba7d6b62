//! Random expressions.

use super::super::tree::{Kind, Node, Part};
use super::{Ctx, Field, Float, Own, Passing, Shape, Value, Variable, text};

/// What an input or a variable is at most. Bounds are nominal: slopes are what matters, and nothing overflows.
const BOUND: f64 = 2.0;

impl Ctx {
    /// A floating expression, so many operations deep.
    pub(super) fn value(&mut self, depth: usize) -> Value {
        if depth == 0 {
            return self.leaf();
        }
        match self.below(20) {
            0..=2 => self.leaf(),
            3..=6 => self.sum(depth),
            7..=10 => self.product(depth),
            11 | 12 => self.unary(depth),
            13 => self.quotient(depth),
            14 => self.extremum(depth),
            15 => self.choice(depth),
            16 => self.cast(depth),
            17 => self.negative(depth),
            18 => self.called(depth),
            _ => self.read(),
        }
    }

    fn made(&mut self, parts: Vec<Part>, bound: f64, slope: f64) -> Value {
        Value { node: self.node(Kind::Float, parts), bound, slope }
    }

    pub(super) fn literal(&mut self) -> Value {
        if self.chance(30) {
            // The same number in both precisions, or `(float)0.1` would be another when `float` is `double`.
            let quarters = 1 + self.below(6);
            return self.made(
                vec![text((quarters as f64 / 4.0).to_string() + if quarters == 4 { ".0" } else { "" })],
                1.5,
                0.0,
            );
        }
        let hundredths = 10 + self.below(150);
        let literal = format!("{}.{:02}f", hundredths / 100, hundredths % 100);
        self.made(vec![text(literal)], hundredths as f64 / 100.0, 0.0)
    }

    fn leaf(&mut self) -> Value {
        match self.below(10) {
            0 | 1 => self.literal(),
            2 => {
                let int = self.int(1);
                self.made(vec![text("0.1f * ("), Part::Node(int), text(")")], 2.0, 0.0)
            }
            _ => self.read(),
        }
    }

    /// A value from memory.
    pub(super) fn read(&mut self) -> Value {
        let any = self.pick(|variable| !matches!(variable.shape, Shape::Int(_)));
        let place = match any {
            Some(variable) if !self.chance(15) || self.own.is_none() => {
                self.place_in(&variable).map(|(parts, _)| parts)
            }
            Some(_) | None => self.own_place().map(|(parts, _)| parts),
        };
        match place {
            Some(parts) => self.made(parts, BOUND, 1.0),
            None => self.literal(),
        }
    }

    fn sum(&mut self, depth: usize) -> Value {
        let (left, right) = (self.value(depth - 1), self.value(depth - 1));
        let sign = if self.chance(60) { " + " } else { " - " };
        let (bound, slope) = (left.bound + right.bound, left.slope + right.slope);
        self.made(vec![text("("), Part::Node(left.node), text(sign), Part::Node(right.node), text(")")], bound, slope)
    }

    fn product(&mut self, depth: usize) -> Value {
        let (left, right) = (self.value(depth - 1), self.value(depth - 1));
        let slope = left.slope * right.bound + right.slope * left.bound;
        let bound = left.bound * right.bound;
        self.made(vec![Part::Node(left.node), text(" * "), Part::Node(right.node)], bound, slope)
    }

    fn unary(&mut self, depth: usize) -> Value {
        let float = self.float();
        let suffix = if float == Float::Single { "f" } else { "" };
        let value = self.value(depth - 1);
        let (bound, slope, node) = (value.bound, value.slope, Part::Node(value.node));
        let one = if float == Float::Single { "1.0f" } else { "1.0" };
        match self.below(6) {
            0 | 1 => self.made(vec![text(format!("sin{suffix}(")), node, text(")")], 1.0, slope),
            2 => self.made(vec![text(format!("cos{suffix}(")), node, text(")")], 1.0, slope),
            3 => self.made(vec![text(format!("exp{suffix}(sin{suffix}(")), node, text("))")], 2.8, 2.8 * slope),
            4 => self.made(vec![text(format!("fabs{suffix}(")), node, text(")")], bound, slope),
            _ => {
                let head = format!("sqrt{suffix}({one} + fabs{suffix}(");
                self.made(vec![text(head), node, text("))")], 1.0 + bound, slope)
            }
        }
    }

    fn quotient(&mut self, depth: usize) -> Value {
        let (left, right) = (self.value(depth - 1), self.value(depth - 1));
        let (bound, slope) = (left.bound, left.slope + left.bound * right.slope);
        let parts = vec![Part::Node(left.node), text(" / (1.5f + fabsf("), Part::Node(right.node), text("))")];
        self.made(parts, bound, slope)
    }

    fn extremum(&mut self, depth: usize) -> Value {
        let (left, right) = (self.value(depth - 1), self.value(depth - 1));
        let name = ["fminf(", "fmaxf(", "fmin(", "fmax("][self.below(4)];
        let (bound, slope) = (left.bound.max(right.bound), left.slope.max(right.slope));
        self.made(vec![text(name), Part::Node(left.node), text(", "), Part::Node(right.node), text(")")], bound, slope)
    }

    fn choice(&mut self, depth: usize) -> Value {
        let condition = self.condition();
        let (left, right) = (self.value(depth - 1), self.value(depth - 1));
        let (bound, slope) = (left.bound.max(right.bound), left.slope.max(right.slope));
        let parts = vec![
            text("("),
            Part::Node(condition),
            text(" ? "),
            Part::Node(left.node),
            text(" : "),
            Part::Node(right.node),
            text(")"),
        ];
        self.made(parts, bound, slope)
    }

    fn cast(&mut self, depth: usize) -> Value {
        let value = self.value(depth - 1);
        let cast = ["(float)(", "(double)(", "static_cast<float>("][self.below(3)];
        self.made(vec![text(cast), Part::Node(value.node), text(")")], value.bound, value.slope)
    }

    fn negative(&mut self, depth: usize) -> Value {
        let value = self.value(depth - 1);
        self.made(vec![text("(-("), Part::Node(value.node), text("))")], value.bound, value.slope)
    }

    /// A call inside an expression, of a function that changes nothing.
    fn called(&mut self, depth: usize) -> Value {
        let cost = 0.4 * self.trips as f64;
        let pure = |passing: Passing| !matches!(passing, Passing::Reference | Passing::Pointer);
        let fit: Vec<usize> = (0..self.devices.len())
            .filter(|index| {
                let device = &self.devices[*index];
                matches!(device.result, Some(Shape::Scalar(_))) && device.formals.iter().all(|it| pure(it.passing))
            })
            .collect();
        if fit.is_empty() || cost > self.budget {
            return self.value(depth - 1);
        }
        let chosen = fit[self.below(fit.len())];
        let device = self.devices[chosen].clone();
        let Some(parts) = self.call(&device) else { return self.value(depth - 1) };
        self.budget -= cost;
        self.made(parts, BOUND, 1.5)
    }

    /// A condition, of numbers or of floats.
    pub(super) fn condition(&mut self) -> Node {
        let parts = match self.below(6) {
            0 | 1 => {
                let int = self.int(1);
                let (divisor, rest) = (2 + self.below(2), self.below(2));
                vec![text("("), Part::Node(int), text(format!(") % {divisor} == {rest}"))]
            }
            2 => {
                let (left, right) = (self.int(1), self.int(1));
                vec![Part::Node(left), text(" < "), Part::Node(right)]
            }
            3 => {
                let (left, right) = (self.read(), self.read());
                vec![Part::Node(left.node), text(" < "), Part::Node(right.node)]
            }
            _ => {
                let value = self.value(1);
                let relation = [" < ", " > ", " <= "][self.below(3)];
                let limit = self.literal();
                vec![Part::Node(value.node), text(relation), Part::Node(limit.node)]
            }
        };
        self.node(Kind::Condition, parts)
    }

    /// A whole number that is not negative, and small.
    pub(super) fn int(&mut self, depth: usize) -> Node {
        let known = self.pick(|variable| matches!(variable.shape, Shape::Int(_)));
        let parts = match (self.below(8), known) {
            (0..=4, Some(variable)) => vec![text(variable.name)],
            (5, _) if depth > 0 => {
                let (left, right) = (self.int(depth - 1), self.int(depth - 1));
                let sign = [" + ", " * "][self.below(2)];
                vec![text("("), Part::Node(left), text(sign), Part::Node(right), text(")")]
            }
            (6, _) if depth > 0 => {
                let int = self.int(depth - 1);
                let end = [" >> 1)", " & 3)", " % 3)", " / 2)"][self.below(4)];
                vec![text("("), Part::Node(int), text(end)]
            }
            (7, _) if depth > 0 && self.chance(40) => {
                let value = self.read();
                vec![text("(int)(3.0f * fabsf("), Part::Node(value.node), text("))")]
            }
            (_, _) => {
                let literal = self.below(5);
                vec![text(literal.to_string())]
            }
        };
        self.node(Kind::Int, parts)
    }

    /// A number from 0 to below a bound.
    pub(super) fn index(&mut self, bound: usize) -> Part {
        let fit = self.pick(|variable| matches!(variable.shape, Shape::Int(limit) if limit <= bound));
        let node = match (self.below(10), fit) {
            (0..=3, Some(variable)) => self.node(Kind::Int, vec![text(variable.name)]),
            (0..=5, _) => {
                let literal = self.below(bound);
                self.node(Kind::Int, vec![text(literal.to_string())])
            }
            (_, _) => {
                let int = self.int(1);
                self.node(Kind::Int, vec![text("("), Part::Node(int), text(format!(") % {bound}"))])
            }
        };
        Part::Node(node)
    }

    /// One of a thread's own elements of the output.
    pub(super) fn own_place(&mut self) -> Option<(Vec<Part>, Float)> {
        let Own { array, first, count, float } = self.own.clone()?;
        if count == 1 {
            return Some((vec![text(format!("{array}[{first}]"))], float));
        }
        let index = self.index(count);
        Some((vec![text(format!("{array}[{first} + ")), index, text("]")], float))
    }

    /// A floating number in a variable.
    pub(super) fn place_in(&mut self, variable: &Variable) -> Option<(Vec<Part>, Float)> {
        let name = variable.name.clone();
        Some(match &variable.shape {
            Shape::Scalar(float) => (vec![text(name)], *float),
            Shape::Int(_) => return None,
            Shape::Pointer(float, _) if self.chance(15) => (vec![text(format!("(*{name})"))], *float),
            Shape::Pointer(float, count) if *count > 1 && self.chance(10) => {
                let index = self.index(*count);
                (vec![text(format!("(*({name} + ")), index, text("))")], *float)
            }
            Shape::Array(float, count) | Shape::Pointer(float, count) => {
                let index = self.index(*count);
                (vec![text(format!("{name}[")), index, text("]")], *float)
            }
            Shape::Matrix(float, rows, columns) => {
                let (row, column) = (self.index(*rows), self.index(*columns));
                (vec![text(format!("{name}[")), row, text("]["), column, text("]")], *float)
            }
            Shape::Record(record) => {
                let fields = self.records[*record].clone();
                let chosen = self.below(fields.len());
                match fields[chosen] {
                    Field::Scalar(float) => (vec![text(format!("{name}.m{chosen}"))], float),
                    Field::Array(float, count) => {
                        let index = self.index(count);
                        (vec![text(format!("{name}.m{chosen}[")), index, text("]")], float)
                    }
                }
            }
        })
    }

    /// Scales a value until it can be assigned as often as it will be.
    pub(super) fn tamed(&mut self, value: Value, adds: bool) -> Value {
        let trips = self.trips as f64;
        let share = (self.budget * 0.25 / trips).clamp(0.0, 0.5);
        let limit = if adds { share.exp_m1().max(0.05) } else { share.exp() };
        let factor = (limit / value.slope.max(1e-9)).min(BOUND / value.bound.max(1e-9)).min(1.0);
        self.budget -= if adds { share * 0.5 } else { share };
        self.budget = self.budget.max(0.0);
        if factor >= 0.99 {
            return value;
        }
        let hundredths = ((factor * 100.0).floor() as usize).max(2);
        let head = format!("0.{hundredths:02}f * (");
        let (bound, slope) = (value.bound * factor, value.slope * factor);
        self.made(vec![text(head), Part::Node(value.node), text(")")], bound, slope)
    }
}
