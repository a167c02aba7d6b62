//! Typed indexes and the vectors they index.
//!
//! A `LocalId` cannot be used where a `FunctionId` is meant, and a side table is a plain vector.

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// A typed index: a number that only indexes vectors made for it.
pub trait Id: Copy + Eq + Ord + Hash + fmt::Debug {
    /// Makes the id of the element at `index`.
    fn new(index: usize) -> Self;
    /// The position of the element.
    fn index(self) -> usize;
}

/// Declares an id type: `id_type!(/// What it names. LocalId);`
#[macro_export]
macro_rules! id_type {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $crate::index::Id for $name {
            fn new(index: usize) -> Self {
                $name(u32::try_from(index).expect("fewer than four billion elements"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

/// A vector indexed by a typed id.
#[derive(Clone, PartialEq, Eq)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    marker: PhantomData<I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty vector.
    pub fn new() -> Self {
        IdVec { items: Vec::new(), marker: PhantomData }
    }

    /// Appends an element and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::new(self.items.len() - 1)
    }

    /// Drops the items from a position on; their ids mean nothing any more.
    pub fn truncate(&mut self, length: usize) {
        self.items.truncate(length);
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The element, if the id is in range.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The elements in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The elements in order, mutable.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Ids and elements in order.
    pub fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(index, item)| (I::new(index), item))
    }

    /// All ids in order.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::new)
    }
}

impl<I: Id, T> Default for IdVec<I, T> {
    fn default() -> Self {
        IdVec::new()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(iter: It) -> Self {
        IdVec { items: iter.into_iter().collect(), marker: PhantomData }
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

/// A vector of large elements indexed by a typed id. Copies of it share an element until one of them changes it.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedVec<I, T> {
    items: IdVec<I, Arc<T>>,
}

impl<I: Id, T: Clone> SharedVec<I, T> {
    /// An empty vector.
    pub fn new() -> Self {
        SharedVec { items: IdVec::new() }
    }

    /// Appends an element and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(Arc::new(item))
    }

    /// Puts an element in the place of another. An assignment would copy that one first, where it is shared.
    pub fn set(&mut self, id: I, item: T) {
        self.items[id] = Arc::new(item);
    }

    /// Drops the items from a position on; their ids mean nothing any more.
    pub fn truncate(&mut self, length: usize) {
        self.items.truncate(length);
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The element, if the id is in range.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id).map(|item| &**item)
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator + Clone {
        self.items.iter().map(|item| &**item)
    }

    /// The elements in order, mutable. Those of copies stay as they are.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut().map(Arc::make_mut)
    }

    /// Ids and elements in order.
    pub fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.items.entries().map(|(id, item)| (id, &**item))
    }

    /// All ids in order.
    pub fn ids(&self) -> impl Iterator<Item = I> + use<I, T> {
        self.items.ids()
    }
}

impl<I: Id, T: Clone> Default for SharedVec<I, T> {
    fn default() -> Self {
        SharedVec::new()
    }
}

impl<I: Id, T> Index<I> for SharedVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id]
    }
}

impl<I: Id, T: Clone> IndexMut<I> for SharedVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        Arc::make_mut(&mut self.items[id])
    }
}

impl<I: Id, T> FromIterator<T> for SharedVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(iter: It) -> Self {
        SharedVec { items: iter.into_iter().map(Arc::new).collect() }
    }
}

impl<I, T: fmt::Debug> fmt::Debug for SharedVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    #[test]
    fn copies_share_what_they_do_not_change() {
        let numbers: SharedVec<FileId, String> = ["one", "two"].map(str::to_owned).into_iter().collect();
        let mut copy = numbers.clone();
        copy[FileId::new(1)].push_str(" and a half");
        assert_eq!(numbers.iter().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(copy.iter().collect::<Vec<_>>(), ["one", "two and a half"]);
        assert!(std::ptr::eq(&numbers[FileId::new(0)], &copy[FileId::new(0)]));
    }
}
