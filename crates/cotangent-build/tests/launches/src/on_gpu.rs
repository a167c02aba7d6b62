//! The same launches through cudarc, compared with those on the CPU. The driver is `cotangent-libcuda`, which executes the PTX.

use std::sync::{Arc, OnceLock};

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, LaunchConfig};
use libloading::Library;

use crate::cpu::{self, Launch};
use crate::cuda::Kernels;
use crate::on_cpu::{CENTRE, bodies, places};
use crate::slopes::numbers;

const N: usize = 40;

/// The kernels, and two streams: what one makes the other uses.
fn loaded() -> (Kernels, Arc<CudaStream>, Arc<CudaStream>) {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    // Cudarc finds by its name what is loaded already.
    DRIVER.get_or_init(|| {
        let tests = std::env::current_exe().unwrap();
        // SAFETY: its initialisation does nothing.
        unsafe { Library::new(tests.with_file_name("libcotangent_libcuda.so")) }.unwrap()
    });
    let context = CudaContext::new(0).unwrap();
    (Kernels::load(&context).unwrap(), context.default_stream(), context.new_stream().unwrap())
}

fn launch(grid: u32, block: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (grid, 1, 1), block_dim: (block, 1, 1), shared_mem_bytes: 0 }
}

fn assert_near(stream: &Arc<CudaStream>, found: &CudaSlice<f64>, expected: &[f64]) {
    let found = stream.clone_dtoh(found).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found}, and {expected} on the CPU");
    }
}

#[test]
fn an_array_in_place_and_a_counted_record() {
    let (kernels, stream, other) = loaded();
    let (v, rate, seed) = (numbers(N), numbers(N), numbers(N));
    let (mut on_cpu, mut d_v, mut d_rate) = (v.clone(), seed.clone(), vec![f64::NAN; N]);
    // SAFETY: `n` elements of each array.
    unsafe { cpu::decay_grad(Launch::new(3, 16), &mut on_cpu, &rate, N as i32, &mut d_v, &mut d_rate) }.unwrap();

    let (mut changed, rate) = (stream.clone_htod(&v).unwrap(), other.clone_htod(&rate).unwrap());
    let (mut found_v, mut found_rate) = (stream.clone_htod(&seed).unwrap(), stream.clone_htod(&numbers(N)).unwrap());
    // SAFETY: as above.
    unsafe { kernels.decay_grad(&stream, launch(3, 16), &mut changed, &rate, N as i32, &mut found_v, &mut found_rate) }
        .unwrap();
    assert_near(&other, &found_v, &d_v);
    assert_near(&other, &found_rate, &d_rate);
    assert_near(&stream, &changed, &on_cpu);
}

#[test]
fn the_gradient_of_a_number_and_a_record_of_known_size() {
    let (kernels, stream, _) = loaded();
    let (x, seed) = (numbers(N), numbers(N));
    let (mut y, mut d_x, mut d_by) = (vec![0.0; N], vec![f64::NAN; N], f64::NAN);
    let on_cpu = Launch::for_elements(N, 16);
    // SAFETY: `n` elements of each array.
    unsafe { cpu::powers_grad(on_cpu, &x, &mut y, 0.7, 7, N as i32, &mut d_x, &seed, &mut d_by) }.unwrap();

    let [x, seed] = [x, seed].map(|numbers| stream.clone_htod(&numbers).unwrap());
    let [mut found_y, mut found_x] = [0; 2].map(|_| stream.clone_htod(&numbers(N)).unwrap());
    let mut found_by = stream.clone_htod(&[1.0]).unwrap();
    let (found_launch, n) = (launch(3, 16), N as i32);
    // SAFETY: as above.
    unsafe {
        kernels.powers(&stream, found_launch, &x, &mut found_y, 0.7, 7, n).unwrap();
        assert_near(&stream, &found_y, &y);
        let (d_x, d_by) = (&mut found_x, &mut found_by);
        kernels.powers_grad(&stream, found_launch, &x, &mut found_y, 0.7, 7, n, d_x, &seed, d_by).unwrap();
    }
    assert_near(&stream, &found_x, &d_x);
    assert_near(&stream, &found_by, &[d_by]);
}

