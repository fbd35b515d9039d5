//! The real-time threads: each subframe passes through them in the order radio unit, receiver's front end, L1 and L2, transmitter's
//! front end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};

use crate::clock::Clock;
use crate::deadlines::{Deadlines, SUBFRAME_NS};
use crate::fronthaul::{Fronthaul, SubframeSamples};
use crate::load::{Budget, SubframeLoad};
use crate::threads::{Role, Threads};
use crate::work::{Decoder, Fft, Kernel, Work};
use crate::{Error, MAX_READS};

/// Loads that are remembered.
const REMEMBERED: usize = 64;

/// What the real-time threads and the emulated cell share.
pub(crate) struct Air {
    pub clock: Clock,
    pub deadlines: Deadlines,
    loads: [AtomicU64; REMEMBERED],
    /// Until then the real-time threads do nothing: [`crate::Unit::hold_real_time`].
    pub held_until_ns: AtomicU64,
    /// Subframes that were given up since their deadline had passed before they were begun.
    pub given_up: AtomicU64,
}

impl Air {
    pub fn new(clock: Clock) -> Self {
        Air {
            clock,
            deadlines: Deadlines::default(),
            loads: std::array::from_fn(|_| AtomicU64::new(0)),
            held_until_ns: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
        }
    }

    pub fn set_load(&self, subframe: u64, load: SubframeLoad) {
        self.loads[subframe as usize % REMEMBERED].store(load.to_word(), Ordering::Release);
    }

    fn load(&self, subframe: u64) -> SubframeLoad {
        SubframeLoad::from_word(self.loads[subframe as usize % REMEMBERED].load(Ordering::Acquire))
    }

    fn wait_while_held(&self) {
        let until = self.held_until_ns.load(Ordering::Acquire);
        if self.clock.now_ns() < until {
            self.clock.sleep_until(until);
        }
    }
}

/// Subframes that are handed from one thread to the next.
#[derive(Default)]
struct Handover {
    /// All subframes below are there.
    ready: AtomicU64,
    receiver: OnceLock<Thread>,
}

impl Handover {
    fn pass(&self, subframe: u64) {
        self.ready.store(subframe + 1, Ordering::Release);
        if let Some(receiver) = self.receiver.get() {
            receiver.unpark();
        }
    }

    /// Waits for a subframe; false if the unit stops.
    fn wait(&self, subframe: u64, stop: &AtomicBool) -> bool {
        // the first caller is the only one
        self.receiver.get_or_init(thread::current);
        while self.ready.load(Ordering::Acquire) <= subframe {
            if stop.load(Ordering::Acquire) {
                return false;
            }
            thread::park();
        }
        !stop.load(Ordering::Acquire)
    }
}

/// The cost of the kernels on this host, in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// An FFT of 512 points.
    pub fft_ns: f64,
    /// Both recursions over 64 steps of the turbo code's trellis.
    pub decoder_ns: f64,
}

impl Calibration {
    /// Measures the kernels, about 40 ms.
    #[must_use]
    pub fn measure() -> Self {
        Calibration {
            fft_ns: Work::calibrate(&mut Fft::default()),
            decoder_ns: Work::calibrate(&mut Decoder::default()),
        }
    }

    fn work(&self, role: Role) -> Work {
        let (kernel, unit_ns): (Box<dyn Kernel>, f64) = match role {
            Role::L1L2 => (Box::new(Decoder::default()), self.decoder_ns),
            _ => (Box::new(Fft::default()), self.fft_ns),
        };
        Work::new(kernel, unit_ns)
    }
}

