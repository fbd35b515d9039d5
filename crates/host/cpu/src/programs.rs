//! The BPF programs that measure waits, written at run time for this kernel's tracepoints.
//!
//! A thread waits from the moment that it could run until it does: from its wake-up (`sched_wakeup`, `sched_wakeup_new`), or from the
//! switch that took the CPU from it while it was still runnable (`sched_switch`). Each watched thread has a record in a map; others
//! cost one look-up. A thread that a watched one starts is watched too (`sched_process_fork`).

use crate::assembler::{
    Assembler, Comparison, Function, Instruction, Operation, R0, R1, R2, R3, R4, R6, R7, R8, R9, R10, Register, Size,
};
use std::sync::atomic::Ordering::Relaxed;

use crate::index::Index;
use crate::tracepoints::{Field, Tracepoint, Tracing};
use crate::{Error, sys};

use Comparison::{Equal, Greater, LessOrEqual, NotEqual};
use Operation::{Add, And, Divide, Move, Or, ShiftLeft, ShiftRight, Subtract};
use Size::{Double, Word};

/// Classes of a histogram: the first is that of 0 and 1 us, the class `n` that of 2^n us and more.
pub(crate) const CLASSES: usize = 32;

/// Words of a thread's record.
pub(crate) mod record {
    use super::CLASSES;

    /// When it became runnable, in ns, with bit 0 set if it was preempted; 0 while it does not wait.
    pub(crate) const RUNNABLE_SINCE: usize = 0;
    /// When its last activation began to run.
    pub(crate) const LAST_START: usize = 1;
    /// How often the CPU was taken from it.
    pub(crate) const PREEMPTED: usize = 2;
    /// Waits that a stall of the host voids.
    pub(crate) const STALLS: usize = 3;
    /// The longest wait, in ns.
    pub(crate) const LONGEST: usize = 4;
    /// All waits after wake-ups, in ns.
    pub(crate) const TOTAL: usize = 5;
    /// The number of activations.
    pub(crate) const STARTS: usize = 6;
    /// The thread's period, in ns; 0 if it is not known.
    pub(crate) const PERIOD: usize = 7;
    /// Waits after wake-ups, and after preemptions.
    pub(crate) const WAITS: usize = 8;
    /// When the last activations began.
    pub(crate) const RING: usize = WAITS + 2 * CLASSES;
    /// How late activations of a periodic thread were.
    pub(crate) const LATENESS: usize = RING + RING_LENGTH;
    /// The number of the thread.
    pub(crate) const TID: usize = LATENESS + CLASSES;
    /// The CPU on which it was woken last.
    pub(crate) const WOKEN_ON: usize = TID + 1;
    pub(crate) const WORDS: usize = WOKEN_ON + 1;
    /// A power of two.
    pub(crate) const RING_LENGTH: usize = 32;
}

/// Words of a CPU's record.
pub(crate) mod cpu {
    /// When its last stall ended.
    pub(crate) const STALL_END: usize = 0;
    /// When its last tick was, or when it was idle last: an idle CPU has no ticks.
    pub(crate) const LAST_TICK: usize = 1;
    pub(crate) const STALLS: usize = 2;
    /// All stalls, in ns.
    pub(crate) const TOTAL: usize = 3;
    /// The longest one, in ns.
    pub(crate) const LONGEST: usize = 4;
    pub(crate) const WORDS: usize = 8;
}

/// The period of the ticks by which stalls are noticed: a timer's interrupt on each CPU that is not idle.
pub(crate) const TICK_NS: u64 = 1_000_000;
/// A busy CPU without a tick for so long has stalled: the host did not run it, or it had interrupts disabled. So has an idle CPU that
/// does not run a thread for so long that was woken on it: softirqs keep it for 2 ms at most (`MAX_SOFTIRQ_TIME`).
pub(crate) const STALL_NS: u64 = 3 * TICK_NS;

