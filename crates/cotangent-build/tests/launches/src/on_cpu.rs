//! Launches on the CPU.

use crate::cpu::{self, CudaError, Launch};
use crate::slopes::{assert_gradient, dot, numbers};
use crate::{Body, orbit_Point};

const N: usize = 40;

#[test]
fn an_array_in_place_has_one_adjoint_and_the_record_is_counted() {
    let (v, rate, seed) = (numbers(N), numbers(N), numbers(N));
    let launch = Launch::new(3, 16);
    let value = |v: &[f64], rate: &[f64]| {
        let mut v = v.to_vec();
        // SAFETY: `n` elements of each array.
        unsafe { cpu::decay(launch, &mut v, rate, N as i32) }.unwrap();
        dot(&v, &seed)
    };
    let (mut changed, mut d_v, mut d_rate) = (v.clone(), seed.clone(), vec![f64::NAN; N]);
    // SAFETY: as above.
    unsafe { cpu::decay_grad(launch, &mut changed, &rate, N as i32, &mut d_v, &mut d_rate) }.unwrap();
    assert_gradient(&v, &d_v, |v| value(v, &rate));
    assert_gradient(&rate, &d_rate, |rate| value(&v, rate));
}

#[test]
fn a_number_has_a_gradient_and_the_record_has_the_size_of_its_formula() {
    let (x, seed, by) = (numbers(N), numbers(N), 0.7);
    let launch = Launch::for_elements(N, 16);
    let value = |x: &[f64], by: f64| {
        let mut y = vec![0.0; N];
        // SAFETY: `n` elements of each array.
        unsafe { cpu::powers(launch, x, &mut y, by, 7, N as i32) }.unwrap();
        dot(&y, &seed)
    };
    let (mut y, mut d_x, mut d_by) = (vec![0.0; N], vec![f64::NAN; N], f64::NAN);
    // SAFETY: as above.
    unsafe { cpu::powers_grad(launch, &x, &mut y, by, 7, N as i32, &mut d_x, &seed, &mut d_by) }.unwrap();
    assert_gradient(&x, &d_x, |x| value(x, by));
    assert_gradient(&[by], &[d_by], |by| value(&x, by[0]));
}

#[test]
fn a_gradient_has_twice_the_shared_memory() {
    let (x, seed) = (numbers(32), numbers(32));
    let launch = Launch::new(2, 16).with_shared(16 * 8);
    let value = |x: &[f64]| {
        let mut y = vec![0.0; 32];
        // SAFETY: an element of each thread's.
        unsafe { cpu::smooth(launch, x, &mut y) }.unwrap();
        dot(&y, &seed)
    };
    let (mut y, mut d_x) = (vec![0.0; 32], vec![f64::NAN; 32]);
    // SAFETY: as above.
    unsafe { cpu::smooth_grad(launch, &x, &mut y, &mut d_x, &seed) }.unwrap();
    assert_gradient(&x, &d_x, value);
}

#[test]
fn a_cotangent_that_the_gradient_changes_stays() {
    let (x, seed) = (numbers(N * 3), numbers(N));
    let launch = Launch::new(2, 32);
    let value = |x: &[f64]| {
        let mut y = vec![0.0; N];
        // SAFETY: `n * count` elements of `x`, and `n` of `y`.
        unsafe { cpu::pile(launch, x, &mut y, 3, N as i32) }.unwrap();
        dot(&y, &seed)
    };
    let (mut y, mut d_x) = (vec![0.0; N], vec![f64::NAN; N * 3]);
    // SAFETY: as above.
    unsafe { cpu::pile_grad(launch, &x, &mut y, 3, N as i32, &mut d_x, &seed) }.unwrap();
    assert_gradient(&x, &d_x, value);
    assert_eq!(seed, numbers(N));
}

