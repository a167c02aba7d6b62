//! Tests of the CUDA headers in `include/`, with Clang as it is installed.
//!
//! Parsing: every header alone and all together, and programs that use them, in the host and in the
//! device pass. Execution: every function that is declared for parsing can be called on the CPU with
//! the same types, and what the CPU's functions compute is compared with references.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cotangent::rules::{intrinsic, is_math};
use tempfile::TempDir;

const STANDARDS: [&str; 3] = ["-std=c++14", "-std=c++17", "-std=c++20"];

/// The two programs that one CUDA file is.
const PASSES: [&[&str]; 2] = [&["--cuda-host-only"], &["--cuda-device-only", "--cuda-gpu-arch=sm_80"]];

/// Declared for parsing, but not defined on the CPU: assert has another form there, four need the
/// runtime's map of memory, and the last two only make sense in inline assembly.
const NOT_ON_THE_CPU: [&str; 7] = [
    "__assert_fail",
    "__isGlobal",
    "__isShared",
    "__isConstant",
    "__isLocal",
    "__cvta_generic_to_global",
    "__cvta_generic_to_shared",
];

/// In the device pass, which is the more particular one; the next test has both. Names that only
/// stand for the umbrella header are left to that test as well.
#[test]
fn every_header_parses_alone() {
    for header in user_visible_headers().into_iter().filter(|header| !is_forwarding(header)) {
        parse(&format!("#include <{header}>\n"), &[PASSES[1], &["-std=c++14"]].concat());
    }
}

#[test]
fn all_headers_parse_together() {
    let source: String = user_visible_headers().iter().map(|header| format!("#include <{header}>\n")).collect();
    for standard in STANDARDS {
        for pass in PASSES {
            parse(&source, &[pass, &[standard]].concat());
        }
    }
}

#[test]
fn programs_parse_in_both_passes() {
    for program in ["standard_library.cu", "groups.cu", "half_precision.cu", "kernels.cu"] {
        let source = fs::read_to_string(test_file(program)).unwrap();
        for standard in [STANDARDS[0], STANDARDS[2]] {
            for pass in PASSES {
                let flags = [standard, "-include", "cuda_runtime.h", "-DCOTANGENT_WHOLE_LIBRARY"];
                parse(&source, &[pass, &flags].concat());
            }
        }
    }
}

/// Every command reads the implicit headers twice, so their size is a cost of all that a user does.
#[test]
fn an_empty_file_is_a_small_dump() {
    let flags = ["-std=c++17", "-include", "cuda_runtime.h", "-fsyntax-only", "-Xclang", "-ast-dump=json"];
    for pass in PASSES {
        let size = clang(&parse_flags(), "", &[pass, &flags].concat()).stdout.len();
        assert!(size < 15_000_000, "{size} bytes");
    }
}

/// Clang asks for another launch function when it is told the version of CUDA.
#[test]
fn launches_parse_for_every_version_of_cuda() {
    let source = "__global__ void k(int n) {}\nvoid f() { k<<<1, dim3(2), 3, 0>>>(4); k<<<1, 2>>>(3); }\n";
    for pass in PASSES {
        for version in ["-target-sdk-version=8.0", "-target-sdk-version=12.3"] {
            parse(source, &[pass, &["-include", "cuda_runtime.h", "-Xclang", version]].concat());
        }
    }
}

#[test]
fn random_numbers_without_a_toolkit_say_what_to_install() {
    let output = clang(&parse_flags(), "#include <curand_kernel.h>\n", PASSES[0]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("pip install nvidia-curand"));
}

/// The standard library's overloads must not be what device code calls: the rules know ours.
#[test]
fn device_code_calls_our_math_functions() {
    let source = "#include <cmath>\n\
        template <class T> __host__ __device__ T f(T x) { return sin(x) + std::sin(x) + std::abs(x) + std::pow(x, x); }\n\
        __device__ float g(float x) { return f(x); }\n";
    let flags = ["-include", "cuda_runtime.h", "-Xclang", "-ast-dump", "-fno-color-diagnostics"];
    let output = clang(&parse_flags(), source, &[PASSES[1], &flags].concat());
    let dump = String::from_utf8_lossy(&output.stdout);
    let declared_by_us = declarations_in(&dump, "include/parse");
    let instantiation = dump.split("implicit_instantiation").last().unwrap();
    let mut calls = 0;
    for line in instantiation.lines().filter(|line| line.contains("lvalue Function")) {
        let callee = line.split("lvalue Function ").nth(1).unwrap().split(' ').next().unwrap();
        if line.contains(" 'f' ") {
            continue;
        }
        assert!(declared_by_us.contains(callee), "not ours: {line}");
        calls += 1;
    }
    assert_eq!(calls, 4);
}

