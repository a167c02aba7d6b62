//! The built command, as a user calls it: exit codes, where words go, what is said.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the command in a folder that holds `program.cu`.
fn cotangent(program: &str, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.cu"), program).unwrap();
    command(folder.path(), words).output().unwrap()
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(folder).args(words).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Prints its arguments, and ends with their number.
const ARGUMENTS: &str = r#"
#include <cstdio>
int main(int count, char** words) {
  for (int i = 1; i < count; i++) std::printf("[%s]\n", words[i]);
  return VALUE + count - 1;
}
"#;

#[test]
fn run_gives_each_word_to_whom_it_belongs() {
    let output = cotangent(ARGUMENTS, &["run", "program.cu", "--args", "-x", "--check", "a b", "--", "-DVALUE=40"]);
    assert_eq!(stdout(&output), "[-x]\n[--check]\n[a b]\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(43), "the program's own exit code");
}

/// A whole CUDA program.
const SCALE: &str = r#"
#include <cstdio>
__device__ float twice(float x) { return x + x; }
__global__ void scale(int n, float* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = twice(p[i]);
}
int main() {
  float host[100], *device;
  for (int i = 0; i < 100; i++) host[i] = i;
  cudaMalloc(&device, sizeof(host));
  cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice);
  scale<<<4, 32>>>(100, device);
  cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost);
  std::printf("%g %g\n", host[1], host[99]);
}
"#;