/// The maps that the programs share with this process.
#[derive(Debug)]
pub(crate) struct Maps {
    /// The place of each watched thread's record.
    pub(crate) places: Index,
    /// A record by place. That of place 0 has the next free place in its first word.
    pub(crate) threads: sys::SharedArray,
    /// A record by CPU.
    pub(crate) cpus: sys::SharedArray,
}

/// So many threads are watched at most, those included that have ended.
pub(crate) const MAX_THREADS: u32 = 4096;

impl Maps {
    /// Creates them.
    ///
    /// # Errors
    /// Those of bpf(2).
    pub(crate) fn create(cpus: usize) -> std::io::Result<Maps> {
        use sys::SharedArray;
        let maps = Maps {
            places: Index::create(MAX_THREADS)?,
            threads: SharedArray::create(record::WORDS, MAX_THREADS)?,
            cpus: SharedArray::create(cpu::WORDS, cpus as u32)?,
        };
        maps.threads.word(0, 0).store(1, Relaxed);
        Ok(maps)
    }

    /// Adds a thread, unless all places are taken.
    ///
    /// # Errors
    /// Those of bpf(2).
    pub(crate) fn watch(&self, tid: u32) -> std::io::Result<Option<usize>> {
        let place = self.threads.word(0, 0).fetch_add(1, Relaxed);
        if place >= u64::from(MAX_THREADS) {
            return Ok(None);
        }
        self.threads.word(place as usize, record::TID).store(tid.into(), Relaxed);
        self.places.set(tid, place).map(|()| Some(place as usize))
    }

    /// The places that are taken.
    pub(crate) fn taken(&self) -> std::ops::Range<usize> {
        1..self.threads.word(0, 0).load(Relaxed).min(MAX_THREADS.into()) as usize
    }
}

/// The tracepoints of the scheduler, with the fields that are read.
#[derive(Debug)]
pub(crate) struct Points {
    pub(crate) wakeup: (u64, WakeupFields),
    pub(crate) wakeup_new: (u64, WakeupFields),
    pub(crate) fork: (u64, Field, Field),
    pub(crate) switch: (u64, SwitchFields),
}

/// The fields of `sched_wakeup` and `sched_wakeup_new`.
#[derive(Debug)]
pub(crate) struct WakeupFields {
    pub(crate) thread: Field,
    pub(crate) target_cpu: Field,
}

/// The fields of `sched_switch`.
#[derive(Debug)]
pub(crate) struct SwitchFields {
    pub(crate) prev: Field,
    pub(crate) prev_state: Field,
    pub(crate) next: Field,
}

impl Points {
    /// Reads them.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the kernel lacks one.
    pub(crate) fn read(tracing: &Tracing) -> Result<Points, Error> {
        let number = |point: &Tracepoint, field: &str| point.field(field, &[4]).cloned();
        let wakeup = tracing.tracepoint("sched/sched_wakeup")?;
        let wakeup_new = tracing.tracepoint("sched/sched_wakeup_new")?;
        let of_wakeup = |point: &Tracepoint| {
            Ok::<_, Error>(WakeupFields { thread: number(point, "pid")?, target_cpu: number(point, "target_cpu")? })
        };
        let fork = tracing.tracepoint("sched/sched_process_fork")?;
        let switch = tracing.tracepoint("sched/sched_switch")?;
        Ok(Points {
            wakeup: (wakeup.id, of_wakeup(&wakeup)?),
            wakeup_new: (wakeup_new.id, of_wakeup(&wakeup_new)?),
            fork: (fork.id, number(&fork, "parent_pid")?, number(&fork, "child_pid")?),
            switch: (
                switch.id,
                SwitchFields {
                    prev: number(&switch, "prev_pid")?,
                    prev_state: switch.field("prev_state", &[4, 8])?.clone(),
                    next: number(&switch, "next_pid")?,
                },
            ),
        })
    }
}

/// The bits of `prev_state` that say why a thread stopped; none: it is still runnable. The next higher one says that it was preempted.
pub(crate) const STATE_MASK: i32 = 0xff;

/// The offset of a word in a record.
fn word(index: usize) -> i16 {
    (8 * index) as i16
}

