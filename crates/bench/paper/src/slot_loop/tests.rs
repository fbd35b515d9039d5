use std::time::Duration;

use ferric::StopHandle;
use ferric::xapp::{Xapp, XappConfig};
use radio::phy::Direction;
use use_cases::slots::{SlotBatches, SlotConfig, SlotCounts};

use super::stepped::{SteppedLoop, measure, run};
use super::{Scheduler, SlotLoop, xapp};

/// The xApp that decides in batches.
struct BatchLoop(SlotBatches);

impl SlotLoop for BatchLoop {
    fn stop_handle(&self) -> StopHandle {
        self.0.stop_handle()
    }

    fn poll(&mut self, timeout: Duration) -> Result<(), ferric::Error> {
        self.0.poll(Some(timeout))?;
        let batch = self.0.wait(Duration::ZERO)?;
        if !batch.slots.is_empty() {
            let shares = batch.decided_by(&mut xapp::ProportionalFair);
            assert_eq!(self.0.decide(&batch, &shares), Ok(()));
            assert!(self.0.decide(&batch, &shares).is_err(), "a batch is answered once");
        }
        Ok(())
    }

    fn subscribed(&self) -> usize {
        self.0.subscribed()
    }

    fn settled(&self) -> Option<u64> {
        self.0.settled()
    }

    fn counts(&self) -> SlotCounts {
        self.0.counts()
    }
}

#[test]
fn batches_decide_as_the_xapp_that_decides_at_once() {
    let in_batches = |delay_slots| {
        let start = move |ric: &ferric::link::Address, waker| {
            let ric = ric.clone();
            Scheduler::run(Some(waker), move || {
                let xapp = Xapp::connect(&ric, "batches", XappConfig { reconnect: None, ..XappConfig::default() })?;
                Ok(BatchLoop(SlotBatches::new(xapp, SlotConfig { delay_slots, ..SlotConfig::default() })))
            })
        };
        measure(SteppedLoop::start_with(4, Some(start)).unwrap(), 200).unwrap()
    };
    for delay_slots in [0, 3] {
        let at_once = run(4, 200, Some(delay_slots)).unwrap();
        assert_eq!(in_batches(delay_slots), at_once, "{delay_slots} slots");
        assert!(at_once.counts.decided > 500, "{at_once:?}");
    }
}

/// The xApp schedules as the cell does, and each run is the same.
#[test]
fn remote_scheduler_without_delay_is_the_local_one_within_a_percent() {
    // a seed of the design
    let (local, remote) = (run(1, 2000, None).unwrap(), run(1, 2000, Some(0)).unwrap());
    let share = remote.cell_mbps() / local.cell_mbps();
    assert!((share - 1.0).abs() <= 0.01, "{share}: {remote:?} and {local:?}");
    assert!((remote.fairness() - local.fairness()).abs() < 0.01, "{remote:?} and {local:?}");
    let counts = remote.counts;
    assert!(counts.decided >= 2400 && counts.missed <= 10, "{counts:?}");
    assert_eq!((counts.late, counts.refused, local.counts.decided), (0, 0, 0), "{counts:?}");
    assert_eq!(run(1, 200, Some(0)).unwrap(), run(1, 200, Some(0)).unwrap());
}

#[test]
fn decisions_ahead_of_time_are_obeyed_in_their_slots() {
    let remote = run(2, 300, Some(8)).unwrap();
    // the first decisions are about the ninth slot
    assert!(remote.counts.decided >= 780 && remote.counts.missed <= 20, "{remote:?}");
    assert!(remote.cell_mbps() > 20.0, "{remote:?}");
}

/// The cell schedules the very next slot, and every one after it.
#[test]
fn xapp_that_ends_in_mid_frame_gives_the_cell_back_within_a_slot() {
    let mut running = SteppedLoop::start(3, Some(0)).unwrap();
    (0..205).for_each(|_| running.step().unwrap());
    drop(running.xapp.take());
    let used = |running: &SteppedLoop| *running.ran.network().cell(0).usage(Direction::Downlink);
    // the decision about the slot that begins has been taken already
    running.step().unwrap();
    for _ in 0..50 {
        let before = used(&running);
        running.step().unwrap();
        assert!(used(&running).since(&before).used_share() > 0.99);
    }
    let counts = running.ran.network().cell(0).delegation_counts();
    assert!(counts.missed >= 50, "{counts:?}");
    running.end().unwrap();
}
