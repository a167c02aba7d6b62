//! The header that widens a text: read before it, it makes `float` mean `double`, and half precisions too.
//!
//! Macros do it, for the user's text and for ours alike; the classes of half precision are written for it
//! (`COTANGENT_WIDE_HALF` in `include/cpu/cotangent/half.hpp`). What cannot be widened: functions that look at the bits of
//! a float, overloads for both `float` and `double` (the compiler then rejects the text, and the check goes
//! on in native precision), numbers that `scanf` reads, and floats that are copied as integers, and bytes of
//! floats that the program counts itself.

use std::ops::ControlFlow;

use cotangent::ir::walk::{self, Node};
use cotangent::ir::{Expr, ExprKind, FloatKind, Module, OpaqueArg, Stmt, StmtKind, Type};
use cotangent::rules::single_and_double;

/// Why a program that compiles with `float` as `double` does something else then: it knows how large numbers are.
pub(super) fn knows_sizes(module: &Module) -> Option<&'static str> {
    let mut found = None;
    for function in module.functions.iter() {
        let _ = walk::visit_block(&function.body, &mut |node| {
            match node {
                Node::Stmt(stmt) if counts_bytes(stmt) => found = Some("the program counts the bytes of floats itself"),
                Node::Stmt(stmt) if reads_by_format(stmt) => found = Some("the program reads floats with `scanf`"),
                Node::Expr(expr) if is_seen_as_integers(module, expr) => {
                    found = Some("the program copies floats as integers");
                }
                Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    }
    found
}

fn is_narrow(ty: &Type) -> bool {
    matches!(ty, Type::Float(kind) if *kind != FloatKind::Double)
}

/// `cudaMemset(x, 0, 4)` where `x` points to floats: four bytes are half of one then. So are those of an `int`.
fn counts_bytes(stmt: &Stmt) -> bool {
    let StmtKind::Runtime { args, into, .. } = &stmt.kind else { return false };
    let points_to_floats = |ty: &Type| ty.pointee().is_some_and(|to| is_narrow(to.innermost_element()));
    let mut sizes = args.iter().filter(|arg| arg.ty == Type::SIZE);
    let (Some(size), None) = (sizes.next(), sizes.next()) else { return false };
    let is_of_floats = args.iter().any(|arg| points_to_floats(&arg.uncast_pointer().ty))
        || into.as_ref().is_some_and(|into| points_to_floats(&into.ty));
    is_of_floats && (size.as_int().is_some_and(|bytes| bytes != 0) || is_in_integers(size))
}

/// Whether a size is a number of integers, and of nothing else.
fn is_in_integers(size: &Expr) -> bool {
    let (mut integers, mut others) = (0, 0);
    let _ = walk::visit_expr(size, &mut |node| {
        match node {
            Node::Expr(Expr { kind: ExprKind::SizeOf(Type::Int(_)), .. }) => integers += 1,
            Node::Expr(Expr { kind: ExprKind::SizeOf(_), .. }) => others += 1,
            Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
    integers > 0 && others == 0
}

/// The format says how many bytes are written.
fn reads_by_format(stmt: &Stmt) -> bool {
    let StmtKind::Opaque { args, .. } = &stmt.kind else { return false };
    let is_scanf = |arg: &OpaqueArg| matches!(arg, OpaqueArg::Text(text) if text.contains("scanf"));
    let is_filled = |arg: &OpaqueArg| match arg {
        OpaqueArg::Value(value) => value.ty.pointee().is_some_and(is_narrow),
        OpaqueArg::Variable(place) => is_narrow(&place.ty),
        OpaqueArg::Text(_) => false,
    };
    args.iter().any(is_scanf) && args.iter().any(is_filled)
}

/// `(const int4*)x` where `x` points to floats, and the other way round.
fn is_seen_as_integers(module: &Module, expr: &Expr) -> bool {
    let ExprKind::Cast(operand) = &expr.kind else { return false };
    // Parts of dynamic shared memory begin as pointers to other numbers too; nobody copies these as integers.
    let has_integers = |ty: &Type| match ty.innermost_element() {
        Type::Record(record) => {
            module.records[*record].fields.iter().any(|field| matches!(field.ty.innermost_element(), Type::Int(_)))
        }
        _ => false,
    };
    let has_floats = |ty: &Type| is_narrow(ty.innermost_element());
    match (operand.ty.pointee(), expr.ty.pointee()) {
        (Some(from), Some(to)) => has_floats(from) && has_integers(to) || has_integers(from) && has_floats(to),
        (Some(_), None) | (None, _) => false,
    }
}

/// Headers that must be read before `float` changes its meaning, if the text includes them.
const KNOWN: &[&str] = &[
    "algorithm",
    "any",
    "array",
    "assert.h",
    "atomic",
    "bitset",
    "cassert",
    "cctype",
    "cerrno",
    "cfenv",
    "cfloat",
    "chrono",
    "cinttypes",
    "climits",
    "clocale",
    "cmath",
    "complex",
    "condition_variable",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    RECORDS,
    "cotangent/runtime.hpp",
    "cotangent/tape.h",
    "cotangent/tape.hpp",
    "cotangent/tape_device.hpp",
    "csetjmp",
    "cub/block/block_load.cuh",
    "cub/block/block_reduce.cuh",
    "cub/block/block_scan.cuh",
    "cub/block/block_store.cuh",
    "cub/cub.cuh",
    "cub/warp/warp_reduce.cuh",
    "cub/warp/warp_scan.cuh",
    "csignal",
    "cstdarg",
    "cstddef",
    "cstdint",
    "cstdio",
    "cstdlib",
    "cstring",
    "ctime",
    "ctype.h",
    "cuda.h",
    "cuda/std/cmath",
    "cuda/std/cstdint",
    "cuda/std/limits",
    "cuda/std/type_traits",
    "cuda/std/utility",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cwchar",
    "deque",
    "device_launch_parameters.h",
    "errno.h",
    "exception",
    "filesystem",
    "float.h",
    "forward_list",
    "fstream",
    "functional",
    "future",
    "initializer_list",
    "inttypes.h",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "limits",
    "limits.h",
    "list",
    "locale",
    "map",
    "math.h",
    "math_constants.h",
    "memory",
    "mutex",
    "new",
    "numeric",
    "optional",
    "ostream",
    "queue",
    "random",
    "ratio",
    "regex",
    "set",
    "sstream",
    "stack",
    "stddef.h",
    "stdexcept",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "streambuf",
    "string",
    "string.h",
    "string_view",
    "system_error",
    "thread",
    "thrust/complex.h",
    "thrust/count.h",
    "thrust/execution_policy.h",
    "thrust/pair.h",
    "thrust/partition.h",
    "thrust/reduce.h",
    "thrust/sort.h",
    "thrust/swap.h",
    "thrust/tuple.h",
    "time.h",
    "tuple",
    "type_traits",
    "typeindex",
    "typeinfo",
    "unordered_map",
    "unordered_set",
    "utility",
    "valarray",
    "variant",
    "vector",
    "vector_functions.h",
    "vector_types.h",
];

/// Functions with results behind pointers. They have no line of their own in the table of rules.
const BY_POINTER: &[(&str, &str)] = &[
    ("__sincosf", "sincos"),
    ("frexpf", "frexp"),
    ("modff", "modf"),
    ("remquof", "remquo"),
    ("sincosf", "sincos"),
    ("sincospif", "sincospi"),
];

/// Functions of single precision alone, as ones of double precision.
const OF_SINGLE: &str = "inline double cotangent_saturated(double x) { return x > 0 ? (x < 1 ? x : 1.0) : 0.0; }\n\
    #define __saturatef cotangent_saturated\n\
    inline cudaError_t cudaEventElapsedTime(double* passed, cudaEvent_t from, cudaEvent_t to) {\n\
      float single = 0;\n  cudaError_t error = cudaEventElapsedTime(&single, from, to);\n  *passed = single;\n\
      return error;\n}\n";

/// Headers that are read when `float` has changed its meaning already: with it they change theirs.
const WIDENED: &[&str] = &["cuda_bf16.h", "cuda_fp16.h"];

/// The header that is read before texts so that they are widened.
pub(crate) fn header(texts: &[&str]) -> String {
    let mut header = String::from("#pragma once\n#define COTANGENT_WIDE_HALF\n");
    header += &libraries(texts);
    let by_pointer = BY_POINTER.iter().map(|(single, double)| ((*single).to_owned(), (*double).to_owned()));
    header += OF_SINGLE;
    header += "#define float double\n";
    for size in 1..=4 {
        header += &format!("#define float{size} double{size}\n#define make_float{size} make_double{size}\n");
    }
    for (single, double) in single_and_double().into_iter().chain(by_pointer) {
        header += &format!("#define {single} {double}\n");
    }
    header + &included(WIDENED, texts)
}

/// Must be read before all other headers of Cotangent.
const RECORDS: &str = "cotangent/records.hpp";

/// What has to come before what the harness includes: the program's own choice of where records are kept.
pub(crate) fn records(text: &str) -> String {
    included(&[RECORDS], &[text])
}

/// What the harness includes, and the headers of libraries that texts include: a macro of the program must not change them.
pub(crate) fn libraries(texts: &[&str]) -> String {
    let harness = "#include <tuple>\n#include <type_traits>\n#include <utility>\n#include <stdio.h>\n#include <stdlib.h>\n\
        #include <string.h>\n#include <unistd.h>\n#include <cuda_runtime.h>\n#include <cotangent/half_bits.hpp>\n";
    harness.to_owned() + &included(KNOWN, texts)
}

fn included(names: &[&str], texts: &[&str]) -> String {
    let is_included = |name: &&&str| texts.iter().any(|text| includes(text, name));
    names.iter().filter(is_included).map(|name| format!("#include <{name}>\n")).collect()
}

fn includes(text: &str, header: &str) -> bool {
    text.lines().map(str::trim).any(|line| {
        line.starts_with('#') && (line.contains(&format!("<{header}>")) || line.contains(&format!("\"{header}\"")))
    })
}

/// The text with its literals of type `float` as `double` ones of the same value: `i * 0.1f` would be computed in single
/// precision, because no macro reaches the `f`. Lines stay lines.
pub(crate) fn literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' | '\'' => quoted(rest, first),
            _ if first.is_alphabetic() || first == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            _ if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                number(rest)
            }
            _ => first.len_utf8(),
        };
        let (word, behind) = rest.split_at(length);
        let is_number = first.is_ascii_digit() || (first == '.' && length > 1);
        let is_hexadecimal = word.starts_with("0x") || word.starts_with("0X");
        let is_float = is_number && word.ends_with(['f', 'F']) && (!is_hexadecimal || word.contains(['p', 'P']));
        if is_float {
            out += &format!("((double){word})");
        } else {
            out += word;
        }
        rest = behind;
    }
    out
}

/// The length of a string or character.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a number, as the preprocessor sees it: digits, letters, dots, and signs after an exponent.
fn number(text: &str) -> usize {
    let mut before = ' ';
    for (index, character) in text.char_indices() {
        let is_sign = matches!(character, '+' | '-') && matches!(before, 'e' | 'E' | 'p' | 'P');
        if !(character.is_alphanumeric() || character == '.' || character == '_' || is_sign) {
            return index;
        }
        before = character;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_of_single_precision_become_double() {
        assert_eq!(
            literals("x1f = 0.1f * 1e-3F + .5f - 0x1f + 0x1.8p1f; // 1.0f\n\"2.0f\" '\"' 3.f a.b f(4.0)"),
            "x1f = ((double)0.1f) * ((double)1e-3F) + ((double).5f) - 0x1f + ((double)0x1.8p1f); // 1.0f\n\
             \"2.0f\" '\"' ((double)3.f) a.b f(4.0)"
        );
    }

    #[test]
    fn headers_are_read_before_float_changes() {
        let header = header(&["#include <vector>\n# include \"math.h\"\n// <map>"]);
        let position = |text: &str| header.find(text).unwrap_or(usize::MAX);
        assert!(position("#include <vector>") < position("#define float double"));
        assert!(position("#include <math.h>") < position("#define sinf sin\n"));
        assert!(!header.contains("<map>"));
    }
}
