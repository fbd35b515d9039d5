#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod cell;
mod core_node;
mod direction;
mod modulation;
mod node;
mod plmn;
mod qos;
mod slice;
mod ue;

pub use cell::{
    BeamId, CellIdentity, CellReference, CellRnti, Cgi, EutraCgi, EutraPci, EutraTac, FiveGsTac, InvalidCell, NrCgi,
    NrPci, RntiValue,
};
pub use core_node::{CoreCpId, Guami, Gummei};
pub use direction::Direction;
pub use modulation::{McsTable, Modulation};
pub use node::{
    EnGnbId, EnbId, GlobalEnGnbId, GlobalEnbId, GlobalGnbId, GlobalNgEnbId, GlobalNgRanNodeId, GlobalRicId, GnbCuUpId,
    GnbDuId, GnbId, NgEnbDuId, NgEnbId,
};
pub use plmn::{InvalidPlmn, PlmnIdentity};
pub use qos::{FiveQi, GroupId, Qci, QosFlowIdentifier, QosId};
pub use slice::{InvalidSNssai, SNssai, Sd, Sst};
pub use ue::{
    AmfUeNgapId, EnbUeX2apId, EnbUeX2apIdExtension, GnbCuCpUeE1apId, GnbCuUeF1apId, MmeUeS1apId, NgEnbCuUeW1apId,
    NgRanNodeUeXnapId, RanUeId,
};
