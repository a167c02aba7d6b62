//! The header that widens a text: read before it, it makes `float` mean `double`.
//!
//! Macros do it, for the user's text and for ours alike. What they cannot widen: half precisions, functions that look at
//! the bits of a float, overloads for both `float` and `double` (the compiler then rejects the text, and the check goes
//! on in native precision).

use cotangent::rules::single_and_double;

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
    "csetjmp",
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
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "curand_kernel.h",
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

/// The header for texts.
pub(crate) fn header(texts: &[&str]) -> String {
    // What the harness includes.
    let mut header = String::from("#pragma once\n#include <type_traits>\n#include <utility>\n");
    header += "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
    for name in KNOWN {
        let is_included = |text: &&str| {
            text.lines().any(|line| {
                let line = line.trim();
                line.starts_with('#') && (line.contains(&format!("<{name}>")) || line.contains(&format!("\"{name}\"")))
            })
        };
        if texts.iter().any(is_included) {
            header += &format!("#include <{name}>\n");
        }
    }
    header += "#define float double\n";
    for size in 1..=4 {
        header += &format!("#define float{size} double{size}\n#define make_float{size} make_double{size}\n");
    }
    for (single, double) in single_and_double() {
        header += &format!("#define {single} {double}\n");
    }
    header
}
