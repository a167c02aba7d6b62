//! Fits the heights, places and widths of three peaks to a measured spectrum. The kernel and its gradient run on a GPU if there is one,
//! else on the CPU.

use std::error::Error;

/// Launches, made by `build.rs`.
mod peaks {
    include!(concat!(env!("OUT_DIR"), "/peaks.rs"));
}

mod fit;
#[cfg(feature = "cuda")]
mod on_gpu;

use fit::{Peak, fit};
use peaks::cpu::{self, Launch};

/// The peaks that were measured: height, place, width.
const MEASURED: [Peak; 3] = [[1.0, 0.25, 0.05], [0.6, 0.5, 0.1], [0.8, 0.8, 0.03]];
const GUESSED: [Peak; 3] = [[0.5, 0.3, 0.08], [0.5, 0.55, 0.08], [0.5, 0.75, 0.08]];

fn main() -> Result<(), Box<dyn Error>> {
    let x: Vec<f32> = (0..1000).map(|i| i as f32 / 1000.0).collect();
    let measured = spectrum(&x, &MEASURED)?;
    let found = fit_anywhere(&x, &measured)?;
    println!("          height    place    width");
    for (found, true_peak) in found.iter().zip(&MEASURED) {
        println!("found   {:8.4} {:8.4} {:8.4}", found[0], found[1], found[2]);
        println!("true    {:8.4} {:8.4} {:8.4}", true_peak[0], true_peak[1], true_peak[2]);
    }
    let worst = found.iter().flatten().zip(MEASURED.iter().flatten()).map(|(found, is)| (found - is).abs());
    let worst = worst.fold(0.0, f32::max);
    if worst > 1e-3 { Err(format!("the fit is off by {worst}").into()) } else { Ok(()) }
}

#[cfg(feature = "cuda")]
fn fit_anywhere(x: &[f32], measured: &[f32]) -> Result<Vec<Peak>, Box<dyn Error>> {
    match on_gpu::device() {
        Some(context) => on_gpu::fit_peaks(&context?, x, measured),
        None => fit_on_cpu(x, measured),
    }
}

#[cfg(not(feature = "cuda"))]
fn fit_anywhere(x: &[f32], measured: &[f32]) -> Result<Vec<Peak>, Box<dyn Error>> {
    fit_on_cpu(x, measured)
}

fn fit_on_cpu(x: &[f32], measured: &[f32]) -> Result<Vec<Peak>, Box<dyn Error>> {
    println!("on the CPU");
    let (mut y, mut d_peaks) = (vec![0.0; x.len()], vec![[0.0; 3]; GUESSED.len()]);
    let (n, count) = (x.len() as i32, GUESSED.len() as i32);
    let launch = Launch::for_elements(x.len(), 128);
    fit(&GUESSED, |peaks| {
        // SAFETY: the kernel accesses `n` elements of `x` and `y`, and `count` peaks.
        unsafe { cpu::peaks(launch, x, peaks, &mut y, n, count) }?;
        let d_y: Vec<f32> = y.iter().zip(measured).map(|(y, measured)| y - measured).collect();
        // SAFETY: as above, and adjoints are as long as what they are of.
        unsafe { cpu::peaks_grad(launch, x, peaks, &mut y, n, count, &mut d_peaks, &d_y) }?;
        Ok(d_peaks.clone())
    })
}

/// What is measured where there are these peaks.
fn spectrum(x: &[f32], peaks: &[Peak]) -> Result<Vec<f32>, cpu::CudaError> {
    let mut y = vec![0.0; x.len()];
    // SAFETY: the kernel accesses as many elements as it is told.
    unsafe { cpu::peaks(Launch::for_elements(x.len(), 128), x, peaks, &mut y, x.len() as i32, peaks.len() as i32) }?;
    Ok(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel of CUDA in a test of Rust's, beside the formula.
    #[test]
    fn the_kernel_is_a_sum_of_bells() {
        let x = [0.2, 0.4, 0.9];
        let y = spectrum(&x, &MEASURED).unwrap();
        for (x, y) in x.iter().zip(y) {
            let bell = |[height, place, width]: &Peak| height * (-0.5 * ((x - place) / width).powi(2)).exp();
            assert!((y - MEASURED.iter().map(bell).sum::<f32>()).abs() < 1e-6);
        }
    }

    #[test]
    fn the_gradient_is_that_of_differences() {
        let x: Vec<f32> = (0..300).map(|i| i as f32 / 300.0).collect();
        let (mut y, mut d_peaks, d_y) = (vec![0.0; 300], [[0.0; 3]; 3], vec![1.0; 300]);
        let launch = Launch::new(3, 100);
        // SAFETY: the kernel accesses as many elements as it is told.
        unsafe { cpu::peaks_grad(launch, &x, &GUESSED, &mut y, 300, 3, &mut d_peaks, &d_y) }.unwrap();
        let sum = |peaks: &[Peak]| spectrum(&x, peaks).unwrap().iter().map(|y| f64::from(*y)).sum::<f64>();
        for (peak, of) in (0..3).flat_map(|peak| (0..3).map(move |of| (peak, of))) {
            let moved = |by: f32| {
                let mut peaks = GUESSED;
                peaks[peak][of] += by;
                sum(&peaks)
            };
            let slope = (moved(1e-3) - moved(-1e-3)) / 2e-3;
            let found = f64::from(d_peaks[peak][of]);
            assert!((slope - found).abs() < 1e-2 * (1.0 + slope.abs()), "{peak} {of}: {slope} {found}");
        }
    }
}
