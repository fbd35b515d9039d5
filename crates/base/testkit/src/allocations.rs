//! Allocators that count, for tests that bound allocations. Both pass every call to the system's allocator.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static REQUESTED_OCTETS: Cell<u64> = const { Cell::new(0) };
    static HELD_OCTETS: Cell<i64> = const { Cell::new(0) };
    static IS_EXCLUDED: Cell<bool> = const { Cell::new(false) };
}

static PROCESS_COUNT: AtomicU64 = AtomicU64::new(0);
static PROCESS_HELD_OCTETS: AtomicI64 = AtomicI64::new(0);

/// An allocator that counts the allocations of each thread. All counts stay zero unless it is the global allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

impl CountingAllocator {
    /// Returns the number of allocations and reallocations of this thread.
    #[must_use]
    pub fn count() -> u64 {
        COUNT.try_with(Cell::get).unwrap_or(0)
    }

    /// Returns the octets that this thread has requested, those that it freed since included.
    #[must_use]
    pub fn requested_octets() -> u64 {
        REQUESTED_OCTETS.try_with(Cell::get).unwrap_or(0)
    }

    /// Returns the octets that this thread has requested minus those that it has freed.
    #[must_use]
    pub fn held_octets() -> i64 {
        HELD_OCTETS.try_with(Cell::get).unwrap_or(0)
    }

    fn add(count: u64, requested_octets: usize, freed_octets: usize) {
        // the counters of an ending thread may be gone already
        let _ = COUNT.try_with(|cell| cell.set(cell.get() + count));
        let _ = REQUESTED_OCTETS.try_with(|cell| cell.set(cell.get() + requested_octets as u64));
        let _ = HELD_OCTETS.try_with(|cell| cell.set(cell.get() + requested_octets as i64 - freed_octets as i64));
    }
}

/// An allocator that counts the allocations of all threads together. All counts stay zero unless it is the global allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessCountingAllocator;

impl ProcessCountingAllocator {
    /// Excludes this thread from the counts: usually that of the test itself.
    pub fn exclude_this_thread() {
        IS_EXCLUDED.set(true);
    }

    /// Returns the number of allocations and reallocations of the threads that are not excluded.
    #[must_use]
    pub fn count() -> u64 {
        PROCESS_COUNT.load(Ordering::Relaxed)
    }

    /// Returns the octets that the threads that are not excluded have requested minus those that they have freed.
    #[must_use]
    pub fn held_octets() -> i64 {
        PROCESS_HELD_OCTETS.load(Ordering::Relaxed)
    }

    fn add(count: u64, requested_octets: usize, freed_octets: usize) {
        if !IS_EXCLUDED.try_with(Cell::get).unwrap_or(false) {
            PROCESS_COUNT.fetch_add(count, Ordering::Relaxed);
            PROCESS_HELD_OCTETS.fetch_add(requested_octets as i64 - freed_octets as i64, Ordering::Relaxed);
        }
    }
}

macro_rules! impl_global_alloc {
    ($allocator:ty) => {
        // SAFETY: every call is passed to the system's allocator with the arguments it came with, so that its guarantees
        // hold here; counting touches atomics and thread-locals without destructors, and allocates nothing.
        unsafe impl GlobalAlloc for $allocator {
            unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
                <$allocator>::add(1, layout.size(), 0);
                // SAFETY: the caller's promise about `layout` is passed on.
                unsafe { System.alloc(layout) }
            }

            unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
                <$allocator>::add(0, 0, layout.size());
                // SAFETY: the caller's promise about `block` and `layout` is passed on.
                unsafe { System.dealloc(block, layout) }
            }

            unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
                <$allocator>::add(1, size, layout.size());
                // SAFETY: the caller's promise about all three is passed on.
                unsafe { System.realloc(block, layout, size) }
            }
        }
    };
}

impl_global_alloc!(CountingAllocator);
impl_global_alloc!(ProcessCountingAllocator);
