//! A late launch that fails: the error comes with the call that waits for it, and stays. It has a process of its own,
//! because no other call works after it, and because the finding decides the exit code.

use std::process::Command;
use std::ptr::null_mut;
use std::sync::Arc;

use cotangent_cpu::abi::{Dim, Site};
use cotangent_cpu::check::Checker;
use cotangent_cpu::kernel::{self, Failure, Kernel, Place, Shape};
use cotangent_cpu::{Config, FINDINGS_EXIT_CODE, start};

/// Set in the process that fails.
const CHILD: &str = "COTANGENT_LATE_FAILURE";

struct Misaligned;

impl Kernel for Misaligned {
    fn name(&self) -> &str {
        "misaligned"
    }

    fn static_shared(&self) -> usize {
        0
    }

    fn run_block(&self, _: &Shape, _: Dim, _: u64, _: Option<&mut Checker>) -> Result<(), Box<Failure>> {
        let file = String::from("k.cu");
        let place = Place { what: "ld.global.v4.f32".into(), file, line: 3, thread: Dim::default(), count: 1 };
        Err(Box::new(Failure::Misaligned { place }))
    }
}

#[test]
fn an_error_comes_with_the_call_that_waits_and_stays() {
    if std::env::var_os(CHILD).is_some() {
        return fail();
    }
    let itself = std::env::current_exe().expect("the path of the test");
    let mut child = Command::new(itself);
    child
        .args(["--exact", "late_failure::an_error_comes_with_the_call_that_waits_and_stays", "--nocapture"])
        .env(CHILD, "");
    let child = child.output().expect("the test starts again");
    let text = String::from_utf8_lossy(&child.stderr).into_owned();
    let expected = "error[X0107]: misaligned access\n  k.cu:3: ld.global.v4.f32 (thread (0,0,0))\n  \
                    in block (0,0,0) of the launch of `misaligned`\n";
    assert_eq!(text, expected, "{}", String::from_utf8_lossy(&child.stdout));
    assert_eq!(child.status.code(), Some(FINDINGS_EXIT_CODE));
}

fn fail() {
    let api = start(Config { late: true, threads: 1, ..Config::default() });
    let one = Dim { x: 1, y: 1, z: 1 };
    let shape = Shape { grid: one, block: one, shared_bytes: 0 };
    let launch = || kernel::launch(Arc::new(Misaligned), shape, null_mut(), std::ptr::null(), Site::UNKNOWN);
    assert_eq!(launch(), 0);
    assert_eq!((api.take_error)(), 0);
    // SAFETY: the default stream needs nothing.
    assert_eq!(unsafe { (api.stream_synchronize)(null_mut()) }, 716);
    assert_eq!((api.take_error)(), 716);
    assert_eq!(launch(), 716);
    assert_eq!((api.device_synchronize)(), 716);
}
