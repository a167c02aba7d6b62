//! Small kernels in PTX, run block by block.

use std::sync::Arc;

use cotangent_cpu::abi::Dim;
use cotangent_cpu::kernel::{Failure, Kernel, Shape};
use cotangent_ptx::Module;

const HEAD: &str = ".version 8.0\n.target sm_75\n.address_size 64\n";

/// Loads a text whose variables live as long as the test.
fn load(text: &str) -> Arc<Module> {
    let text = format!("{HEAD}{text}");
    let module = Module::load(&text, &mut |variable| {
        Box::leak(vec![0u64; variable.bytes / 8 + 1].into_boxed_slice()).as_mut_ptr().cast()
    });
    Arc::new(module.expect("the text is PTX"))
}

/// Runs all blocks of a kernel one after another.
fn run(module: &Arc<Module>, name: &str, blocks: u32, threads: u32, arguments: &[u64]) -> Result<(), Box<Failure>> {
    run_seeded(module, name, blocks, threads, arguments, 0)
}

fn run_seeded(
    module: &Arc<Module>,
    name: &str,
    blocks: u32,
    threads: u32,
    arguments: &[u64],
    seed: u64,
) -> Result<(), Box<Failure>> {
    let arguments = arguments.iter().flat_map(|argument| argument.to_le_bytes()).collect();
    let bound = module.bind(name, arguments).expect("the kernel is there");
    let shape = Shape { grid: Dim { x: blocks, y: 1, z: 1 }, block: Dim { x: threads, y: 1, z: 1 }, shared_bytes: 0 };
    (0..blocks).try_for_each(|x| bound.run_block(&shape, Dim { x, y: 0, z: 0 }, seed, None))
}

#[test]
fn a_sum_of_arrays() {
    let module = load(
        ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 n) {
            .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
            ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];
            mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
            mad.lo.s32 %r5, %r2, %r3, %r4;
            setp.ge.s32 %p1, %r5, %r1;
            @%p1 bra $done;
            mul.wide.s32 %rd3, %r5, 4;
            add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
            ld.global.f32 %f1, [%rd4]; ld.global.f32 %f2, [%rd5];
            add.f32 %f3, %f1, %f2;
            st.global.f32 [%rd4], %f3;
            $done: ret;
        }",
    );
    let mut a: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let b: Vec<f32> = (0..100).map(|i| 2.0 * i as f32).collect();
    run(&module, "add", 2, 64, &[a.as_mut_ptr() as u64, b.as_ptr() as u64, 100]).expect("it runs");
    assert!(a.iter().enumerate().all(|(i, a)| *a == 3.0 * i as f32));
}

#[test]
fn threads_meet_at_a_barrier_and_read_what_others_wrote() {
    let module = load(
        ".visible .entry reverse(.param .u64 a) {
            .shared .align 4 .b8 tile[256];
            .reg .b32 %r<8>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [a];
            mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;
            mov.u32 %r3, tile; add.s32 %r4, %r3, %r2;
            mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
            ld.global.u32 %r5, [%rd3];
            st.shared.u32 [%r4], %r5;
            bar.sync 0;
            sub.s32 %r6, 252, %r2; add.s32 %r6, %r3, %r6;
            ld.shared.u32 %r7, [%r6];
            st.global.u32 [%rd3], %r7;
            ret;
        }",
    );
    let mut a: Vec<u32> = (0..64).collect();
    run(&module, "reverse", 1, 64, &[a.as_mut_ptr() as u64]).expect("it runs");
    assert_eq!(a, (0..64).rev().collect::<Vec<u32>>());
}

