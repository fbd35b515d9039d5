//! The part of a report that a tenant receives.

use e2sm::slice::{DirectionSlices, IndicationMessage};
use e2sm::{Arena, Error, Wire, gtp, mac, pdcp, rlc, rrc};
use per::List;

use crate::node::{NodeState, Offered};

/// What a tenant receives of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The message unchanged.
    Unchanged,
    /// The message that was written.
    Written,
    /// No message.
    Nothing,
}

/// Writes what a tenant receives of a report.
///
/// # Errors
/// If the message cannot be decoded.
pub(crate) fn partition(
    model: Offered,
    node: &NodeState,
    tenant: usize,
    message: &[u8],
    arena: &Arena,
    out: &mut Vec<u8>,
) -> Result<Content, Error> {
    /// Keeps the records of own UEs.
    macro_rules! records {
        ($model:ident, $records:ident, $wire:ident) => {{
            let mut report = $model::IndicationMessage::decode(message, $wire, arena)?;
            let is_own = |rnti: u32| node.ues.tenant(rnti) == Some(tenant);
            if report.$records.iter().all(|record| is_own(record.rnti)) {
                return Ok(Content::Unchanged);
            }
            report.$records = report.$records.iter().filter(|record| is_own(record.rnti)).cloned().collect();
            report.encode($wire, out)?;
            Ok(Content::Written)
        }};
    }
    match model {
        Offered::Mac(wire) => records!(mac, ues, wire),
        Offered::Rlc(wire) => records!(rlc, bearers, wire),
        Offered::Pdcp(wire) => records!(pdcp, bearers, wire),
        Offered::Gtp(wire) => records!(gtp, tunnels, wire),
        Offered::Rrc(wire) => events(node, tenant, message, wire, arena, out),
        Offered::Slice(wire) => slices(node, tenant, message, wire, arena, out),
        // by functions of their own
        Offered::Kpm(_) | Offered::Rc(_) | Offered::Ccc => Ok(Content::Nothing),
    }
}

fn events(
    node: &NodeState,
    tenant: usize,
    message: &[u8],
    wire: Wire,
    arena: &Arena,
    out: &mut Vec<u8>,
) -> Result<Content, Error> {
    let mut report = rrc::IndicationMessage::decode(message, wire, arena)?;
    let agreement = &node.sla.tenants[tenant];
    let is_own = |event: &rrc::Notification<'_>| {
        // a UE of two tenants of a PLMN belongs to the one that the table of UEs names; it has left that when it detaches
        agreement.has_subscriber(event.plmn, &event.s_nssais)
            && node.ues.tenant(event.rnti.0.into()).is_none_or(|owner| owner == tenant)
    };
    let own: List<'_, rrc::Notification<'_>> =
        report.notifications.iter().filter(|event| is_own(event)).cloned().collect();
    if own.is_empty() {
        return Ok(Content::Nothing);
    }
    if own.len() == report.notifications.len() {
        return Ok(Content::Unchanged);
    }
    report.notifications = own;
    report.encode(wire, out)?;
    Ok(Content::Written)
}

fn slices(
    node: &NodeState,
    tenant: usize,
    message: &[u8],
    wire: Wire,
    arena: &Arena,
    out: &mut Vec<u8>,
) -> Result<Content, Error> {
    let mut report = IndicationMessage::decode(message, wire, arena)?;
    let own = &node.tenants[tenant].slices;
    let schedulers = (report.slices.dl.scheduler, report.slices.ul.scheduler);
    report.slices = own.configuration.clone();
    report.slices.dl = DirectionSlices { scheduler: schedulers.0, ..report.slices.dl };
    report.slices.ul = DirectionSlices { scheduler: schedulers.1, ..report.slices.ul };
    report.ues = own.ue_slices().into();
    report.encode(wire, out)?;
    Ok(Content::Written)
}