#[test]
fn words_of_rust_are_names_in_cuda() {
    let (x, seed) = (numbers(N), numbers(N));
    let (mut y, mut d_x) = (vec![0.0; N], vec![f64::NAN; N]);
    // SAFETY: so many elements of each array.
    unsafe { cpu::twist_double_grad(Launch::new(2, 32), &x, &mut y, N as i32, &mut d_x, &seed) }.unwrap();
    let expected: Vec<f64> = x.iter().zip(&seed).map(|(x, seed)| 3.0 * x * x * seed).collect();
    assert!(d_x.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12));
}

/// `double4` and `double2` as CUDA has them.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Aligned<T>(T);

#[test]
fn vectors_are_arrays() {
    let x = Aligned([[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.25]]);
    let (mut y, d_y) = (Aligned([[0.0; 2]; 2]), Aligned([[1.0, 10.0], [2.0, -1.0]]));
    let mut d_x = Aligned([[f64::NAN; 4]; 2]);
    // SAFETY: two elements of each array.
    unsafe { cpu::turn_grad(Launch::new(1, 2), &x.0, &mut y.0, 2, &mut d_x.0, &d_y.0) }.unwrap();
    assert_eq!(d_x.0[0], [3.0 + 40.0, -4.0 + 30.0, 1.0 + 20.0, -2.0 + 10.0]);
}

#[test]
fn vectors_at_odd_addresses_are_refused() {
    let x = Aligned([0.0; 9]);
    let mut y = Aligned([[0.0; 2]; 2]);
    let odd: &[[f64; 4]] = x.0[1..].as_chunks().0;
    // SAFETY: it does not come to a launch.
    let refused = unsafe { cpu::turn(Launch::new(1, 2), odd, &mut y.0, 2) };
    assert_eq!(refused, Err(CudaError::MISALIGNED_ADDRESS));
}

#[test]
fn whole_numbers_of_all_widths_arrive() {
    let (x, seed) = (numbers(N), numbers(N));
    let kind: Vec<u8> = (0..N).map(|i| 250 + (i % 5) as u8).collect();
    let from: Vec<i64> = (0..N).map(|i| ((i * 7) % N) as i64).collect();
    let launch = Launch::new((2, 1, 1), (32, 1));
    let value = |x: &[f64]| {
        let mut y = vec![0.0; N];
        // SAFETY: `n` elements of each array, and indices below that.
        unsafe { cpu::words(launch, x, &mut y, &kind, &from, N, true, 65_000) }.unwrap();
        dot(&y, &seed)
    };
    let (mut y, mut d_x) = (vec![0.0; N], vec![f64::NAN; N]);
    // SAFETY: as above.
    unsafe { cpu::words_grad(launch, &x, &mut y, &kind, &from, N, true, 65_000, &mut d_x, &seed) }.unwrap();
    let scale = 65_250.0 * 65_250.0;
    let scaled: Vec<f64> = d_x.iter().map(|slope| slope / scale).collect();
    assert_gradient(&x, &scaled, |x| value(x) / scale);
}

#[test]
fn half_precision_is_that_of_the_crate_half() {
    let half = half::f16::from_f32;
    let (x, seed) = ([half(0.5), half(1.5)], [half(1.0), half(2.0)]);
    let (mut y, mut d_x) = ([half(0.0); 2], [half(9.0); 2]);
    // SAFETY: two elements of each array.
    unsafe { cpu::halves_grad(Launch::new(1, 2), &x, &mut y, 2, &mut d_x, &seed) }.unwrap();
    assert_eq!(d_x, [half(1.0), half(6.0)]);
}

#[test]
fn a_launch_that_cuda_refuses_is_an_error() {
    // SAFETY: nothing is launched.
    let refused = unsafe { cpu::halves(Launch::new(1, 4096), &[], &mut [], 0) };
    assert_eq!(refused, Err(CudaError::INVALID_CONFIGURATION));
    assert_eq!(refused.unwrap_err().to_string(), "cudaErrorInvalidConfiguration (invalid configuration argument)");
}