#[test]
fn functions_are_called_with_frames_of_their_own() {
    let module = load(
        ".func (.param .b32 result) factorial(.param .b32 n) {
            .reg .pred %p<2>; .reg .b32 %r<6>;
            ld.param.u32 %r1, [n];
            setp.lt.u32 %p1, %r1, 2;
            mov.u32 %r5, 1;
            @%p1 bra $end;
            sub.s32 %r2, %r1, 1;
            { .param .b32 p0; .param .b32 q0;
              st.param.b32 [p0+0], %r2;
              call.uni (q0), factorial, (p0);
              ld.param.b32 %r3, [q0+0]; }
            mul.lo.s32 %r5, %r3, %r1;
            $end: st.param.b32 [result+0], %r5;
            ret;
        }
        .visible .entry all(.param .u64 a) {
            .reg .b32 %r<4>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [a];
            mov.u32 %r1, %tid.x;
            { .param .b32 p0; .param .b32 q0;
              st.param.b32 [p0], %r1;
              call (q0), factorial, (p0);
              ld.param.b32 %r2, [q0]; }
            mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
            st.global.u32 [%rd3], %r2;
            ret;
        }",
    );
    let mut a = [0u32; 12];
    run(&module, "all", 1, 12, &[a.as_mut_ptr() as u64]).expect("it runs");
    assert_eq!(a, [1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362_880, 3_628_800, 39_916_800]);
}

#[test]
fn an_unknown_instruction_stops_only_who_reaches_it() {
    let module = load(
        ".visible .entry k(.param .u64 a, .param .u64 exotic) {
            .reg .pred %p<2>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [exotic];
            setp.eq.s64 %p1, %rd1, 0;
            @%p1 bra $done;
            wgmma.mma_async.sync.aligned %rd1, %rd2;
            $done: ret;
        }",
    );
    run(&module, "k", 1, 32, &[0, 0]).expect("nobody reaches it");
    let failure = run(&module, "k", 1, 32, &[0, 1]).expect_err("all reach it");
    assert!(matches!(&*failure, Failure::IllegalInstruction { text, .. } if text.starts_with("wgmma")), "{failure:?}");
}

#[test]
fn misaligned_and_null_addresses_stop_the_launch() {
    let module = load(
        ".visible .entry k(.param .u64 a) {
            .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [a];
            ld.global.u64 %rd2, [%rd1];
            ret;
        }",
    );
    let place = [0u64; 2];
    let address = place.as_ptr() as u64;
    run(&module, "k", 1, 1, &[address]).expect("it may be read");
    let misaligned = run(&module, "k", 1, 1, &[address + 4]);
    assert!(matches!(misaligned.expect_err("it may not").as_ref(), Failure::Misaligned { .. }));
    assert!(matches!(run(&module, "k", 1, 1, &[16]).expect_err("it may not").as_ref(), Failure::IllegalAddress { .. }));
}

#[test]
fn an_atomic_on_a_threads_own_memory_stops_the_launch() {
    let module = load(
        ".visible .entry k() {
            .local .align 8 .b8 depot[16];
            .reg .b64 %rd<4>;
            .reg .b32 %r<4>;
            mov.u64 %rd1, depot;
            cvta.local.u64 %rd2, %rd1;
            atom.add.u32 %r1, [%rd2], 1;
            ret;
        }",
    );
    let failure = run(&module, "k", 1, 1, &[]).expect_err("no GPU can");
    assert!(matches!(failure.as_ref(), Failure::IllegalAddress { .. }), "{failure:?}");
}

#[test]
fn a_lane_that_never_arrives_is_a_deadlock() {
    let module = load(
        ".visible .entry k(.param .u64 a) {
            .reg .pred %p<2>; .reg .b32 %r<4>;
            mov.u32 %r1, %tid.x;
            setp.lt.u32 %p1, %r1, 16;
            @%p1 bra $other;
            shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;
            bra $end;
            $other: bar.sync 0;
            $end: ret;
        }",
    );
    let failure = run(&module, "k", 1, 32, &[0]).expect_err("they wait for ever");
    assert!(matches!(&*failure, Failure::Deadlock { places } if places.len() == 2), "{failure:?}");
}

#[test]
fn attributes_of_variables_are_read_over() {
    let module = load(".global .attribute(.managed, .unified(19, 95)) .align 4 .u32 number = 7;");
    let (address, bytes) = module.variable("number").expect("the variable is there");
    // SAFETY: the memory that `load` gave, which stays.
    assert_eq!((bytes, unsafe { *(address as *const u32) }), (4, 7));
}

