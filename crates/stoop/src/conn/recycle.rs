//! Heads in boxes that are used again: an exchange allocates none while its thread has one.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use stoop_proto::ResponseHead;

/// Boxes of each kind that a thread keeps.
const KEPT_MAX: usize = 64;

/// Something whose memory can serve again.
pub(crate) trait Recycled: Sized + 'static {
    fn empty() -> Self;
    fn clear(&mut self);
    fn free_list<R>(with: impl FnOnce(&mut Vec<Box<Self>>) -> R) -> Option<R>;
}

/// The boxes themselves are kept: they are what is handed out again.
pub(crate) type FreeList<T> = RefCell<Vec<Box<T>>>;

thread_local! {
    static RESPONSES: FreeList<ResponseHead> = const { RefCell::new(Vec::new()) };
}

impl Recycled for ResponseHead {
    fn empty() -> Self {
        Self::default()
    }
    fn clear(&mut self) {
        self.clear();
    }
    fn free_list<R>(with: impl FnOnce(&mut Vec<Box<Self>>) -> R) -> Option<R> {
        RESPONSES.try_with(|free_list| with(&mut free_list.borrow_mut())).ok()
    }
}

/// A box that goes back to its thread's free_list, not to the allocator.
pub(crate) struct Recycle<T: Recycled>(Option<Box<T>>);

impl<T: Recycled> Recycle<T> {
    #[inline]
    pub(crate) fn new() -> Self {
        let shelved = T::free_list(Vec::pop).flatten();
        Self(Some(shelved.unwrap_or_else(|| Box::new(T::empty()))))
    }

    pub(crate) fn from(value: T) -> Self {
        Self(Some(Box::new(value)))
    }
}

impl<T: Recycled> Deref for Recycle<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().expect("a box is only taken when it is dropped")
    }
}

impl<T: Recycled> DerefMut for Recycle<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_deref_mut().expect("a box is only taken when it is dropped")
    }
}

impl<T: Recycled> Drop for Recycle<T> {
    #[inline]
    fn drop(&mut self) {
        let Some(mut value) = self.0.take() else { return };
        value.clear();
        T::free_list(|free_list| {
            if free_list.len() < KEPT_MAX {
                free_list.push(value);
            }
        });
    }
}

impl<T: Recycled + Clone> Clone for Recycle<T> {
    fn clone(&self) -> Self {
        Self::from(T::clone(self))
    }
}
