//! Which threads are watched, for BPF programs: from the number of a thread to its place in other maps.
//!
//! Every switch and wake-up of the host asks this, and most threads are not watched. A hash map takes a call and a hash each time. So
//! there is an array in front of it, by the lower bits of the number, which the kernel reads without a call: a slot has one thread, and
//! a bit that says whether the hash map has others of that slot.

use std::io;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use crate::assembler::{Assembler, Comparison, Label, Operation, R0, R1, R2, R3, R10, Size};
use crate::sys::{Map, MapKind, SharedArray};

use Comparison::Equal;
use Operation::{And, Move, ShiftRight};
use Size::{Double, Word};

/// A power of two.
const SLOTS: u32 = 1 << 16;
/// Others of this slot are in the hash map. The place is below, the number of the thread in the upper half.
const HAS_OTHERS: u64 = 1 << 30;
const PLACE_MASK: i32 = 0xffff;

/// The places of threads.
#[derive(Debug)]
pub(crate) struct Index {
    slots: SharedArray,
    others: Map<1>,
}

impl Index {
    /// An index of up to `threads` threads, at most 65535.
    ///
    /// # Errors
    /// Those of bpf(2).
    pub(crate) fn create(threads: u32) -> io::Result<Index> {
        Ok(Index { slots: SharedArray::create(1, SLOTS)?, others: Map::create(MapKind::Hash, 1, threads)? })
    }

    /// Gives a thread its place.
    ///
    /// # Errors
    /// Those of bpf(2).
    pub(crate) fn set(&self, tid: u32, place: u64) -> io::Result<()> {
        let slot = self.slots.word((tid % SLOTS) as usize, 0);
        let own = u64::from(tid) << 32 | place;
        let is_free = |word: u64| word >> 32 == 0 || word >> 32 == u64::from(tid);
        let taken = slot.fetch_update(AcqRel, Acquire, |word| is_free(word).then_some(own | word & HAS_OTHERS));
        if taken.is_err() {
            self.others.set([tid], &[place])?;
            slot.fetch_or(HAS_OTHERS, Relaxed);
        }
        Ok(())
    }

    /// Writes: `R1` = the place of the thread whose number is in `R2`; jumps to `none` if it has none. The number stays at `key` on the
    /// stack, `slot` is a word there that is used.
    pub(crate) fn find(&self, p: &mut Assembler, key: i16, slot: i16, none: Label) {
        let (found, done) = (p.label(), p.label());
        p.store(Word, R10, key, R2);
        p.number(And, R2, SLOTS as i32 - 1);
        p.store(Word, R10, slot, R2);
        p.look_up(self.slots.descriptor(), slot);
        p.jump_if(R0, Equal, 0, none);
        p.load(Double, R1, R0, 0);
        p.jump_if(R1, Equal, 0, none);
        p.load(Word, R2, R10, key);
        p.register(Move, R3, R1);
        p.number(ShiftRight, R3, 32);
        p.jump_if_register(R3, Equal, R2, found);
        p.number(And, R1, HAS_OTHERS as i32);
        p.jump_if(R1, Equal, 0, none);
        p.look_up(self.others.descriptor(), key);
        p.jump_if(R0, Equal, 0, none);
        p.load(Double, R1, R0, 0);
        p.jump(done);
        p.place(found);
        p.number(And, R1, PLACE_MASK);
        p.place(done);
    }

    /// Writes: the thread whose number is at `key` on the stack gets the place at `value`, a word of 64 bits there. It is in the hash
    /// map until this process gives it its slot. `slot` is a word that is used.
    pub(crate) fn add(&self, p: &mut Assembler, key: i16, value: i16, slot: i16) {
        let end = p.label();
        p.update(self.others.descriptor(), key, value);
        p.load(Word, R2, R10, key);
        p.number(And, R2, SLOTS as i32 - 1);
        p.store(Word, R10, slot, R2);
        p.look_up(self.slots.descriptor(), slot);
        p.jump_if(R0, Equal, 0, end);
        p.number(Move, R1, HAS_OTHERS as i32);
        p.fetch_and_or(R0, 0, R1);
        p.place(end);
    }
}
