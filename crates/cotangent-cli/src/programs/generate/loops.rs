//! Loops and conditions of the host, and the loops whose order matters: in place, and layer after layer.

use super::super::features::Feature;
use super::kernel::Want;
use super::launch::Given;
use super::{Ctx, Whole};
use crate::check::random_kernels::tree::{Kind, Node};

/// How a loop counts: its head with `@` for the counter and `%` for the trips, and what the counter is at least and most,
/// in trips and beyond them.
struct Counting {
    head: &'static str,
    feature: Feature,
    least: i64,
    most: (i64, i64),
}

const COUNTINGS: &[Counting] = &[
    counting("int #@# = 0; @ < %; ++@", Feature::LoopAscending, 0, (1, -1)),
    counting("int #@# = 0; @ < %; @++", Feature::LoopAscending, 0, (1, -1)),
    counting("int #@# = 1; @ <= %; ++@", Feature::LoopAscending, 1, (1, 0)),
    counting("int #@# = % - 1; @ >= 0; --@", Feature::LoopDescending, 0, (1, -1)),
    counting("int #@# = %; @ > 0; @--", Feature::LoopDescending, 1, (1, 0)),
    counting("int #@# = 0; @ < 2 * %; @ += 2", Feature::LoopStride, 0, (2, -2)),
    counting("int #@# = 2 * %; @ >= 1; @ -= 2", Feature::LoopStride, 2, (2, 0)),
];

const fn counting(head: &'static str, feature: Feature, least: i64, most: (i64, i64)) -> Counting {
    Counting { head, feature, least, most }
}

impl Ctx {
    /// A loop around statements.
    pub(super) fn looped(&mut self, body: impl FnOnce(&mut Ctx) -> Vec<Node>) -> Vec<Node> {
        let counting = &COUNTINGS[self.below(COUNTINGS.len())];
        let (trips, written) = self.trips();
        let counter = self.name('v');
        if self.loops > 0 {
            self.feature(Feature::LoopNested);
        }
        let mut all = self.settled();
        let marks = self.enter();
        let most = counting.most.0 * trips + counting.most.1;
        let is_while = self.chance(18);
        let (least, most) = if is_while { (0, trips - 1) } else { (counting.least, most) };
        self.wholes.push(Whole { name: counter.clone(), least, most, is_counter: true });
        self.loops += 1;
        let mut statements = body(self);
        self.loops -= 1;
        statements.extend(self.settled());
        self.leave(marks);
        if is_while {
            self.feature(Feature::LoopWhile);
            statements.push(self.node(Kind::Fixed, &format!("++{counter};"), Vec::new()));
            let body = self.block(statements);
            let pattern = format!("int #{counter}# = 0; while ({counter} < {written}) $");
            all.push(self.node(Kind::Loop, &pattern, vec![body]));
            return all;
        }
        self.feature(counting.feature);
        let body = self.block(statements);
        let head = counting.head.replace('@', &counter).replace('%', &written);
        all.push(self.node(Kind::Loop, &format!("for ({head}) $"), vec![body]));
        all
    }

    /// How often, and how that is written.
    fn trips(&mut self) -> (i64, String) {
        let known: Vec<Whole> = self.wholes.iter().filter(|it| !it.is_counter && it.most <= 3).cloned().collect();
        if !known.is_empty() && self.chance(60) {
            let whole = self.one_of(&known);
            return (whole.most, whole.name);
        }
        let most = if self.loops > 0 { 2 } else { 3 };
        let trips = 2 + self.below(most - 1) as i64;
        (trips, trips.to_string())
    }

    /// Some statements in a loop.
    pub(super) fn some_in_loop(&mut self) -> Vec<Node> {
        self.looped(|ctx| {
            let mut all = Vec::new();
            for _ in 0..1 + ctx.below(3) {
                all.extend(if ctx.chance(25) { ctx.conditional() } else { ctx.theme() });
            }
            all
        })
    }