#[test]
fn twice_the_shared_memory() {
    let (kernels, stream, _) = loaded();
    let (x, seed) = (numbers(32), numbers(32));
    let (mut y, mut d_x) = (vec![0.0; 32], vec![f64::NAN; 32]);
    // SAFETY: an element of each thread's.
    unsafe { cpu::smooth_grad(Launch::new(2, 16).with_shared(128), &x, &mut y, &mut d_x, &seed) }.unwrap();

    let [x, seed] = [x, seed].map(|numbers| stream.clone_htod(&numbers).unwrap());
    let [mut found_y, mut found_x] = [0; 2].map(|_| stream.clone_htod(&numbers(32)).unwrap());
    let launch = LaunchConfig { shared_mem_bytes: 128, ..launch(2, 16) };
    // SAFETY: as above.
    unsafe { kernels.smooth_grad(&stream, launch, &x, &mut found_y, &mut found_x, &seed) }.unwrap();
    assert_near(&stream, &found_x, &d_x);
}

#[test]
fn views_are_arrays_and_a_cotangent_that_changes_stays() {
    let (kernels, stream, _) = loaded();
    let (x, seed) = (numbers(N * 3), numbers(N));
    let (mut y, mut d_x) = (vec![0.0; N], vec![f64::NAN; N * 3]);
    // SAFETY: `n * count` elements of `x`, and `n` of `y`.
    unsafe { cpu::pile_grad(Launch::new(2, 32), &x, &mut y, 3, N as i32, &mut d_x, &seed) }.unwrap();

    let longer: Vec<f64> = [0.5].iter().chain(&x).copied().collect();
    let (longer, seed) = (stream.clone_htod(&longer).unwrap(), stream.clone_htod(&seed).unwrap());
    let (mut found_y, mut found_x) = (stream.clone_htod(&y).unwrap(), stream.clone_htod(&numbers(N * 3)).unwrap());
    let view = longer.slice(1..);
    // SAFETY: as above.
    unsafe { kernels.pile_grad(&stream, launch(2, 32), &view, &mut found_y, 3, N as i32, &mut found_x, &seed) }
        .unwrap();
    assert_near(&stream, &found_x, &d_x);
    assert_near(&stream, &seed, &numbers(N));
}

#[test]
fn vectors_whole_numbers_and_halves() {
    let (kernels, stream, _) = loaded();
    let x = stream.clone_htod(&[[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.25]]).unwrap();
    let (mut y, d_y) =
        (stream.alloc_zeros::<[f64; 2]>(2).unwrap(), stream.clone_htod(&[[1.0, 10.0], [2.0, -1.0]]).unwrap());
    let mut d_x = stream.alloc_zeros::<[f64; 4]>(2).unwrap();
    // SAFETY: two elements of each array.
    unsafe { kernels.turn_grad(&stream, launch(1, 2), &x, &mut y, 2, &mut d_x, &d_y) }.unwrap();
    assert_eq!(stream.clone_dtoh(&d_x).unwrap()[0], [3.0 + 40.0, -4.0 + 30.0, 1.0 + 20.0, -2.0 + 10.0]);

    let (x, seed) = (numbers(3), numbers(3));
    let (kind, from) = ([3_u8, 4, 5], [2_i64, 0, 1]);
    let (mut y, mut on_cpu) = (vec![0.0; 3], vec![f64::NAN; 3]);
    // SAFETY: three elements of each array, and indices below that.
    unsafe { cpu::words_grad(Launch::new(1, 32), &x, &mut y, &kind, &from, 3, true, 9, &mut on_cpu, &seed) }.unwrap();
    let [x, seed] = [x, seed].map(|numbers| stream.clone_htod(&numbers).unwrap());
    let (kind, from) = (stream.clone_htod(&kind).unwrap(), stream.clone_htod(&from).unwrap());
    let [mut y, mut found] = [0; 2].map(|_| stream.clone_htod(&numbers(3)).unwrap());
    // SAFETY: as above.
    unsafe { kernels.words_grad(&stream, launch(1, 32), &x, &mut y, &kind, &from, 3, true, 9, &mut found, &seed) }
        .unwrap();
    assert_near(&stream, &found, &on_cpu);

    let half = half::f16::from_f32;
    let [x, seed] = [[half(0.5), half(1.5)], [half(1.0), half(2.0)]].map(|halves| stream.clone_htod(&halves).unwrap());
    let [mut y, mut d_x] = [0; 2].map(|_| stream.alloc_zeros::<half::f16>(2).unwrap());
    // SAFETY: two elements of each array.
    unsafe { kernels.halves_grad(&stream, launch(1, 2), &x, &mut y, 2, &mut d_x, &seed) }.unwrap();
    assert_eq!(stream.clone_dtoh(&d_x).unwrap(), [half(1.0), half(6.0)]);
}