/// Calls every function that the parsing headers declare for the device: they parse, and the same
/// text compiles for the CPU, with the same type of result.
#[test]
fn every_declared_function_exists_on_the_cpu() {
    let functions = declared_functions();
    assert!(functions.len() > 1400, "only {} declarations were found", functions.len());
    let mut source = String::from("#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <type_traits>\n");
    for (number, function) in functions.iter().enumerate() {
        if NOT_ON_THE_CPU.contains(&function.name.as_str()) {
            continue;
        }
        let names: Vec<String> = (0..function.parameters.len()).map(|i| format!("a{i}")).collect();
        let parameters: Vec<String> =
            function.parameters.iter().zip(&names).map(|(ty, name)| format!("{ty} {name}")).collect();
        let call = format!("{}({})", function.name, names.join(", "));
        let result = &function.result;
        source += &format!("__device__ void call_{number}({}) {{\n", parameters.join(", "));
        source += &format!("  static_assert(std::is_same<decltype({call}), {result}>::value, \"{call}\");\n");
        source += &format!("  (void){call};\n}}\n");
    }
    parse(&source, &[PASSES[1], &["-std=c++17", "-include", "cuda_runtime.h"]].concat());
    for standard in STANDARDS {
        compile_for_cpu(&source, standard);
    }
}

/// Functions of numbers that neither table of rules has. All take pointers: the first seven become assignments when they
/// are lowered, calls of the next ten are refused there, the others are loads and stores.
const NOT_IN_THE_RULES: &str = "modf modff sincos sincosf __sincosf sincospi sincospif \
    frexp frexpf nan nanf norm normf remquo remquof rnorm rnormf \
    __ldca __ldcg __ldcs __ldcv __ldg __ldlu __stcg __stcs __stwb __stwt";

/// What a program can call, the rules know: with a derivative, or with the reason why there is none.
#[test]
fn every_declared_function_of_numbers_has_a_rule() {
    let mut without: BTreeSet<&str> = NOT_IN_THE_RULES.split_whitespace().collect();
    for Function { name, result, parameters } in declared_functions() {
        let is_number = |ty: &String| ty.split([' ', '*']).any(|word| word == "float" || word == "double");
        let is_half = |ty: &String| ["half", "bfloat"].iter().any(|word| ty.contains(word) || name.contains(word));
        let types = || parameters.iter().chain([&result]);
        if types().any(is_number) && !types().any(is_half) {
            let is_known = is_math(&name) || intrinsic(&name).is_some();
            assert!(is_known || NOT_IN_THE_RULES.split_whitespace().any(|other| other == name), "no rule for `{name}`");
            without.remove(name.as_str());
        }
    }
    assert!(without.is_empty(), "not declared: {without:?}");
}

/// Calls every function of the runtime API as the parsing headers declare it.
#[test]
fn every_runtime_function_exists_on_the_cpu() {
    let declared = preprocessed_declarations(PASSES[0]);
    let names: BTreeSet<String> = declared
        .iter()
        .filter_map(|declaration| read_declaration(declaration))
        .map(|function| function.name)
        .filter(|name| name.starts_with("cuda"))
        .collect();
    assert!(names.len() > 60, "only {} functions were found", names.len());
    // Headers of large libraries name these; the check compiles kernels without such headers.
    let graphs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/parse/cotangent/graphs.h");
    let only_named = fs::read_to_string(graphs).unwrap();
    let is_meant = |name: &&String| *name != "cudaConfigureCall" && !only_named.contains(&format!(" {name}("));
    let mut source = String::new();
    for name in names.iter().filter(is_meant) {
        source += &format!("namespace use_{name} {{ using ::{name}; }}\n");
    }
    compile_for_cpu(&source, "-std=c++17");
}

