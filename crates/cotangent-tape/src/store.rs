//! The full slabs of one lane, in order. The lane itself has only the slab that it is working in.

use std::sync::Arc;

use crate::error::Error;
use crate::pool::Pool;
use crate::slab::{SEAL_BYTES, Slab};

/// A stack of full slabs. What it lets go of returns to the pool.
pub(crate) struct Store {
    pool: Arc<Pool>,
    blocks: Vec<Slab>,
    /// Kept so that a lane which goes to and fro over the end of a slab does not visit the pool each time.
    spare: Option<Slab>,
}

impl Store {
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self { pool, blocks: Vec::new(), spare: None }
    }

    /// Bytes of data a block.
    pub(crate) fn capacity(&self) -> usize {
        self.pool.slab_bytes() - SEAL_BYTES
    }

    /// How many blocks there are.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Keeps a full slab.
    pub(crate) fn push(&mut self, full: Slab) {
        self.blocks.push(full);
    }

    /// An empty slab to go on with.
    pub(crate) fn empty(&mut self) -> Result<Slab, Error> {
        match self.spare.take() {
            Some(slab) => Ok(slab),
            None => self.pool.take()?.ok_or(Error::Budget),
        }
    }

    /// The last block.
    pub(crate) fn pop(&mut self) -> Result<Slab, Error> {
        self.blocks.pop().ok_or(Error::Empty)
    }

    /// Takes a slab that nobody needs any more.
    pub(crate) fn give_back(&mut self, slab: Slab) {
        if let Some(slab) = self.spare.replace(slab) {
            self.pool.give_back(slab);
        }
    }

    /// Forgets all blocks but the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        for slab in self.blocks.drain(count..) {
            self.pool.give_back(slab);
        }
    }

    /// Where the data of a block lies, for reading, until the next call.
    pub(crate) fn view(&mut self, index: usize) -> Result<*mut u8, Error> {
        self.blocks.get(index).map(Slab::lo).ok_or(Error::Empty)
    }

    /// Nothing is viewed any more.
    pub(crate) fn end_views(&mut self) {}
}

impl Drop for Store {
    fn drop(&mut self) {
        self.truncate(0);
        if let Some(slab) = self.spare.take() {
            self.pool.give_back(slab);
        }
    }
}
