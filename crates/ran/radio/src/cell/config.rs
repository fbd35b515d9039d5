//! The configuration of a cell: carrier and protocols, administrative state, slices.

use crate::harq::HarqConfig;
use crate::mac::{Positions, Quota, Reservation};
use crate::phy::{Carrier, PowerControl};
use crate::power::PowerModel;
use crate::rlc::RlcConfig;
use crate::tc;
use crate::ue::{ChannelStateConfig, DrxConfig, OuterLoop};

/// The configuration of a cell.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// The carrier.
    pub carrier: Carrier,
    /// HARQ, for both directions.
    pub harq: HarqConfig,
    /// When the base station learns of the channels of UEs.
    pub channel_state: ChannelStateConfig,
    /// Uplink power control.
    pub power_control: PowerControl,
    /// Outer-loop link adaptation of both directions; `None`: only the reported CQI decides the MCS. Default:
    /// [`OuterLoop::default`].
    pub outer_loop: Option<OuterLoop>,
    /// RLC of new bearers.
    pub rlc: RlcConfig,
    /// Traffic control of new bearers.
    pub tc: tc::Configuration,
    /// Slots between a UE's occasions for scheduling requests, 1 to 640 (TS 38.331 SchedulingRequestResourceConfig).
    /// Default: 20.
    pub request_period_slots: u16,
    /// Discontinuous reception of arriving UEs. Default: none.
    pub drx: Option<DrxConfig>,
    /// Slots from an uplink grant to its transmission (k2 of TS 38.214 6.1.2.1, preparation time included), 1 to 32.
    /// Default: 4.
    pub grant_slots: u8,
    /// The most UEs that the cell admits, those on their way to it included; a base station refuses further handovers to it
    /// (TS 38.300 16.1.3, TS 36.300 16.1.2). Default: as many as it has places, [`MAX_UES_PER_CELL`](crate::MAX_UES_PER_CELL).
    pub max_ues: Option<u16>,
    /// The power consumption. Default: category 1, reference configuration 1 of TR 38.864.
    pub power: PowerModel,
}

impl Default for CellConfig {
    fn default() -> Self {
        CellConfig {
            carrier: Carrier::default(),
            harq: HarqConfig::default(),
            channel_state: ChannelStateConfig::default(),
            power_control: PowerControl::default(),
            outer_loop: Some(OuterLoop::default()),
            rlc: RlcConfig::default(),
            tc: tc::Configuration::default(),
            request_period_slots: 20,
            drx: None,
            grant_slots: 4,
            max_ues: None,
            power: PowerModel::default(),
        }
    }
}

impl CellConfig {
    /// [`CellConfig::grant_slots`], clamped to its range.
    pub(super) fn grant_slots(&self) -> u8 {
        self.grant_slots.clamp(1, 32)
    }
}

/// The administrative state of a cell (TS 28.625 6, ITU-T X.731): whether it may serve UEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdministrativeState {
    /// It serves UEs and admits new ones.
    #[default]
    Unlocked,
    /// It serves the UEs that it has, and admits none. [`Network`](crate::Network) moves them to neighbours, and locks the cell
    /// once it is empty or [`HandoverConfig::shutdown_grace`](crate::HandoverConfig::shutdown_grace) is over.
    ShuttingDown,
    /// It serves no UE: it schedules no data and admits none. [`Network`](crate::Network) moves its UEs to neighbours or
    /// releases them.
    Locked,
}

/// How the PRBs of a direction are divided among slices.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Slicing {
    /// No slices.
    #[default]
    None,
    /// Fixed ranges of resource block groups.
    Static {
        /// The range of each slice.
        positions: Vec<Positions>,
        /// Resource blocks per group.
        group_prbs: u32,
    },
    /// NVS reservations.
    Nvs {
        /// The reservation of each slice.
        reservations: Vec<Reservation>,
        /// Whether other slices may use the slots of an idle slice.
        is_shared: bool,
    },
    /// PRB quotas.
    Quotas(Vec<Quota>),
}