/// Half, groups and kernels on the CPU: what does not launch compiles as it stands.
#[test]
fn device_code_compiles_for_the_cpu() {
    for program in ["groups.cu", "kernels.cu"] {
        let source = fs::read_to_string(test_file(program)).unwrap();
        for standard in STANDARDS {
            compile_for_cpu(&source, standard);
        }
    }
}

#[test]
fn math_functions_agree_with_reference_values() {
    let table = fs::File::open(test_file("math_reference.tsv")).unwrap();
    run_on_cpu("math_reference.cpp", Stdio::from(table));
}

#[test]
fn intrinsics_round_and_convert_correctly() {
    run_on_cpu("intrinsics.cpp", Stdio::null());
}

#[test]
fn half_precision_rounds_correctly() {
    run_on_cpu("half_precision.cpp", Stdio::null());
}

/// A function as the headers declare it, without parameter names and default arguments.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Function {
    name: String,
    result: String,
    parameters: Vec<String>,
}

fn declared_functions() -> BTreeSet<Function> {
    preprocessed_declarations(PASSES[1])
        .iter()
        .filter(|declaration| declaration.contains("__attribute__((device))"))
        .filter_map(|declaration| read_declaration(declaration))
        .collect()
}

/// The text of every declaration at namespace scope that `include/parse` makes, macros expanded.
fn preprocessed_declarations(pass: &[&str]) -> Vec<String> {
    let source = "#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n";
    let output = clang(&parse_flags(), source, &[pass, &["-E"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let mut ours = String::new();
    let mut in_parse_header = false;
    for line in text.lines() {
        if line.starts_with("# ") {
            in_parse_header = line.contains("include/parse/");
        } else if in_parse_header && !line.starts_with('#') {
            ours += line;
            ours.push('\n');
        }
    }
    top_level_statements(&ours.replace("extern \"C\" {", ""))
}

/// Splits at semicolons and closing braces, and drops what stands in braces.
fn top_level_statements(text: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut current = String::new();
    let mut depth = 0_i32;
    for character in text.chars() {
        match character {
            '{' => depth += 1,
            '}' => {
                depth = (depth - 1).max(0);
                if depth == 0 {
                    current.clear();
                }
            }
            ';' if depth == 0 => statements.push(std::mem::take(&mut current)),
            _ if depth == 0 => current.push(character),
            _ => {}
        }
    }
    statements
}

/// Reads `attributes result name(type name = default, …)`. Returns nothing for other declarations,
/// templates, operators and functions with a variable number of arguments.
fn read_declaration(declaration: &str) -> Option<Function> {
    let skipped = ["template", "using", "typedef", "static_assert", "operator", "..."];
    if skipped.iter().any(|word| declaration.contains(word)) {
        return None;
    }
    let mut text = declaration.to_owned();
    for word in ["__attribute__((device))", "__attribute__((host))", "extern \"C\"", "noexcept", "inline"] {
        text = text.replace(word, "");
    }
    let (before, after) = text.split_once('(')?;
    let parameters = after.rsplit_once(')')?.0;
    let (result, name) = split_last_word(before)?;
    let parameters = parameters
        .split(',')
        .map(|parameter| parameter.split('=').next().unwrap().trim())
        .filter(|parameter| !parameter.is_empty())
        .map(parameter_type)
        .collect();
    Some(Function { name, result, parameters })
}

/// `unsigned int x` without its `x`.
fn parameter_type(parameter: &str) -> String {
    let is_type = |word: &str| ["int", "char", "long", "short", "unsigned", "float", "double", "bool"].contains(&word);
    match split_last_word(parameter) {
        Some((ty, name)) if !is_type(&name) => ty,
        _ => parameter.to_owned(),
    }
}

fn split_last_word(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    let start = text.rfind(|c: char| !c.is_alphanumeric() && c != '_')? + 1;
    let (front, word) = text.split_at(start);
    let front = front.split_whitespace().collect::<Vec<_>>().join(" ");
    (!word.is_empty() && !front.is_empty()).then(|| (front, word.to_owned()))
}

/// The addresses that a textual dump gives the functions declared in files under `folder`.
///
/// The dump names a file only where it changes, so the current one is carried from line to line.
fn declarations_in(dump: &str, folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut in_folder = false;
    for line in dump.lines() {
        for location in line.split(['<', ' ', ',', '>']).filter(|word| word.starts_with('/')) {
            in_folder = location.contains(folder);
        }
        if in_folder && let Some((_, rest)) = line.split_once("FunctionDecl ") {
            found.insert(rest.split(' ').next().unwrap().to_owned());
        }
    }
    found
}

/// The names under which a program may include our headers.
fn user_visible_headers() -> Vec<String> {
    let mut names = BTreeSet::new();
    for folder in ["parse", "common"] {
        for entry in fs::read_dir(include_folder().join(folder)).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                names.insert(entry.file_name().into_string().unwrap());
            }
        }
    }
    for entry in fs::read_dir(include_folder().join("common/cooperative_groups")).unwrap() {
        names.insert(format!("cooperative_groups/{}", entry.unwrap().file_name().into_string().unwrap()));
    }
    names.remove("curand_kernel.h");
    names.into_iter().collect()
}

/// Whether all that a header does is to include the umbrella header.
fn is_forwarding(header: &str) -> bool {
    let file = include_folder().join("common").join(header);
    let text = fs::read_to_string(file).unwrap_or_default();
    let mut rest = text.lines().filter(|line| !line.is_empty() && !line.starts_with("//"));
    rest.next() == Some("#pragma once") && rest.next() == Some("#include \"cuda_runtime.h\"") && rest.next().is_none()
}

/// Parses `source` as CUDA and fails the test with Clang's words if Clang objects.
fn parse(source: &str, flags: &[&str]) {
    let output = clang(&parse_flags(), source, &[flags, &["-fsyntax-only"]].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{flags:?}\n{errors}");
}

fn parse_flags() -> Vec<String> {
    let mut flags: Vec<String> =
        ["-x", "cuda", "-nocudainc", "-nocudalib", "-Wall", "-Werror"].map(String::from).to_vec();
    for folder in ["parse", "common"] {
        flags.push("-I".to_owned());
        flags.push(include_folder().join(folder).display().to_string());
    }
    flags
}

fn cpu_flags() -> Vec<String> {
    let mut flags: Vec<String> = ["-x", "c++"].map(String::from).to_vec();
    for folder in ["cpu", "common"] {
        flags.push("-isystem".to_owned());
        flags.push(include_folder().join(folder).display().to_string());
    }
    flags
}

/// Checks `source` as the CPU would compile it, instantiations included.
fn compile_for_cpu(source: &str, standard: &str) {
    let flags = [standard, "-include", "cuda_runtime.h", "-fsyntax-only"];
    let output = clang(&cpu_flags(), source, &flags);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{standard}\n{errors}");
}

/// Compiles a test program of ours for the CPU with warnings as errors, and runs it.
fn run_on_cpu(program: &str, input: Stdio) {
    let folder = TempDir::new().unwrap();
    let binary = folder.path().join("program");
    let mut flags = cpu_flags();
    // As ordinary folders, so that warnings in the headers count.
    flags.iter_mut().filter(|flag| *flag == "-isystem").for_each(|flag| "-I".clone_into(flag));
    let output = Command::new("clang++-19")
        .args(flags)
        .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&binary)
        .arg(test_file(program))
        .output()
        .expect("clang++-19 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result = Command::new(&binary).stdin(input).output().unwrap();
    let report = String::from_utf8_lossy(&result.stdout);
    assert!(result.status.success(), "{report}");
    println!("{report}");
}

/// Runs Clang on `source`, given as a file so that messages have a place.
fn clang(first_flags: &[String], source: &str, flags: &[&str]) -> std::process::Output {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("source.cu");
    fs::write(&file, source).unwrap();
    Command::new("clang++-19").args(first_flags).args(flags).arg(&file).output().expect("clang++-19 runs")
}

fn include_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include").canonicalize().unwrap()
}

fn test_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/headers").join(name)
}
