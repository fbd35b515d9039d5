//! A byte ring each way in memory that two processes share.
//!
//! The peer may write anything anywhere in this memory at any time. So nothing in here is ever behind a plain reference:
//! the memory is seen as atomic words only, of which every value is a value; octets are copied out before they are
//! examined; each end keeps its own index in its own memory, and believes of the other's only what is possible.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};

use crate::Error;

/// Ring sizes, each way, that an end agrees to.
pub(super) const MIN_RING_OCTETS: usize = 4096;
pub(super) const MAX_RING_OCTETS: usize = 64 * 1024 * 1024;

/// Octets before the rings: the control blocks, on a page of their own.
const HEAD_OCTETS: usize = 4096;
const WORD_OCTETS: usize = size_of::<u64>();

/// Something with a cache line pair to itself: processors fetch two at a time.
#[repr(C, align(128))]
struct Line<T>(T);

/// The shared state of the two ends of a direction.
#[repr(C)]
struct Control {
    /// Octets ever written. Only the writer stores here.
    tail: Line<AtomicU64>,
    /// Octets ever read. Only the reader stores here.
    head: Line<AtomicU64>,
    /// 1 while the reader wants to be rung for. The reader sets it, and the writer takes it.
    asleep: Line<AtomicU32>,
    /// 1 once the reader is gone.
    gone: Line<AtomicU32>,
}

/// The end that made the memory, or the one that it was given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Maker,
    Guest,
}

/// The mapped memory: a page with two [`Control`]s, then the ring from maker to guest, then the one back.
struct Mapping {
    base: NonNull<u8>,
    ring_octets: usize,
}

// SAFETY: the memory belongs to no thread, and everything in it is accessed through atomics.
unsafe impl Send for Mapping {}

impl Mapping {
    fn octets(ring_octets: usize) -> usize {
        HEAD_OCTETS + 2 * ring_octets
    }

    fn new(memfd: &OwnedFd, ring_octets: usize) -> io::Result<Mapping> {
        let octets = Mapping::octets(ring_octets);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so that no memory in use is replaced.
        let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), octets, protection, MapFlags::SHARED, memfd, 0)? };
        let base = NonNull::new(base.cast()).expect("the kernel maps nothing at address 0 unless requested");
        Ok(Mapping { base, ring_octets })
    }

    /// The direction in which `writer` writes.
    fn direction(&self, writer: Side) -> Direction<'_> {
        let at = match writer {
            Side::Maker => 0,
            Side::Guest => 1,
        };
        const { assert!(2 * size_of::<Control>() <= HEAD_OCTETS && align_of::<Control>() <= HEAD_OCTETS) };
        // SAFETY: two `Control`s fit into the page that the mapping begins with, which is aligned to more than they are. They are
        // made of atomic integers, of which every bit pattern is a value, and which others may change behind a reference.
        // The memory stays mapped while `self` is borrowed, and the file beneath it cannot shrink.
        let control = unsafe { self.base.cast::<Control>().add(at).as_ref() };
        let words = self.ring_octets / WORD_OCTETS;
        // SAFETY: the ring lies within the mapping, behind the first page, at a multiple of its size, which is a multiple of a
        // word's. For the rest, as above.
        let words = unsafe {
            let first = self.base.add(HEAD_OCTETS + at * self.ring_octets).cast::<AtomicU64>();
            std::slice::from_raw_parts(first.as_ptr(), words)
        };
        Direction { control, words }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what `new` mapped, and everything that refers into it borrows `self`.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), Mapping::octets(self.ring_octets)) };
        unmapped.expect("what was mapped can be unmapped");
    }
}

/// One direction of a mapping.
#[derive(Clone, Copy)]
struct Direction<'a> {
    control: &'a Control,
    words: &'a [AtomicU64],
}

impl<'a> Direction<'a> {
    fn octets(self) -> usize {
        self.words.len() * WORD_OCTETS
    }

    /// Splits a length at the end of the ring: the word and the octet in it where `index` lies, and the octets up to there.
    fn locate(self, index: u64, octets: usize) -> (&'a [AtomicU64], usize, usize) {
        // The size is a power of two, so that an index which wraps around 2^64 goes on in the right place.
        let start = (index % self.octets() as u64) as usize;
        (&self.words[start / WORD_OCTETS..], start % WORD_OCTETS, octets.min(self.octets() - start))
    }

