//! Files whose headers are precompiled say what they say otherwise; libraries are not taken for what they are not; and what
//! Clang has said is asked for once, until a file changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cotangent_driver::device_part::device_part;
use cotangent_driver::flags::{self, ParseFlags};
use cotangent_driver::program::{Failure, Form, Input, print};
use cotangent_driver::{Environment, Tools};

/// A folder with a program, its headers, and a cache of its own; Clang leaves a line for each call.
struct Project {
    root: tempfile::TempDir,
    tools: Tools,
}

impl Project {
    fn new(precompile_all: bool, files: &[(&str, &str)]) -> Project {
        let root = tempfile::tempdir().unwrap();
        let process = Environment::of_process();
        let clang = Tools::find(process.clone()).expect("Clang is installed by `cargo xtask setup`").clang.path;
        let counting = root.path().join("clang++-19");
        let log = root.path().join("calls");
        let script = format!("#!/bin/sh\necho call >> '{}'\nexec '{}' \"$@\"\n", log.display(), clang.display());
        fs::write(&counting, script).unwrap();
        fs::set_permissions(&counting, fs::Permissions::from_mode(0o755)).unwrap();
        let cache = Some(root.path().join("cache"));
        let environment = Environment { clang: Some(counting), cache, precompile_all, ..process };
        let project = Project { tools: Tools::find(environment).unwrap(), root };
        files.iter().for_each(|(name, text)| project.write(name, text));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Prints a function of `program.cu`, and how often Clang was called for it.
    fn print(&self, request: &str) -> (Result<String, Failure>, usize) {
        let words = ["first", "second"].map(|folder| format!("-I{}", self.path(folder).display()));
        let flags: ParseFlags = flags::read(&words).unwrap();
        let input = Input { file: &self.path("program.cu"), flags: &flags, cuda_path: None, colour: false };
        let calls = || fs::read_to_string(self.path("calls")).unwrap_or_default().lines().count();
        let before = calls();
        let printed = print(&self.tools, &input, request, Form::Cuda, None);
        (printed, calls() - before)
    }

    fn text(&self, request: &str) -> String {
        self.print(request).0.unwrap_or_else(|failure| panic!("{request}: {failure}"))
    }

    fn message(&self, request: &str) -> String {
        self.print(request).0.expect_err(request).to_string()
    }
}

/// A fixture, as text.
fn fixture(name: &str) -> (String, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/print").join(name);
    let text = fs::read_to_string(path).unwrap();
    let function = text.lines().find_map(|line| line.strip_prefix("// fn: ")).unwrap().to_owned();
    (text, function)
}

#[test]
fn fixtures_are_printed_the_same() {
    for name in FIXTURES {
        let (text, function) = fixture(name);
        // Our own headers are precompiled with those of the library that comes after them.
        let text = format!("#include <cuda_fp16.h>\n#include <vector>\n{text}");
        let [ordinary, precompiled] = [false, true].map(|all| Project::new(all, &[("program.cu", &text)]));
        assert_eq!(ordinary.text(&function), precompiled.text(&function), "{name}");
    }
}

/// Vectors, enumerations of the runtime, members of our headers, half precision, groups, templates, launches.
const FIXTURES: &[&str] = &[
    "structs/vector_types.cu",
    "threads/cooperative_groups.cu",
    "expressions/half_arithmetic.cu",
    "expressions/math_std.cu",
    "host/launches.cu",
    "host/host_memory.cu",
];

const LIBRARY: &str = "#pragma once\n#include <cuda_fp16.h>\n#include <functional>\nnamespace lib {\n\
    __device__ inline float max(float a, float b) { return a; }\n\
    struct Twice { __device__ float operator()(const float& a) const { return 2 * a; } };\n\
    struct Pair { float a, b; };\n}\n";

/// A kernel that computes `call` with `x`, in a program that includes a library which is always precompiled.
fn using_library(before: &str, call: &str) -> Project {
    let program = format!(
        "#include <torch/lib.h>\n{before}\n__global__ void k(float* x) {{ x[0] = {call}; }}\n#ifdef CLOSE\n}}\n#endif\n"
    );
    Project::new(false, &[("first/torch/lib.h", LIBRARY), ("program.cu", &program)])
}

#[test]
fn a_function_of_a_library_is_not_taken_for_one_of_its_name() {
    for (before, call) in [
        ("", "lib::max(x[0], x[1])"),
        ("namespace l = lib;", "l::max(x[0], x[1])"),
        ("#define BIGGER(a, b) lib::max(a, b)", "BIGGER(x[0], x[1])"),
        ("using lib::max;", "max(x[0], x[1])"),
        ("#define CLOSE\nnamespace lib {", "max(x[0], x[1])"),
        (
            "namespace lib { struct S { __device__ static float f(float* x); };\n\
          __device__ float S::f(float* x) { return max(x[0], x[1]); } }",
            "lib::S::f(x) ",
        ),
        (
            "namespace lib { struct S { __device__ static float f(float* x); }; }\n\
          __device__ float lib::S::f(float* x) { return max(x[0], x[1]); }",
            "lib::S::f(x)",
        ),
    ] {
        let message = using_library(before, call).message("k");
        assert!(message.contains("C0105") && message.contains("max"), "{before} {call}: {message}");
    }
}

#[test]
fn cudas_functions_are_found_beside_a_library() {
    for (before, call) in [
        ("", "max(x[0], x[1])"),
        ("", "::fmaxf(x[0], x[1])"),
        ("", "sqrtf(x[0])"),
        ("using namespace lib;", "fmaxf(x[0], x[1])"),
        ("#define CLOSE\nnamespace lib {", "::fmaxf(x[0], x[1]) + __fdividef(x[0], x[1])"),
        ("namespace lib { struct Tensor; }", "max(x[0], x[1])"),
        ("", "__half2float(__float2half(x[0]))"),
    ] {
        using_library(before, call).text("k");
    }
}

#[test]
fn functors_of_the_standard_library_are_read_beside_a_library() {
    let text = using_library("", "std::multiplies<float>()(x[0], std::negate<float>()(x[1]))").text("k");
    assert!(text.contains("__x * __y") && text.contains("-__x"), "{text}");
    let message = using_library("", "lib::Twice()(x[0])").message("k");
    assert!(message.contains("C0105") && message.contains("operator()"), "{message}");
}

#[test]
fn an_identical_call_starts_no_clang() {
    let project = using_library("", "x[1]");
    // What is precompiled, what is dumped of the program and of our headers, for two passes.
    assert_eq!(project.print("k").1, 6);
    assert_eq!(project.print("k").1, 0);
    // The headers stay precompiled when the program changes.
    let program = fs::read_to_string(project.path("program.cu")).unwrap();
    project.write("program.cu", &program.replace("x[1]", "x[1] + 2.0f"));
    let (printed, calls) = project.print("k");
    assert!(printed.unwrap().contains("x[1] + 2.0f"));
    assert_eq!(calls, 4);
}

#[test]
fn a_changed_header_is_read_again() {
    let header = |value: &str| format!("#pragma once\n#define VALUE {value}\n");
    let program = "#include <torch/value.h>\n#include \"own.h\"\n__global__ void k(float* x) { x[0] = VALUE + OWN; }\n";
    let own = "#define OWN 1.0f\n";
    let files = [("second/torch/value.h", &*header("2.0f")), ("own.h", own), ("program.cu", program)];
    let project = Project::new(false, &files);
    assert!(project.text("k").contains("2.0f + 1.0f"));
    project.write("second/torch/value.h", &header("5.0f"));
    assert!(project.text("k").contains("5.0f + 1.0f"));
    project.write("own.h", "#define OWN 9.0f\n");
    assert!(project.text("k").contains("5.0f + 9.0f"));
    // One that is found earlier.
    project.write("first/torch/value.h", &header("7.0f"));
    assert!(project.text("k").contains("7.0f + 9.0f"));
    fs::remove_file(project.path("first/torch/value.h")).unwrap();
    assert!(project.text("k").contains("5.0f + 9.0f"));
}

#[test]
fn damaged_entries_are_ignored() {
    let project = using_library("", "x[1]");
    let text = project.text("k");
    for entry in fs::read_dir(project.path("cache/read")).unwrap() {
        let payload = entry.unwrap().path().join("payload");
        if payload.is_file() {
            fs::write(payload, "{").unwrap();
        }
    }
    let (printed, calls) = project.print("k");
    assert_eq!((printed.unwrap(), calls), (text, 6));
}

#[test]
fn the_part_of_the_device_is_the_users_text_without_the_library() {
    let program = "#include <torch/lib.h>\n#include <cmath>\nusing namespace torch;\n#define HALF 0.5f\n\
        __device__ float half(float x) { return HALF * x; }\n\
        template <typename T> __global__ void k(T* x) { x[0] = half(x[0]); }\n\
        Tensor run(Tensor t) {\n  return t;\n}\nnamespace n {\nfloat twice(float x) { return 2 * x; }\n}\n\
        template <typename T> T thrice(T x) { return 3 * x; }\ntemplate float thrice<float>(float x);\n\
        template __global__ void k<float>(float* x);\n";
    let library = "#pragma once\nnamespace torch { struct Tensor {}; }\n";
    let project = Project::new(false, &[("first/torch/lib.h", library), ("program.cu", program)]);
    let flags = flags::read(&[format!("-I{}", project.path("first").display())]).unwrap();
    let input = Input { file: &project.path("program.cu"), flags: &flags, cuda_path: None, colour: false };
    let parts = device_part(&project.tools, &input).unwrap().unwrap();
    let lines: Vec<&str> = parts[0].text.lines().map(str::trim).collect();
    let kept = "#include <cmath>\n;\n#define HALF 0.5f\n__device__ float half(float x) { return HALF * x; }\n\
        template <typename T> __global__ void k(T* x) { x[0] = half(x[0]); }\n\n\n\nnamespace n {\n\n}\n\n\n\
        template __global__ void k<float>(float* x);";
    assert_eq!(lines.join("\n").trim(), kept);
    // A header of the program's own that includes the library is part of it.
    project.write("own/help.h", "#pragma once\n#include <torch/lib.h>\nusing torch::Tensor;\n#define TWO 2.0f\n");
    project.write("own/plain.h", "#define ONE 1.0f\n");
    // So is one that only declares what it needs of it.
    project.write("own/tensor.h", "namespace at { class Tensor; }\nat::Tensor f();\n");
    let program = "#include \"own/help.h\"\n#include \"own/plain.h\"\n#include \"own/tensor.h\"\n\
        __global__ void k(float* x) { x[0] = TWO * ONE; }\n";
    project.write("program.cu", program);
    let parts = device_part(&project.tools, &input).unwrap().unwrap();
    let texts: Vec<(&str, &str)> = parts.iter().map(|part| (&*part.name, &*part.text)).collect();
    let own = program.replace("own/help.h", "help.h").replace("own/tensor.h", "tensor.h");
    let spaces = |text: &str| " ".repeat(text.len());
    let declares = format!("namespace at {{ {}; }}\n{};\n", spaces("class Tensor"), spaces("at::Tensor f()"));
    let blank = format!("#pragma once\n\n{};\n#define TWO 2.0f\n", " ".repeat("using torch::Tensor".len()));
    assert_eq!(texts, [("program.cu", &*own), ("tensor.h", &*declares), ("help.h", &*blank)]);
    project.write("program.cu", "__global__ void k(float* x) {}\n");
    assert_eq!(device_part(&project.tools, &input).unwrap(), None);
}

/// Numbers and classes of the library go, whatever the program calls them; its accessors stay, for ours stand for them.
#[test]
fn the_part_of_the_device_has_no_numbers_and_classes_of_the_library() {
    let library = "#pragma once\nnamespace at {\nstruct Half {};\ntemplate <typename T> struct PackedTensorAccessor32 {};\n}\n\
        namespace torch { struct Tensor {}; template <typename T> struct Function {}; }\n";
    let program = "#include <torch/lib.h>\n\
        using torch::Function;\n\
        using small = at::Half;\n\
        template <typename T> using Rows = at::PackedTensorAccessor32<T>;\n\
        __device__ small twice(small x) { return x; }\n\
        __device__ float smaller(float x) { return x; }\n\
        template <typename T> int host(T* x, torch::Tensor t) { return 0; }\n\
        template int host<float>(float* x, torch::Tensor t);\n\
        template <typename T> __global__ void k(T* x) {}\n\
        template __global__ void k<float>(float* x);\n\
        struct Op : Function<Op> {};\n";
    let project = Project::new(false, &[("first/torch/lib.h", library), ("program.cu", program)]);
    let flags = flags::read(&[format!("-I{}", project.path("first").display())]).unwrap();
    let input = Input { file: &project.path("program.cu"), flags: &flags, cuda_path: None, colour: false };
    let parts = device_part(&project.tools, &input).unwrap().unwrap();
    let lines: Vec<&str> =
        parts[0].text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != ";").collect();
    let kept = [
        "#include <cotangent/tensors.h>",
        "template <typename T> using Rows = at::PackedTensorAccessor32<T>;",
        "__device__ float smaller(float x) { return x; }",
        "template <typename T> __global__ void k(T* x) {}",
        "template __global__ void k<float>(float* x);",
    ];
    assert_eq!(lines, kept);
}
