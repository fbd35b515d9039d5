//! A UE's radio channel.

use super::{Adaptation, Direction, Geometry, Link, Trace};
use crate::{Random, Time};

/// A UE's radio channel.
#[derive(Clone, Debug)]
pub enum Channel {
    /// It stays as it is.
    Fixed(Fixed),
    /// It goes by where the UE is.
    Geometry(Box<Geometry>),
    /// It was recorded.
    Trace(Trace),
}

/// A channel that stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Fixed {
    /// Its downlink.
    pub downlink: Link,
    /// Its uplink.
    pub uplink: Link,
    /// The power of the cell's reference signals at the UE.
    pub rsrp_dbm: f64,
    /// The power of the UE's reference signals at the base station.
    pub uplink_rsrp_dbm: f64,
}

impl Fixed {
    /// With that MCS in each direction, and nothing lost. The SINR is what the MCS needs.
    ///
    /// # Panics
    /// Where the carrier has no such MCS.
    #[must_use]
    pub fn mcs(downlink: (&Adaptation, u8), uplink: (&Adaptation, u8)) -> Self {
        let link = |(adaptation, mcs): (&Adaptation, u8)| Link {
            sinr_db: adaptation.needed_sinr_db(mcs),
            mcs: Some(mcs),
            block_error_rate: Some(0.0),
        };
        Fixed { downlink: link(downlink), uplink: link(uplink), ..Fixed::sinr(0.0, 0.0) }
    }

    /// With that SINR in each direction, and what follows from it.
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
    /// Lets time pass. What a channel is like changes in here only, and costs nothing to ask for in between.
    pub fn update(&mut self, now: Time, random: &mut Random) {
        match self {
            Channel::Fixed(_) => {}
            Channel::Geometry(geometry) => geometry.update(now, random),
            Channel::Trace(trace) => trace.update(now),
        }
    }

    /// What both ends of a direction go by.
    #[must_use]
    pub fn link(&self, direction: Direction) -> Link {
        match (self, direction) {
            (Channel::Fixed(fixed), Direction::Downlink) => fixed.downlink,
            (Channel::Fixed(fixed), Direction::Uplink) => fixed.uplink,
            (Channel::Geometry(geometry), Direction::Downlink) => Link::of_sinr(geometry.sinr_db()),
            (Channel::Geometry(geometry), Direction::Uplink) => Link::of_sinr(geometry.uplink_sinr_db()),
            (Channel::Trace(trace), _) => Link::of_sinr(trace.sinr_db()),
        }
    }

    /// The SINR in dB at the UE.
    #[must_use]
    pub fn sinr_db(&self) -> f64 {
        self.link(Direction::Downlink).sinr_db
    }

    /// The SINR in dB at the base station.
    #[must_use]
    pub fn uplink_sinr_db(&self) -> f64 {
        self.link(Direction::Uplink).sinr_db
    }

    /// The power of the serving cell's reference signals at the UE.
    #[must_use]
    pub fn rsrp_dbm(&self) -> f64 {
        match self {
            Channel::Fixed(fixed) => fixed.rsrp_dbm,
            Channel::Geometry(geometry) => geometry.rsrp_dbm(geometry.serving()),
            Channel::Trace(trace) => trace.rsrp_dbm(),
        }
    }

    /// The power of the UE's reference signals at the base station.
    #[must_use]
    pub fn uplink_rsrp_dbm(&self) -> f64 {
        match self {
            Channel::Fixed(fixed) => fixed.uplink_rsrp_dbm,
            Channel::Geometry(geometry) => geometry.uplink_rsrp_dbm(),
            Channel::Trace(trace) => trace.rsrp_dbm(),
        }
    }

    /// Where the UE is, and what it hears of all cells, if that is what its channel goes by.
    #[must_use]
    pub fn geometry(&self) -> Option<&Geometry> {
        match self {
            Channel::Geometry(geometry) => Some(geometry),
            Channel::Fixed(_) | Channel::Trace(_) => None,
        }
    }

    /// The same, for a handover.
    #[must_use]
    pub fn geometry_mut(&mut self) -> Option<&mut Geometry> {
        match self {
            Channel::Geometry(geometry) => Some(geometry),
            Channel::Fixed(_) | Channel::Trace(_) => None,
        }
    }
}
