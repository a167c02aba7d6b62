//! Launches of the kernels in `kernels.cu`. The tests compare their gradients with differences of the kernels themselves.

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

#[cfg(test)]
mod on_cpu;
#[cfg(test)]
mod on_gpu;
#[cfg(test)]
mod slopes;
