//! Tests of the checker as a whole: what each check finds, and that the corrected sequence is not reported.

mod host;
mod memory;
mod property;
mod races;
mod rendering;
mod shared;
mod speed;
mod symbols;

use super::{Access, AccessKind, Checker, DEFAULT_STREAM, FileId, Options, SharedMemory, Side, Site, Space, Verdict};

const DEVICE: usize = 0x10_0000;
const STATIC_SHARED: usize = 0x20_0000;
const DYNAMIC_SHARED: usize = 0x30_0000;
const STACK: usize = 0x40_0000;
const HOST: usize = 0x7fff_0000;

/// A checker with one allocation of 400 bytes of device memory, allocated and filled at line 30, and short names for events.
/// Blocks have 64 bytes of static and 64 bytes of dynamic shared memory.
struct World {
    checker: Checker,
    file: FileId,
}

/// Allocates device memory, and fills it as `cudaMemset` does.
fn allocate_filled(checker: &mut Checker, address: usize, size: usize, site: Site) {
    checker.allocate(address, size, Space::Device, site);
    checker.begin_transfer(DEFAULT_STREAM);
    let access = Access { address, size, kind: AccessKind::Write, alignment: 1, site };
    assert_eq!(checker.transfer(Side::Device, access), Verdict::Continue);
    checker.device_synchronized();
}

impl World {
    fn new() -> World {
        World::with(Options::default())
    }

    fn with(options: Options) -> World {
        let mut checker = Checker::new(options);
        let file = checker.file("prog.cu");
        allocate_filled(&mut checker, DEVICE, 400, Site::Line { file, line: 30 });
        World { checker, file }
    }

    fn line(&self, line: u32) -> Site {
        Site::Line { file: self.file, line }
    }

    /// A launch of one row of blocks begins, with its first block.
    fn launch(&mut self, blocks: u32, threads: u32) {
        let site = self.line(40);
        self.checker.begin_launch("kernel", [blocks, 1, 1], [threads, 1, 1], site);
        self.block(0);
    }

    fn block(&mut self, index: u32) {
        let shared = SharedMemory {
            static_range: STATIC_SHARED..STATIC_SHARED + 64,
            dynamic_range: DYNAMIC_SHARED..DYNAMIC_SHARED + 64,
            dynamic_capacity: 1024,
        };
        self.checker.begin_block([index, 0, 0], shared);
        self.checker.begin_thread(STACK..STACK + 4096);
    }

    fn next_block(&mut self, index: u32) {
        self.checker.end_block();
        self.block(index);
    }

    fn read(&mut self, thread: u32, address: usize, line: u32) -> Verdict {
        self.access(thread, AccessKind::Read, address, 4, line)
    }

    fn write(&mut self, thread: u32, address: usize, line: u32) -> Verdict {
        self.access(thread, AccessKind::Write, address, 4, line)
    }

    fn atomic(&mut self, thread: u32, address: usize, line: u32) -> Verdict {
        self.access(thread, AccessKind::Atomic, address, 4, line)
    }

    fn access(&mut self, thread: u32, kind: AccessKind, address: usize, size: usize, line: u32) -> Verdict {
        let site = self.line(line);
        self.checker.access(thread, Access { address, size, kind, alignment: size, site })
    }

    /// The codes of all findings in the order found.
    fn codes(&self) -> Vec<&'static str> {
        self.checker.findings().list().iter().map(|finding| finding.code.entry().name).collect()
    }

    /// For each finding its code and the lines of its events.
    #[track_caller]
    fn expect(&self, expected: &[(&str, u32, Option<u32>)]) {
        let line = |site| match site {
            Site::Line { line, .. } => line,
            Site::Unknown | Site::Address(_) => 0,
        };
        let found: Vec<(&str, u32, Option<u32>)> = self
            .checker
            .findings()
            .list()
            .iter()
            .map(|it| {
                (it.code.entry().name, line(it.primary.site), it.secondary.as_ref().map(|event| line(event.site)))
            })
            .collect();
        assert_eq!(found, expected);
    }
}
