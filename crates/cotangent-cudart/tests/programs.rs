//! Programs that nvcc compiles and links run with this library.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use crate::toolkit::{library, nvcc, toolkit};
use tempfile::TempDir;

const FOR_PTX: &str = "arch=compute_75,code=compute_75";

/// Compiles a program, linked against our library or NVIDIA's, and runs it with ours.
struct Run<'a> {
    name: &'a str,
    target: &'a str,
    flags: &'a [&'a str],
    against_nvidias: bool,
    environment: &'a [(&'a str, &'a str)],
}

impl Run<'_> {
    fn output(&self) -> Output {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let link = |from, name: &str| symlink(from, folder.path().join(name)).expect("a writable temporary folder");
        link(library(), "libcudart.so.13");
        link(if self.against_nvidias { toolkit("lib/libcudart.so.13") } else { library() }, "libcudart.so");
        self.compile(&folder);
        Command::new(folder.path().join("program"))
            .env("LD_LIBRARY_PATH", folder.path())
            .envs(self.environment.iter().copied())
            .output()
            .expect("the program starts")
    }

    fn compile(&self, folder: &TempDir) {
        let output = Command::new(nvcc())
            .args(["-cudart", "shared", "-gencode", self.target, "-L"])
            .arg(folder.path())
            .args(self.flags)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(self.name))
            .arg("-o")
            .arg(folder.path().join("program"))
            .output()
            .expect("nvcc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Exit code, standard output and standard error.
fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const HOST: Run<'_> = Run { name: "host.cu", target: FOR_PTX, flags: &[], against_nvidias: false, environment: &[] };

/// What `host.cu` asks for and does not get, said once.
fn quiet_but_for_graphs() -> (Option<i32>, String, String) {
    let said = "cotangent: cudaGraphCreate is not supported by this runtime\n";
    (Some(0), String::new(), String::from(said))
}

#[test]
fn memory_streams_and_events_do_what_cuda_says() {
    assert_eq!(said(&HOST.output()), quiet_but_for_graphs());
}

#[test]
fn a_program_for_default_streams_of_each_thread_runs() {
    let run = Run { flags: &["-default-stream", "per-thread"], ..HOST };
    assert_eq!(said(&run.output()), quiet_but_for_graphs());
}

#[test]
fn a_program_that_was_linked_against_nvidias_library_runs() {
    let run = Run { against_nvidias: true, ..HOST };
    assert_eq!(said(&run.output()), quiet_but_for_graphs());
}

#[test]
fn a_checked_run_does_not_work_late_and_finds_nothing_in_what_is_right() {
    let run = Run { environment: &[("COTANGENT_CUDART_CHECK", "1")], flags: &["-DCHECKED"], ..HOST };
    assert_eq!(said(&run.output()), quiet_but_for_graphs());
}

/// What `kernels.cu` asks for and does not get.
fn quiet_but_for_grids() -> (Option<i32>, String, String) {
    let said = "cotangent: cudaLaunchCooperativeKernel of more than one block is not supported by this runtime\n";
    (Some(0), String::new(), String::from(said))
}

#[test]
fn kernels_variables_and_launches_do_what_cuda_says() {
    let run = Run { name: "kernels.cu", ..HOST };
    assert_eq!(said(&run.output()), quiet_but_for_grids());
    let run = Run { environment: &[("COTANGENT_CUDART_SEED", "3"), ("COTANGENT_CUDART_THREADS", "1")], ..run };
    assert_eq!(said(&run.output()), quiet_but_for_grids());
    let run = Run { flags: &["-default-stream", "per-thread"], environment: &[], ..run };
    assert_eq!(said(&run.output()), quiet_but_for_grids());
}

#[test]
fn a_checked_run_finds_nothing_in_kernels_that_are_right() {
    let environment = &[("COTANGENT_CUDART_CHECK", "1")];
    let run = Run { name: "kernels.cu", flags: &["-DCHECKED"], environment, ..HOST };
    assert_eq!(said(&run.output()), quiet_but_for_grids());
}

#[test]
fn a_failing_kernel_is_an_error_of_the_call_that_waits() {
    let (code, output, errors) =
        said(&Run { name: "misaligned.cu", flags: &["--generate-line-info"], ..HOST }.output());
    assert_eq!((code, output.as_str()), (Some(66), ""), "{errors}");
    assert!(errors.starts_with("error[X0107]: misaligned access\n"), "{errors}");
    assert!(errors.contains("misaligned.cu:4: ") && errors.contains("of the launch of `misaligned`"), "{errors}");
}

#[test]
fn findings_name_the_lines_of_the_program() {
    let environment = &[("COTANGENT_CUDART_CHECK", "1")];
    for flags in [["-g", "-O0"], ["-g", "-O2"]] {
        let (code, output, errors) = said(&Run { name: "wrong.cu", flags: &flags, environment, ..HOST }.output());
        assert_eq!((code, output.as_str()), (Some(66), ""), "{errors}");
        assert!(errors.contains("wrong.cu:8  write of 12 bytes by the host\n"), "{errors}");
        assert!(errors.contains("12 bytes at offset 0 of 8 allocated at "), "{errors}");
        assert!(errors.contains("wrong.cu:7\n"), "{errors}");
    }
}

#[test]
fn a_setting_that_is_no_number_is_refused() {
    let run = Run { environment: &[("COTANGENT_CUDART_SEED", "one")], ..HOST };
    let refused = "cotangent: COTANGENT_CUDART_SEED is \"one\", which is not a number that it can be\n";
    assert_eq!(said(&run.output()), (Some(2), String::new(), String::from(refused)));
}

#[test]
fn a_launch_without_ptx_is_an_error_that_is_explained_once() {
    let run = Run { name: "without_ptx.cu", target: "arch=compute_75,code=sm_75", ..HOST };
    let (code, output, errors) = said(&run.output());
    assert_eq!((code, output.as_str()), (Some(0), ""), "{errors}");
    assert!(errors.starts_with("cotangent: "), "{errors}");
    assert_eq!(errors.matches("cotangent: ").count(), 1, "{errors}");
}
