//! A UE's radio channel.

use std::sync::LazyLock;

use super::decibel::{decibels, linear};
use super::{Adaptation, Direction, Geometry, Interference, Link, PowerControl, Trace};
use crate::{Random, Time};

/// What a channel depends on besides the UE.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The transmissions of other cells.
    pub interference: &'a Interference,
    /// The uplink power control of the serving cell.
    pub power_control: &'a PowerControl,
}

impl Surroundings<'static> {
    /// No interference, and the default power control: for a UE without a cell, until it is in one.
    #[must_use]
    pub fn undisturbed() -> Self {
        static NOTHING: LazyLock<(Interference, PowerControl)> = LazyLock::new(Default::default);
        Surroundings { interference: &NOTHING.0, power_control: &NOTHING.1 }
    }
}

/// A UE's radio channel.
#[derive(Clone, Debug)]
pub enum Channel {
    /// A constant channel.
    Fixed(Fixed),
    /// A channel derived from the position of the UE.
    Geometry(Box<Geometry>),
    /// A recorded channel.
    Trace(Trace),
}

/// A constant channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixed {
    /// The downlink.
    pub downlink: Link,
    /// The uplink.
    pub uplink: Link,
    /// RSRP of the serving cell at the UE.
    pub rsrp_dbm: f64,
    /// Power of the UE's reference signals at the base station.
    pub uplink_rsrp_dbm: f64,
}

impl Fixed {
    /// A channel with a fixed MCS in each direction and no errors. The SINR is the one that the MCS requires.
    ///
    /// # Panics
    /// When the carrier has no such MCS.
    #[must_use]
    pub fn mcs(downlink: (&Adaptation, u8), uplink: (&Adaptation, u8)) -> Self {
        let link = |(adaptation, mcs): (&Adaptation, u8)| Link {
            sinr_db: adaptation.needed_sinr_db(mcs),
            mcs: Some(mcs),
            block_error_rate: Some(0.0),
            full_power_prbs: f64::INFINITY,
        };
        Fixed { downlink: link(downlink), uplink: link(uplink), ..Fixed::sinr(0.0, 0.0) }
    }

    /// A channel with a fixed SINR in each direction.
    #[must_use]
    pub fn sinr(sinr_db: f64, uplink_sinr_db: f64) -> Self {
        Fixed {
            downlink: Link::of_sinr(sinr_db),
            uplink: Link::of_sinr(uplink_sinr_db),
            rsrp_dbm: -90.0,
            uplink_rsrp_dbm: -95.0,
        }
    }
}

impl Channel {
    /// Advances the channel to `now`. Its state changes only here.
    pub fn update(&mut self, now: Time, surroundings: &Surroundings<'_>, random: &mut Random) {
        match self {
            Channel::Fixed(_) => {}
            Channel::Geometry(geometry) => geometry.update(now, surroundings, random),
            Channel::Trace(trace) => trace.update(now),
        }
    }

    /// The state of a direction.
    #[must_use]
    pub fn link(&self, direction: Direction) -> Link {
        match (self, direction) {
            (Channel::Fixed(fixed), Direction::Downlink) => fixed.downlink,
            (Channel::Fixed(fixed), Direction::Uplink) => fixed.uplink,
            (Channel::Geometry(geometry), Direction::Downlink) => Link::of_sinr(geometry.sinr_db()),
            (Channel::Geometry(geometry), Direction::Uplink) => {
                Link { full_power_prbs: geometry.full_power_prbs(), ..Link::of_sinr(geometry.uplink_sinr_db()) }
            }
            (Channel::Trace(trace), _) => Link::of_sinr(trace.sinr_db()),
        }
    }

    /// The SINR in dB at the UE.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.link(Direction::Downlink).sinr_db
    }

    /// The SINRs in dB at the UE of a transmission in few resource elements, each with its probability: interference is there or is not.
    pub(crate) fn element_sinrs_db(&self, interference: &Interference) -> [(f64, f64); 2] {
        match self {
            Channel::Geometry(geometry) => geometry.element_sinrs_db(interference),
            Channel::Fixed(_) | Channel::Trace(_) => [(1.0, self.sinr_db()), (0.0, self.sinr_db())],
        }
    }

    /// The SINR in dB at the base station, of a transmission on one PRB.
    #[must_use]
    pub fn uplink_sinr_db(&self) -> f64 {
        self.link(Direction::Uplink).sinr_db
    }

    /// RSRP of the serving cell at the UE.
    #[must_use]
    pub fn rsrp_dbm(&self) -> f64 {
        match self {
            Channel::Fixed(fixed) => fixed.rsrp_dbm,
            Channel::Geometry(geometry) => geometry.rsrp_dbm(geometry.serving()),
            Channel::Trace(trace) => trace.rsrp_dbm(),
        }
    }

    /// RSRQ of the serving cell at the UE (TS 38.215 5.1.3): the power of a resource element of the serving cell in relation to
    /// all power that the UE receives in a resource block, in symbols that the serving cell fills. It is at most -10.8 dB.
    #[must_use]
    pub fn rsrq_db(&self) -> f64 {
        let sinr = linear(self.sinr_db());
        decibels(sinr / (1.0 + sinr) / 12.0)
    }

    /// Power of the UE's reference signals at the base station.
    #[must_use]
    pub fn uplink_rsrp_dbm(&self) -> f64 {
        match self {
            Channel::Fixed(fixed) => fixed.uplink_rsrp_dbm,
            Channel::Geometry(geometry) => geometry.uplink_rsrp_dbm(),
            Channel::Trace(trace) => trace.rsrp_dbm(),
        }
    }

    /// The geometry, for a channel derived from the position.
    #[must_use]
    pub fn geometry(&self) -> Option<&Geometry> {
        match self {
            Channel::Geometry(geometry) => Some(geometry),
            Channel::Fixed(_) | Channel::Trace(_) => None,
        }
    }

    /// The geometry, mutably, for a handover.
    #[must_use]
    pub fn geometry_mut(&mut self) -> Option<&mut Geometry> {
        match self {
            Channel::Geometry(geometry) => Some(geometry),
            Channel::Fixed(_) | Channel::Trace(_) => None,
        }
    }
}
