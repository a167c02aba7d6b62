//! Random programs against a `Vec` of bytes: whatever is pushed in whatever pieces comes back, over marks, rewinds,
//! re-readings and the ends of slabs.

mod model_support;

use cotangent_tape::Options;
use model_support::{operations, run};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_lane_is_a_stack_of_bytes(program in operations(60)) {
        run(Options { slab_bytes: 64 << 10, ..Options::default() }, &program)?;
    }
}