#[test]
fn lanes_that_have_ended_are_not_waited_for() {
    let module = load(
        ".visible .entry k(.param .u64 a) {
            .reg .pred %p<3>; .reg .b32 %r<6>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [a];
            mov.u32 %r1, %tid.x;
            setp.ge.u32 %p1, %r1, 16;
            @%p1 bra $end;
            shfl.sync.down.b32 %r2, %r1, 1, 31, -1;
            mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
            st.global.u32 [%rd3], %r2;
            $end: ret;
        }",
    );
    let mut a = [0u32; 16];
    run(&module, "k", 1, 32, &[a.as_mut_ptr() as u64]).expect("it ends");
    assert_eq!(a[..15], (1..16).collect::<Vec<u32>>()[..]);
}

#[test]
fn a_thread_own_memory_is_aligned_too() {
    let module = load(
        ".visible .entry k(.param .u64 a) {
            .local .align 8 .b8 depot[16];
            .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [a];
            mov.u64 %rd2, depot;
            add.s64 %rd2, %rd2, %rd1;
            st.local.u64 [%rd2], %rd1;
            ret;
        }",
    );
    run(&module, "k", 1, 1, &[8]).expect("it is aligned");
    let stopped = run(&module, "k", 1, 1, &[4]).expect_err("it is not");
    assert!(matches!(&*stopped, Failure::Misaligned { .. }), "{stopped:?}");
}

/// All lanes store to one element, count in another, and take a turn in a third.
const ORDER: &str = ".visible .entry order(.param .u64 a) {
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;
    atom.global.add.u32 %r2, [%rd1+4], 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.global.u32 [%rd1+8], %r2;
    ret;
}";

#[test]
fn a_seed_permutes_the_lanes_of_a_warp() {
    let module = load(ORDER);
    let outcome = |seed| {
        let mut values = [0u32; 4];
        run_seeded(&module, "order", 1, 32, &[values.as_mut_ptr() as u64], seed).expect("it runs");
        values
    };
    assert_eq!(outcome(0), [31, 32, 0, 0], "without a seed lanes come in order");
    let outcomes: Vec<[u32; 4]> = (1..20).map(outcome).collect();
    assert!(outcomes.iter().all(|values| values[1] == 32), "each lane counts once: {outcomes:?}");
    let differs = |element: usize| outcomes.iter().any(|values| values[element] != outcomes[0][element]);
    assert!(differs(0) && differs(2), "another seed is another order: {outcomes:?}");
    assert_eq!(outcome(7), outcome(7), "the same seed is the same order");
}

/// What a kernel of one thread stores, which computes `%r4` from `%r1`, `%r2` and `%r3`.
fn computed(instruction: &str, [a, b, c]: [u32; 3]) -> u32 {
    let module = load(&format!(
        ".visible .entry k(.param .u64 to) {{
            .reg .b32 %r<5>; .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [to];
            mov.u32 %r1, {a}; mov.u32 %r2, {b}; mov.u32 %r3, {c};
            {instruction} %r4, %r1, %r2, %r3;
            st.global.u32 [%rd1], %r4;
            ret;
        }}"
    ));
    let mut result = 0u32;
    run(&module, "k", 1, 1, &[&raw mut result as u64]).unwrap_or_else(|failure| panic!("{instruction}: {failure:?}"));
    result
}

#[test]
fn functions_of_bytes_and_halves() {
    let (a, b, c) = (0x01_80_ff_10, 0x03_7f_01_20, 1000);
    for (instruction, expected) in [
        ("vabsdiff4.u32.u32.u32", 0x02_01_fe_10),
        ("vabsdiff4.u32.u32.u32.add", 1000 + 2 + 1 + 254 + 16),
        ("vabsdiff4.s32.s32.s32.sat", 0x02_7f_02_10),
        ("vabsdiff2.u32.u32.u32.add", 1000 + (0x37f - 0x180) + (0xff10 - 0x120)),
        ("vadd4.u32.u32.u32", 0x04_ff_00_30),
        ("vadd4.u32.u32.u32.sat", 0x04_ff_ff_30),
        ("vsub4.s32.u32.u32.sat", 0xfe_01_7f_f0),
        ("vmin4.s32.s32.s32", 0x01_80_ff_10),
        ("vmax4.u32.u32.u32", 0x03_80_ff_20),
        ("vmax2.s32.s32.s32", 0x037f_0120),
    ] {
        assert_eq!(computed(instruction, [a, b, c]), expected, "{instruction}");
    }
}
