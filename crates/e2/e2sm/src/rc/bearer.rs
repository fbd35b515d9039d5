//! DRB QoS configuration (RC 8.4.2.1).

use per::IntoOwned;

use super::RanParameterItem;
use super::known::{KnownParameter, Shape, check, number, optional, required};
use crate::Error;

const DRB: KnownParameter = required(1, "DRB ID", Shape::Number(1, 32));
const FIVE_QI: KnownParameter = optional(2, "5QI", Shape::Number(0, 255));
const DELAY_BUDGET: KnownParameter = optional(3, "Packet Delay Budget", Shape::Number(0, 1023));
const ERROR_RATE: KnownParameter = optional(4, "Packet Error Rate", Shape::Structure(&[SCALAR, EXPONENT]));
const SCALAR: KnownParameter = required(5, "Scalar", Shape::Number(0, 9));
const EXPONENT: KnownParameter = required(6, "Exponent", Shape::Number(0, 9));
const RETENTION: KnownParameter = optional(
    7,
    "NG-RAN DRB Allocation and Retention Priority",
    Shape::Structure(&[PRIORITY, CAPABILITY, VULNERABILITY]),
);
const PRIORITY: KnownParameter = required(8, "Priority Level", Shape::Number(0, 15));
const CAPABILITY: KnownParameter = required(9, "Pre-emption Capability", Shape::Flag);
const VULNERABILITY: KnownParameter = required(10, "Pre-emption Vulnerability", Shape::Flag);
const FLOW_PRIORITY: KnownParameter = optional(11, "Priority Level of Mapped QoS Flows", Shape::Number(1, 127));
const GUARANTEED: KnownParameter = optional(
    12,
    "QoS Parameters for GBR Flows in NG-RAN Bearer",
    Shape::Structure(&[MAX_DL, GUARANTEED_DL, LOSS_DL, MAX_UL, GUARANTEED_UL, LOSS_UL]),
);
const MAX_DL: KnownParameter = required(13, "Maximum Flow Bit Rate Downlink", BIT_RATE);
const GUARANTEED_DL: KnownParameter = required(14, "Guaranteed Flow Bit Rate Downlink", BIT_RATE);
const LOSS_DL: KnownParameter = optional(15, "Maximum Packet Loss Rate Downlink", LOSS_RATE);
const MAX_UL: KnownParameter = required(16, "Maximum Flow Bit Rate Uplink", BIT_RATE);
const GUARANTEED_UL: KnownParameter = required(17, "Guaranteed Flow Bit Rate Uplink", BIT_RATE);
const LOSS_UL: KnownParameter = optional(18, "Maximum Packet Loss Rate Uplink", LOSS_RATE);
/// TS 38.473 9.3.1.22, in bit/s.
const BIT_RATE: Shape = Shape::Number(0, 4_000_000_000_000);
/// TS 38.473 9.3.1.50, in units of 0.1 %.
const LOSS_RATE: Shape = Shape::Number(0, 1000);
const MONITORING: KnownParameter = optional(19, "QoS Monitoring Enable Request", Shape::Number(0, 2));
const MONITORING_FREQUENCY: KnownParameter = optional(20, "QoS Monitoring Reporting Frequency", Shape::Number(1, 1800));
const MONITORING_DISABLED: KnownParameter = optional(21, "QoS Monitoring Disabled", Shape::Flag);
const REFLECTIVE: KnownParameter = optional(22, "Reflective QoS Mapping", Shape::Flag);

pub(super) const PARAMETERS: &[KnownParameter] = &[
    DRB,
    FIVE_QI,
    DELAY_BUDGET,
    ERROR_RATE,
    RETENTION,
    FLOW_PRIORITY,
    GUARANTEED,
    MONITORING,
    MONITORING_FREQUENCY,
    MONITORING_DISABLED,
    REFLECTIVE,
];

/// DRB QoS configuration: control style 1, action 1. Absent parameters keep their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrbQos {
    /// The bearer, 1 to 32.
    pub drb_id: u8,
    /// The 5QI.
    pub five_qi: Option<u8>,
    /// The packet delay budget in units of 0.5 ms (TS 38.473 9.3.1.51).
    pub packet_delay_budget: Option<u16>,
    /// The packet error rate.
    pub packet_error_rate: Option<PacketErrorRate>,
    /// Allocation and retention priority.
    pub allocation_and_retention: Option<AllocationAndRetention>,
    /// The priority level of the QoS flows, 1 (highest) to 127.
    pub priority_level: Option<u8>,
    /// Guaranteed bit rates.
    pub guaranteed: Option<GuaranteedRates>,
    /// The other parameters: monitoring (19 to 21) and reflective mapping (22), each well formed.
    pub other: Vec<RanParameterItem<'static>>,
}

/// Packet error rate: `scalar` times ten to the power of minus `exponent` (TS 38.473 9.3.1.52).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketErrorRate {
    /// 0 to 9.
    pub scalar: u8,
    /// 0 to 9.
    pub exponent: u8,
}

/// Allocation and retention priority (TS 38.473 9.3.1.48).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocationAndRetention {
    /// 1 (highest) to 14; 15 is no priority.
    pub priority_level: u8,
    /// Whether it may pre-empt others.
    pub may_preempt: bool,
    /// Whether others may pre-empt it.
    pub is_preemptable: bool,
}