#[test]
fn a_template_and_more_shared_memory_than_is_usual() {
    let (kernels, stream, _) = loaded();
    let x = stream.clone_htod(&numbers(N)).unwrap();
    let seed = stream.clone_htod(&vec![1.0; N]).unwrap();
    let [mut y, mut d_x] = [0; 2].map(|_| stream.clone_htod(&numbers(N)).unwrap());
    let expected: Vec<f64> = numbers(N).iter().map(|x| 3.0 * x * x).collect();
    let launch = LaunchConfig { shared_mem_bytes: 60_000, ..launch(2, 32) };
    // SAFETY: so many elements of each array.
    unsafe { kernels.twist_double_grad(&stream, launch, &x, &mut y, N as i32, &mut d_x, &seed) }.unwrap();
    assert_near(&stream, &d_x, &expected);
}

#[test]
fn structs_by_pointer_and_by_value() {
    let (kernels, stream, _) = loaded();
    let (body, seed) = (bodies(&numbers(4 * 5)), numbers(5));
    let (mut energy, mut d_body, mut d_centre) = (vec![0.0; 5], body.clone(), CENTRE);
    // SAFETY: `n` elements of each array.
    unsafe { cpu::pull_grad(Launch::new(1, 8), &body, &mut energy, CENTRE, 5, &mut d_body, &seed, &mut d_centre) }
        .unwrap();
    let (body, seed) = (stream.clone_htod(&body).unwrap(), stream.clone_htod(&seed).unwrap());
    let mut energy = stream.clone_htod(&energy).unwrap();
    let (mut found, mut found_centre) = (stream.alloc_zeros(5).unwrap(), stream.clone_htod(&[CENTRE]).unwrap());
    // SAFETY: as above.
    unsafe {
        kernels.pull_grad(&stream, launch(1, 8), &body, &mut energy, CENTRE, 5, &mut found, &seed, &mut found_centre)
    }
    .unwrap();
    let found = stream.clone_htod(&places(&stream.clone_dtoh(&found).unwrap())).unwrap();
    assert_near(&stream, &found, &places(&d_body));
    assert!((stream.clone_dtoh(&found_centre).unwrap()[0].y - d_centre.y).abs() < 1e-12);
}

#[test]
fn rows_and_a_vector_by_value() {
    let (kernels, stream, _) = loaded();
    let x = stream.clone_htod(&[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]).unwrap();
    let seed = stream.clone_htod(&[[1.0, 10.0, 100.0]]).unwrap();
    let (mut y, mut d_x) =
        (stream.alloc_zeros::<[f64; 3]>(1).unwrap(), stream.alloc_zeros::<[[f64; 3]; 2]>(1).unwrap());
    let mut d_w = stream.clone_htod(&[[9.0; 3]]).unwrap();
    // SAFETY: an element of each array.
    unsafe { kernels.rows_grad(&stream, launch(1, 1), &x, &mut y, [0.5, 2.0, -1.0], 1, &mut d_x, &seed, &mut d_w) }
        .unwrap();
    assert_eq!(stream.clone_dtoh(&d_x).unwrap()[0], [[2.0, 100.0, -600.0], [0.5, 40.0, -300.0]]);
    assert_eq!(stream.clone_dtoh(&d_w).unwrap()[0], [4.0, 100.0, 1800.0]);
}
