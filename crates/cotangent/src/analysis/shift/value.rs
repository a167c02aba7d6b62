//! What a value is when all shifts could be any numbers.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::LocalId;
use crate::rules::chosen_by;

/// Functions `exp(f * x)`, and the factors.
pub(super) const EXPONENTIALS: [(&str, f64); 7] = [
    ("exp", 1.0),
    ("expf", 1.0),
    ("__expf", 1.0),
    ("exp2", std::f64::consts::LN_2),
    ("exp2f", std::f64::consts::LN_2),
    ("exp10", std::f64::consts::LN_10),
    ("exp10f", std::f64::consts::LN_10),
];

/// Functions `log(x) / f`, and the factors.
const LOGARITHMS: [(&str, f64); 9] = [
    ("log", 1.0),
    ("logf", 1.0),
    ("__logf", 1.0),
    ("log2", std::f64::consts::LN_2),
    ("log2f", std::f64::consts::LN_2),
    ("__log2f", std::f64::consts::LN_2),
    ("log10", std::f64::consts::LN_10),
    ("log10f", std::f64::consts::LN_10),
    ("__log10f", std::f64::consts::LN_10),
];

/// How often each shift is in a value, by the variable that it is multiplied with.
type Degrees = BTreeMap<(LocalId, Option<LocalId>), f64>;

/// A value, with `w` for what does not depend on any shift.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    /// Zero, or nothing yet: of any form.
    Zero,
    /// `w - k*m - …`. Without shifts it is `w`.
    Shifted(Degrees),
    /// `w * exp(-k*m - …)`, with some shift.
    Scaled(Degrees),
    /// It depends on some shifts, one knows not how.
    Mixed(BTreeSet<LocalId>),
}

impl Value {
    /// What depends on no shift.
    pub(super) fn free() -> Value {
        Value::Shifted(Degrees::new())
    }

    /// A shift itself.
    pub(super) fn of(shift: LocalId) -> Value {
        Value::Shifted(Degrees::from([((shift, None), -1.0)]))
    }

    pub(super) fn is_free(&self) -> bool {
        self.shifts().next().is_none()
    }

