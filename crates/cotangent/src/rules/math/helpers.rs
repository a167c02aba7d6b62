//! Functions that derivatives need and CUDA does not have, as functions of the IR to be printed along with them.

/// The text form of a helper: a device function of one argument. No function of the table has its name.
pub fn helper(name: &str) -> Option<&'static str> {
    HELPERS.iter().find_map(|(_, variants)| variants.iter().find(|(known, _)| *known == name).map(|(_, text)| *text))
}

/// The name of the helper that formulas know as `name`.
pub(super) fn spelling(name: &str, is_single: bool) -> Option<&'static str> {
    let (_, variants) = HELPERS.iter().find(|(known, _)| *known == name)?;
    Some(variants[usize::from(is_single)].0)
}

/// A name and a text.
type Variant = (&'static str, &'static str);

/// The name in formulas; then the variants for `double` and for `float`.
const HELPERS: &[(&str, [Variant; 2])] =
    &[("digamma", [("_cotangent_digamma", DIGAMMA), ("_cotangent_digammaf", DIGAMMA_F32)])];

/// The derivative of log Γ: reflected to the right half, moved up to where the asymptotic series holds.
const DIGAMMA: &str = "\
device _cotangent_digamma(x: double) -> double {
  let sum: double = 0.0;
  let t: double = x;
  if (x <= 0.0) {
    sum = ((-3.141592653589793 * cospi(x)) / sinpi(x));
    t = (1.0 - x);
  }
  while (t < 10.0) {
    sum = (sum - (1.0 / t));
    t = (t + 1.0);
  }
  let s: double = (1.0 / (t * t));
  let tail: double = (0.003968253968253968 - (s * (0.004166666666666667 - (s * 0.007575757575757576))));
  tail = (s * (0.08333333333333333 - (s * (0.008333333333333333 - (s * tail)))));
  return (sum + ((log(t) - (0.5 / t)) - tail));
}
";

/// The same in single precision, where the series holds sooner.
const DIGAMMA_F32: &str = "\
device _cotangent_digammaf(x: float) -> float {
  let sum: float = 0.0f;
  let t: float = x;
  if (x <= 0.0f) {
    sum = ((-3.1415927f * cospif(x)) / sinpif(x));
    t = (1.0f - x);
  }
  while (t < 5.0f) {
    sum = (sum - (1.0f / t));
    t = (t + 1.0f);
  }
  let s: float = (1.0f / (t * t));
  let tail: float = (s * (0.083333336f - (s * (0.008333334f - (s * 0.003968254f)))));
  return (sum + ((logf(t) - (0.5f / t)) - tail));
}
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};
    use crate::rules::is_math;

    #[test]
    fn helpers_are_valid_functions_of_their_names() {
        for (name, text) in HELPERS.iter().flat_map(|(_, variants)| variants) {
            let module = text::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(validate(&module), Ok(()), "{name}");
            assert!(module.function(name).is_some() && helper(name) == Some(text) && !is_math(name), "{name}");
        }
    }
}