/// Places on the stack.
const KEY: i16 = -4;
const PLACE: i16 = -8;
const VALUE: i16 = -32;
const KIND: i16 = -16;
const NOW: i16 = -24;

/// `R0` = the record of the thread whose number is in a field; jumps to `none` if it is not watched. The number stays at [`KEY`].
fn find_thread(program: &mut Assembler, maps: &Maps, context: Register, field: &Field, none: crate::assembler::Label) {
    program.load(Word, R2, context, field.offset);
    // an idle CPU's
    program.jump_if(R2, Equal, 0, none);
    maps.places.find(program, KEY, PLACE, none);
    program.store(Word, R10, PLACE, R1);
    program.look_up(maps.threads.descriptor(), PLACE);
    program.jump_if(R0, Equal, 0, none);
}

/// The program of a wake-up.
pub(crate) fn wakeup(maps: &Maps, fields: &WakeupFields) -> Vec<Instruction> {
    let mut program = Assembler::default();
    let end = program.label();
    program.register(Move, R6, R1);
    find_thread(&mut program, maps, R6, &fields.thread, end);
    program.register(Move, R7, R0);
    // a thread that was preempted on its way to sleep waits already
    program.load(Double, R1, R7, word(record::RUNNABLE_SINCE));
    program.jump_if(R1, NotEqual, 0, end);
    program.call(Function::Time);
    program.number(And, R0, -2);
    program.store(Double, R7, word(record::RUNNABLE_SINCE), R0);
    program.load(Word, R1, R6, fields.target_cpu.offset);
    program.store(Double, R7, word(record::WOKEN_ON), R1);
    program.place(end);
    program.exit();
    program.finish()
}

/// The program of a fork: the child of a watched thread is watched.
pub(crate) fn fork(maps: &Maps, parent: &Field, child: &Field) -> Vec<Instruction> {
    let mut program = Assembler::default();
    let end = program.label();
    program.register(Move, R6, R1);
    find_thread(&mut program, maps, R6, parent, end);
    // the next free place, from the record of place 0
    program.store_number(Word, R10, PLACE, 0);
    program.look_up(maps.threads.descriptor(), PLACE);
    program.jump_if(R0, Equal, 0, end);
    program.number(Move, R8, 1);
    program.fetch_and_add(R0, 0, R8);
    program.store(Word, R10, PLACE, R8);
    program.store(Double, R10, VALUE, R8);
    // there is none where all places are taken
    program.look_up(maps.threads.descriptor(), PLACE);
    program.jump_if(R0, Equal, 0, end);
    program.load(Word, R2, R6, child.offset);
    program.store(Word, R10, KEY, R2);
    program.store(Double, R0, word(record::TID), R2);
    maps.places.add(&mut program, KEY, VALUE, PLACE);
    program.place(end);
    program.exit();
    program.finish()
}

/// `class` = the class of `us`, which is lost.
fn classify(program: &mut Assembler, us: Register, class: Register) {
    program.number(Move, class, 0);
    for bits in [16, 8, 4, 2, 1] {
        let smaller = program.label();
        program.jump_if(us, LessOrEqual, (1 << bits) - 1, smaller);
        program.number(ShiftRight, us, bits);
        program.number(Add, class, bits);
        program.place(smaller);
    }
}

