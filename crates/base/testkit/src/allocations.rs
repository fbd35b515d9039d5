//! An allocator that counts; tests that count allocations have this file as a module of theirs.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting each thread's allocations for [`CountingAllocator::count`].
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

impl CountingAllocator {
    /// Allocations and reallocations of this thread until now. Zero for ever where another allocator is the global one.
    #[must_use]
    pub fn count() -> u64 {
        COUNT.try_with(Cell::get).unwrap_or(0)
    }
}

fn note() {
    // a thread that is ending has no count any more
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed to the system's allocator with the arguments it came with, so that its guarantees are
// ours; counting touches only a thread-local number that needs no allocation.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise about `block` and `layout` is passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note();
        // SAFETY: the caller's promise about all three is passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}
