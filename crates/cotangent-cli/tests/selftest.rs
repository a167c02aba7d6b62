//! `cotangent selftest` with the real nvcc: what agrees, what does not, what cannot run, and the report about it.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the command in a folder, which gets the report.
fn selftest(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().expect("the command can be started")
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.current_dir(folder).arg("selftest").args(words);
    command
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The report, which stands where the command says.
fn report(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("cotangent-selftest.txt")).expect("there is a report")
}

#[test]
fn a_fixture_and_an_example_agree() {
    let folder = tempfile::tempdir().unwrap();
    let output = selftest(folder.path(), &["accumulate_gemv", "example_contraction"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).starts_with("All 2 programs agree"), "{}", said(&output));
    let report = report(folder.path());
    for line in [
        "\nnvcc  ",
        "\nhost compiler  ",
        "\nClang  ",
        "\naccumulate_gemv      agrees exactly ",
        "\nexample_contraction  agrees  ",
    ] {
        assert!(report.contains(line), "{line:?} is not in\n{report}");
    }
    assert!(!report.contains("What did not agree"), "{report}");
}

/// A kernel whose gradient calls `cosf`, and what nvcc alone reads after it: the CPU's programs are Clang's.
fn sine(planted: &str) -> String {
    format!(
        "// grad: f wrt \"x, y\"
// run: f<<<1, 32>>>(in<float>(32), out<float>(32))
__global__ void f(const float* x, float* y) {{ y[threadIdx.x] = sinf(x[threadIdx.x]); }}
#ifndef __clang__
{planted}
#endif
"
    )
}

/// Has a gradient read what is nobody's.
const WILD: &str = "#define cosf(v) (*(volatile float*)64)";

/// Has a gradient's launch fail.
const TRAP: &str = "#define cosf(v) (__trap(), v)";

#[test]
fn what_is_wrong_is_reported_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let recursive = "// grad: f wrt \"x\"
// run: f(in<float>(1))
__device__ float f(float x) { return x > 1 ? f(x - 1) : x; }
";
    for (name, text) in [
        ("broken", sine("#error planted")),
        ("crashing", sine(TRAP)),
        ("failing", "int main() { return 5; }\n".to_owned()),
        ("reaching", sine(WILD)),
        ("recursive", recursive.to_owned()),
        ("right", sine("")),
        ("wrong", sine("#define cosf(v) (1.5f * (cosf)(v))")),
    ] {
        std::fs::write(programs.join(name).with_extension("cu"), text).unwrap();
    }
    let output = selftest(folder.path(), &["--programs", "programs"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let sentence = "6 of 7 programs do not agree with the CPU's numbers, with nvcc's PTX executed on the CPU \
                    (bad accesses: 1, crashed: 1, differs: 2, not compiled: 1, refused: 1).";
    assert!(said(&output).contains(sentence), "{}", said(&output));
    let report = report(folder.path());
    let verdict = |name: &str| {
        let line = report.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_default();
        line[name.len()..].split("  ").map(str::trim).find(|word| !word.is_empty()).unwrap_or_default().to_owned()
    };
    assert_eq!(verdict("broken"), "not compiled");
    assert_eq!(verdict("crashing"), "crashed");
    assert_eq!(verdict("failing"), "differs");
    assert_eq!(verdict("reaching"), "bad accesses");
    assert_eq!(verdict("recursive"), "refused");
    assert!(verdict("right").starts_with("agrees to "), "{report}");
    assert!(verdict("wrong").starts_with("differs by ") && verdict("wrong").ends_with("allowed 1e-5"), "{report}");
    // Why, for each of them.
    for reason in [
        "error: #error planted",
        "that nvcc made failed with cudaError",
        "the program ended with exit status: 5",
        "error[C",
        "first wrong: ",
        "### again: cotangent selftest wrong\n",
    ] {
        assert!(report.contains(reason), "{reason:?} is not in\n{report}");
    }
    assert!(!report.contains(&folder.path().display().to_string()), "a folder of one run:\n{report}");
}

#[test]
fn without_a_gpu_a_sentence_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = command(folder.path(), &["--gpu"]).env("CUDA_VISIBLE_DEVICES", "").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let said = said(&output);
    assert!(said.contains("there is no NVIDIA driver") || said.contains("runs on the GPU of this machine"), "{said}");
    assert!(said.contains("Without --gpu, `cotangent selftest` needs no"), "{said}");
    assert!(!folder.path().join("cotangent-selftest.txt").exists(), "nothing was tried");
}

/// Runs with `--gpu`, and with Cotangent's own runtime in the place of NVIDIA's: nvcc is told to link against it.
fn on_stand_in(folder: &Path, words: &[&str]) -> Output {
    let found = Command::new(env!("CARGO_BIN_EXE_cotangent")).args(["where", "cudart"]).output().unwrap();
    let library = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let mut command = command(folder, &[&["--gpu", "--arch", "compute_75"], words].concat());
    command.env("NVCC_APPEND_FLAGS", format!("-cudart shared -L {library}")).env("LD_LIBRARY_PATH", library);
    command.output().unwrap()
}

#[test]
fn the_way_to_the_gpu_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let output = on_stand_in(folder.path(), &["accumulate_aos", "example_contraction"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report = report(folder.path());
    for line in ["programs agree with the CPU's numbers, on the GPU.", "\nruns on            Cotangent CPU, compute"] {
        assert!(report.contains(line), "{line:?} is not in\n{report}");
    }
}

#[test]
fn a_fault_on_the_gpu_ends_one_program() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("failing", sine(TRAP)), ("right", sine(""))] {
        std::fs::write(folder.path().join(name).with_extension("cu"), text).unwrap();
    }
    let output = on_stand_in(folder.path(), &["--programs", ".", "--jobs", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let report = report(folder.path());
    for line in [
        "1 of 2 programs do not agree with the CPU's numbers, on the GPU (crashed: 1).",
        "\nfailing  crashed",
        "\nright    agrees to ",
        "the launch on the GPU failed with cudaError",
        "### again: cotangent selftest --gpu failing\n",
    ] {
        assert!(report.contains(line), "{line:?} is not in\n{report}");
    }
}

#[test]
fn programs_are_listed_and_chosen_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let listed = selftest(folder.path(), &["--list", "example_", "saxpy"]);
    assert!(said(&listed).lines().count() > 4 && said(&listed).contains("example_tour\n"), "{}", said(&listed));
    let output = selftest(folder.path(), &["no_such_name"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("--list"), "{}", said(&output));
}