    /// Statements under a condition.
    pub(super) fn conditional(&mut self) -> Vec<Node> {
        let condition = self.condition();
        let mut all = self.settled();
        let mut branches = Vec::new();
        for _ in 0..1 + self.below(2) {
            let marks = self.enter();
            let mut statements = self.theme();
            statements.extend(self.settled());
            self.leave(marks);
            branches.push(self.block(statements));
        }
        let pattern = if branches.len() == 2 { "if (#) $ else $" } else { "if (#) $" };
        let pattern = pattern.replace('#', &condition);
        all.push(self.node(Kind::Statement, &pattern, branches));
        all
    }

    fn condition(&mut self) -> String {
        let counters: Vec<Whole> = self.wholes.iter().filter(|it| it.is_counter).cloned().collect();
        let read: Vec<String> = self.scalars.iter().filter(|it| it.is_read_back).map(|it| it.name.clone()).collect();
        let border = self.literal();
        match self.below(4) {
            0 | 1 if !read.is_empty() => {
                self.feature(Feature::ConditionOnReadBack);
                format!("{} > {border}", self.one_of(&read))
            }
            1..=3 if !counters.is_empty() => {
                self.feature(Feature::ConditionOnCounter);
                let counter = self.one_of(&counters).name;
                self.one_of(&[format!("{counter} % 2 == 0"), format!("{counter} > 1"), format!("{counter} != 1")])
            }
            _ => {
                self.feature(Feature::ConditionOnParameter);
                let whole = self.wholes.iter().rfind(|it| !it.is_counter).map(|it| it.name.clone());
                let number = self.scalars.first().map(|it| it.name.clone());
                match (whole, number) {
                    (Some(whole), _) if self.chance(60) => format!("{whole} > {}", 1 + self.below(5)),
                    (_, Some(number)) => format!("{number} < {border}"),
                    (whole, None) => format!("{} > 2", whole.unwrap_or_else(|| "3".to_owned())),
                }
            }
        }
    }

    /// Two arrays that change each other in place, with a number that depends on the step.
    pub(super) fn leapfrog(&mut self) -> Vec<Node> {
        let Some(first) = self.pick_buffer(|it| it.is_mutable) else { return Vec::new() };
        let Some(second) = self.pick_buffer(|it| it.is_mutable && it.name != first.name) else { return Vec::new() };
        self.feature(Feature::InPlaceLoop);
        self.looped(|ctx| {
            let mut all = Vec::new();
            for (from, to) in [(&first, &second), (&second, &first)] {
                let kernel = ctx.kernel(Want::Update { inputs: 1 });
                let (count, count_text) = ctx.count(from.count.min(to.count));
                let stream = ctx.any_stream();
                let (inputs, output) = (vec![from.name.clone()], to.name.clone());
                let given = Given { inputs, output, count, count_text, stream, ..Given::default() };
                all.extend(ctx.launch_of(
                    &kernel,
                    &given,
                    std::slice::from_ref(&from.name),
                    std::slice::from_ref(&to.name),
                ));
            }
            all
        })
    }

    /// Each layer of an array is computed from the one before.
    pub(super) fn layers(&mut self) -> Vec<Node> {
        let (length, count) = self.length.clone();
        let Some(array) = self.pick_buffer(|it| it.is_mutable && it.count >= 2 * count) else { return Vec::new() };
        self.feature(Feature::Layers);
        self.feature(Feature::OneRootWritten);
        self.feature(Feature::CounterOffset);
        let trips = array.count / count - 1;
        let mut all = self.settled();
        let counter = self.name('v');
        let kernel = self.kernel(Want::Map { inputs: 1 });
        let marks = self.enter();
        self.wholes.push(Whole { name: counter.clone(), least: 0, most: trips as i64 - 1, is_counter: true });
        self.loops += 1;
        let name = &array.name;
        let (input, output) =
            (format!("{name} + {counter} * {length}"), format!("{name} + ({counter} + 1) * {length}"));
        let given =
            Given { inputs: vec![input], output, count, count_text: length.clone(), stream: 0, ..Given::default() };
        let mut body = self.launch_of(&kernel, &given, &[], std::slice::from_ref(name));
        body.extend(self.settled());
        self.loops -= 1;
        self.leave(marks);
        let body = self.block(body);
        self.feature(Feature::LoopAscending);
        let pattern = format!("for (int #{counter}# = 0; {counter} < {trips}; ++{counter}) $");
        all.push(self.node(Kind::Loop, &pattern, vec![body]));
        all
    }
}
