//! Live mode: UEs of the scenario are network namespaces, and the packets of real programs pass through the model.
//!
//! Time advances slot by slot. Each step moves the packets that programs have sent into the model, runs all slots that are
//! due, and delivers the packets that have passed; in between, the same loop serves the RICs.

use std::net::Ipv4Addr;
use std::time::Duration;

use ferric::e2::Time;
use netns::{Bridge, BridgeCounts, Core, Interfaces, Namespaces, PortCounts};
use tracing::{info, warn};

use crate::Scenario;
use crate::config::Error;
use crate::scenario::address;
use crate::simulation::RanSimulation;

/// A slot is late if it runs more than this after its time. Delays of twice this length are usual on a general-purpose
/// system.
const LATE: Duration = Duration::from_millis(2);
/// The period of warnings about late slots.
const WARNING_PERIOD: Duration = Duration::from_secs(10);
/// The share of late slots above which a warning is logged.
const MAX_LATE_SHARE: f64 = 0.02;

/// The configuration of live mode.
#[derive(Clone, Debug)]
pub struct LiveConfig {
    /// The number of UEs of the scenario that are namespaces, beginning with the first: 1 to 256. The other UEs exist in
    /// the model only. Default: 1.
    pub ues: u16,
    /// The prefix of the names of namespaces and devices. Default: `ferric`, as in `ferric-ue1`, `ferric-core`, `ferric0`.
    pub prefix: String,
    /// Where programs on the core side run. Default: in a namespace.
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

/// The counters of live mode, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveCounts {
    /// Slots run.
    pub slots: u64,
    /// Slots run more than 2 ms after their time.
    pub late_slots: u64,
    /// The longest delay of a slot.
    pub latest: Duration,
    /// Packets that did not enter or leave the model.
    pub bridge: BridgeCounts,
    /// The traffic of the core's device.
    pub core: PortCounts,
    /// The traffic of all UEs' devices.
    pub ues: PortCounts,
}

/// Live mode in operation.
pub(crate) struct Live {
    bridge: Bridge,
    namespaces: Option<Namespaces>,
    /// The names of the core's and the UEs' namespaces. None for the core: it is the host.
    names: Vec<Option<String>>,
    slot: Duration,
    counts: LiveCounts,
    /// The counters at the last check for late slots, and its time.
    checked: LiveCounts,
    checked_at: Option<Time>,
    /// The longest delay of a slot since then.
    latest: Duration,
}

impl Live {
    pub fn open(config: &LiveConfig, scenario: &Scenario, simulation: &RanSimulation) -> Result<Live, Error> {
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
        let slot = simulation.model.network.cell(0).grid().slot();
        let names = [namespaces.core.as_ref()].into_iter().chain(namespaces.ues.iter().map(Some));
        let names = names.map(|namespace| namespace.map(|namespace| namespace.name().to_owned())).collect();
        let counts = LiveCounts::default();
        Ok(Live {
            bridge,
            namespaces: Some(namespaces),
            names,
            slot,
            counts,
            checked: counts,
            checked_at: None,
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

    /// Moves packets into the model, runs the slots that are due, and delivers packets.
    pub fn step(&mut self, now: Time, simulation: &mut RanSimulation) -> Result<(), Error> {
        self.bridge.receive(&mut simulation.model.network)?;
        let before = simulation.now(0);
        let is_first = !simulation.has_started();
        simulation.advance(now);
        self.bridge.deliver(&mut simulation.model.network)?;
        if is_first {
            self.log_commands();
        } else {
            self.check_delay(now, simulation.now(0).since(before));
        }
        Ok(())
    }

    /// Logs the commands that start programs in the namespaces.
    fn log_commands(&self) {
        let ports = [self.bridge.core()].into_iter().chain(self.bridge.ues());
        for ((at, name), port) in self.names.iter().enumerate().zip(ports) {
            let (end, address) = (if at == 0 { "core" } else { "UE" }, port.address());
            match name {
                Some(name) => info!("live mode: {end} {address}: start programs with `ip netns exec {name} COMMAND`"),
                None => info!("live mode: {end} {address}: this host"),
            }
        }
    }

    /// Counts the delays of slots, the last of which is due at `now`, and warns of late ones.
    fn check_delay(&mut self, now: Time, length: Duration) {
        let slots = |length: Duration| (length.as_nanos() / self.slot.as_nanos()) as u64;
        self.counts.slots += slots(length);
        self.counts.late_slots += slots(length.saturating_sub(LATE));
        if length > LATE {
            self.latest = self.latest.max(length);
            self.counts.latest = self.counts.latest.max(length);
        }
        if now - *self.checked_at.get_or_insert(now) < WARNING_PERIOD {
            return;
        }
        self.checked_at = Some(now);
        let (slots, late) = (self.counts.slots - self.checked.slots, self.counts.late_slots - self.checked.late_slots);
        if late as f64 > MAX_LATE_SHARE * slots as f64 {
            warn!(
                "live mode: {late} of {slots} slots ran more than {} ms late, up to {:.1} ms; rates are kept, but packets are \
                 delayed; reduce the load of this machine or the number of UEs",
                LATE.as_millis(),
                self.latest.as_secs_f64() * 1e3
            );
        }
        self.checked = self.counts;
        self.latest = Duration::ZERO;
    }
}
