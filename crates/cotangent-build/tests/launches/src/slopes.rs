//! Differences, which know nothing of derivatives.

/// Asserts that `found` is the gradient of `value` at `x`.
pub(crate) fn assert_gradient(x: &[f64], found: &[f64], mut value: impl FnMut(&[f64]) -> f64) {
    assert_eq!(x.len(), found.len());
    for at in 0..x.len() {
        let mut moved = |by: f64| {
            let mut x = x.to_vec();
            x[at] += by;
            value(&x)
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((slope - found[at]).abs() < 1e-6 * (1.0 + slope.abs()), "at {at}: {slope}, and found {}", found[at]);
    }
}

/// Numbers between 0.2 and 1 that have no pattern.
pub(crate) fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| 0.6 + 0.4 * ((i * i) as f64 * 0.7 + 1.3).sin()).collect()
}

/// The sum of products: what a cotangent makes of a result.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
