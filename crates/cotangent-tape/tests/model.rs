//! Random programs against a `Vec` of bytes: whatever is pushed in whatever pieces comes back, over marks, rewinds,
//! re-readings, the ends of slabs and the way to the disk and back.

use crate::model_support::{operations, run};
use cotangent_tape::{Io, Options};
use proptest::prelude::*;

const SLAB: usize = 64 << 10;

fn small(slabs: usize, folder: &tempfile::TempDir, io: Io) -> Options {
    Options {
        slab_bytes: SLAB,
        budget_bytes: slabs * SLAB,
        spill: Some(folder.path().to_owned()),
        io,
        ..Options::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_lane_is_a_stack_of_bytes(program in operations(60)) {
        run(Options { slab_bytes: SLAB, ..Options::default() }, &program)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn it_is_one_through_io_uring(program in operations(100), slabs in 4..12usize) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        run(small(slabs, &folder, Io::Uring), &program)?;
    }

    #[test]
    fn it_is_one_compressed(program in operations(100), slabs in 4..12usize) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let options = small(slabs, &folder, Io::Threads);
        // The buffer's slab and what zstd needs.
        let budget_bytes = options.budget_bytes + (1 << 20);
        run(Options { budget_bytes, compress: true, ..options }, &program)?;
    }

    #[test]
    fn it_is_one_through_threads(program in operations(100), slabs in 4..12usize) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        run(small(slabs, &folder, Io::Threads), &program)?;
    }
}
