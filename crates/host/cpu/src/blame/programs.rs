//! The BPF programs that note who ran on a CPU while a watched thread waited for it.
//!
//! A CPU's record has the thread that waits there, and since when nobody was blamed. At each switch the thread that ran until then is
//! blamed for that time, without what interrupts and softirqs took of it: these are blamed when they end. One waiting thread of a
//! CPU is followed at a time, the one that has waited for longest.

use std::sync::atomic::Ordering::Relaxed;

use crate::assembler::{
    Assembler, Comparison, Function, Instruction, Label, Operation, R0, R1, R2, R3, R6, R7, R8, R9, R10, Size,
};
use crate::index::Index;
use crate::programs::{MAX_THREADS, STALL_NS, STATE_MASK};
use crate::sys::{Map, MapKind, SharedArray};
use crate::tracepoints::{Field, Tracing};
use crate::{Error, sys};

use Comparison::{Equal, Greater, LessOrEqual, NotEqual};
use Operation::{Add, And, Move, Subtract};
use Size::{Double, Word};

/// Words of a CPU's record.
pub(crate) mod cpu {
    pub(crate) const STALL_END: usize = 0;
    /// When its last tick was, or when it was idle last: an idle CPU has no ticks.
    pub(crate) const LAST_TICK: usize = 1;
    /// The thread that waits; 0 if none does.
    pub(crate) const VICTIM: usize = 2;
    /// Since when nobody was blamed.
    pub(crate) const SEGMENT: usize = 3;
    /// What interrupts and softirqs have taken since, in ns.
    pub(crate) const TAKEN: usize = 4;
    /// Whether the thread has a real-time priority, and the CPU was taken from it.
    pub(crate) const IS_THROTTLED: usize = 5;
    pub(crate) const INTERRUPT_SINCE: usize = 6;
    pub(crate) const SOFTIRQ_SINCE: usize = 7;
    pub(crate) const WORDS: usize = 8;
}

/// What kind of thing is blamed, as far as the kernel's events say.
pub(crate) mod kind {
    pub(crate) const TASK: u32 = 0;
    pub(crate) const INTERRUPT: u32 = 1;
    pub(crate) const SOFTIRQ: u32 = 2;
    pub(crate) const THROTTLING: u32 = 3;
    pub(crate) const STALL: u32 = 4;
}

/// Words of an entry of the blame.
pub(crate) mod entry {
    /// The key: the victim, the kind, the culprit's number, nothing, and the culprit's name of 16 octets; words of 32 bits.
    pub(crate) const KEY: usize = 0;
    /// How often it was.
    pub(crate) const COUNT: usize = 4;
    /// For how long together, in ns.
    pub(crate) const TOTAL: usize = 5;
    /// For how long at most, in ns.
    pub(crate) const LONGEST: usize = 6;
    pub(crate) const WORDS: usize = 8;
}
/// There are so many entries at most; what comes then is not blamed.
pub(crate) const MAX_ENTRIES: u32 = 16384;

/// The maps that the programs share with this process.
#[derive(Debug)]
pub(crate) struct Maps {
    /// The place of each watched thread.
    index: Index,
    /// By place: the CPU that the thread waits for plus one, or 0. That of place 0 is the next free place.
    waiting: SharedArray,
    cpus: SharedArray,
    cpu_count: usize,
    /// The place of each key's entry.
    places: Map<8>,
    /// An entry by place. That of place 0 has the next free place in its first word.
    entries: SharedArray,
}

impl Maps {
    /// Creates them.
    ///
    /// # Errors
    /// Those of bpf(2).
    pub(crate) fn create(cpus: usize) -> std::io::Result<Maps> {
        let maps = Maps {
            index: Index::create(MAX_THREADS)?,
            waiting: SharedArray::create(1, MAX_THREADS)?,
            cpus: SharedArray::create(cpu::WORDS, cpus as u32)?,
            cpu_count: cpus,
            places: Map::create(MapKind::Hash, 1, MAX_ENTRIES)?,
            entries: SharedArray::create(entry::WORDS, MAX_ENTRIES)?,
        };
        maps.entries.word(0, 0).store(1, Relaxed);
        maps.waiting.word(0, 0).store(1, Relaxed);
        Ok(maps)
    }

