//! How much a thread may record for an iteration of a loop.

use std::fmt;
use std::str::FromStr;

/// A number of bytes for each iteration, which may be a fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordBudget {
    /// For `ITERATIONS` iterations.
    bytes: u32,
}

/// Fractions are of so many iterations: a record is made for one iteration of as many at least.
const ITERATIONS: u32 = 4096;

/// More than a loop records.
const MOST: f64 = 65536.0;

impl RecordBudget {
    /// How many times the budget it is to record so much in so many iterations, rounded up.
    pub(super) fn times(self, bytes: u64, iterations: u64) -> u64 {
        (bytes * u64::from(ITERATIONS)).div_ceil(iterations * u64::from(self.bytes))
    }
}

impl FromStr for RecordBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<RecordBudget, String> {
        let least = 1.0 / f64::from(ITERATIONS);
        match text.parse::<f64>() {
            Ok(bytes) if (least..=MOST).contains(&bytes) => {
                Ok(RecordBudget { bytes: (bytes * f64::from(ITERATIONS)) as u32 })
            }
            Ok(_) | Err(_) => Err(format!("a number of bytes for an iteration from {least} to {MOST}, such as 0.25")),
        }
    }
}

impl fmt::Display for RecordBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.bytes) / f64::from(ITERATIONS))
    }
}

#[cfg(test)]
mod tests {
    use super::RecordBudget;

    #[test]
    fn budgets_are_fractions_of_bytes() {
        let quarter: RecordBudget = "0.25".parse().expect("a budget");
        assert_eq!(quarter.to_string(), "0.25");
        assert_eq!(quarter.times(4, 1), 16);
        assert_eq!(quarter.times(4, 16), 1);
        assert_eq!(quarter.times(5, 16), 2);
        for wrong in ["0", "-1", "NaN", "a", "100000", "0.0001"] {
            assert!(wrong.parse::<RecordBudget>().is_err(), "{wrong}");
        }
    }
}