/// Starts the four real-time threads. With a fronthaul the samples come over it, else by the clock in `reads` parts of a subframe.
pub(crate) fn start(
    threads: &mut Threads,
    air: &Arc<Air>,
    budget: Budget,
    calibration: Calibration,
    reads: u32,
    fronthaul: Option<Fronthaul>,
) -> Result<(), Error> {
    let handovers: [Arc<Handover>; 3] = Default::default();
    let [to_receiver, to_l1, to_transmitter] = handovers;
    let fronthaul = fronthaul.map(Arc::new);
    let stage = |role, input: &Arc<Handover>, stop: &Arc<AtomicBool>| Stage {
        role,
        input: Arc::clone(input),
        air: Arc::clone(air),
        budget,
        work: calibration.work(role),
        stop: Arc::clone(stop),
    };
    let stop = Arc::clone(&threads.stop);
    let transmitter = stage(Role::FrontEndTransmit, &to_transmitter, &stop);
    let (out, shared) = (fronthaul.clone(), Arc::clone(air));
    threads.start(Role::FrontEndTransmit, move || {
        transmitter.run(|subframe| match &out {
            // the radio unit notes what has arrived
            Some(fronthaul) => fronthaul.send(subframe),
            None => shared.deadlines.finish(subframe, shared.clock.now_ns()),
        });
    })?;
    let l1 = stage(Role::L1L2, &to_l1, &stop);
    threads.start(Role::L1L2, move || l1.run(|subframe| to_transmitter.pass(subframe)))?;
    let receiver = stage(Role::FrontEndReceive, &to_receiver, &stop);
    threads.start(Role::FrontEndReceive, move || receiver.run(|subframe| to_l1.pass(subframe)))?;
    let work = calibration.work(Role::RadioUnit);
    let air = Arc::clone(air);
    threads.start(Role::RadioUnit, move || match &fronthaul {
        Some(fronthaul) => read_fronthaul(&air, fronthaul, budget, work, &stop, &to_receiver),
        None => read_samples(&air, budget, work, reads.clamp(1, MAX_READS), &stop, &to_receiver),
    })
}

/// The radio unit's thread: reads the samples of each subframe in parts, at the time at which they are complete.
fn read_samples(air: &Air, budget: Budget, mut work: Work, reads: u32, stop: &AtomicBool, next: &Handover) {
    let part_ns = SUBFRAME_NS / u64::from(reads);
    let each_ns = budget.work_ns(Role::RadioUnit, SubframeLoad::default()) / f64::from(reads);
    let mut subframe = 0;
    while !stop.load(Ordering::Acquire) {
        for part in 1..=u64::from(reads) {
            air.clock.sleep_until(subframe * SUBFRAME_NS + part * part_ns);
            air.wait_while_held();
            // what a radio has overwritten cannot be read
            if air.clock.now_ns() <= Deadlines::end_ns(subframe) {
                work.spend(each_ns);
            }
        }
        next.pass(subframe);
        subframe += 1;
    }
}

/// The radio unit's thread in split 7.1: reads frequency-domain samples from the fronthaul.
fn read_fronthaul(
    air: &Air,
    fronthaul: &Fronthaul,
    budget: Budget,
    mut work: Work,
    stop: &AtomicBool,
    next: &Handover,
) {
    let whole_ns = budget.work_ns(Role::RadioUnit, SubframeLoad::default());
    let mut samples = SubframeSamples::default();
    while !stop.load(Ordering::Acquire) {
        let Some(share) = fronthaul.receive(&mut samples) else { continue };
        air.wait_while_held();
        work.spend(whole_ns * share);
        while let Some(subframe) = samples.take_complete() {
            next.pass(subframe);
        }
    }
}

/// A thread that waits for subframes, works, and hands them on.
struct Stage {
    role: Role,
    input: Arc<Handover>,
    air: Arc<Air>,
    budget: Budget,
    work: Work,
    stop: Arc<AtomicBool>,
}

impl Stage {
    fn run(mut self, pass: impl Fn(u64)) {
        for subframe in 0.. {
            if !self.input.wait(subframe, &self.stop) {
                return;
            }
            self.air.wait_while_held();
            let is_late = self.air.clock.now_ns() > Deadlines::end_ns(subframe);
            if is_late {
                // counted once, by the first thread that is too late
                self.air.given_up.fetch_add(u64::from(self.role == Role::L1L2), Ordering::Relaxed);
            } else {
                self.work.spend(self.budget.work_ns(self.role, self.air.load(subframe)));
            }
            pass(subframe);
        }
    }
}
