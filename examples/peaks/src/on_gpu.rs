//! The same fit on a GPU.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, LaunchConfig, sys};

use crate::GUESSED;
use crate::fit::{Peak, fit};
use crate::peaks::cuda::Kernels;

/// The first GPU, if this machine has NVIDIA's driver.
pub(crate) fn device() -> Option<Result<Arc<CudaContext>, DriverError>> {
    // SAFETY: it looks for a library.
    unsafe { sys::is_culib_present() }.then(|| CudaContext::new(0))
}

pub(crate) fn fit_peaks(context: &Arc<CudaContext>, x: &[f32], measured: &[f32]) -> Result<Vec<Peak>, Box<dyn Error>> {
    println!("on {}", context.name()?);
    let kernels = Kernels::load(context)?;
    let stream = context.default_stream();
    let (n, count) = (x.len() as i32, GUESSED.len() as i32);
    let launch =
        LaunchConfig { grid_dim: (n.cast_unsigned().div_ceil(128), 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 };
    let x = stream.clone_htod(x)?;
    let mut y = stream.alloc_zeros::<f32>(measured.len())?;
    let mut d_peaks = stream.alloc_zeros::<Peak>(GUESSED.len())?;
    fit(&GUESSED, |peaks| {
        let peaks = stream.clone_htod(peaks)?;
        // SAFETY: the kernel accesses `n` elements of `x` and `y`, and `count` peaks.
        unsafe { kernels.peaks(&stream, launch, &x, &peaks, &mut y, n, count) }?;
        let found = stream.clone_dtoh(&y)?;
        let d_y: Vec<f32> = found.iter().zip(measured).map(|(y, measured)| y - measured).collect();
        let d_y = stream.clone_htod(&d_y)?;
        // SAFETY: as above, and adjoints are as long as what they are of.
        unsafe { kernels.peaks_grad(&stream, launch, &x, &peaks, &mut y, n, count, &mut d_peaks, &d_y) }?;
        Ok(stream.clone_dtoh(&d_peaks)?)
    })
}