    /// Watches a thread, unless all places are taken: the first threads are watched.
    ///
    /// # Errors
    /// Those of bpf(2).
    pub(crate) fn watch(&self, tid: u32) -> std::io::Result<()> {
        let place = self.waiting.word(0, 0).fetch_add(1, Relaxed);
        if place < MAX_THREADS.into() { self.index.set(tid, place) } else { Ok(()) }
    }

    /// The entries. Two CPUs may have made one each for the same key.
    pub(crate) fn entries(&self) -> Vec<Vec<u64>> {
        self.taken().map(|place| self.entries.record(place)).filter(|entry| entry[entry::COUNT] > 0).collect()
    }

    /// The places of entries.
    pub(crate) fn taken(&self) -> std::ops::Range<usize> {
        1..self.entries.word(0, 0).load(Relaxed).min(MAX_ENTRIES.into()) as usize
    }

    /// How often the entry at a place has counted.
    pub(crate) fn count(&self, place: usize) -> u64 {
        self.entries.word(place, entry::COUNT).load(Relaxed)
    }

    /// The entry at a place.
    pub(crate) fn entry(&self, place: usize) -> Vec<u64> {
        self.entries.record(place)
    }

    /// When the last stall ended, of any CPU.
    pub(crate) fn last_stall_ns(&self) -> u64 {
        (0..self.cpu_count).map(|cpu| self.cpus.word(cpu, cpu::STALL_END).load(Relaxed)).max().unwrap_or(0)
    }
}

/// The programs, each with the number of its tracepoint; none for the ticks' program.
pub(crate) type Programs = Vec<(Option<u64>, Vec<Instruction>)>;

/// Writes all programs. Times up to `least_ns` are not blamed on anybody.
///
/// # Errors
/// [`Error::Unsupported`] if the kernel lacks a tracepoint.
pub(crate) fn all(tracing: &Tracing, maps: &Maps, least_ns: i32) -> Result<Programs, Error> {
    let writer = Writer { maps, least_ns };
    let mut programs = vec![(None, writer.tick())];
    for name in ["sched/sched_wakeup", "sched/sched_wakeup_new"] {
        let point = tracing.tracepoint(name)?;
        programs.push((Some(point.id), writer.wakeup(point.field("pid", &[4])?, point.field("target_cpu", &[4])?)));
    }
    let switch = tracing.tracepoint("sched/sched_switch")?;
    let number = |name: &str| switch.field(name, &[4]).cloned();
    let fields = SwitchFields {
        prev: number("prev_pid")?,
        prev_priority: number("prev_prio")?,
        prev_name: switch.field("prev_comm", &[16])?.clone(),
        prev_state: switch.field("prev_state", &[4, 8])?.clone(),
        next: number("next_pid")?,
    };
    programs.push((Some(switch.id), writer.switch(&fields)));
    let kinds = [
        ("irq/irq_handler", kind::INTERRUPT, "irq", cpu::INTERRUPT_SINCE),
        ("irq/softirq", kind::SOFTIRQ, "vec", cpu::SOFTIRQ_SINCE),
    ];
    for (name, kind, field, since) in kinds {
        programs.push((Some(tracing.tracepoint(&format!("{name}_entry"))?.id), writer.entry(since)));
        let exit = tracing.tracepoint(&format!("{name}_exit"))?;
        programs.push((Some(exit.id), writer.exit(exit.field(field, &[4])?, kind, since)));
    }
    Ok(programs)
}

struct SwitchFields {
    prev: Field,
    prev_priority: Field,
    prev_name: Field,
    prev_state: Field,
    next: Field,
}

/// Places on the stack: the key of a look-up, this CPU, another one, the key of the blame, a place.
const KEY: i16 = -4;
const CPU: i16 = -8;
const OTHER_CPU: i16 = -12;
const BLAME: i16 = -48;
const VALUE: i16 = -56;
const PLACE: i16 = -60;

fn word(index: usize) -> i16 {
    (8 * index) as i16
}

struct Writer<'m> {
    maps: &'m Maps,
    least_ns: i32,
}