#[test]
fn run_launches_kernels() {
    for words in [
        &["run", "program.cu"][..],
        &["run", "program.cu", "--check"],
        &["run", "program.cu", "--seed", "7", "--threads", "1"],
    ] {
        let output = cotangent(SCALE, words);
        assert_eq!(stdout(&output), "2 198\n", "{words:?}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn print_prints_what_a_function_needs() {
    let output = cotangent(SCALE, &["print", "program.cu", "--fn", "scale"]);
    let text = stdout(&output);
    assert!(
        text.contains("__global__") && text.contains("twice(") && !text.contains("main"),
        "{text}{}",
        stderr(&output)
    );
}

#[test]
fn print_of_a_name_that_is_not_there_is_a_diagnostic() {
    let output = cotangent(SCALE, &["print", "program.cu", "--fn", "scales"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("scales"), "{}", stderr(&output));
}

#[test]
fn run_names_the_signal_and_suggests_the_checks() {
    let output = cotangent("int main() { *(volatile int*)16 = 1; }\n", &["run", "program.cu"]);
    assert_eq!(output.status.code(), Some(128 + 11));
    assert!(stderr(&output).contains("SIGSEGV") && stderr(&output).contains("--check"), "{}", stderr(&output));
}

#[test]
fn an_error_in_the_program_is_clangs_and_gives_1() {
    let output = cotangent("int main() { return missing; }\n", &["run", "program.cu"]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.contains("program.cu:1:21: error: use of undeclared identifier 'missing'"), "{message}");
    assert!(!message.contains('\x1b'), "no colours into a pipe: {message:?}");
}

#[test]
fn colours_can_be_forced() {
    let output = cotangent("int main() { return missing; }\n", &["run", "program.cu", "--color", "always"]);
    assert!(stderr(&output).contains('\x1b'), "{}", stderr(&output));
}

#[test]
fn mistakes_on_the_command_line_give_2() {
    for words in [
        &["run", "program.cu", "-O3"][..],
        &["run", "program.cu", "--", "--ptx"],
        &["run", "program.cu", "--", "--extended-lambdas"],
        &["print", "program.cu"],
        &["__exec"],
        &["no-such-command"],
    ] {
        let output = cotangent("#include <no_such_header>\n", words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(!output.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn an_unknown_flag_names_the_nearest() {
    let output = cotangent("", &["run", "program.cu", "--", "--extended-lambdas"]);
    assert!(stderr(&output).contains("did you mean `--extended-lambda`?"), "{}", stderr(&output));
}

#[test]
fn a_file_that_is_not_there_gives_3() {
    for words in [&["run", "other.cu"][..], &["print", "other.cu", "--fn", "f"]] {
        let output = cotangent("", words);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("other.cu"), "{}", stderr(&output));
    }
}

#[test]
fn doctor_says_what_it_found() {
    let output = cotangent("", &["doctor"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    for name in ["Clang 19", "nvcc", "CUDA headers", "GPU", "cache folder"] {
        assert!(stdout(&output).contains(name), "{name} in {}", stdout(&output));
    }
}

#[test]
fn doctor_says_how_to_install_what_is_missing() {
    let empty = tempfile::tempdir().unwrap();
    let output = command(empty.path(), &["doctor"]).env("PATH", empty.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("apt-get install clang-19"), "{}", stdout(&output));
}

#[test]
fn commands_that_need_clang_say_so_and_give_3() {
    let empty = tempfile::tempdir().unwrap();
    std::fs::write(empty.path().join("program.cu"), ARGUMENTS).unwrap();
    let output = command(empty.path(), &["run", "program.cu"]).env("PATH", empty.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("apt-get install clang-19"), "{}", stderr(&output));
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let run = cotangent("", &["help", "run"]);
    assert_eq!(run.status.code(), Some(0));
    assert!(stdout(&run).contains("cotangent run program.cu --args 100 -- -O3"), "{}", stdout(&run));
    assert!(stdout(&cotangent("", &["--help"])).contains("Exit codes:"));
}

/// The sentences that say what a subcommand gives, not only its name.
#[test]
fn every_subcommand_explains_itself() {
    for (task, expected) in [
        ("grad", "On entry an adjoint"),
        ("check", "compared with"),
        ("run", "128 plus the signal's"),
        ("print", "one file that compiles"),
    ] {
        let text = stdout(&cotangent("", &[task, "--help"]));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(expected), "{task}: {text}");
    }
}

#[test]
fn files_that_are_no_programs_are_named_as_such() {
    let nothing = cotangent("", &["grad", "program.cu", "--fn", "square"]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(stderr(&nothing).contains("defines no function that can be asked for"), "{}", stderr(&nothing));
    let no_main = cotangent(SQUARE, &["run", "program.cu"]);
    assert_eq!(no_main.status.code(), Some(1));
    assert!(stderr(&no_main).contains("the program has no `main`"), "{}", stderr(&no_main));
    let folder = cotangent("", &["grad", ".", "--fn", "square"]);
    assert_eq!(folder.status.code(), Some(3));
    assert!(stderr(&folder).contains("cannot read .: it is a folder"), "{}", stderr(&folder));
}

/// Runs the command on a text that it reads from standard input, beside a header `ours.h`.
fn on_standard_input(text: &str, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("ours.h"), "__device__ float twice(float x) { return x + x; }\n").unwrap();
    let mut command = command(folder.path(), words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_check_that_is_refused_says_so_as_json() {
    let jumps = "__global__ void k(float* x) {\n  goto end; end: x[0] = 1; }\n";
    let output = cotangent(jumps, &["check", "program.cu", "--fn", "k", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &said["refused"][0];
    assert_eq!((&first["code"], &first["line"], &first["column"]), (&"C0102".into(), &2.into(), &3.into()), "{said}");
    assert_eq!(said["ok"], false);
}

#[test]
fn a_program_may_come_from_standard_input() {
    let kernel = "#include \"ours.h\"\n__global__ void k(const float* x, float* y) { y[threadIdx.x] = twice(x[threadIdx.x]); }\n";
    let output = on_standard_input(kernel, &["grad", "-", "--fn", "k", "--pure", "--target", "nvrtc"]);
    assert!(stdout(&output).contains("k_grad("), "{}", stderr(&output));
    assert!(!stdout(&output).contains('#'), "no header: {}", stdout(&output));
    let output = on_standard_input(kernel, &["check", "-", "--fn", "k"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = on_standard_input(&kernel.replace("twice", "thrice"), &["grad", "-", "--fn", "k"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("stdin.cu:2:"), "{}", stderr(&output));
    let jumps = "__global__ void k(float* x) {\n  goto end; end: x[0] = 1; }\n";
    let output = on_standard_input(jumps, &["grad", "-", "--fn", "k"]);
    assert!(stderr(&output).contains("--> stdin.cu:2:"), "{}", stderr(&output));
}

/// Older sources have comments in other encodings, and marks that editors leave.
#[test]
fn texts_in_other_encodings_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |text: &str| {
        text.replace('%', "\u{1}").into_bytes().into_iter().map(|byte| if byte == 1 { 0xe9 } else { byte })
    };
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.path().join(name), bytes).unwrap();
    let run = |words: &[&str]| command(folder.path(), words).output().unwrap();
    let latin = format!("// ete%\n{}", SCALE.replace("%g %g", "values"));
    write("latin.cu", bytes(&latin).collect());
    let output = run(&["run", "latin.cu"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("values\n", Some(0)), "{}", stderr(&output));
    assert!(stderr(&output).contains("latin.cu is not UTF-8"), "{}", stderr(&output));
    write("wrong.cu", bytes("// ete%\n__global__ void k(float* x) { goto end; end: x[0] = 1; }\n").collect());
    assert!(stderr(&run(&["grad", "wrong.cu", "--fn", "k"])).contains("wrong.cu:2:"), "a place, not an offset");
    let asking = "// ete%\n#include <cotangent/cotangent.hpp>\n__global__ void k(float* x) { x[0] *= x[0]; }\n\
                  int main() { cotangent::gradient(k); }\n";
    write("asking.cu", bytes(asking).collect());
    let output = run(&["run", "asking.cu"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("iconv"), "{}", stderr(&output));
    for (name, text) in [("bom.cu", format!("\u{feff}{SQUARE}")), ("crlf.cu", SQUARE.replace('\n', "\r\n"))] {
        write(name, text.into_bytes());
        let output = run(&["grad", name, "--fn", "square"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
    }
}

/// A compiler that says what it is called with.
const ECHO: &str = "#!/bin/sh\necho \"$@\"\nexit 7\n";

#[test]
fn cc_hands_a_line_without_requests_to_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = folder.path().join("nvcc");
    std::fs::write(&compiler, ECHO).unwrap();
    std::fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(folder.path().join("program.cu"), SCALE).unwrap();
    let words = ["cc", compiler.to_str().unwrap(), "--frobnicate", "-c", "program.cu", "--", "-o", "--help"];
    // Neither Clang nor a cache is needed.
    let output = command(folder.path(), &words).env_clear().output().unwrap();
    assert_eq!(stdout(&output), "--frobnicate -c program.cu -- -o --help\n", "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(7), "the compiler's own exit code");
}

#[test]
fn cc_explains_itself() {
    let output = cotangent("", &["cc", "--help"]);
    assert_eq!(output.status.code(), Some(0));
    for expected in ["CMAKE_CUDA_COMPILER_LAUNCHER='cotangent;cc'", "PYTORCH_NVCC", "make NVCC=", "untouched"] {
        assert!(stdout(&output).contains(expected), "{expected}: {}", stdout(&output));
    }
    assert_eq!(cotangent("", &["cc", "no-such-compiler", "-c", "program.cu"]).status.code(), Some(3));
}

const SQUARE: &str = "__global__ void square(float* x, int n) {
  int i = threadIdx.x;
  if (i < n) x[i] *= x[i];
}
";

/// A loop that overwrites what its adjoint needs, and one that sums up.
const RELAX: &str = r"
__global__ void relax(float* y, const float* x, float a, int steps) {
  float s = y[threadIdx.x];
  for (int k = 0; k < steps; k++) s = s * s + a;
  float total = 0.0f;
  for (int k = 0; k < 8; k++) total += x[k] * x[k];
  y[threadIdx.x] = s * total;
}
";

#[test]
fn grad_prints_its_plan() {
    let output = cotangent(RELAX, &["grad", "program.cu", "--fn", "relax", "--plan"]);
    let plan = stdout(&output);
    let expected = [
        "line 4: for (int k = 0; k < steps; k++) s = s * s + a;",
        "s           recorded: the loop changes it, and the iteration begins with it [V6]",
        "order       backwards: the adjoint of an iteration may depend on those of later ones [L4]",
        "line 6: for (int k = 0; k < 8; k++) total += x[k] * x[k];",
        "order       as written: no adjoint of an iteration depends on those of another [L3]",
        "x[k]        still there: the function does not write this memory [V2]",
    ];
    let mut rest = plan.as_str();
    for line in expected {
        let Some((_, after)) = rest.split_once(line) else { panic!("no `{line}` in\n{plan}{}", stderr(&output)) };
        rest = after;
    }
    let output = cotangent(RELAX, &["grad", "program.cu", "--fn", "relax", "--plan", "--mode", "forward"]);
    assert!(stderr(&output).contains("cannot be used with"), "{}", stderr(&output));
}

#[test]
fn grad_prints_a_derivative_or_writes_it() {
    let output = cotangent(SQUARE, &["grad", "program.cu", "--fn", "square", "--mode", "forward"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("void square_pushforward(float* x, int n, float* _d_x)"), "{text}");
    let words = ["grad", "program.cu", "--fn", "square", "--mode", "forward", "-o", "/dev/full"];
    assert_eq!(cotangent(SQUARE, &words).status.code(), Some(3));
}

#[test]
fn an_output_that_is_read_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let [program, header] = ["program.cu", "square.cuh"].map(|name| folder.path().join(name));
    std::fs::write(&header, SQUARE).unwrap();
    std::fs::write(&program, "#include \"square.cuh\"\n").unwrap();
    std::os::unix::fs::symlink(&program, folder.path().join("link.cu")).unwrap();
    let (grad, plan, print) = (&["grad"][..], &["grad", "--plan"][..], &["print"][..]);
    let outputs =
        [(grad, "program.cu"), (grad, "./link.cu"), (grad, "square.cuh"), (plan, "square.cuh"), (print, "link.cu")];
    for (task, output) in outputs {
        let words = [task, &["program.cu", "--fn", "square", "-o", output]].concat();
        let refused = command(folder.path(), &words).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains("Nothing was written"), "{words:?}: {}", stderr(&refused));
    }
    assert_eq!(std::fs::read_to_string(&header).unwrap(), SQUARE);
    let words = ["grad", "program.cu", "--fn", "square", "-o", "."];
    let refused = command(folder.path(), &words).output().unwrap();
    assert_eq!((refused.status.code(), stderr(&refused).contains("is a folder")), (Some(2), true));
}

/// So that make does not build again what includes it.
#[test]
fn a_header_that_does_not_change_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let [program, header] = ["program.cu", "square_grad.cuh"].map(|name| folder.path().join(name));
    let grad = || {
        let words = ["grad", "program.cu", "--fn", "square", "-o", "square_grad.cuh"];
        let output = command(folder.path(), &words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        (std::fs::read_to_string(&header).unwrap(), std::fs::metadata(&header).unwrap().modified().unwrap())
    };
    std::fs::write(&program, SQUARE).unwrap();
    let first = grad();
    assert_eq!(first, grad());
}

#[test]
fn a_wrong_name_behind_wrt_lists_the_parameters() {
    let output = cotangent(SQUARE, &["grad", "program.cu", "--fn", "square", "--wrt", "x, y", "--mode", "forward"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("`square` has no parameter `y`"), "{}", stderr(&output));
    assert!(stderr(&output).contains("can be named: x; cannot: n"), "{}", stderr(&output));
}

/// One output is the sum that is wanted, the other one a by-product.
const SUM: &str = "__global__ void spread(const float* x, float* sum, float* square) {
  int i = threadIdx.x;
  square[i] = x[i] * x[i];
  atomicAdd(sum, x[i]);
}
";

#[test]
fn a_derivative_without_a_seed_is_refused_in_every_mode() {
    for mode in [&[][..], &["--mode", "forward"], &["--split"], &["--plan"]] {
        let words = [&["grad", "program.cu", "--fn", "spread", "--wrt", "x"], mode].concat();
        let output = cotangent(SUM, &words);
        assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()), "{mode:?}");
        assert!(stderr(&output).contains("error[C0214]"), "{}", stderr(&output));
    }
}

#[test]
fn an_output_that_is_not_named_is_a_note() {
    for words in [&["grad"][..], &["grad", "--mode", "forward"], &["grad", "--split"], &["check", "--samples", "1"]] {
        let words = [words, &["program.cu", "--fn", "spread", "--wrt", "x, sum"]].concat();
        let output = cotangent(SUM, &words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}{}", stdout(&output), stderr(&output));
        let said = stderr(&output);
        assert!(
            said.contains("note[C0215]: `square` may depend on what is named") && said.contains("^ it counts"),
            "{said}"
        );
        assert!(!said.contains("error"), "{said}");
    }
}

#[test]
fn check_proves_a_right_derivative() {
    let words = ["check", "program.cu", "--fn", "square", "--mode", "forward", "--samples", "1"];
    let output = cotangent(SQUARE, &words);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let table = stdout(&output);
    assert!(table.contains("forward mode against central differences, widened") && !table.contains("WRONG"), "{table}");
}

/// The host's view of this text, which is what runs as the oracle, computes something else than the device's.
#[test]
fn check_names_the_first_wrong_number() {
    let program = "__global__ void twice(const float* x, float* y) {
#ifdef __CUDA_ARCH__
  y[threadIdx.x] = threadIdx.x == 2 ? 2.0f * x[threadIdx.x] : x[threadIdx.x];
#else
  y[threadIdx.x] = x[threadIdx.x];
#endif
}
";
    let words = ["check", "program.cu", "--fn", "twice", "--mode", "forward", "--launch", "1x4"];
    let output = cotangent(program, &words);
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("first wrong: the tangent of y[2] is"), "{}", stdout(&output));
}

#[test]
fn check_says_how_arguments_are_given() {
    for (args, expected) in [("3", "--args 'in<float>(256), 1'"), ("in<float>, 3", "has no length")] {
        let output = cotangent(SQUARE, &["check", "program.cu", "--fn", "square", "--mode", "forward", "--args", args]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}