/// GBR QoS flow information (TS 38.473 9.3.1.46).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuaranteedRates {
    /// Downlink.
    pub downlink: FlowRates,
    /// Uplink.
    pub uplink: FlowRates,
}

/// The bit rates of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRates {
    /// The maximum flow bit rate in bit/s.
    pub max_bps: u64,
    /// The guaranteed flow bit rate in bit/s.
    pub guaranteed_bps: u64,
    /// The maximum packet loss rate in units of 0.1 %.
    pub max_loss_per_mille: Option<u16>,
}

impl DrbQos {
    /// Returns a change of the priority level of a DRB's flows.
    #[must_use]
    pub fn priority(drb_id: u8, priority_level: u8) -> Self {
        DrbQos { drb_id, priority_level: Some(priority_level), ..DrbQos::default() }
    }

    /// Returns the RAN parameters.
    #[must_use]
    pub fn to_parameters(&self) -> Vec<RanParameterItem<'static>> {
        let mut items = vec![DRB.key_of(number(self.drb_id))];
        items.extend(self.five_qi.map(|five_qi| FIVE_QI.element_of(number(five_qi))));
        items.extend(self.packet_delay_budget.map(|budget| DELAY_BUDGET.element_of(number(budget))));
        items.extend(self.packet_error_rate.map(|rate| {
            let (scalar, exponent) = (number(rate.scalar), number(rate.exponent));
            ERROR_RATE.structure_of(vec![SCALAR.element_of(scalar), EXPONENT.element_of(exponent)])
        }));
        items.extend(self.allocation_and_retention.map(|retention| {
            RETENTION.structure_of(vec![
                PRIORITY.element_of(number(retention.priority_level)),
                CAPABILITY.element_of(number(retention.may_preempt)),
                VULNERABILITY.element_of(number(retention.is_preemptable)),
            ])
        }));
        items.extend(self.priority_level.map(|level| FLOW_PRIORITY.element_of(number(level))));
        items.extend(self.guaranteed.map(|rates| {
            let mut parts = rates.downlink.to_parameters([&MAX_DL, &GUARANTEED_DL, &LOSS_DL]);
            parts.extend(rates.uplink.to_parameters([&MAX_UL, &GUARANTEED_UL, &LOSS_UL]));
            GUARANTEED.structure_of(parts)
        }));
        items.extend_from_slice(&self.other);
        items
    }

    /// Reads the RAN parameters of the action.
    ///
    /// # Errors
    /// [`Error::Parameter`]: a parameter is missing, out of range or unknown.
    pub fn from_parameters(items: &[RanParameterItem<'_>]) -> Result<Self, Error> {
        check(PARAMETERS, items)?;
        let rate = ERROR_RATE.structure(items);
        let retention = RETENTION.structure(items);
        let rates = GUARANTEED.structure(items);
        let others = [MONITORING, MONITORING_FREQUENCY, MONITORING_DISABLED, REFLECTIVE];
        let other = items.iter().filter(|item| others.iter().any(|other| other.id == item.ran_parameter_id));
        Ok(DrbQos {
            drb_id: DRB.required_number(items)?,
            five_qi: FIVE_QI.number(items)?,
            packet_delay_budget: DELAY_BUDGET.number(items)?,
            packet_error_rate: match rate {
                [] => None,
                _ => Some(PacketErrorRate {
                    scalar: SCALAR.required_number(rate)?,
                    exponent: EXPONENT.required_number(rate)?,
                }),
            },
            allocation_and_retention: match retention {
                [] => None,
                _ => Some(AllocationAndRetention {
                    priority_level: PRIORITY.required_number(retention)?,
                    may_preempt: CAPABILITY.flag(retention)?.unwrap_or_default(),
                    is_preemptable: VULNERABILITY.flag(retention)?.unwrap_or_default(),
                }),
            },
            priority_level: FLOW_PRIORITY.number(items)?,
            guaranteed: match rates {
                [] => None,
                _ => Some(GuaranteedRates {
                    downlink: FlowRates::from_parameters([&MAX_DL, &GUARANTEED_DL, &LOSS_DL], rates)?,
                    uplink: FlowRates::from_parameters([&MAX_UL, &GUARANTEED_UL, &LOSS_UL], rates)?,
                }),
            },
            other: other.map(|item| item.clone().into_owned()).collect(),
        })
    }
}

impl FlowRates {
    fn to_parameters(self, [max, guaranteed, loss]: [&KnownParameter; 3]) -> Vec<RanParameterItem<'static>> {
        // a number beyond i64 is beyond the range of the parameter too
        let bps = |bps: u64| number(i64::try_from(bps).unwrap_or(i64::MAX));
        let mut items = vec![max.element_of(bps(self.max_bps)), guaranteed.element_of(bps(self.guaranteed_bps))];
        items.extend(self.max_loss_per_mille.map(|rate| loss.element_of(number(rate))));
        items
    }

    fn from_parameters(
        [max, guaranteed, loss]: [&KnownParameter; 3],
        items: &[RanParameterItem<'_>],
    ) -> Result<Self, Error> {
        Ok(FlowRates {
            max_bps: max.required_number(items)?,
            guaranteed_bps: guaranteed.required_number(items)?,
            max_loss_per_mille: loss.number(items)?,
        })
    }
}