    /// Copies octets out, from `index` on.
    fn load(self, index: u64, out: &mut [u8]) {
        let (words, skip, before_end) = self.locate(index, out.len());
        let (first, second) = out.split_at_mut(before_end);
        load_run(words, skip, first);
        load_run(self.words, 0, second);
    }

    /// Copies octets in, from `index` on. Others that share a word with them stay.
    fn store(self, index: u64, octets: &[u8]) {
        let (words, skip, before_end) = self.locate(index, octets.len());
        let (first, second) = octets.split_at(before_end);
        store_run(words, skip, first);
        store_run(self.words, 0, second);
    }
}

/// Copies from words that follow one another, the first `skip` octets of the first left out.
fn load_run(mut words: &[AtomicU64], skip: usize, mut out: &mut [u8]) {
    let octets_of = |word: &AtomicU64| word.load(Ordering::Relaxed).to_ne_bytes();
    if skip > 0 && !out.is_empty() {
        let (head, rest) = out.split_at_mut(out.len().min(WORD_OCTETS - skip));
        head.copy_from_slice(&octets_of(&words[0])[skip..skip + head.len()]);
        (words, out) = (&words[1..], rest);
    }
    let (whole, last) = words.split_at(out.len() / WORD_OCTETS);
    let (pieces, tail) = out.as_chunks_mut::<WORD_OCTETS>();
    load_words(whole, pieces);
    if !tail.is_empty() {
        tail.copy_from_slice(&octets_of(&last[0])[..tail.len()]);
    }
}

/// Copies to words that follow one another, the first `skip` octets of the first left as they are.
fn store_run(mut words: &[AtomicU64], skip: usize, mut octets: &[u8]) {
    // No other writer is there, so that nothing comes between the load and the store.
    let merge = |word: &AtomicU64, skip: usize, octets: &[u8]| {
        let mut merged = word.load(Ordering::Relaxed).to_ne_bytes();
        merged[skip..skip + octets.len()].copy_from_slice(octets);
        word.store(u64::from_ne_bytes(merged), Ordering::Relaxed);
    };
    if skip > 0 && !octets.is_empty() {
        let (head, rest) = octets.split_at(octets.len().min(WORD_OCTETS - skip));
        merge(&words[0], skip, head);
        (words, octets) = (&words[1..], rest);
    }
    let (pieces, tail) = octets.as_chunks::<WORD_OCTETS>();
    let (whole, last) = words.split_at(pieces.len());
    store_words(whole, pieces);
    if !tail.is_empty() {
        merge(&last[0], 0, tail);
    }
}

/// From how many words on the processor's own instruction for copying is faster than a loop.
const MANY_WORDS: usize = 64;

fn load_words(words: &[AtomicU64], out: &mut [[u8; WORD_OCTETS]]) {
    assert_eq!(words.len(), out.len());
    if cfg!(target_arch = "x86_64") && words.len() >= MANY_WORDS {
        // SAFETY: as long as each other, and not the same memory: `out` is borrowed alone.
        unsafe { copy_words(words.as_ptr().cast(), out.as_mut_ptr().cast(), words.len()) }
        return;
    }
    for (word, octets) in words.iter().zip(out) {
        *octets = word.load(Ordering::Relaxed).to_ne_bytes();
    }
}

fn store_words(words: &[AtomicU64], octets: &[[u8; WORD_OCTETS]]) {
    assert_eq!(words.len(), octets.len());
    if cfg!(target_arch = "x86_64") && words.len() >= MANY_WORDS {
        // SAFETY: as long as each other, and not the same memory, of which `octets` would be no plain slice. Words may be
        // written behind a shared reference, since they are atomic.
        unsafe { copy_words(octets.as_ptr().cast(), words.as_ptr().cast_mut().cast(), words.len()) }
        return;
    }
    for (word, octets) in words.iter().zip(octets) {
        word.store(u64::from_ne_bytes(*octets), Ordering::Relaxed);
    }
}

