//! The controls that can be sent, and their arguments.

use anyhow::{Context, bail};
use e2sm::common::{Cgi, NrCgi, PlmnIdentity, SNssai, Sd, Sst};
use e2sm::rc::{
    ActionId, ConditionalHandover, ControlAction, DrbQos, Drx, Handover, RrmPolicyMember, RrmPolicyRatio, SlicePrbQuota,
};
use per::Bits;

use super::measurement::{AddMeasurement, ChangeMeasurement, ConditionalHandOver, DeleteMeasurement};
use super::ue::{UeArgs, WantedUe};

#[derive(clap::Subcommand)]
pub(super) enum ActionArgs {
    SliceQuota(SliceQuota),
    Handover(HandOver),
    ConditionalHandover(ConditionalHandOver),
    AddMeasurement(AddMeasurement),
    ChangeMeasurement(ChangeMeasurement),
    DeleteMeasurement(DeleteMeasurement),
    Drx(SetDrx),
    Qos(SetQos),
}

/// Set a slice's quota of resource blocks.
#[derive(clap::Args)]
pub(super) struct SliceQuota {
    /// Slice/service type (SST).
    #[arg(long, value_name = "N")]
    sst: u8,
    /// Slice differentiator (SD): six hex digits.
    #[arg(long, value_name = "HEX")]
    sd: Option<String>,
    /// Minimum share in percent, if the slice has data.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    min: u8,
    /// Maximum share in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 100, value_parser = clap::value_parser!(u8).range(0..=100))]
    max: u8,
    /// Dedicated share in percent, reserved even if the slice has no data; at most the minimum share.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    dedicated: u8,
    /// gNB-CU-UE-F1AP-ID of a UE of the slice, for DUs that require one. [default: a UE that the DU reports, or 0]
    #[arg(long, value_name = "N")]
    f1ap_id: Option<u32>,
}

/// Hand a UE over to another cell.
#[derive(clap::Args)]
pub(super) struct HandOver {
    #[command(flatten)]
    ue: UeArgs,
    /// Target cell: its NR cell identity (36 bits, hex) in the node's PLMN.
    #[arg(long, value_name = "HEX", value_parser = cell_identity)]
    cell: u64,
}

/// Set a UE's DRX cycle.
#[derive(clap::Args)]
pub(super) struct SetDrx {
    #[command(flatten)]
    ue: UeArgs,
    /// Long DRX cycle in ms; rounded down to a value of TS 38.331.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u16).range(10..=10240))]
    cycle_ms: u16,
}

/// Change the QoS of a UE's bearer.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("qos").args(["five_qi", "priority"]).multiple(true).required(true)))]
pub(super) struct SetQos {
    #[command(flatten)]
    ue: UeArgs,
    /// Data radio bearer (DRB).
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=32))]
    drb: u8,
    /// 5QI.
    #[arg(long, value_name = "5QI")]
    five_qi: Option<u8>,
    /// Priority level; lower values are served first.
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(1..=127))]
    priority: Option<u8>,
}

pub(super) fn cell_identity(text: &str) -> Result<u64, &'static str> {
    let value = u64::from_str_radix(text, 16).map_err(|_| "not hex digits")?;
    if value >> 36 == 0 { Ok(value) } else { Err("an NR cell identity has 36 bits: 9 hex digits") }
}

fn slice_differentiator(text: &str) -> anyhow::Result<Sd> {
    let value = u32::from_str_radix(text, 16).ok().filter(|_| text.len() == 6);
    let [_, a, b, c] = value.context("a slice differentiator has six hex digits")?.to_be_bytes();
    Ok(Sd([a, b, c]))
}

impl ActionArgs {
    /// The number of the action.
    pub fn id(&self) -> ActionId {
        match self {
            ActionArgs::SliceQuota(_) => ControlAction::SLICE_PRB_QUOTA,
            ActionArgs::Handover(_) => ControlAction::HANDOVER,
            ActionArgs::ConditionalHandover(_) => ControlAction::CONDITIONAL_HANDOVER,
            ActionArgs::AddMeasurement(_) => ControlAction::ADD_MEASUREMENT,
            ActionArgs::ChangeMeasurement(_) => ControlAction::MODIFY_MEASUREMENT,
            ActionArgs::DeleteMeasurement(_) => ControlAction::DELETE_MEASUREMENT,
            ActionArgs::Drx(_) => ControlAction::DRX,
            ActionArgs::Qos(_) => ControlAction::DRB_QOS,
        }
    }

