//! An emulated virtual base-band unit (vBBU), for machines without a radio.
//!
//! It has the nine threads of Table 1 in paper 004 (Ocampo et al., "Assessing the Cloud-RAN in the Linux Kernel", Sensors 24(7),
//! 2365), four of them under SCHED_FIFO. Their work is signal processing with a measured cost, and follows the resource blocks and
//! the MCS of each subframe of an emulated cell. A subframe that is not processed within the 3 ms that HARQ leaves is not on the
//! air: UEs answer its transport blocks with NACKs, which cost throughput and are visible in E2SM-KPM.
//!
//! | module | subject |
//! |---|---|
//! | `work`, `load` | kernels with a measured cost, and how much of them a subframe takes |
//! | `deadlines` | HARQ deadlines |
//! | `pipeline` | the real-time threads |
//! | `user_plane`, `gtp`, `control_plane` | the other threads: GTP tunnels over UDP, S1AP |
//! | `fronthaul` | split 7.1: samples over UDP |
//! | `priority`, `idle` | scheduling policy of threads, sleep of idle CPUs |
//! | `network` | links over virtual Ethernet devices, or over loopback |
//! | `unit` | all of it around an emulated cell, which is an ordinary E2 node |
//!
//! ```no_run
//! use vbbu::{Config, Unit};
//!
//! let mut unit = Unit::start(Config::default())?;
//! for _ in 0..10_000 {
//!     unit.step()?; // one subframe, 1 ms
//! }
//! let counts = unit.counts();
//! println!("{} of {} subframes were missed", counts.misses, counts.subframes);
//! # Ok::<(), vbbu::Error>(())
//! ```

#[cfg(not(target_os = "linux"))]
compile_error!("threads under SCHED_FIFO and virtual Ethernet devices require Linux");

mod clock;
mod control_plane;
mod deadlines;
mod error;
mod fronthaul;
mod gtp;
mod idle;
mod load;
mod network;
mod pipeline;
mod priority;
mod threads;
mod unit;
mod user_plane;
mod work;

use std::time::Duration;

use ferric::Endpoint;

pub use error::Error;
pub use pipeline::Calibration;
pub use threads::{Role, ThreadStatus};
pub use unit::{Counts, Unit, UnitStatus};

/// How often a thread that waits looks whether the unit stops.
const POLL: Duration = Duration::from_millis(100);
/// The most parts of a subframe that the radio unit's thread reads.
const MAX_READS: u32 = 16;
/// The highest number of a unit on a host.
const MAX_UNIT: u8 = 63;

/// The functional split between the unit and what is at the cell's site (paper 004, Figure 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// None: the unit has all of the base station.
    #[default]
    Monolithic,
    /// Split 7.1: the unit exchanges frequency-domain samples with the radio unit over UDP.
    Samples,
    /// Split 2: the unit has what is above RLC, and packets cross the midhaul. Its real-time threads have no work and no deadlines: the
    /// machine at the cell's site has the HARQ loop.
    F1,
}

/// Where the unit and its surroundings are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// All in this process's network namespace, over its loopback device: takes no right.
    #[default]
    Loopback,
    /// The unit in this process's namespace; the core, and with a split what is at the cell's site, in namespaces of their own,
    /// connected by virtual Ethernet devices. Takes root.
    Host,
    /// The unit in a namespace of its own as well. Takes root.
    Namespace,
}

/// The channel of all UEs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Channel {
    /// A fixed MCS without losses: the only NACKs are those of missed subframes.
    Mcs(u8),
    /// A fixed SINR in dB, down and up: link adaptation chooses the MCS, and some blocks are not decoded.
    Sinr(f64, f64),
}

/// The configuration of a unit.
#[derive(Clone, Debug)]
pub struct Config {
    /// The RICs to which the cell connects. Default: none.
    pub rics: Vec<Endpoint>,
    /// The bandwidth of the LTE carrier: 1.4, 3, 5, 10, 15 or 20 MHz. Default: 5, that is 25 resource blocks, as in the paper.
    pub bandwidth_mhz: f64,
    /// The number of UEs, 1 to 64. Default: 1.
    pub ues: u16,
    /// The downlink of all UEs together, 0 to 1000. Default: 10, as in the paper.
    pub downlink_mbps: f64,
    /// The uplink of all UEs together, 0 to 1000. Default: 2.
    pub uplink_mbps: f64,
    /// The channel. Default: 20 dB down, 15 dB up.
    pub channel: Channel,
    /// The seed of the cell. Default: 1.
    pub seed: u64,
    /// The work of the four real-time threads in a fully loaded subframe, in us of one CPU: 10 to 3000. Default: 600, as base-band
    /// units take at most 60 % at peak times (paper 004, section 2.3).
    pub full_load_us: f64,
    /// In how many parts the radio unit's thread reads a subframe, 1 to 16. Default: 16, so that it sleeps no longer than 63 us: that
    /// of the paper never sleeps longer than 64 us (section 4.2.1).
    pub reads_per_subframe: u32,
    /// The time in us within which idle CPUs of the host have to leave their sleep while the unit runs. Default: 0, which makes them poll:
    /// on a virtual CPU, each sleep ends with a switch of virtual machines. OpenAirInterface requests 10 us of a physical one.
    pub idle_exit_us: u32,
    /// The functional split. Default: none.
    pub split: Split,
    /// Where it runs. Default: over loopback.
    pub place: Place,
    /// The number of the unit on its host, 0 to 63, which names its devices and namespaces. Default: 0.
    pub unit: u8,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            rics: Vec::new(),
            bandwidth_mhz: 5.0,
            ues: 1,
            downlink_mbps: 10.0,
            uplink_mbps: 2.0,
            channel: Channel::Sinr(20.0, 15.0),
            seed: 1,
            full_load_us: 600.0,
            reads_per_subframe: MAX_READS,
            idle_exit_us: 0,
            split: Split::default(),
            place: Place::default(),
            unit: 0,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), Error> {
        let within = |is_allowed, field, allowed| match is_allowed {
            true => Ok(()),
            false => Err(Error::Range { field, allowed }),
        };
        within((1..=64).contains(&self.ues), "ues", "1 to 64")?;
        within((0.0..=1000.0).contains(&self.downlink_mbps), "downlink_mbps", "0 to 1000")?;
        within((0.0..=1000.0).contains(&self.uplink_mbps), "uplink_mbps", "0 to 1000")?;
        within((10.0..=3000.0).contains(&self.full_load_us), "full_load_us", "10 to 3000")?;
        within((1..=MAX_READS).contains(&self.reads_per_subframe), "reads_per_subframe", "1 to 16")?;
        within(self.unit <= MAX_UNIT, "unit", "0 to 63")?;
        match self.channel {
            Channel::Mcs(mcs) => within(mcs <= 28, "channel: MCS", "0 to 28"),
            Channel::Sinr(down, up) => {
                let is_allowed = |sinr: f64| (-20.0..=60.0).contains(&sinr);
                within(is_allowed(down) && is_allowed(up), "channel: SINR", "-20 to 60 dB")
            }
        }
    }
}
