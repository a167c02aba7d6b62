//! The running launch: its shape, its blocks, and the numbering of time by segments.
//!
//! A *segment* is the part of a block's run between two barriers. Segments are numbered through the whole run of
//! the program, so one number says which launch, which block and which phase an access belongs to:
//!
//! - before the launch's first segment: an earlier launch, which is ordered before unless `streams` says otherwise;
//! - before the block's first segment: another block of this launch, which is not ordered;
//! - before the present segment: an earlier phase of this block, which is ordered before;
//! - the present segment: the clocks of the warp decide.

use std::sync::Arc;

use super::clocks::{Clocks, LANES};
use super::finding::{Actor, LaunchInfo};
use super::streams::Streams;

/// The launch that runs, or the last one that ran.
pub(super) struct Launch {
    info: Option<Arc<LaunchInfo>>,
    /// The first segment of each block of this launch and the block's index, in the order of their run.
    blocks: Vec<(u32, [u32; 3])>,
    segment: u32,
    first_of_launch: u32,
    first_of_block: u32,
    first_unordered: u32,
    first_open: u32,
    pub(super) clocks: Clocks,
}

/// What a granule needs to know about the access at hand to order it against recorded ones.
#[derive(Clone, Copy)]
pub(super) struct Now<'a> {
    pub(super) segment: u32,
    pub(super) first_of_launch: u32,
    pub(super) first_of_block: u32,
    /// The first segment of an earlier operation without an order to this one; the launch's first if there is none.
    pub(super) first_unordered: u32,
    /// The first segment of an operation that the host has not waited for; the launch's first if there is none.
    pub(super) first_open: u32,
    pub(super) streams: &'a Streams,
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) epoch: u32,
    pub(super) clocks: &'a Clocks,
}

impl Launch {
    pub(super) fn new() -> Launch {
        Launch {
            info: None,
            blocks: Vec::new(),
            segment: 0,
            first_of_launch: 1,
            first_of_block: 1,
            first_unordered: 1,
            first_open: 1,
            clocks: Clocks::default(),
        }
    }

    pub(super) fn begin(&mut self, info: LaunchInfo) {
        self.info = Some(Arc::new(info));
        self.blocks.clear();
        self.segment += 1;
        self.first_of_launch = self.segment;
        self.first_of_block = self.segment;
    }

    /// A copy or fill begins: accesses of the host's, as of one thread.
    pub(super) fn begin_transfer(&mut self) {
        self.segment += 1;
        self.first_of_launch = self.segment;
        self.first_of_block = self.segment;
    }

    /// Which earlier operations matter to the one that has begun.
    pub(super) fn set_order(&mut self, first_unordered: u32, first_open: u32) {
        self.first_unordered = first_unordered;
        self.first_open = first_open.min(self.first_of_launch);
    }

    pub(super) fn begin_block(&mut self, index: [u32; 3]) {
        self.segment += 1;
        self.first_of_block = self.segment;
        self.blocks.push((self.segment, index));
    }

    pub(super) fn barrier(&mut self) {
        self.segment += 1;
    }

    pub(super) fn end(&mut self) {
        self.info = None;
    }

    /// True when the numbers of segments come near their end; see [`Launch::restart_segments`].
    pub(super) fn is_late(&self) -> bool {
        self.segment > u32::MAX / 2
    }

    /// Starts numbering anew. Valid when no shadow memory holds a segment.
    pub(super) fn restart_segments(&mut self) {
        self.segment = 0;
        self.clocks = Clocks::default();
    }

    pub(super) fn segment(&self) -> u32 {
        self.segment
    }

    pub(super) fn info(&self) -> Option<Arc<LaunchInfo>> {
        self.info.clone()
    }

    #[inline]
    pub(super) fn now<'a>(&'a self, streams: &'a Streams, thread: u32) -> Now<'a> {
        debug_assert!(thread < 1024, "a shadow record has five bits for the warp");
        let (warp, lane) = (thread / LANES as u32, thread % LANES as u32);
        Now {
            segment: self.segment,
            first_of_launch: self.first_of_launch,
            first_of_block: self.first_of_block,
            first_unordered: self.first_unordered,
            first_open: self.first_open,
            streams,
            warp,
            lane,
            epoch: self.clocks.epoch(self.segment, warp as usize, lane as usize),
            clocks: &self.clocks,
        }
    }

    /// A thread of the present block.
    pub(super) fn actor(&self, thread: u32) -> Actor {
        self.actor_at(self.segment, thread)
    }

    /// A thread of the block to which a segment of this launch belongs.
    pub(super) fn actor_at(&self, segment: u32, thread: u32) -> Actor {
        let Some(info) = &self.info else { return Actor::Host };
        let following = self.blocks.partition_point(|(first, _)| *first <= segment);
        let block = if following == 0 { [0; 3] } else { self.blocks[following - 1].1 };
        let [width, height, _] = info.block.map(|extent| extent.max(1));
        Actor::Thread { block, thread: [thread % width, thread / width % height, thread / width / height] }
    }
}