impl Writer<'_> {
    /// `R7` = this CPU's record, `R8` = the time.
    fn begin(&self, p: &mut Assembler, end: Label) {
        p.call(Function::Cpu);
        p.store(Word, R10, CPU, R0);
        p.look_up(self.maps.cpus.descriptor(), CPU);
        p.jump_if(R0, Equal, 0, end);
        p.register(Move, R7, R0);
        p.call(Function::Time);
        p.register(Move, R8, R0);
    }

    /// `R0` = the address of the CPU that the thread whose number is in `R2` waits for; jumps to `none` if it is not watched.
    fn find_thread(&self, p: &mut Assembler, none: Label) {
        self.maps.index.find(p, KEY, PLACE, none);
        p.store(Word, R10, PLACE, R1);
        p.look_up(self.maps.waiting.descriptor(), PLACE);
        p.jump_if(R0, Equal, 0, none);
    }

    /// Blames what the key says for `R9` ns, if that is enough.
    fn blame(&self, p: &mut Assembler) {
        let done = p.label();
        p.jump_if(R9, LessOrEqual, self.least_ns, done);
        p.look_up(self.maps.places.descriptor(), BLAME);
        let (missing, found) = (p.label(), p.label());
        p.jump_if(R0, Equal, 0, missing);
        p.load(Double, R1, R0, 0);
        p.store(Word, R10, KEY, R1);
        p.jump(found);
        p.place(missing);
        // the next free place, from the entry of place 0
        p.store_number(Word, R10, KEY, 0);
        p.look_up(self.maps.entries.descriptor(), KEY);
        p.jump_if(R0, Equal, 0, done);
        p.number(Move, R1, 1);
        p.fetch_and_add(R0, 0, R1);
        p.store(Word, R10, KEY, R1);
        p.store(Double, R10, VALUE, R1);
        p.look_up(self.maps.entries.descriptor(), KEY);
        p.jump_if(R0, Equal, 0, done);
        for offset in [0, 8, 16, 24] {
            p.load(Double, R1, R10, BLAME + offset);
            p.store(Double, R0, word(entry::KEY) + offset, R1);
        }
        p.update(self.maps.places.descriptor(), BLAME, VALUE);
        p.place(found);
        p.look_up(self.maps.entries.descriptor(), KEY);
        p.jump_if(R0, Equal, 0, done);
        p.count(R0, word(entry::COUNT));
        p.load(Double, R1, R0, word(entry::TOTAL));
        p.register(Add, R1, R9);
        p.store(Double, R0, word(entry::TOTAL), R1);
        p.load(Double, R1, R0, word(entry::LONGEST));
        p.jump_if_register(R9, LessOrEqual, R1, done);
        p.store(Double, R0, word(entry::LONGEST), R9);
        p.place(done);
    }

    /// Nobody is blamed for what was until now.
    fn restart(p: &mut Assembler) {
        p.store(Double, R7, word(cpu::SEGMENT), R8);
        p.store_number(Double, R7, word(cpu::TAKEN), 0);
    }

    fn tick(&self) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let p = &mut program;
        let end = p.label();
        self.begin(p, end);
        p.load(Double, R1, R7, word(cpu::LAST_TICK));
        p.store(Double, R7, word(cpu::LAST_TICK), R8);
        p.jump_if(R1, Equal, 0, end);
        // a switch may have noted a time after the tick's
        p.jump_if_register(R8, LessOrEqual, R1, end);
        p.register(Move, R2, R8);
        p.register(Subtract, R2, R1);
        p.jump_if(R2, LessOrEqual, STALL_NS as i32, end);
        p.store(Double, R7, word(cpu::STALL_END), R8);
        p.place(end);
        p.exit();
        program.finish()
    }

    fn wakeup(&self, thread: &Field, target: &Field) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let p = &mut program;
        let end = p.label();
        p.load(Word, R2, R1, thread.offset);
        p.register(Move, R9, R2);
        p.load(Word, R6, R1, target.offset);
        p.store(Word, R10, CPU, R6);
        self.find_thread(p, end);
        // it waits already
        p.load(Double, R1, R0, 0);
        p.jump_if(R1, NotEqual, 0, end);
        p.number(Add, R6, 1);
        p.store(Double, R0, 0, R6);
        p.look_up(self.maps.cpus.descriptor(), CPU);
        p.jump_if(R0, Equal, 0, end);
        p.register(Move, R7, R0);
        p.load(Double, R1, R7, word(cpu::VICTIM));
        p.jump_if(R1, NotEqual, 0, end);
        p.call(Function::Time);
        p.register(Move, R8, R0);
        Self::restart(p);
        p.store_number(Double, R7, word(cpu::IS_THROTTLED), 0);
        p.store(Double, R7, word(cpu::VICTIM), R9);
        p.place(end);
        p.exit();
        program.finish()
    }

    fn switch(&self, fields: &SwitchFields) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let p = &mut program;
        let end = p.label();
        p.register(Move, R6, R1);
        self.begin(p, end);
        // a CPU that was idle had no ticks
        let not_idle = p.label();
        p.load(Word, R1, R6, fields.prev.offset);
        p.jump_if(R1, NotEqual, 0, not_idle);
        p.store(Double, R7, word(cpu::LAST_TICK), R8);
        p.place(not_idle);
        self.blame_previous(p, fields);
        // the thread that gets it waits no longer, on this CPU or on another one
        let prev = p.label();
        p.load(Word, R9, R6, fields.next.offset);
        p.register(Move, R2, R9);
        self.find_thread(p, prev);
        p.load(Double, R1, R0, 0);
        p.store_number(Double, R0, 0, 0);
        p.jump_if(R1, Equal, 0, prev);
        p.number(Subtract, R1, 1);
        p.store(Word, R10, OTHER_CPU, R1);
        p.look_up(self.maps.cpus.descriptor(), OTHER_CPU);
        p.jump_if(R0, Equal, 0, prev);
        p.load(Double, R1, R0, word(cpu::VICTIM));
        p.jump_if_register(R1, NotEqual, R9, prev);
        p.store_number(Double, R0, word(cpu::VICTIM), 0);
        p.place(prev);
        // the thread that loses the CPU waits if it is watched and could run on
        let rests = p.label();
        p.load(Word, R2, R6, fields.prev.offset);
        self.find_thread(p, end);
        p.store_number(Double, R0, 0, 0);
        p.load(Word, R2, R6, fields.prev.offset);
        p.load(Double, R1, R7, word(cpu::VICTIM));
        let is_other = p.label();
        p.jump_if_register(R1, NotEqual, R2, is_other);
        p.store_number(Double, R7, word(cpu::VICTIM), 0);
        p.place(is_other);
        p.load(if fields.prev_state.size == 8 { Double } else { Word }, R1, R6, fields.prev_state.offset);
        p.number(And, R1, STATE_MASK);
        p.jump_if(R1, NotEqual, 0, rests);
        p.load(Word, R1, R10, CPU);
        p.number(Add, R1, 1);
        p.store(Double, R0, 0, R1);
        p.load(Double, R1, R7, word(cpu::VICTIM));
        p.jump_if(R1, NotEqual, 0, rests);
        p.store(Double, R7, word(cpu::VICTIM), R2);
        Self::restart(p);
        // real-time priorities are below 100 here
        p.number(Move, R3, 0);
        let is_fair = p.label();
        p.load(Word, R1, R6, fields.prev_priority.offset);
        p.jump_if(R1, Greater, 99, is_fair);
        p.number(Move, R3, 1);
        p.place(is_fair);
        p.store(Double, R7, word(cpu::IS_THROTTLED), R3);
        p.place(rests);
        p.place(end);
        p.exit();
        program.finish()
    }

    /// Blames the thread that ran until this switch, if another one has waited for it.
    fn blame_previous(&self, p: &mut Assembler, fields: &SwitchFields) {
        let (nobody, taken) = (p.label(), p.label());
        p.load(Double, R1, R7, word(cpu::VICTIM));
        p.jump_if(R1, Equal, 0, nobody);
        p.load(Word, R2, R6, fields.prev.offset);
        p.jump_if_register(R1, Equal, R2, nobody);
        p.store(Word, R10, BLAME, R1);
        p.store(Word, R10, BLAME + 8, R2);
        p.store_number(Word, R10, BLAME + 12, 0);
        for offset in [0, 8] {
            // the record's fields are aligned to words only
            for half in [0, 4] {
                p.load(Word, R1, R6, fields.prev_name.offset + offset + half);
                p.store(Word, R10, BLAME + 16 + offset + half, R1);
            }
        }
        let (decided, not_stalled) = (p.label(), p.label());
        p.load(Double, R1, R7, word(cpu::STALL_END));
        p.load(Double, R2, R7, word(cpu::SEGMENT));
        p.jump_if_register(R1, LessOrEqual, R2, not_stalled);
        p.number(Move, R3, kind::STALL as i32);
        p.jump(decided);
        p.place(not_stalled);
        p.number(Move, R3, kind::TASK as i32);
        p.load(Double, R1, R7, word(cpu::IS_THROTTLED));
        p.jump_if(R1, Equal, 0, decided);
        // a thread without a real-time priority runs in place of one that has it
        p.load(Word, R1, R6, fields.prev_priority.offset);
        p.jump_if(R1, LessOrEqual, 99, decided);
        // that of a deadline server is -1
        p.jump_if(R1, Greater, 1000, decided);
        p.number(Move, R3, kind::THROTTLING as i32);
        p.place(decided);
        p.store(Word, R10, BLAME + 4, R3);
        p.register(Move, R9, R8);
        p.register(Subtract, R9, R2);
        p.load(Double, R1, R7, word(cpu::TAKEN));
        p.jump_if_register(R9, LessOrEqual, R1, taken);
        p.register(Subtract, R9, R1);
        // a clock of another CPU may have been ahead
        p.register(Move, R1, R9);
        p.number(Operation::ShiftRight, R1, 62);
        p.jump_if(R1, NotEqual, 0, taken);
        self.blame(p);
        p.place(taken);
        Self::restart(p);
        p.place(nobody);
    }

    fn entry(&self, since: usize) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let p = &mut program;
        let end = p.label();
        self.begin(p, end);
        p.store(Double, R7, word(since), R8);
        p.place(end);
        p.exit();
        program.finish()
    }

    /// The end of an interrupt or a softirq, whose number is in a field.
    fn exit(&self, number: &Field, kind: u32, since: usize) -> Vec<Instruction> {
        let mut program = Assembler::default();
        let p = &mut program;
        let (end, began_later) = (p.label(), p.label());
        p.register(Move, R6, R1);
        self.begin(p, end);
        p.load(Double, R1, R7, word(cpu::VICTIM));
        p.jump_if(R1, Equal, 0, end);
        p.store(Word, R10, BLAME, R1);
        p.store_number(Word, R10, BLAME + 4, kind as i32);
        p.load(Word, R1, R6, number.offset);
        p.store(Word, R10, BLAME + 8, R1);
        for offset in [12, 16, 20, 24, 28] {
            p.store_number(Word, R10, BLAME + offset, 0);
        }
        // it may have begun before the thread waited
        p.load(Double, R2, R7, word(since));
        p.jump_if(R2, Equal, 0, end);
        p.load(Double, R1, R7, word(cpu::SEGMENT));
        p.jump_if_register(R2, Greater, R1, began_later);
        p.register(Move, R2, R1);
        p.place(began_later);
        p.jump_if_register(R8, LessOrEqual, R2, end);
        p.register(Move, R9, R8);
        p.register(Subtract, R9, R2);
        p.load(Double, R1, R7, word(cpu::TAKEN));
        p.register(Add, R1, R9);
        p.store(Double, R7, word(cpu::TAKEN), R1);
        self.blame(p);
        p.place(end);
        p.exit();
        program.finish()
    }
}

/// Loads and attaches programs. They are detached when the events are dropped.
pub(crate) fn attach(programs: &Programs, online: &crate::Cpus) -> std::io::Result<Vec<std::os::fd::OwnedFd>> {
    use crate::latency::{TRACEPOINT, tick_attributes};
    let mut events = Vec::new();
    for (point, code) in programs {
        let kind = if point.is_some() { sys::ProgramKind::Tracepoint } else { sys::ProgramKind::PerfEvent };
        let program = sys::load(kind, code)?;
        let of_point =
            |id: u64| sys::EventAttributes { kind: TRACEPOINT, config: id, ..sys::EventAttributes::default() };
        let attributes = point.map_or_else(tick_attributes, of_point);
        // a tracepoint's program runs on all CPUs, whichever the event is of
        for cpu in online.iter().take(if point.is_some() { 1 } else { usize::MAX }) {
            let event = sys::open_event(&attributes, cpu)?;
            sys::attach(&event, &program)?;
            events.push(event);
        }
    }
    Ok(events)
}