    /// The arguments that name its UE; `None` if it concerns a slice.
    fn ue_args(&self) -> Option<&UeArgs> {
        match self {
            ActionArgs::SliceQuota(_) => None,
            ActionArgs::Handover(HandOver { ue, .. })
            | ActionArgs::ConditionalHandover(ConditionalHandOver { ue, .. })
            | ActionArgs::AddMeasurement(AddMeasurement { ue, .. })
            | ActionArgs::ChangeMeasurement(ChangeMeasurement { ue, .. })
            | ActionArgs::DeleteMeasurement(DeleteMeasurement { ue, .. })
            | ActionArgs::Drx(SetDrx { ue, .. })
            | ActionArgs::Qos(SetQos { ue, .. }) => Some(ue),
        }
    }

    /// The UE that the control names.
    pub fn ue(&self) -> WantedUe<'_> {
        match self {
            ActionArgs::SliceQuota(args) => WantedUe::AnyOfDu { f1ap_id: args.f1ap_id },
            _ => self.ue_args().map_or(WantedUe::AnyOfDu { f1ap_id: None }, WantedUe::Named),
        }
    }

    /// The slice of the UE: nodes are asked for the UE IDs of its UEs.
    pub fn slice_of_ue(&self) -> Sst {
        match self {
            ActionArgs::SliceQuota(args) => Sst([args.sst]),
            _ => Sst([self.ue_args().map_or(1, |ue| ue.sst)]),
        }
    }

    /// The action for a node of that PLMN.
    pub fn action(&self, plmn_identity: PlmnIdentity) -> anyhow::Result<ControlAction> {
        let cell = |id| Cgi::NrCgi(NrCgi { plmn_identity, nr_cell_identity: Bits::new(id, 36) });
        Ok(match self {
            ActionArgs::SliceQuota(args) => {
                let sd = args.sd.as_deref().map(slice_differentiator).transpose()?;
                let slice = SNssai { sst: Sst([args.sst]), sd };
                if args.min > args.max {
                    bail!("--min {} is above --max {}", args.min, args.max);
                }
                if args.dedicated > args.min {
                    bail!("--dedicated {} is above --min {}", args.dedicated, args.min);
                }
                let policy = RrmPolicyRatio {
                    members: vec![RrmPolicyMember { plmn_identity, slice }],
                    min_percent: Some(args.min),
                    max_percent: Some(args.max),
                    dedicated_percent: Some(args.dedicated),
                };
                ControlAction::SlicePrbQuota(SlicePrbQuota { policies: vec![policy] })
            }
            ActionArgs::Handover(args) => ControlAction::Handover(Handover::to(cell(args.cell))),
            ActionArgs::ConditionalHandover(args) => {
                let condition = args.condition.event()?;
                ControlAction::ConditionalHandover(match args.cell {
                    Some(target) => ConditionalHandover::Prepare { target: cell(target), condition },
                    None => ConditionalHandover::Cancel,
                })
            }
            ActionArgs::AddMeasurement(args) => ControlAction::AddMeasurement(args.trigger.trigger()?),
            ActionArgs::ChangeMeasurement(args) => ControlAction::ModifyMeasurement(args.change()?),
            ActionArgs::DeleteMeasurement(args) => ControlAction::DeleteMeasurement(args.id),
            ActionArgs::Qos(args) => {
                let (drb_id, five_qi, priority_level) = (args.drb, args.five_qi, args.priority);
                ControlAction::DrbQos(DrbQos { drb_id, five_qi, priority_level, ..DrbQos::default() })
            }
            ActionArgs::Drx(args) => ControlAction::Drx(Drx::long(args.cycle_ms)),
        })
    }
}
