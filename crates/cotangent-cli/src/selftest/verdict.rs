//! What is said about one program, in a line of the report; and as the words in which the process that tried the program
//! hands it on.

use std::fmt;

use crate::check::compare::{ACCESSES, BY_NVCC, ON_GPU, Report};

/// What came of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Verdict {
    /// All comparisons are within their bounds. The difference is that of nvcc's numbers; a whole program compares its own.
    Agrees(Option<f64>),
    /// The largest difference of the comparison that failed, and what is allowed there.
    Differs(Option<(f64, f64)>),
    /// Threads race, or reach outside of arrays.
    BadAccesses,
    /// Values were so far apart that derivatives were not compared.
    NotCompared,
    /// Cotangent does not differentiate it.
    Refused,
    /// nvcc or Clang does not compile it.
    NotCompiled,
    /// A program ended before its end, or a launch failed.
    Crashed,
    TookTooLong,
    /// Something else, which the text says.
    Failed,
}

/// The words without numbers.
const WORDS: &[(Verdict, &str)] = &[
    (Verdict::Agrees(None), "agrees"),
    (Verdict::Differs(None), "differs"),
    (Verdict::BadAccesses, "bad accesses"),
    (Verdict::NotCompared, "differs in its values"),
    (Verdict::Refused, "refused"),
    (Verdict::NotCompiled, "not compiled"),
    (Verdict::Crashed, "crashed"),
    (Verdict::TookTooLong, "took too long"),
    (Verdict::Failed, "failed"),
];

impl Verdict {
    /// What a check found.
    pub(crate) fn of_report(report: &Report) -> Verdict {
        // Infinite differences are the largest of all.
        let wrong = report.rows.iter().filter(|row| row.wrong.is_some());
        let worst =
            wrong.max_by(|first, second| (first.worst / first.allowed).total_cmp(&(second.worst / second.allowed)));
        if let Some(row) = worst {
            return match row.what == ACCESSES {
                true => Verdict::BadAccesses,
                false => Verdict::Differs(Some((row.worst, row.allowed))),
            };
        }
        let of_nvcc = report.rows.iter().find(|row| [BY_NVCC, ON_GPU].contains(&row.what.as_str()));
        match of_nvcc {
            Some(row) if report.left_out == 0 => Verdict::Agrees(Some(row.worst)),
            Some(_) | None => Verdict::NotCompared,
        }
    }

    pub(crate) fn agrees(self) -> bool {
        matches!(self, Verdict::Agrees(_))
    }

    /// The words that [`Verdict::from_words`] reads.
    pub(crate) fn to_words(self) -> String {
        match self {
            Verdict::Agrees(Some(worst)) => format!("agrees\t{worst:e}"),
            Verdict::Differs(Some((worst, allowed))) => format!("differs\t{worst:e}\t{allowed:e}"),
            other => other.word().to_owned(),
        }
    }

    /// None if no verdict was written: the process has ended before it came to one.
    pub(crate) fn from_words(words: &str) -> Option<Verdict> {
        let mut parts = words.split('\t');
        let word = parts.next()?;
        let numbers = parts.map(|number| number.parse().ok()).collect::<Option<Vec<f64>>>()?;
        let (plain, _) = WORDS.iter().find(|(_, known)| *known == word)?;
        Some(match (plain, numbers.as_slice()) {
            (Verdict::Agrees(_), [worst]) => Verdict::Agrees(Some(*worst)),
            (Verdict::Differs(_), [worst, allowed]) => Verdict::Differs(Some((*worst, *allowed))),
            (plain, _) => *plain,
        })
    }

    /// The word for it, without numbers.
    pub(crate) fn word(self) -> &'static str {
        let plain = match self {
            Verdict::Agrees(_) => Verdict::Agrees(None),
            Verdict::Differs(_) => Verdict::Differs(None),
            other => other,
        };
        WORDS.iter().find(|(verdict, _)| *verdict == plain).map_or("failed", |(_, word)| word)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())?;
        match self {
            Verdict::Agrees(Some(0.0)) => formatter.write_str(" exactly"),
            Verdict::Agrees(Some(worst)) => write!(formatter, " to {worst:.1e}"),
            Verdict::Differs(Some((worst, allowed))) => write!(formatter, " by {worst:.1e}, allowed {allowed:.0e}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_survives_its_words() {
        let with_numbers = [Verdict::Agrees(Some(2.5e-8)), Verdict::Differs(Some((f64::INFINITY, 1e-5)))];
        for verdict in WORDS.iter().map(|(verdict, _)| *verdict).chain(with_numbers) {
            assert_eq!(Verdict::from_words(&verdict.to_words()), Some(verdict));
        }
        assert_eq!(Verdict::from_words(""), None);
        assert_eq!(Verdict::Agrees(Some(0.0)).to_string(), "agrees exactly");
        assert_eq!(Verdict::Differs(Some((1.25, 1e-5))).to_string(), "differs by 1.2e0, allowed 1e-5");
    }
}
