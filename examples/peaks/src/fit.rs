//! The fit, which does not know where gradients are computed.

use std::error::Error;

/// Height, place and width.
pub(crate) type Peak = [f32; 3];

/// From a guess to peaks whose gradient is nearly zero, by steps that adapt to each number (Adam). `gradient` is that of the loss.
pub(crate) fn fit(
    guessed: &[Peak],
    mut gradient: impl FnMut(&[Peak]) -> Result<Vec<Peak>, Box<dyn Error>>,
) -> Result<Vec<Peak>, Box<dyn Error>> {
    let mut peaks = guessed.to_vec();
    let mut means = vec![([0.0; 3], [0.0; 3]); peaks.len()];
    for step in 1..=2000 {
        let rate = 0.01 * 0.997_f32.powi(step);
        let found = gradient(&peaks)?;
        for ((peak, found), (mean, square)) in peaks.iter_mut().zip(found).zip(&mut means) {
            for of in 0..3 {
                mean[of] = 0.9 * mean[of] + 0.1 * found[of];
                square[of] = 0.99 * square[of] + 0.01 * found[of] * found[of];
                let unbiased = (square[of] / (1.0 - 0.99_f32.powi(step))).sqrt();
                peak[of] -= rate * mean[of] / (1.0 - 0.9_f32.powi(step)) / (unbiased + 1e-8);
            }
        }
    }
    Ok(peaks)
}
