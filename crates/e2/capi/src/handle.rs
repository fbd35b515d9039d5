//! Handles: numbers that name objects, so that a handle that was never valid, or whose object was freed, is recognized.
//!
//! A handle is the number of its table, the place of its object in the table, and the generation of that place; so a handle of
//! another type is recognized, too. Looking an object up takes no lock and
//! allocates nothing. The tables are the only state of the process that the instances of this library share.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwapOption, Guard};

use crate::status::{FERRIC_ERROR_CALLBACK, FERRIC_ERROR_HANDLE, FERRIC_ERROR_LIMIT, Failure};

/// The most objects of a type that exist at a time.
pub const FERRIC_MAX_OBJECTS: usize = 1024;

/// The pause of [`Table::remove`] between two looks whether the object is still in use.
const PAUSE: Duration = Duration::from_micros(200);

thread_local! {
    /// The number of callbacks that are running on this thread.
    static CALLBACKS: Cell<u32> = const { Cell::new(0) };
}

/// Marks a callback on this thread, until it is dropped.
pub struct InCallback(());

impl InCallback {
    pub fn enter() -> Self {
        CALLBACKS.set(CALLBACKS.get() + 1);
        InCallback(())
    }

    /// Refuses a call that waits for the end of a callback, if it is made from one.
    pub fn refuse() -> Result<(), Failure> {
        if CALLBACKS.get() == 0 { Ok(()) } else { Err(Failure::code(FERRIC_ERROR_CALLBACK)) }
    }
}

impl Drop for InCallback {
    fn drop(&mut self) {
        CALLBACKS.set(CALLBACKS.get() - 1);
    }
}

/// An object with the generation of its place.
pub struct Entry<T> {
    generation: u32,
    pub object: T,
}

struct Place<T> {
    /// The generation of the next object.
    generation: AtomicU32,
    entry: ArcSwapOption<Entry<T>>,
}

struct Places<T> {
    places: Box<[Place<T>]>,
    free: Mutex<Vec<u32>>,
}

/// The objects of a type.
pub struct Table<T> {
    /// The number of the table, by which handles of different types differ: 1 to 255.
    number: u8,
    places: OnceLock<Places<T>>,
}

/// The bits of the place in a handle: below the number of the table, above the generation.
const PLACE_BITS: u32 = 24;

impl<T> Table<T> {
    pub const fn new(number: u8) -> Self {
        Table { number, places: OnceLock::new() }
    }

    /// The handle of a place in a generation.
    fn handle(&self, place: u32, generation: u32) -> u64 {
        u64::from(self.number) << (32 + PLACE_BITS) | u64::from(place) << 32 | u64::from(generation)
    }

    /// The place that a handle names; `None` if it is one of another table.
    fn place(&self, handle: u64) -> Option<u32> {
        let place = (handle >> 32) as u32;
        (place >> PLACE_BITS == u32::from(self.number)).then_some(place & ((1 << PLACE_BITS) - 1))
    }

    fn places(&self) -> &Places<T> {
        self.places.get_or_init(|| Places {
            places: (0..FERRIC_MAX_OBJECTS)
                .map(|_| Place { generation: AtomicU32::new(1), entry: ArcSwapOption::empty() })
                .collect(),
            free: Mutex::new((0..FERRIC_MAX_OBJECTS as u32).rev().collect()),
        })
    }

    /// Adds an object, and returns its handle, which is never 0.
    pub fn insert(&self, object: T) -> Result<u64, Failure> {
        let places = self.places();
        let place = places.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let place = place.ok_or_else(|| {
            Failure::new(
                FERRIC_ERROR_LIMIT,
                format_args!("there are {FERRIC_MAX_OBJECTS} objects of this type: free some"),
            )
        })?;
        let Place { generation, entry } = &places.places[place as usize];
        let generation = generation.load(Ordering::Relaxed);
        entry.store(Some(Arc::new(Entry { generation, object })));
        Ok(self.handle(place, generation))
    }

    /// Returns the object of a handle, which is not freed while the guard exists.
    pub fn get(&self, handle: u64) -> Result<Guard<Option<Arc<Entry<T>>>>, Failure> {
        let places = self.places.get().zip(self.place(handle));
        let place = places.and_then(|(places, place)| places.places.get(place as usize));
        let guard = place.ok_or(Failure::code(FERRIC_ERROR_HANDLE))?.entry.load();
        match &*guard {
            Some(entry) if entry.generation == handle as u32 => Ok(guard),
            _ => Err(Failure::code(FERRIC_ERROR_HANDLE)),
        }
    }