/// The program of a switch from one thread to another.
pub(crate) fn switch(maps: &Maps, fields: &SwitchFields) -> Vec<Instruction> {
    let mut program = Assembler::default();
    let p = &mut program;
    let (next, sleeps, end, not_idle) = (p.label(), p.label(), p.label(), p.label());
    p.register(Move, R6, R1);
    // the time, once it is needed: most switches concern nobody
    p.number(Move, R8, 0);
    // a CPU that was idle had no ticks
    p.load(Word, R1, R6, fields.prev.offset);
    p.jump_if(R1, NotEqual, 0, not_idle);
    p.call(Function::Time);
    p.register(Move, R8, R0);
    find_cpu(p, maps, next);
    p.store(Double, R0, word(cpu::LAST_TICK), R8);
    p.jump(next);
    p.place(not_idle);
    // the thread that loses the CPU
    find_thread(p, maps, R6, &fields.prev, next);
    p.register(Move, R7, R0);
    p.call(Function::Time);
    p.register(Move, R8, R0);
    p.load(if fields.prev_state.size == 8 { Double } else { Word }, R1, R6, fields.prev_state.offset);
    p.number(And, R1, STATE_MASK);
    p.jump_if(R1, NotEqual, 0, sleeps);
    p.register(Move, R1, R8);
    p.number(Or, R1, 1);
    p.store(Double, R7, word(record::RUNNABLE_SINCE), R1);
    p.count(R7, word(record::PREEMPTED));
    p.jump(next);
    p.place(sleeps);
    p.store_number(Double, R7, word(record::RUNNABLE_SINCE), 0);
    p.place(next);
    // the thread that gets it
    find_thread(p, maps, R6, &fields.next, end);
    p.register(Move, R7, R0);
    p.load(Double, R9, R7, word(record::RUNNABLE_SINCE));
    p.jump_if(R9, Equal, 0, end);
    p.store_number(Double, R7, word(record::RUNNABLE_SINCE), 0);
    let timed = p.label();
    p.jump_if(R8, NotEqual, 0, timed);
    p.call(Function::Time);
    p.register(Move, R8, R0);
    p.place(timed);
    // a stall that has ended since voids the wait
    find_cpu(p, maps, end);
    p.load(Double, R1, R0, word(cpu::STALL_END));
    let valid = p.label();
    p.jump_if_register(R1, LessOrEqual, R9, valid);
    p.count(R7, word(record::STALLS));
    p.jump(end);
    p.place(valid);
    // R9 = the kind, R8 = the wait; clocks of two CPUs may differ by some nanoseconds
    p.store(Double, R10, NOW, R8);
    p.register(Move, R2, R9);
    p.number(And, R2, -2);
    p.number(And, R9, 1);
    p.store(Double, R10, KIND, R9);
    let (early, known) = (p.label(), p.label());
    p.jump_if_register(R8, LessOrEqual, R2, early);
    p.register(Subtract, R8, R2);
    p.jump(known);
    p.place(early);
    p.number(Move, R8, 0);
    p.place(known);
    // an idle CPU runs a thread at once that is woken on it, unless the host does not run the CPU
    let ran = p.label();
    p.jump_if(R9, NotEqual, 0, ran);
    p.jump_if(R8, LessOrEqual, STALL_NS as i32, ran);
    p.load(Word, R1, R6, fields.prev.offset);
    p.jump_if(R1, NotEqual, 0, ran);
    p.load(Double, R1, R7, word(record::WOKEN_ON));
    p.load(Word, R2, R10, PLACE);
    p.jump_if_register(R1, NotEqual, R2, ran);
    p.count(R7, word(record::STALLS));
    p.load(Double, R1, R10, NOW);
    count_stall(p, R0, R1, R8, end);
    p.place(ran);
    p.load(Double, R1, R7, word(record::LONGEST));
    let shorter = p.label();
    p.jump_if_register(R8, LessOrEqual, R1, shorter);
    p.store(Double, R7, word(record::LONGEST), R8);
    p.place(shorter);
    p.register(Move, R3, R8);
    p.number(Divide, R3, 1000);
    // beyond 2^31 us everything is the last class
    classify_bounded(p, R3, R4);
    p.number(ShiftLeft, R9, 5);
    p.register(Add, R4, R9);
    bump(p, R4, 2 * CLASSES, record::WAITS);
    p.load(Double, R1, R10, KIND);
    p.jump_if(R1, NotEqual, 0, end);
    // an activation: only a wake-up begins one
    p.load(Double, R1, R7, word(record::TOTAL));
    p.register(Add, R1, R8);
    p.store(Double, R7, word(record::TOTAL), R1);
    p.load(Double, R8, R10, NOW);
    p.load(Double, R2, R7, word(record::STARTS));
    p.register(Move, R3, R2);
    p.number(Add, R3, 1);
    p.store(Double, R7, word(record::STARTS), R3);
    p.number(And, R2, record::RING_LENGTH as i32 - 1);
    p.number(ShiftLeft, R2, 3);
    p.register(Move, R1, R7);
    p.register(Add, R1, R2);
    p.store(Double, R1, word(record::RING), R8);
    // R9 = the time since the last one
    p.load(Double, R1, R7, word(record::LAST_START));
    p.store(Double, R7, word(record::LAST_START), R8);
    p.jump_if(R1, Equal, 0, end);
    p.register(Move, R9, R8);
    p.register(Subtract, R9, R1);
    p.load(Double, R1, R7, word(record::PERIOD));
    p.jump_if(R1, Equal, 0, end);
    p.number(Move, R3, 0);
    let in_time = p.label();
    p.jump_if_register(R9, LessOrEqual, R1, in_time);
    p.register(Subtract, R9, R1);
    p.register(Move, R3, R9);
    p.number(Divide, R3, 1000);
    p.place(in_time);
    classify_bounded(p, R3, R4);
    bump(p, R4, CLASSES, record::LATENESS);
    p.place(end);
    p.exit();
    program.finish()
}

