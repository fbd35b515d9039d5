//! A host whose periods were recorded: a source of the CPU model that plays them again, one with each report.

use e2sm::cpu::{CpuNumber, Host, HostCpu, Policy, Thread, Unit, Waits, printable};
use ferric::e2::Time;
use ran_functions::cpu::{CpuSource, Progress, Refused};

/// A line for each period.
const TRACE: &str = include_str!("cpu-trace.csv");

/// The counts, which grow by those of a recorded period with each report. After the last one the first follows.
pub struct RecordedHost {
    periods: Vec<Period>,
    next: usize,
    measured_us: u64,
    thread: Thread<'static>,
}

struct Period {
    us: u64,
    waits: Waits,
    preempted: u64,
    subframes: u64,
    misses: u64,
}

impl RecordedHost {
    pub fn new() -> RecordedHost {
        let mut thread = None;
        let lines = TRACE.lines().filter(|line| !line.starts_with('#'));
        let periods = lines.map(|line| {
            let [us, name, tid, a, b, c, d, e, preempted, subframes, misses] =
                line.split(',').collect::<Vec<_>>().try_into().unwrap();
            let number = |text: &str| text.parse::<u64>().unwrap();
            thread.get_or_insert_with(|| Thread {
                name: printable(name, 15),
                tid: tid.parse().unwrap(),
                waits: Waits::default(),
                preempted: 0,
                subframes: Some(0),
                deadline_misses: Some(0),
            });
            Period {
                us: number(us),
                waits: Waits::from_counts([a, b, c, d, e].map(number)),
                preempted: number(preempted),
                subframes: number(subframes),
                misses: number(misses),
            }
        });
        RecordedHost { periods: periods.collect(), next: 0, measured_us: 0, thread: thread.unwrap() }
    }
}

impl CpuSource for RecordedHost {
    fn measured_us(&self) -> u64 {
        self.measured_us
    }

    fn host(&self) -> Host<'static> {
        let cpu = |number| HostCpu { number: CpuNumber(number), busy_us: self.measured_us, idle_us: 0 };
        Host { cpus: [0, 1].map(cpu).to_vec().into(), ..Host::default() }
    }

    fn unit(&self) -> Unit<'static> {
        Unit { name: printable("lte-softmodem", 64), cpus: vec![CpuNumber(1)].into(), ..Unit::default() }
    }

    fn threads(&self, out: &mut Vec<Thread<'static>>) {
        out.push(self.thread.clone());
    }

    fn apply(&mut self, _: Policy, _: &[CpuNumber]) -> Result<Progress, Refused> {
        panic!("the xApp of this test sets no policy")
    }

    fn withdraw(&mut self) -> Result<Progress, Refused> {
        Ok(Progress::Done)
    }

    fn advance(&mut self, _: Time) {
        let Period { us, waits, preempted, subframes, misses } = &self.periods[self.next];
        self.next = (self.next + 1) % self.periods.len();
        self.measured_us += us;
        self.thread.waits = self.thread.waits.with(waits);
        self.thread.preempted += preempted;
        self.thread.subframes = self.thread.subframes.map(|sum| sum + subframes);
        self.thread.deadline_misses = self.thread.deadline_misses.map(|sum| sum + misses);
    }
}