    /// Removes the object of a handle. Waits until no other thread uses it, so that a thread that only looks objects up never
    /// frees one.
    pub fn remove(&self, handle: u64) -> Result<T, Failure> {
        InCallback::refuse()?;
        let guard = self.get(handle)?;
        let Some(current) = &*guard else { return Err(Failure::code(FERRIC_ERROR_HANDLE)) };
        let (places, at) = (self.places(), self.place(handle).ok_or(Failure::code(FERRIC_ERROR_HANDLE))?);
        let Place { generation, entry } = &places.places[at as usize];
        // of two threads that remove the same object, one succeeds
        let previous = entry.compare_and_swap(current, None);
        if !previous.as_ref().is_some_and(|previous| Arc::ptr_eq(previous, current)) {
            return Err(Failure::code(FERRIC_ERROR_HANDLE));
        }
        let mut owned = Arc::clone(current);
        drop((previous, guard));
        let object = loop {
            match Arc::try_unwrap(owned) {
                Ok(entry) => break entry.object,
                Err(shared) => owned = shared,
            }
            std::thread::sleep(PAUSE);
        };
        // 0 would make the first handle 0
        let next = generation.load(Ordering::Relaxed).wrapping_add(1).max(1);
        generation.store(next, Ordering::Relaxed);
        places.free.lock().unwrap_or_else(PoisonError::into_inner).push(at);
        Ok(object)
    }
}

impl<T> Table<Arc<T>> {
    /// Returns the object of a handle for a call that may wait: the handle can be freed meanwhile.
    pub fn share(&self, handle: u64) -> Result<Arc<T>, Failure> {
        let guard = self.get(handle)?;
        guard.as_ref().map(|entry| Arc::clone(&entry.object)).ok_or(Failure::code(FERRIC_ERROR_HANDLE))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn code<T>(result: Result<T, Failure>) -> Option<String> {
        result.err().map(|failure| format!("{failure:?}"))
    }

    #[test]
    fn freed_handle_is_recognized() {
        let table = Table::new(1);
        assert!(table.get(0).is_err());
        let first = table.insert("first").unwrap();
        assert_eq!(table.get(first).unwrap().as_ref().unwrap().object, "first");
        assert_eq!(table.remove(first).unwrap(), "first");
        let second = table.insert("second").unwrap();
        assert_ne!(first, second, "the place is the same, its generation differs");
        assert!(table.get(first).is_err());
        assert!(table.remove(first).is_err());
        assert_eq!(table.get(second).unwrap().as_ref().unwrap().object, "second");
        let other: Table<&str> = Table::new(2);
        let of_another_type = other.insert("other").unwrap();
        for handle in [0, u64::MAX, second + (1 << 32), second ^ 1, of_another_type] {
            assert!(table.get(handle).is_err(), "{handle:#x}");
        }
    }

    #[test]
    fn full_table_refuses_objects() {
        let table = Table::new(1);
        let handles: Vec<u64> = (0..FERRIC_MAX_OBJECTS).map(|number| table.insert(number).unwrap()).collect();
        assert!(code(table.insert(0)).is_some());
        assert_eq!(table.remove(handles[5]).unwrap(), 5);
        assert!(table.insert(0).is_ok());
    }

    #[test]
    fn removal_waits_for_users() {
        static TABLE: Table<AtomicBool> = Table::new(1);
        let handle = TABLE.insert(AtomicBool::new(false)).unwrap();
        let guard = TABLE.get(handle).unwrap();
        let removal = thread::spawn(move || TABLE.remove(handle).unwrap().into_inner());
        while TABLE.get(handle).is_ok() {
            thread::yield_now();
        }
        // the object is no longer found, and still exists
        guard.as_ref().unwrap().object.store(true, Ordering::Relaxed);
        drop(guard);
        assert!(removal.join().unwrap());
    }

    #[test]
    fn one_of_two_removals_succeeds() {
        static TABLE: Table<u32> = Table::new(1);
        for number in 0..200 {
            let handle = TABLE.insert(number).unwrap();
            let other = thread::spawn(move || TABLE.remove(handle).is_ok());
            let here = TABLE.remove(handle).is_ok();
            assert!(here ^ other.join().unwrap());
        }
    }

    #[test]
    fn removal_in_a_callback_is_refused() {
        let table = Table::new(1);
        let handle = table.insert(()).unwrap();
        let callback = InCallback::enter();
        assert!(table.remove(handle).is_err());
        drop(callback);
        assert!(table.remove(handle).is_ok());
    }
}