#[test]
fn threads_of_the_host_launch_side_by_side() {
    let launches = (0..8).map(|at| {
        std::thread::spawn(move || {
            let x: Vec<f64> = numbers(4096).iter().map(|x| x + f64::from(at)).collect();
            for _ in 0..50 {
                let mut y = vec![0.0; 4096];
                // SAFETY: an element of each thread's.
                unsafe { cpu::smooth(Launch::new(64, 64).with_shared(64 * 8), &x, &mut y) }.unwrap();
                let left = |i: usize| if i.is_multiple_of(64) { i + 63 } else { i - 1 };
                assert!((0..4096).all(|i| (y[i] - x[i] * x[i] * (x[left(i)] * x[left(i)])).abs() < 1e-9 * y[i]));
            }
        })
    });
    launches.collect::<Vec<_>>().into_iter().for_each(|launch| launch.join().unwrap());
}

/// Bodies whose places are these numbers.
pub(crate) fn bodies(places: &[f64]) -> Vec<Body> {
    let point = |at: &[f64]| orbit_Point { x: at[0], y: at[1] };
    let body = |at: &[f64]| Body { kind: 3, at: [point(&at[..2]), point(&at[2..])], weight: 0.5 };
    places.chunks(4).map(body).collect()
}

/// The numbers of these bodies' places.
pub(crate) fn places(bodies: &[Body]) -> Vec<f64> {
    bodies.iter().flat_map(|body| body.at).flat_map(|at| [at.x, at.y]).collect()
}

pub(crate) const CENTRE: orbit_Point = orbit_Point { x: 0.25, y: -0.5 };

#[test]
fn structs_are_structs_of_rust() {
    let (at, seed) = (numbers(4 * 5), numbers(5));
    let launch = Launch::new(1, 8);
    let value = |at: &[f64], x: f64| {
        let mut energy = vec![0.0; 5];
        // SAFETY: `n` elements of each array.
        unsafe { cpu::pull(launch, &bodies(at), &mut energy, orbit_Point { x, ..CENTRE }, 5) }.unwrap();
        dot(&energy, &seed)
    };
    let (mut energy, mut d_body, mut d_centre) = (vec![0.0; 5], bodies(&numbers(4 * 5)), CENTRE);
    let d_energy = &seed;
    // SAFETY: as above.
    unsafe { cpu::pull_grad(launch, &bodies(&at), &mut energy, CENTRE, 5, &mut d_body, d_energy, &mut d_centre) }
        .unwrap();
    assert_gradient(&at, &places(&d_body), |at| value(at, CENTRE.x));
    assert_gradient(&[CENTRE.x], &[d_centre.x], |x| value(&at, x[0]));
    assert_eq!(d_body[0].kind, 0);
}

#[test]
fn pointers_to_rows_are_slices_of_arrays_and_vectors_by_value_are_arrays() {
    let (x, seed, w) = ([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]; 2], [[1.0, 10.0, 100.0]; 2], [0.5, 2.0, -1.0]);
    let (mut y, mut d_x, mut d_w) = ([[0.0; 3]; 2], [[[f64::NAN; 3]; 2]; 2], [f64::NAN; 3]);
    // SAFETY: two elements of each array.
    unsafe { cpu::rows_grad(Launch::new(1, 2), &x, &mut y, w, 2, &mut d_x, &seed, &mut d_w) }.unwrap();
    assert_eq!(y[1], [2.0, 20.0, -18.0]);
    assert_eq!(d_x[0], [[2.0, 100.0, -600.0], [0.5, 40.0, -300.0]]);
    assert_eq!(d_w, [2.0 * 4.0, 2.0 * 100.0, 2.0 * 1800.0]);
}

#[test]
fn names_that_the_module_has_are_names_in_cuda() {
    let (mut y, mut d_x) = ([0.0; 2], [f64::NAN; 2]);
    // SAFETY: two elements of each array.
    unsafe {
        cpu::load_(Launch::new(1, 2), &[1.0, 2.0], &mut y, 2).unwrap();
        cpu::load_grad(Launch::new(1, 2), &[1.0, 2.0], &mut y, 2, &mut d_x, &[3.0, 4.0]).unwrap();
    }
    assert_eq!((y, d_x), ([2.0, 4.0], [6.0, 8.0]));
}