/// Copies memory that the peer may write to meanwhile, as far as the compiler knows: to it, this is an instruction like
/// any other, and what it reads is whatever it reads.
///
/// # Safety
///
/// `from` can be read and `to` be written for so many words, and they do not overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_words(from: *const u64, to: *mut u64, count: usize) {
    // SAFETY: the caller's promise; the direction flag is clear on entry, as the ABI has it.
    unsafe {
        std::arch::asm!(
            "rep movsq",
            inout("rcx") count => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_words(_: *const u64, _: *mut u64, _: usize) {
    unreachable!("other processors copy in a loop")
}

/// One end's view of both directions.
pub(super) struct Rings {
    mapping: Mapping,
    side: Side,
    /// Octets that this end has written, published or not. The copy in the shared memory is never read back.
    written: u64,
    /// Octets that the peer had read when last checked.
    known_read: u64,
    /// Octets that this end has read.
    read: u64,
    /// Whether this end has requested a ring and has not seen it taken yet.
    asleep: bool,
}

impl Rings {
    /// Makes the memory, and a descriptor of it for the peer.
    pub(super) fn make(ring_octets: usize) -> io::Result<(Rings, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let memfd = rustix::fs::memfd_create("ferric-link", flags)?;
        rustix::fs::ftruncate(&memfd, Mapping::octets(ring_octets) as u64)?;
        rustix::fs::fcntl_add_seals(&memfd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mapping = Mapping::new(&memfd, ring_octets)?;
        // Both ends sleep at first.
        for writer in [Side::Maker, Side::Guest] {
            mapping.direction(writer).control.asleep.0.store(1, Ordering::SeqCst);
        }
        Ok((Rings::new(mapping, Side::Maker), memfd))
    }

    /// Maps what the peer made, if touching it can never raise a signal.
    pub(super) fn join(memfd: &OwnedFd, ring_octets: usize) -> io::Result<Rings> {
        let octets = Mapping::octets(ring_octets) as u64;
        let is_sealed = rustix::fs::fcntl_get_seals(memfd).is_ok_and(|seals| seals.contains(SealFlags::SHRINK));
        // Not of huge pages, which may be missing when they are touched.
        let is_tmpfs = rustix::fs::fstatfs(memfd)?.f_type == TMPFS_MAGIC;
        if !is_sealed || !is_tmpfs || u64::try_from(rustix::fs::fstat(memfd)?.st_size) != Ok(octets) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the shared memory that the peer offers is not a sealed tmpfs file of the agreed size",
            ));
        }
        Ok(Rings::new(Mapping::new(memfd, ring_octets)?, Side::Guest))
    }

    fn new(mapping: Mapping, side: Side) -> Rings {
        Rings { mapping, side, written: 0, known_read: 0, read: 0, asleep: true }
    }

    fn outgoing(&self) -> Direction<'_> {
        self.mapping.direction(self.side)
    }

    fn incoming(&self) -> Direction<'_> {
        self.mapping.direction(match self.side {
            Side::Maker => Side::Guest,
            Side::Guest => Side::Maker,
        })
    }

    /// Whether so many octets can be [`put`](Self::put). Looks at the peer's index only where its last value does not do.
    pub(super) fn has_room(&mut self, octets: usize) -> bool {
        let free = |rings: &Rings| rings.outgoing().octets() as u64 - rings.written.wrapping_sub(rings.known_read);
        // `flush` reports an impossible index.
        free(self) >= octets as u64 || self.room().is_ok_and(|room| room >= octets)
    }

    /// Octets that can be [`put`](Self::put).
    pub(super) fn room(&mut self) -> Result<usize, Error> {
        let outgoing = self.outgoing();
        // The reader's loads precede its store: octets that it has read may be overwritten.
        let head = outgoing.control.head.0.load(Ordering::Acquire);
        let waiting = self.written.wrapping_sub(head);
        match (outgoing.octets() as u64).checked_sub(waiting) {
            Some(room) => {
                self.known_read = head;
                Ok(room as usize)
            }
            None => Err(Error::SharedMemoryCorrupt),
        }
    }

    /// Writes octets, of which there are no more than there is [`room`](Self::room) for. They are not published yet.
    pub(super) fn put(&mut self, octets: &[u8]) {
        self.outgoing().store(self.written, octets);
        self.written = self.written.wrapping_add(octets.len() as u64);
    }

    /// Publishes the octets to the peer; returns whether the peer sleeps and must be rung for, once.
    pub(super) fn publish(&self) -> bool {
        let control = self.outgoing().control;
        control.tail.0.store(self.written, Ordering::Release);
        // Either the reader, which sets the flag before it looks at the index for the last time, sees the new index; or we see
        // the flag.
        fence(Ordering::SeqCst);
        control.asleep.0.load(Ordering::Relaxed) != 0 && control.asleep.0.swap(0, Ordering::Relaxed) != 0
    }

    /// Whether the peer has let the memory go.
    pub(super) fn is_reader_gone(&self) -> bool {
        self.outgoing().control.gone.0.load(Ordering::Relaxed) != 0
    }

    /// Marks this end as no longer reading.
    pub(super) fn leave(&self) {
        self.incoming().control.gone.0.store(1, Ordering::Relaxed);
    }

    fn waiting(&self) -> Result<usize, Error> {
        let incoming = self.incoming();
        let tail = incoming.control.tail.0.load(Ordering::Acquire);
        let waiting = tail.wrapping_sub(self.read);
        if waiting > incoming.octets() as u64 { Err(Error::SharedMemoryCorrupt) } else { Ok(waiting as usize) }
    }

    /// Whether there is nothing to [`take`](Self::take).
    pub(super) fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.waiting()? == 0)
    }

    /// Copies out what waits, as far as there is room for it; returns how many octets.
    pub(super) fn take(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        let count = self.waiting()?.min(out.len());
        if count > 0 {
            let incoming = self.incoming();
            incoming.load(self.read, &mut out[..count]);
            let read = self.read.wrapping_add(count as u64);
            incoming.control.head.0.store(read, Ordering::Release);
            self.read = read;
        }
        Ok(count)
    }

    /// Whether the peer took the flag since we [slept](Self::sleep): then it has rung, or is about to.
    pub(super) fn is_woken(&self) -> bool {
        // The flag is taken before the ring: an end that has received the ring sees it taken.
        self.asleep && self.incoming().control.asleep.0.load(Ordering::Acquire) == 0
    }

    /// The same, true once for each sleep.
    pub(super) fn was_woken(&mut self) -> bool {
        let woken = self.is_woken();
        self.asleep &= !woken;
        woken
    }

    /// Whether this end has requested a ring and has received none since.
    pub(super) fn is_resting(&self) -> bool {
        self.asleep && !self.is_woken()
    }

    /// Requests a ring; returns whether there is indeed nothing to read. Otherwise, continue reading.
    pub(super) fn sleep(&mut self) -> Result<bool, Error> {
        if !self.asleep {
            self.incoming().control.asleep.0.store(1, Ordering::Relaxed);
            self.asleep = true;
        }
        // See `publish`.
        fence(Ordering::SeqCst);
        self.is_empty()
    }
}