/// As [`classify`], for any number.
fn classify_bounded(p: &mut Assembler, us: Register, class: Register) {
    let small = p.label();
    p.register(Move, class, us);
    p.number(ShiftRight, class, 31);
    p.jump_if(class, Equal, 0, small);
    p.number(Move, us, i32::MAX);
    p.place(small);
    classify(p, us, class);
}

/// Counts one in the class `R4` of the histogram at `first`, which has `classes` ones, a power of two.
fn bump(p: &mut Assembler, class: Register, classes: usize, first: usize) {
    // the verifier wants to see the bound
    p.number(And, class, classes as i32 - 1);
    p.number(ShiftLeft, class, 3);
    p.register(Move, R2, R7);
    p.register(Add, R2, class);
    p.count(R2, word(first));
}

/// `R0` = the record of this CPU, whose number is then at [`PLACE`].
fn find_cpu(program: &mut Assembler, maps: &Maps, none: crate::assembler::Label) {
    program.call(Function::Cpu);
    program.store(Word, R10, PLACE, R0);
    program.look_up(maps.cpus.descriptor(), PLACE);
    program.jump_if(R0, Equal, 0, none);
}

/// Counts a stall of a CPU that ends now, and jumps to the end. `R1` and `R2` are lost.
fn count_stall(program: &mut Assembler, cpu: Register, now: Register, length: Register, end: crate::assembler::Label) {
    program.store(Double, cpu, word(cpu::STALL_END), now);
    program.count(cpu, word(cpu::STALLS));
    program.load(Double, R2, cpu, word(cpu::TOTAL));
    program.register(Add, R2, length);
    program.store(Double, cpu, word(cpu::TOTAL), R2);
    program.load(Double, R2, cpu, word(cpu::LONGEST));
    program.jump_if_register(R2, Greater, length, end);
    program.store(Double, cpu, word(cpu::LONGEST), length);
    program.jump(end);
}

/// The program of a tick: notices that ticks were missing.
pub(crate) fn tick(maps: &Maps) -> Vec<Instruction> {
    let mut program = Assembler::default();
    let p = &mut program;
    let end = p.label();
    find_cpu(p, maps, end);
    p.register(Move, R7, R0);
    p.call(Function::Time);
    p.load(Double, R1, R7, word(cpu::LAST_TICK));
    p.store(Double, R7, word(cpu::LAST_TICK), R0);
    p.jump_if(R1, Equal, 0, end);
    p.register(Move, R8, R0);
    p.register(Subtract, R8, R1);
    // a switch may have noted a time after the tick's
    p.jump_if_register(R0, LessOrEqual, R1, end);
    p.jump_if(R8, LessOrEqual, STALL_NS as i32, end);
    count_stall(p, R7, R0, R8, end);
    p.place(end);
    p.exit();
    program.finish()
}
