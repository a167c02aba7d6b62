//! A kernel with its arguments, as `cotangent-cpu` launches it.

use std::sync::Arc;

use cotangent_cpu::abi::Dim;
use cotangent_cpu::check::Checker;
use cotangent_cpu::kernel::{Failure, Kernel, Place, Shape};

use crate::exec::{Image, Launch, Reason, Stop, run_block};
use crate::module::Module;
use crate::program;

/// A kernel with its arguments.
pub struct Bound {
    pub(crate) module: Arc<Module>,
    /// Into the program's functions.
    pub(crate) kernel: usize,
    pub(crate) name: String,
    pub(crate) arguments: Vec<u8>,
    pub(crate) limit: u64,
}

impl Bound {
    /// The same kernel, whose blocks are stopped after so many instructions of a warp.
    pub fn with_limit(self, limit: u64) -> Bound {
        Bound { limit, ..self }
    }
}

impl Kernel for Bound {
    fn name(&self) -> &str {
        &self.name
    }

    fn static_shared(&self) -> usize {
        self.module.layouts(self.kernel).dense.end as usize
    }

    fn run_block(
        &self,
        shape: &Shape,
        index: Dim,
        seed: u64,
        checker: Option<&mut Checker>,
    ) -> Result<(), Box<Failure>> {
        let extents = |dim: Dim| [dim.x, dim.y, dim.z];
        let launch = Launch {
            grid: extents(shape.grid),
            block: extents(shape.block),
            index: extents(index),
            dynamic_shared: shape.shared_bytes as u32,
            seed,
            limit: self.limit,
        };
        let layouts = self.module.layouts(self.kernel);
        let image = Image {
            program: &self.module.program,
            kernel: self.kernel,
            shared: if checker.is_some() { &layouts.loose } else { &layouts.dense },
            parameters: &self.arguments,
        };
        run_block(&image, launch, checker).map_err(|stop| Box::new(self.failure(stop, shape.block)))
    }
}

impl Bound {
    fn failure(&self, stop: Stop, block: Dim) -> Failure {
        let place = |what: String, place: program::Place, thread: u32, count: u32| Place {
            what: what.into(),
            file: match place.line {
                0 => format!("{} (compile with -lineinfo to see the line)", self.name),
                _ => self.module.program.files.get(place.file as usize).cloned().unwrap_or_default(),
            },
            line: place.line,
            thread: block.coordinates(u64::from(thread)),
            count,
        };
        let here = |what: String| place(what, stop.place, stop.thread, 1);
        match stop.reason {
            Reason::Misaligned { address, bytes } => {
                Failure::Misaligned { place: here(format!("{bytes} bytes at {address:#x}")) }
            }
            Reason::AtomicOnOwnMemory { address } => {
                Failure::IllegalAddress { place: here(format!("an atomic on a thread's own memory at {address:#x}")) }
            }
            Reason::IllegalAddress { address } => {
                Failure::IllegalAddress { place: here(format!("address {address:#x}")) }
            }
            Reason::Reported => Failure::InvalidAccess,
            Reason::Unknown(text) => Failure::IllegalInstruction { place: here(String::from("instruction")), text },
            Reason::Trap => Failure::Trap { place: here(String::from("__trap")) },
            Reason::Assert => Failure::Assert,
            Reason::TooMuchShared { bytes } => {
                let text = format!("a kernel with {bytes} bytes of shared memory");
                Failure::IllegalInstruction { place: here(String::from("launch")), text }
            }
            Reason::OutOfTime => {
                let text = format!("more than {} instructions", self.limit);
                Failure::IllegalInstruction { place: here(String::from("limit")), text }
            }
            Reason::StackOverflow => {
                let text = String::from("a call that needs more local memory than a thread has");
                Failure::IllegalInstruction { place: here(String::from("call")), text }
            }
            Reason::NoFunction => {
                let text = String::from("a call through a pointer that points to no function");
                Failure::IllegalInstruction { place: here(String::from("call")), text }
            }
            Reason::MaskWithoutSelf { mask } => {
                Failure::MaskWithoutSelf { place: here(String::from("a warp function")), mask }
            }
            Reason::DivergentBarriers { other, other_thread } => {
                let barrier = String::from("__syncthreads");
                Failure::DivergentBarriers {
                    first: place(barrier.clone(), other, other_thread, 1),
                    second: here(barrier),
                }
            }
            Reason::Deadlock { waiting } => {
                let places = waiting.into_iter();
                let places = places.map(|(what, at, thread, count)| place(what.to_owned(), at, thread, count));
                Failure::Deadlock { places: places.collect() }
            }
        }
    }
}