    /// The shifts that it depends on.
    pub(super) fn shifts(&self) -> Box<dyn Iterator<Item = LocalId> + '_> {
        match self {
            Value::Zero => Box::new(std::iter::empty()),
            Value::Shifted(degrees) | Value::Scaled(degrees) => Box::new(degrees.keys().map(|(shift, _)| *shift)),
            Value::Mixed(shifts) => Box::new(shifts.iter().copied()),
        }
    }

    /// The variables that shifts are multiplied with.
    pub(super) fn factors(&self) -> impl Iterator<Item = LocalId> {
        let degrees = match self {
            Value::Shifted(degrees) | Value::Scaled(degrees) => Some(degrees),
            Value::Zero | Value::Mixed(_) => None,
        };
        degrees.into_iter().flatten().filter_map(|((_, factor), _)| *factor)
    }

    /// A value of which only the shifts are known that it depends on.
    pub(super) fn mixed(self) -> Value {
        if self.is_free() {
            return Value::free();
        }
        Value::Mixed(self.shifts().collect())
    }

    fn mixed_with(&self, other: &Value) -> Value {
        let shifts: BTreeSet<LocalId> = self.shifts().chain(other.shifts()).collect();
        if shifts.is_empty() { Value::free() } else { Value::Mixed(shifts) }
    }

    /// One of two values.
    pub(super) fn join(&self, other: &Value) -> Value {
        match (self, other) {
            (Value::Zero, Value::Shifted(degrees)) | (Value::Shifted(degrees), Value::Zero) if !degrees.is_empty() => {
                self.mixed_with(other)
            }
            (Value::Zero, one) | (one, Value::Zero) => one.clone(),
            (Value::Shifted(own), Value::Shifted(others)) | (Value::Scaled(own), Value::Scaled(others))
                if are_same(own, others) =>
            {
                self.clone()
            }
            (_, _) => self.mixed_with(other),
        }
    }

    /// A sum, the other one with a sign.
    pub(super) fn plus(&self, sign: f64, other: &Value) -> Value {
        match (self, other) {
            (Value::Zero, Value::Shifted(degrees)) => Value::Shifted(sum(&Degrees::new(), sign, degrees)),
            (Value::Zero, one) | (one, Value::Zero) => one.clone(),
            (Value::Shifted(own), Value::Shifted(others)) => Value::Shifted(sum(own, sign, others)),
            (Value::Scaled(own), Value::Scaled(others)) if are_same(own, others) => self.clone(),
            (_, _) => self.mixed_with(other),
        }
    }

    /// A product, the other one to a power of 1 or -1.
    pub(super) fn times(&self, power: f64, other: &Value) -> Value {
        let (Some(own), Some(others)) = (self.degrees(), other.degrees()) else { return self.mixed_with(other) };
        match (self, other) {
            (Value::Zero, _) => Value::Zero,
            (_, Value::Zero) if power > 0.0 => Value::Zero,
            (_, _) => scaled(sum(&own, power, &others)),
        }
    }

    /// A product with a constant.
    pub(super) fn scaled(&self, factor: f64) -> Value {
        match self {
            Value::Shifted(degrees) => Value::Shifted(sum(&Degrees::new(), factor, degrees)),
            Value::Zero | Value::Scaled(_) | Value::Mixed(_) => self.clone(),
        }
    }

    /// A product with a variable that keeps its value. None if it is a product like any other.
    pub(super) fn multiplied(&self, factor: LocalId) -> Option<Value> {
        let Value::Shifted(degrees) = self else { return None };
        let is_plain = !degrees.is_empty() && degrees.keys().all(|(_, factor)| factor.is_none());
        is_plain.then(|| {
            Value::Shifted(degrees.iter().map(|((shift, _), degree)| ((*shift, Some(factor)), *degree)).collect())
        })
    }

    /// The value of a function of the math library.
    pub(super) fn of_function(name: &str, args: &[Value]) -> Value {
        let factor = |table: &[(&str, f64)]| table.iter().find(|(known, _)| *known == name).map(|(_, factor)| *factor);
        match args {
            [Value::Shifted(degrees)] if factor(&EXPONENTIALS).is_some() => {
                scaled(sum(&Degrees::new(), factor(&EXPONENTIALS).unwrap_or(1.0), degrees))
            }
            [Value::Scaled(degrees)] if factor(&LOGARITHMS).is_some() => {
                Value::Shifted(sum(&Degrees::new(), 1.0 / factor(&LOGARITHMS).unwrap_or(1.0), degrees))
            }
            [Value::Scaled(_)] if ["fabs", "fabsf"].contains(&name) => args[0].clone(),
            [left, right] if chosen_by(name).is_some() => left.join(right),
            [left, right] if ["fdividef", "__fdividef"].contains(&name) => left.times(-1.0, right),
            [a, b, c] if ["fma", "fmaf", "__fmaf_rn"].contains(&name) => a.times(1.0, b).plus(1.0, c),
            _ => args.iter().fold(Value::free(), |all, arg| all.mixed_with(arg)),
        }
    }

    /// The same with another name for a shift.
    pub(super) fn rename(&mut self, shift: LocalId, other: LocalId) {
        match self {
            Value::Zero => {}
            Value::Shifted(degrees) | Value::Scaled(degrees) => {
                let renamed = |known: LocalId| if known == shift { other } else { known };
                let all = std::mem::take(degrees).into_iter();
                degrees.extend(all.map(|((known, factor), degree)| ((renamed(known), factor), degree)));
            }
            Value::Mixed(shifts) => {
                if shifts.contains(&shift) {
                    shifts.insert(other);
                }
            }
        }
    }

    /// The same where a shift has got another value: how it depends on the old one is no longer known.
    pub(super) fn forget(&mut self, shift: LocalId) {
        if self.shifts().any(|known| known == shift) {
            *self = std::mem::replace(self, Value::Zero).mixed();
        }
    }

    /// The degrees of a factor of a product.
    fn degrees(&self) -> Option<Degrees> {
        match self {
            Value::Zero => Some(Degrees::new()),
            Value::Shifted(degrees) if degrees.is_empty() => Some(Degrees::new()),
            Value::Scaled(degrees) => Some(degrees.clone()),
            Value::Shifted(_) | Value::Mixed(_) => None,
        }
    }
}

fn scaled(degrees: Degrees) -> Value {
    if degrees.is_empty() { Value::free() } else { Value::Scaled(degrees) }
}

fn sum(own: &Degrees, factor: f64, others: &Degrees) -> Degrees {
    let mut sum = own.clone();
    for (shift, degree) in others {
        *sum.entry(*shift).or_insert(0.0) += factor * degree;
    }
    sum.retain(|_, degree| degree.abs() > 1e-9);
    sum
}

fn are_same(left: &Degrees, right: &Degrees) -> bool {
    sum(left, -1.0, right).is_empty()
}
