//! The adjoints of shuffles, as functions of the IR to be printed along with derivatives.
//!
//! A thread gets back the adjoints of all threads that took its value. In each function `lane` is the number of the
//! thread in its warp, `position` that in its group of `width` threads, and `live` says which threads are still there: a
//! thread that has returned took nothing.

use crate::ir::{CollectiveOp, FloatKind};

/// The function that gives the adjoint of a shuffle's argument, given the adjoint of its result: its name and its text.
/// It is called with the mask, that adjoint, and the shuffle's other two arguments. Where the first of these is the same
/// for all threads of a warp, one shuffle the other way is enough.
pub fn shuffle_adjoint(op: CollectiveOp, is_same: bool, kind: FloatKind) -> Option<(String, String)> {
    let (name, delta, body) = match (op, is_same) {
        (CollectiveOp::ShuffleDown, true) => ("shuffle_down", "unsigned int", DOWN.to_owned()),
        (CollectiveOp::ShuffleUp, true) => ("shuffle_up", "unsigned int", UP.to_owned()),
        (CollectiveOp::ShuffleXor, true) => ("shuffle_xor", "int", XOR.to_owned()),
        (CollectiveOp::ShuffleDown, false) => ("any_shuffle_down", "unsigned int", format!("{DOWN_FROM}{ANY}")),
        (CollectiveOp::ShuffleUp, false) => ("any_shuffle_up", "unsigned int", format!("{UP_FROM}{ANY}")),
        (CollectiveOp::ShuffleXor, false) => ("any_shuffle_xor", "int", format!("{XOR_FROM}{ANY}")),
        (CollectiveOp::Shuffle, _) => ("shuffle", "int", format!("{SHUFFLE_FROM}{ANY}")),
        (
            CollectiveOp::Ballot
            | CollectiveOp::Any
            | CollectiveOp::All
            | CollectiveOp::MatchAny
            | CollectiveOp::MatchAll
            | CollectiveOp::ReduceAdd
            | CollectiveOp::ReduceMin
            | CollectiveOp::ReduceMax
            | CollectiveOp::ReduceAnd
            | CollectiveOp::ReduceOr
            | CollectiveOp::ReduceXor
            | CollectiveOp::ActiveMask,
            _,
        ) => return None,
    };
    function(&format!("{name}_adjoint"), &format!("argument: {delta}, "), &body, kind)
}

/// The same for a shuffle by which all threads take the value of one: its adjoint is a sum.
pub fn broadcast_adjoint(kind: FloatKind) -> Option<(String, String)> {
    function("broadcast_adjoint", "argument: int, ", BROADCAST, kind)
}

/// The same for a loop that adds up a value by shuffles down: its adjoint is a broadcast, unless other threads than the
/// first use what they have of the sum.
pub fn sum_adjoint(kind: FloatKind) -> Option<(String, String)> {
    function("shuffle_sum_adjoint", "", SUM, kind)
}

fn function(name: &str, argument: &str, body: &str, kind: FloatKind) -> Option<(String, String)> {
    let (ty, zero, suffix) = match kind {
        FloatKind::Float => ("float", "0.0f", "f"),
        FloatKind::Double => ("double", "0.0", ""),
        FloatKind::Half | FloatKind::BFloat => return None,
    };
    let name = format!("_cotangent_{name}{suffix}");
    // Not every function asks where in its group a thread is.
    let is_used = |line: &&str| !line.contains("let position") || body.contains("position");
    let place: Vec<&str> = PLACE.lines().filter(is_used).collect();
    let place = place.join("\n");
    let head = format!("device {name}(mask: unsigned int, seed: T, {argument}width: int) -> T {{\n{place}\n");
    let text = format!("{head}{body}}}\n").replace("ZERO", zero);
    Some((name, replace_type(&text, ty)))
}

/// `T` as a word of its own.
fn replace_type(text: &str, ty: &str) -> String {
    text.replace(": T", &format!(": {ty}")).replace("-> T", &format!("-> {ty}"))
}

const PLACE: &str = "\
  let lane: unsigned int = ((threadIdx.x + (blockDim.x * (threadIdx.y + (blockDim.y * threadIdx.z)))) % 32u);
  let size: unsigned int = (width as unsigned int);
  let position: unsigned int = (lane % size);
  let live: unsigned int;
  live = collective ballot[mask](1);
";

