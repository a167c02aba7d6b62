//! Shadow memory of one region: its granules, in pages that are made when they are first touched.
//!
//! A page starts with granules of four bytes, and changes to granules of one byte at its first access that is
//! smaller or not aligned, so that neighbouring `char`s of different threads are no race. Records of earlier
//! launches are not cleared: they carry the number of their segment.

use std::ops::Range;

use super::granule::Granule;

/// The granules of a region, by offset from the region's origin.
#[derive(Default)]
pub(super) struct Shadow {
    pages: Vec<Option<Page>>,
}

struct Page {
    /// Log2 of the granule's size: 2, or 0 after the page was split.
    shift: u32,
    granules: Box<[Granule]>,
}

const PAGE_SHIFT: u32 = 12;
const PAGE_SIZE: usize = 1 << PAGE_SHIFT;

impl Shadow {
    /// Calls `visit` with each granule that the range touches, in order.
    /// `allocated` counts the bytes of all pages.
    #[inline]
    pub(super) fn visit(&mut self, range: Range<usize>, allocated: &mut usize, mut visit: impl FnMut(&mut Granule)) {
        if let Some(granule) = self.single(&range) {
            return visit(granule);
        }
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min((start | (PAGE_SIZE - 1)) + 1);
            let page = self.page(start..end, allocated);
            let base = start & !(PAGE_SIZE - 1);
            let (first, last) = ((start - base) >> page.shift, (end - 1 - base) >> page.shift);
            for granule in &mut page.granules[first..=last] {
                visit(granule);
            }
            start = end;
        }
    }

    /// The granule of a range that is exactly one granule of a page in use: by far the most frequent access.
    #[inline]
    fn single(&mut self, range: &Range<usize>) -> Option<&mut Granule> {
        let page = self.pages.get_mut(range.start >> PAGE_SHIFT)?.as_mut()?;
        let is_whole = range.start & 3 == 0 && range.len() == 4 && page.shift == 2;
        if is_whole { page.granules.get_mut((range.start & (PAGE_SIZE - 1)) >> 2) } else { None }
    }

    /// Gives all pages back. Returns how many bytes they had.
    pub(super) fn clear(&mut self) -> usize {
        let bytes = self.pages.iter().flatten().map(Page::bytes).sum();
        self.pages = Vec::new();
        bytes
    }

    /// The page of a range that lies in one page, with granules small enough for it.
    #[inline]
    fn page(&mut self, range: Range<usize>, allocated: &mut usize) -> &mut Page {
        let index = range.start >> PAGE_SHIFT;
        let whole_granules = (range.start | range.end) & 3 == 0;
        let ready = match self.pages.get(index) {
            Some(Some(page)) => whole_granules || page.shift == 0,
            _ => false,
        };
        if !ready {
            self.prepare(index, whole_granules, allocated);
        }
        self.pages[index].as_mut().expect("prepared above")
    }

    #[cold]
    fn prepare(&mut self, index: usize, whole_granules: bool, allocated: &mut usize) {
        if self.pages.len() <= index {
            self.pages.resize_with(index + 1, || None);
        }
        let page = match self.pages[index].take() {
            Some(page) => {
                *allocated -= page.bytes();
                page.split()
            }
            None => Page::new(if whole_granules { 2 } else { 0 }),
        };
        *allocated += page.bytes();
        self.pages[index] = Some(page);
    }
}

impl Page {
    fn new(shift: u32) -> Page {
        Page { shift, granules: vec![Granule::default(); PAGE_SIZE >> shift].into_boxed_slice() }
    }

    /// The same page with granules of one byte, each with the record of the four bytes it was part of.
    fn split(self) -> Page {
        let copies = 1 << self.shift;
        let granules = self.granules.iter().flat_map(|granule| std::iter::repeat_n(*granule, copies)).collect();
        Page { shift: 0, granules }
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.granules)
    }
}
