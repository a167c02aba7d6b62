//! A kernel that is no compiled code, in a checked run: it gets the checker, and what it does wrong is found. It has a process
//! of its own, whose exit code says so.

use std::process::Command;
use std::ptr::null_mut;
use std::sync::Arc;

use cotangent_cpu::abi::{Dim, Memory, Request, Site};
use cotangent_cpu::check::{Access, AccessKind, Checker, SharedMemory, Site as Line, Space, Verdict};
use cotangent_cpu::kernel::{self, Failure, Kernel, Shape};
use cotangent_cpu::{Config, FINDINGS_EXIT_CODE, place_variable, start};

/// Set in the process that is checked.
const CHILD: &str = "COTANGENT_CHECKED_KERNEL";

/// Each block writes a number after the last one's.
struct Writing {
    address: usize,
}

impl Kernel for Writing {
    fn name(&self) -> &str {
        "writing"
    }

    fn static_shared(&self) -> usize {
        0
    }

    fn run_block(&self, _: &Shape, index: Dim, _: u64, checker: Option<&mut Checker>) -> Result<(), Box<Failure>> {
        let checker = checker.expect("the run is checked");
        checker.begin_block([index.x, index.y, index.z], SharedMemory::default());
        checker.begin_thread(0..0);
        let site = Line::Line { file: checker.file("k.cu"), line: 5 };
        let address = self.address + 4 * index.x as usize;
        let access = Access { address, size: 4, kind: AccessKind::Write, alignment: 4, site };
        let verdict = checker.access(0, access);
        checker.end_block();
        match verdict {
            Verdict::Continue => Ok(()),
            Verdict::Fatal => Err(Box::new(Failure::InvalidAccess)),
        }
    }
}

#[test]
fn what_a_kernel_tells_the_checker_is_found() {
    if std::env::var_os(CHILD).is_some() {
        return run();
    }
    let itself = std::env::current_exe().expect("the path of the test");
    let mut child = Command::new(itself);
    child.args(["--exact", "checked_kernel::what_a_kernel_tells_the_checker_is_found", "--nocapture"]).env(CHILD, "");
    let child = child.output().expect("the test starts again");
    let text = String::from_utf8_lossy(&child.stderr).into_owned();
    assert_eq!(child.status.code(), Some(FINDINGS_EXIT_CODE), "{text}");
    assert!(text.starts_with("error[X0101]: write of device memory out of bounds\n  --> k.cu:5"), "{text}");
    assert!(text.contains("block (2,0,0)") && text.contains("writing"), "{text}");
    assert!(
        text.contains("`table`, 4 bytes at offset 8 of 8") && text.ends_with("check: 1 error, 0 notes\n"),
        "{text}"
    );
}

fn run() {
    let api = start(Config { check: true, late: true, ..Config::default() });
    let launch = |address: usize, blocks: u32| {
        let (grid, block) = (Dim { x: blocks, y: 1, z: 1 }, Dim { x: 1, y: 1, z: 1 });
        let shape = Shape { grid, block, shared_bytes: 0 };
        kernel::launch(Arc::new(Writing { address }), shape, null_mut(), std::ptr::null(), Site::UNKNOWN)
    };
    let table = place_variable("table", 8, 4, Space::Device).expect("memory for 8 bytes") as usize;
    assert_eq!(launch(table, 2), 0);
    let mut memory = null_mut();
    let request = Request { stream: null_mut(), asynchronous: 0, site: Site::UNKNOWN };
    // SAFETY: a variable of our own.
    assert_eq!(unsafe { (api.allocate)(&mut memory, 12, Memory::Device as u32, request) }, 0);
    assert_eq!(launch(memory as usize, 3), 0);
    // Checked runs are not late: the error is there at once.
    assert_eq!(launch(table, 4), 700);
}