const DOWN: &str = "\
  let other: T;
  other = collective shuffle_up[mask](seed, argument, width);
  let sum: T = ZERO;
  if (position >= argument) {
    if (((live >> (lane - argument)) & 1u) != 0u) {
      sum = other;
    }
  }
  if ((position + argument) >= size) {
    sum = (sum + seed);
  }
  return sum;
";

const UP: &str = "\
  let other: T;
  other = collective shuffle_down[mask](seed, argument, width);
  let sum: T = ZERO;
  if ((position + argument) < size) {
    if (((live >> (lane + argument)) & 1u) != 0u) {
      sum = other;
    }
  }
  if (position < argument) {
    sum = (sum + seed);
  }
  return sum;
";

const XOR: &str = "\
  let other: T;
  other = collective shuffle_xor[mask](seed, argument, 32);
  let partner: unsigned int = (lane ^ (argument as unsigned int));
  let sum: T = ZERO;
  if (((live >> (partner % 32u)) & 1u) != 0u) {
    if (((partner / size) == (lane / size)) || (partner > lane)) {
      sum = other;
    }
  }
  if ((partner / size) > (lane / size)) {
    sum = (sum + seed);
  }
  return sum;
";

/// Which lane of the warp a thread took its value from.
const DOWN_FROM: &str = "  let from: unsigned int = (((position + argument) < size) ? (lane + argument) : lane);\n";
const UP_FROM: &str = "  let from: unsigned int = ((position >= argument) ? (lane - argument) : lane);\n";
const XOR_FROM: &str = "\
  let partner: unsigned int = (lane ^ (argument as unsigned int));
  let from: unsigned int = (((partner / size) <= (lane / size)) ? partner : lane);
";
const SHUFFLE_FROM: &str = "\
  let from: unsigned int = ((lane - position) + ((argument as unsigned int) % size));
";

const ANY: &str = "\
  let sum: T = ZERO;
  for k: int = 0; k < 32; k += 1 {
    let other: T;
    other = collective shuffle[mask](seed, k, 32);
    let source: unsigned int;
    source = collective shuffle[mask](from, k, 32);
    if (source == lane) {
      if (((live >> k) & 1u) != 0u) {
        sum = (sum + other);
      }
    }
  }
  return sum;
";

const BROADCAST: &str = "\
  let sum: T = seed;
  if (live == 4294967295u) {
    for offset: int = (width / 2); offset > 0; offset /= 2 {
      let other: T;
      other = collective shuffle_xor[mask](sum, offset, width);
      sum = (sum + other);
    }
  } else {
    sum = ZERO;
    for k: int = 0; k < width; k += 1 {
      let other: T;
      other = collective shuffle[mask](seed, k, width);
      if (((live >> ((lane - position) + (k as unsigned int))) & 1u) != 0u) {
        sum = (sum + other);
      }
    }
  }
  return ((((argument as unsigned int) % size) == position) ? sum : ZERO);
";

const SUM: &str = "\
  let sum: T = seed;
  let is_first_there: bool = (((live >> (lane - position)) & 1u) != 0u);
  let is_used: int;
  is_used = collective any[mask](((((position != 0u) && (seed != ZERO)) || !is_first_there) ? 1 : 0));
  if (is_used == 0) {
    sum = collective shuffle[mask](seed, 0, width);
  } else {
    for offset: unsigned int = 1u; offset < size; offset *= 2u {
      let other: T;
      other = collective shuffle_up[mask](sum, offset, width);
      if ((position + offset) >= size) {
        sum = (sum + sum);
      }
      if (position >= offset) {
        if (((live >> (lane - offset)) & 1u) != 0u) {
          sum = (sum + other);
        }
      }
    }
  }
  return sum;
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};

    #[test]
    fn adjoints_of_shuffles_are_valid_functions() {
        let ops = [CollectiveOp::Shuffle, CollectiveOp::ShuffleUp, CollectiveOp::ShuffleDown, CollectiveOp::ShuffleXor];
        for kind in [FloatKind::Float, FloatKind::Double] {
            let of_op = |op| [true, false].map(|is_same| shuffle_adjoint(op, is_same, kind));
            let all = ops.map(of_op).into_iter().flatten().flatten();
            for (name, text) in all.chain(broadcast_adjoint(kind)).chain(sum_adjoint(kind)) {
                let module = text::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
                assert_eq!(validate(&module), Ok(()), "{name}");
                assert!(module.function(&name).is_some(), "{name}");
            }
        }
    }
}