#[cfg(test)]
impl Rings {
    /// Sets the tail index, also to invalid values.
    pub(super) fn set_invalid_tail(&self, tail: u64) {
        self.outgoing().control.tail.0.store(tail, Ordering::SeqCst);
    }

    /// Sets the head index, also to invalid values.
    pub(super) fn set_invalid_head(&self, head: u64) {
        self.incoming().control.head.0.store(head, Ordering::SeqCst);
    }
}

/// `TMPFS_MAGIC` of linux/magic.h: where a memfd without huge pages lives.
const TMPFS_MAGIC: rustix::fs::FsWord = 0x0102_1994;

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ring_octets: usize) -> (Rings, Rings) {
        let (maker, memfd) = Rings::make(ring_octets).unwrap();
        let guest = Rings::join(&memfd, ring_octets).unwrap();
        (maker, guest)
    }

    #[test]
    fn records_of_any_size_wrap_around() {
        let (mut writer, mut reader) = pair(MIN_RING_OCTETS);
        let pattern: Vec<u8> = (0..=250).cycle().take(3 * MIN_RING_OCTETS).collect();
        let (mut put, mut got) = (0, 0);
        let mut out = vec![0; MIN_RING_OCTETS];
        for step in 0..20_000_usize {
            let count = writer.room().unwrap().min([1, 7, 8, 9, 63, 64, 1000, 4096][step * 7 % 8]);
            let start = put % 251;
            writer.put(&pattern[start..start + count]);
            put += count;
            if step % 3 == 0 {
                writer.publish();
            }
            let wanted = [5, 8, 13, 800, 4096][step * 3 % 5];
            let count = reader.take(&mut out[..wanted]).unwrap();
            let start = got % 251;
            assert_eq!(out[..count], pattern[start..start + count], "at {got}");
            got += count;
        }
        assert!(got > 100 * MIN_RING_OCTETS, "{got}");
    }

    #[test]
    fn ring_can_be_filled_from_every_position() {
        for begin in 0..20 {
            let (mut writer, mut reader) = pair(MIN_RING_OCTETS);
            let mut out = vec![0; MIN_RING_OCTETS + 1];
            writer.put(&vec![9; begin]);
            writer.publish();
            assert_eq!(reader.take(&mut out).unwrap(), begin);
            assert_eq!(writer.room().unwrap(), MIN_RING_OCTETS);
            let full: Vec<u8> = (0..251).cycle().take(MIN_RING_OCTETS).collect();
            writer.put(&full);
            assert_eq!(writer.room().unwrap(), 0);
            writer.publish();
            assert_eq!(reader.take(&mut out).unwrap(), MIN_RING_OCTETS);
            assert_eq!(out[..MIN_RING_OCTETS], full);
        }
    }

    #[test]
    fn invalid_indices_are_errors() {
        let ring = MIN_RING_OCTETS as u64;
        for invalid in [ring + 1, u64::MAX, 1 << 63, u64::MAX - ring] {
            let (mut maker, mut guest) = pair(MIN_RING_OCTETS);
            maker.set_invalid_tail(invalid);
            guest.set_invalid_head(invalid);
            assert!(matches!(guest.take(&mut [0; 64]), Err(Error::SharedMemoryCorrupt)));
            assert!(matches!(guest.is_empty(), Err(Error::SharedMemoryCorrupt)));
            assert!(matches!(guest.sleep(), Err(Error::SharedMemoryCorrupt)));
            if invalid.wrapping_neg() > ring {
                assert!(matches!(maker.room(), Err(Error::SharedMemoryCorrupt)), "{invalid:#x}");
            }
        }
    }

    #[test]
    fn reader_is_woken_once_per_sleep() {
        let (mut writer, mut reader) = pair(MIN_RING_OCTETS);
        // Both ends sleep at first.
        assert!(!reader.was_woken());
        writer.put(b"x");
        assert!(writer.publish());
        assert!(!writer.publish());
        assert!(reader.was_woken());
        assert!(!reader.was_woken());
        assert!(!reader.sleep().unwrap(), "something waits");
        assert_eq!(reader.take(&mut [0; 8]).unwrap(), 1);
        assert!(reader.sleep().unwrap());
        assert!(writer.publish());
    }

    #[test]
    fn unsealed_or_small_memory_is_refused() {
        let joined = |seals, octets| {
            let memfd = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
            rustix::fs::ftruncate(&memfd, octets).unwrap();
            rustix::fs::fcntl_add_seals(&memfd, seals).unwrap();
            Rings::join(&memfd, MIN_RING_OCTETS).map(drop).map_err(|error| error.kind())
        };
        let octets = Mapping::octets(MIN_RING_OCTETS) as u64;
        assert_eq!(joined(SealFlags::SHRINK, octets), Ok(()));
        assert_eq!(joined(SealFlags::GROW, octets), Err(io::ErrorKind::InvalidData));
        assert_eq!(joined(SealFlags::SHRINK, octets - 1), Err(io::ErrorKind::InvalidData));
        let file = std::fs::File::open("/dev/null").unwrap().into();
        assert_eq!(Rings::join(&file, MIN_RING_OCTETS).err().map(|e| e.kind()), Some(io::ErrorKind::InvalidData));
    }
}
