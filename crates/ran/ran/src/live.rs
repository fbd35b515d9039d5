//! Live mode: UEs of the scenario are network namespaces, and what real programs there send goes through the model.
//!
//! Time goes on by slots then. In each turn what programs have sent goes in, all slots that are due are run, and what has
//! come through goes out; in between, the same loop serves the RICs.

use std::net::Ipv4Addr;
use std::time::Duration;

use ferric::e2::Time;
use netns::{Bridge, BridgeCounts, Core, Interfaces, Namespaces, PortCounts};
use tracing::{info, warn};

use crate::Scenario;
use crate::config::Error;
use crate::scenario::address;
use crate::world::World;

/// A slot that is run later than this after its time is late: twice that is noise of a general system.
const LATE: Duration = Duration::from_millis(2);
/// How often late slots are told of, at most.
const TELL: Duration = Duration::from_secs(10);
/// The share of late slots that is told of.
const MANY: f64 = 0.02;

/// How live mode is set up.
#[derive(Clone, Debug)]
pub struct LiveConfig {
    /// How many UEs of the scenario, the first ones, are namespaces: 1 to 256. Those after them are the model's only.
    /// Default: 1.
    pub ues: u16,
    /// How the names of namespaces and devices begin. Default: `ferric`: `ferric-ue1`, `ferric-core`, `ferric0`.
    pub prefix: String,
    /// Where programs of the core's side run. Default: in a namespace.
    pub core: Core,
    /// The longest packet in octets. Default: 1400.
    pub mtu: u16,
}

impl Default for LiveConfig {
    fn default() -> Self {
        let netns::Config { prefix, core, mtu, .. } = netns::Config::default();
        LiveConfig { ues: 1, prefix, core, mtu }
    }
}

/// What live mode did, from the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveCounts {
    /// Slots that were run.
    pub slots: u64,
    /// Of them those that were run more than 2 ms after their time.
    pub late_slots: u64,
    /// How late the latest was.
    pub latest: Duration,
    /// What did not get into the model or out of it.
    pub bridge: BridgeCounts,
    /// What went through the core's device.
    pub core: PortCounts,
    /// What went through all UEs' devices.
    pub ues: PortCounts,
}

/// The namespaces' ends, and how well time is kept.
pub(crate) struct Live {
    bridge: Bridge,
    namespaces: Option<Namespaces>,
    /// The core's and the UEs' namespaces; none of the core's is the host.
    names: Vec<Option<String>>,
    slot: Duration,
    counts: LiveCounts,
    /// As they were when it was looked at last whether many were late, and when that was.
    told: LiveCounts,
    told_at: Option<Time>,
    /// How late the latest was since then.
    latest: Duration,
}

impl Live {
    pub fn open(config: &LiveConfig, scenario: &Scenario, world: &World) -> Result<Live, Error> {
        let ues = usize::from(config.ues);
        if !(1..=scenario.ues.len()).contains(&ues) {
            return Err(Error::LiveUes(scenario.ues.len()));
        }
        if scenario.speed != 1.0 {
            return Err(Error::LiveSpeed);
        }
        let addresses: Vec<Ipv4Addr> = (0..ues).map(address).collect();
        let Interfaces { core, ues, namespaces } = Interfaces::open(&netns::Config {
            prefix: config.prefix.clone(),
            core: config.core,
            mtu: config.mtu,
            ues: addresses,
            ..netns::Config::default()
        })?;
        let bridge = Bridge::new(core, (0..).zip(ues))?;
        let slot = world.model.network.cell(0).grid().slot();
        let names = [namespaces.core.as_ref()].into_iter().chain(namespaces.ues.iter().map(Some));
        let names = names.map(|namespace| namespace.map(|namespace| namespace.name().to_owned())).collect();
        let counts = LiveCounts::default();
        Ok(Live {
            bridge,
            namespaces: Some(namespaces),
            names,
            slot,
            counts,
            told: counts,
            told_at: None,
            latest: Duration::ZERO,
        })
    }

    pub fn take_namespaces(&mut self) -> Option<Namespaces> {
        self.namespaces.take()
    }

    pub fn counts(&self) -> LiveCounts {
        let mut ues = PortCounts::default();
        self.bridge.ues().for_each(|port| ues += *port.counts());
        LiveCounts { bridge: *self.bridge.counts(), core: *self.bridge.core().counts(), ues, ..self.counts }
    }

    /// Runs the slots that are due.
    pub fn step(&mut self, now: Time, world: &mut World) -> Result<(), Error> {
        self.bridge.take_in(&mut world.model.network)?;
        let before = world.now(0);
        let is_first = !world.has_begun();
        for cell in 0..world.model.network.cells() {
            world.advance(cell, now);
        }
        self.bridge.hand_out(&mut world.model.network)?;
        if is_first {
            self.tell_where();
        } else {
            self.keep(now, world.now(0).since(before));
        }
        Ok(())
    }

    /// Where programs are to be started.
    fn tell_where(&self) {
        let ports = [self.bridge.core()].into_iter().chain(self.bridge.ues());
        for ((at, name), port) in self.names.iter().enumerate().zip(ports) {
            let (end, address) = (if at == 0 { "the core" } else { "a UE" }, port.address());
            match name {
                Some(name) => info!("live mode: `ip netns exec {name} COMMAND` runs it at {end}, {address}"),
                None => info!("live mode: this host is {end}, {address}"),
            }
        }
    }

    /// Notes how late slots were of which the last was due just now.
    fn keep(&mut self, now: Time, length: Duration) {
        let slots = |length: Duration| (length.as_nanos() / self.slot.as_nanos()) as u64;
        self.counts.slots += slots(length);
        self.counts.late_slots += slots(length.saturating_sub(LATE));
        if length > LATE {
            self.latest = self.latest.max(length);
            self.counts.latest = self.counts.latest.max(length);
        }
        if now - *self.told_at.get_or_insert(now) < TELL {
            return;
        }
        self.told_at = Some(now);
        let (slots, late) = (self.counts.slots - self.told.slots, self.counts.late_slots - self.told.late_slots);
        if late as f64 > MANY * slots as f64 {
            warn!(
                "live mode: {late} of {slots} slots came more than {} ms late, up to {:.1} ms: they were caught up, so that \
                 rates hold, but packets waited longer than on the air. Take load off this machine, or fewer UEs",
                LATE.as_millis(),
                self.latest.as_secs_f64() * 1e3
            );
        }
        self.told = self.counts;
        self.latest = Duration::ZERO;
    }
}
