//! The table of checks: each has a stable code, a title, a severity and a way out.

/// One kind of finding. The codes are stable: users write them in issues and scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// An access outside the allocation, symbol or shared memory it starts in or is next to.
    OutOfBounds,
    /// An access to memory after `cudaFree`.
    UseAfterFree,
    /// A kernel touches memory that is no device memory.
    HostPointer,
    /// The host touches memory of the device.
    DevicePointer,
    /// The same pointer freed twice.
    DoubleFree,
    /// A pointer freed that no allocation returned.
    InvalidFree,
    /// An address that is no multiple of the accessed type's alignment.
    Misaligned,
    /// An access through a null pointer.
    NullPointer,
    /// A kernel writes to constant data.
    WriteToReadOnly,
    /// Shared memory read before any thread of the block wrote it.
    UninitialisedShared,
    /// Two threads of a block touch the same shared memory, unordered, and one writes.
    SharedRace,
    /// Two threads of a block touch the same device memory, unordered, and one writes.
    DeviceRace,
    /// Two blocks of one launch write the same device memory.
    BlockRace,
    /// One block reads what another block of the same launch writes.
    BlockRead,
    /// Launches or copies in different streams touch the same memory, unordered, and one writes.
    StreamRace,
    /// The host touches memory on which a stream may still be working, and one of them writes.
    HostRace,
    /// Memory of `cudaMalloc` read before anything wrote it.
    UninitialisedDevice,
    /// Memory that a launch writes is read in it through the read-only cache.
    ReadOnlyCache,
    /// Two threads store the same value to one element.
    SameValue,
    /// Live threads of a block wait at different barriers.
    DivergentBarrier,
    /// Threads wait for others that never arrive.
    NeverArrives,
    /// Threads that have returned were counted as arrived at a barrier.
    ReturnedThreads,
}

/// Whether a finding is a defect of the program or only worth knowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Note,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub code: Code,
    pub name: &'static str,
    pub severity: Severity,
    pub title: &'static str,
    pub help: &'static str,
}

impl Code {
    /// The line of the table for this code.
    pub fn entry(self) -> &'static Entry {
        &TABLE[self as usize]
    }
}

const fn error(code: Code, name: &'static str, title: &'static str, help: &'static str) -> Entry {
    Entry { code, name, severity: Severity::Error, title, help }
}

const fn note(code: Code, name: &'static str, title: &'static str, help: &'static str) -> Entry {
    Entry { code, name, severity: Severity::Note, title, help }
}

/// All checks, in the order of [`Code`]'s variants.
pub static TABLE: [Entry; 22] = [
    error(
        Code::OutOfBounds,
        "X0101",
        "access out of bounds",
        "compare the index with the number of elements; a guard such as `if (i < n)` is missing or wrong",
    ),
    error(
        Code::UseAfterFree,
        "X0102",
        "access to freed memory",
        "free the memory only after the last launch or copy that uses it",
    ),
    error(
        Code::HostPointer,
        "X0103",
        "host pointer in a kernel",
        "pass memory from cudaMalloc or cudaMallocManaged, and copy the data there with cudaMemcpy",
    ),
    error(
        Code::DevicePointer,
        "X0104",
        "device pointer on the host",
        "copy the data to host memory with cudaMemcpy, or allocate it with cudaMallocManaged",
    ),
    error(
        Code::DoubleFree,
        "X0105",
        "memory freed twice",
        "free each allocation once; set the pointer to null after it",
    ),
    error(
        Code::InvalidFree,
        "X0106",
        "free of a pointer that was not allocated",
        "free the pointer that the allocation returned, with the function that belongs to it",
    ),
    error(
        Code::Misaligned,
        "X0107",
        "misaligned access",
        "a GPU stops here: the address must be a multiple of the size of the type, e.g. 16 for float4",
    ),
    error(
        Code::NullPointer,
        "X0108",
        "access through a null pointer",
        "check the status of the allocation, and that the pointer is set before the launch",
    ),
    error(
        Code::WriteToReadOnly,
        "X0109",
        "write to constant data",
        "write to a `__device__` variable or an argument instead",
    ),
    error(
        Code::UninitialisedShared,
        "X0201",
        "uninitialised shared memory read",
        "shared memory has no defined content at the start of a block: write each element before it is read",
    ),
    error(
        Code::SharedRace,
        "X0202",
        "race on shared memory",
        "put `__syncthreads()` between the two accesses (`__syncwarp()` within a warp), or use an atomic for both",
    ),
    error(
        Code::DeviceRace,
        "X0203",
        "race on device memory",
        "give each thread its own element, put `__syncthreads()` between the accesses, or use an atomic for both",
    ),
    error(
        Code::BlockRace,
        "X0204",
        "race between blocks",
        "blocks of a launch run in any order: give each block its own elements, or use an atomic for both",
    ),
    error(
        Code::BlockRead,
        "X0205",
        "a block reads what another block of the same launch writes",
        "blocks of a launch run in any order: write in one launch and read in the next",
    ),
    error(
        Code::StreamRace,
        "X0206",
        "race between streams",
        "let one stream wait for the other with an event, or let the host wait in between",
    ),
    error(
        Code::HostRace,
        "X0207",
        "race between the host and a stream",
        "let the host wait for the stream (`cudaStreamSynchronize`, `cudaDeviceSynchronize`) before it touches the memory",
    ),
    error(
        Code::UninitialisedDevice,
        "X0208",
        "uninitialised device memory read",
        "memory from cudaMalloc has no defined content: fill it with cudaMemset or cudaMemcpy, or write it in a kernel first",
    ),
    error(
        Code::ReadOnlyCache,
        "X0209",
        "read-only cache used for memory that the launch writes",
        "the read may give an old value: no `__ldg` here, and no `const __restrict__` on a pointer to memory that is written",
    ),
    note(
        Code::SameValue,
        "X0210",
        "threads store the same value to one element, unordered",
        "harmless for a flag, though CUDA promises nothing; let one thread store it, or use `atomicExch`",
    ),
    error(
        Code::DivergentBarrier,
        "X0301",
        "threads of a block wait at different barriers",
        "move the barrier out of the branch, so that all threads of the block reach the same one",
    ),
    error(
        Code::NeverArrives,
        "X0302",
        "threads wait for others that never arrive",
        "all threads named by the mask or the group must reach the call",
    ),
    note(
        Code::ReturnedThreads,
        "X0303",
        "threads that returned were counted as arrived at a barrier",
        "GPUs since Volta count them as well; a guard around the work instead of an early return is clearer",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_the_order_of_the_codes_and_names_are_unique() {
        for (index, entry) in TABLE.iter().enumerate() {
            assert_eq!(entry.code as usize, index, "{}", entry.name);
            assert_eq!(entry.code.entry().name, entry.name);
        }
        assert!(TABLE.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(TABLE.len(), Code::ReturnedThreads as usize + 1);
    }
}
