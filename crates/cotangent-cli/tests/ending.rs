//! How programs end: what an exception that nobody catches says, and that nothing goes on when the command is killed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What is waited for comes long before.
const PATIENCE: Duration = Duration::from_secs(60);

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(folder).args(words).env_remove("CLICOLOR_FORCE");
    command
}

fn run(program: &str, words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.cu"), program).unwrap();
    command(folder.path(), words).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What is thrown, and what is said about it.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("throw std::out_of_range(\"no such row\")", "uncaught exception of type std::out_of_range: no such row"),
    ("throw Own{}", "uncaught exception of type shop::Own"),
    ("throw 3", "uncaught exception of type int"),
    (
        "COTANGENT_CHECK(cudaMemcpy(nullptr, nullptr, 8, cudaMemcpyHostToDevice))",
        "cudaMemcpyHostToDevice): cudaErrorInvalidValue (invalid argument)",
    ),
];

#[test]
fn an_exception_that_nobody_catches_keeps_its_type_and_text() {
    for words in [&["run", "program.cu"][..], &["run", "program.cu", "--check"]] {
        for (statement, expected) in EXCEPTIONS {
            let program = format!(
                "#include <cotangent/runtime.hpp>\n#include <cstdio>\n#include <stdexcept>\n\
                 namespace shop {{ struct Own {{}}; }}\nusing namespace shop;\n\
                 int main() {{ std::printf(\"before\\n\"); {statement}; }}\n"
            );
            let output = run(&program, words);
            assert_eq!(output.status.code(), Some(128 + 6), "{}", stderr(&output));
            assert!(stderr(&output).contains(expected), "{statement}: {}", stderr(&output));
            assert_eq!(String::from_utf8_lossy(&output.stdout), "before\n");
        }
    }
}

#[test]
fn what_was_found_before_an_exception_is_said() {
    let program = "#include <stdexcept>\n__global__ void k(int* p) { p[0] = threadIdx.x; }\n\
        int main() {\n  int* p;\n  cudaMalloc(&p, 4);\n  k<<<1, 2>>>(p);\n  throw std::runtime_error(\"late\");\n}\n";
    let message = stderr(&run(program, &["run", "program.cu", "--check"]));
    assert!(message.contains("error[X0203]") && message.contains("std::runtime_error: late"), "{message}");
}

#[test]
fn check_keeps_the_text_of_what_a_derivative_throws() {
    let program = "__global__ void square(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x]; }\n\
        void f(const float* x, float* y) { square<<<1, 32>>>(x, y); }\n";
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.cu"), program).unwrap();
    let words = ["check", "program.cu", "--fn", "f", "--args", "in<float>(32), out<float>(32)"];
    let output = command(folder.path(), &words).env("COTANGENT_CPU_REGISTERS_ALLOW", "8").output().unwrap();
    assert!(!output.status.success());
    let message = stderr(&output);
    assert!(message.contains("type std::runtime_error: `") && message.contains("its registers allow 8"), "{message}");
}

/// A program that says who it is and waits.
const WAITING: &str = "#include <cstdio>\n#include <unistd.h>\nint main() {\n  FILE* file = fopen(\"started.new\", \"w\");\n  \
    fprintf(file, \"%d\", getpid());\n  fclose(file);\n  rename(\"started.new\", \"started\");\n  for (;;) pause();\n}\n";

#[test]
fn the_program_ends_with_the_command() {
    for signal in ["TERM", "KILL", "INT", "HUP"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("program.cu"), WAITING).unwrap();
        let mut running = started(folder.path(), &["run", "program.cu"]);
        let number = folder.path().join("started");
        until("the program has started", || number.exists());
        let program: u32 = fs::read_to_string(&number).unwrap().parse().unwrap();
        kill(running.id(), signal);
        running.wait().unwrap();
        until(&format!("SIG{signal} ends the program"), || !is_running(program));
    }
}

#[test]
fn compilers_end_with_the_command() {
    let folder = tempfile::tempdir().unwrap();
    // Clang waits for somebody to write.
    let pipe = folder.path().join("never.h");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(folder.path().join("program.cu"), "#include \"never.h\"\nint main() {}\n").unwrap();
    let mut running = started(folder.path(), &["run", "program.cu"]);
    let mut compilers = Vec::new();
    until("a compiler has started", || {
        compilers = children(running.id());
        !compilers.is_empty()
    });
    kill(running.id(), "KILL");
    running.wait().unwrap();
    until("the compilers end", || !compilers.iter().any(|compiler| is_running(*compiler)));
}

fn started(folder: &Path, words: &[&str]) -> Child {
    command(folder, words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(process: u32, signal: &str) {
    assert!(Command::new("kill").args(["-s", signal, &process.to_string()]).status().unwrap().success());
}

/// Whether there is such a process and it has not ended: one that nobody has waited for is a zombie.
fn is_running(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = status.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// The processes that a process has started.
fn children(process: u32) -> Vec<u32> {
    let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parent = |child: u32| -> Option<u32> {
        let status = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        status.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
    };
    numbers.filter(|number| parent(*number) == Some(process)).collect()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}
