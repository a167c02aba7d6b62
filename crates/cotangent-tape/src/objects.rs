//! The side lane: values that are more than bytes. They stay in memory, in order, and are destroyed when the lane is
//! rewound below them.

use std::any::Any;
use std::ffi::c_void;

use crate::error::Error;

/// A stack of owned values.
#[derive(Default)]
pub(crate) struct Objects {
    stack: Vec<Box<dyn Any + Send>>,
}

impl Objects {
    pub(crate) fn len(&self) -> usize {
        self.stack.len()
    }

    pub(crate) fn push<T: Send + 'static>(&mut self, value: T) {
        self.stack.push(Box::new(value));
    }

    /// The value on top, if it is of this type; otherwise it stays.
    pub(crate) fn pop<T: Send + 'static>(&mut self) -> Result<T, Error> {
        if !self.stack.last().is_some_and(|top| top.is::<T>()) {
            return Err(Error::Object);
        }
        let top = self.stack.pop().ok_or(Error::Object)?;
        top.downcast::<T>().map(|value| *value).map_err(|_| Error::Object)
    }

    /// The value on top, if it is of this type.
    pub(crate) fn top<T: Send + 'static>(&mut self) -> Result<&mut T, Error> {
        self.stack.last_mut().and_then(|top| top.downcast_mut::<T>()).ok_or(Error::Object)
    }

    /// Destroys all but the first `count`, the last one first.
    pub(crate) fn truncate(&mut self, count: usize) {
        while self.stack.len() > count {
            self.stack.pop();
        }
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        self.truncate(0);
    }
}

/// An object of another language: its address, what stands for its type, and what destroys it.
#[derive(Debug)]
pub(crate) struct Foreign {
    address: *mut c_void,
    kind: usize,
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: whoever pushes a foreign object promises that it may be destroyed on the thread that uses the lane.
unsafe impl Send for Foreign {}

impl Foreign {
    /// # Safety
    /// `destroy` may be called once with `address`, on the thread that has the lane.
    pub(crate) unsafe fn new(
        address: *mut c_void,
        kind: usize,
        destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> Self {
        Self { address, kind, destroy }
    }

    /// What stands for its type.
    pub(crate) fn kind(&self) -> usize {
        self.kind
    }

    pub(crate) fn address(&self) -> *mut c_void {
        self.address
    }

    /// Gives the object to the caller, who destroys it from now on.
    pub(crate) fn release(mut self) -> *mut c_void {
        self.destroy = None;
        self.address
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy.take() {
            // SAFETY: promised to `new`, and `take` makes it once.
            unsafe { destroy(self.address) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    struct Noted(u32, Arc<Mutex<Vec<u32>>>);

    impl Drop for Noted {
        fn drop(&mut self) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    #[test]
    fn objects_are_destroyed_once_and_last_in_first_out() {
        let destroyed = Arc::new(Mutex::new(Vec::new()));
        let mut objects = Objects::default();
        for i in 0..4 {
            objects.push(Noted(i, Arc::clone(&destroyed)));
        }
        drop(objects.pop::<Noted>().unwrap());
        objects.truncate(2);
        assert_eq!(*destroyed.lock().unwrap(), [3, 2]);
        drop(objects);
        assert_eq!(*destroyed.lock().unwrap(), [3, 2, 1, 0]);
    }

    #[test]
    fn an_object_of_another_type_stays() {
        let mut objects = Objects::default();
        assert_eq!(objects.pop::<String>(), Err(Error::Object));
        objects.push(String::from("a"));
        assert_eq!(objects.pop::<Vec<u8>>(), Err(Error::Object));
        assert_eq!(objects.pop::<String>().unwrap(), "a");
    }
}
