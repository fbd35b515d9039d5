//! The parts of a report that tenants receive. A report is read once, whichever number of tenants receives it.

use e2sm::slice::DirectionSlices;
use e2sm::{Arena, Error, RecordMap, Wire, ccc, gtp, kpm, mac, pdcp, rc, rlc, rrc, slice, tc};
use ferric::e2ap::RicActionId;

use crate::ccc::partition as ccc_partition;
use crate::cells::CellPlmn;
use crate::node::{NodeState, Offered, View};

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

/// The records of a report, each with its tenant. Reused from report to report.
#[derive(Debug, Default)]
pub(crate) struct OwnedRecords {
    map: RecordMap,
    /// The tenant of each record.
    owners: Vec<Option<usize>>,
    /// The number of messages in which records were searched for.
    #[cfg(test)]
    pub searches: usize,
}

impl OwnedRecords {
    /// Finds the records of a message by `find`. Returns `false` if they cannot be copied as octets.
    fn find(
        &mut self,
        node: &NodeState,
        find: impl FnOnce(&mut RecordMap) -> Result<bool, Error>,
    ) -> Result<bool, Error> {
        #[cfg(test)]
        {
            self.searches += 1;
        }
        if !find(&mut self.map)? {
            return Ok(false);
        }
        self.owners.clear();
        self.owners.extend(self.map.records().iter().map(|record| node.ues.tenant(record.rnti)));
        Ok(true)
    }

    fn write(&self, tenant: usize, message: &[u8], out: &mut Vec<u8>) -> Content {
        let is_own = |owner: &Option<usize>| *owner == Some(tenant);
        if self.owners.iter().all(is_own) {
            return Content::Unchanged;
        }
        self.map.write(message, |at| is_own(&self.owners[at]), out);
        Content::Written
    }
}

/// A report that was read.
pub(crate) enum Report<'a> {
    /// Records that are copied as octets.
    Records(&'a OwnedRecords),
    Mac(mac::IndicationMessage<'a>, Wire),
    Rlc(rlc::IndicationMessage<'a>, Wire),
    Pdcp(pdcp::IndicationMessage<'a>, Wire),
    Gtp(gtp::IndicationMessage<'a>, Wire),
    Rrc(rrc::IndicationMessage<'a>, Wire),
    Slice(slice::IndicationMessage<'a>, Wire),
    Tc(tc::IndicationMessage<'a>, Wire),
    Kpm(kpm::IndicationMessage<'a>, kpm::Detection),
    Rc(rc::IndicationMessage<'a>, rc::Detection),
    Ccc(ccc::IndicationMessage),
}

impl<'a> Report<'a> {
    /// Reads a report.
    ///
    /// # Errors
    /// The reason why it cannot be decoded: then it cannot be partitioned.
    pub fn read(
        model: Offered,
        node: &NodeState,
        message: &'a [u8],
        records: &'a mut OwnedRecords,
        arena: &'a Arena,
    ) -> Result<Report<'a>, String> {
        let text = |error: Error| error.to_string();
        /// Finds the records, or decodes the message.
        macro_rules! of_records {
            ($model:ident, $variant:ident, $wire:ident) => {{
                let find = |map: &mut RecordMap| $model::IndicationMessage::find_records(message, $wire, map);
                if records.find(node, find).map_err(text)? {
                    Ok(Report::Records(records))
                } else {
                    let decoded = $model::IndicationMessage::decode(message, $wire, arena).map_err(text)?;
                    Ok(Report::$variant(decoded, $wire))
                }
            }};
        }
        match model {
            Offered::Mac(wire) => of_records!(mac, Mac, wire),
            Offered::Rlc(wire) => of_records!(rlc, Rlc, wire),
            Offered::Pdcp(wire) => of_records!(pdcp, Pdcp, wire),
            Offered::Gtp(wire) => of_records!(gtp, Gtp, wire),
            Offered::Rrc(wire) => {
                rrc::IndicationMessage::decode(message, wire, arena).map(|it| Report::Rrc(it, wire)).map_err(text)
            }
            Offered::Slice(wire) => {
                slice::IndicationMessage::decode(message, wire, arena).map(|it| Report::Slice(it, wire)).map_err(text)
            }
            Offered::Tc(wire) => {
                tc::IndicationMessage::decode(message, wire, arena).map(|it| Report::Tc(it, wire)).map_err(text)
            }
            Offered::Kpm(detection) => {
                kpm::IndicationMessage::decode_in(message, detection.revision, detection.wire, arena)
                    .map(|it| Report::Kpm(it, detection))
                    .map_err(text)
            }
            Offered::Rc(detection) => {
                rc::IndicationMessage::decode_in(message, detection.revision, detection.wire, arena)
                    .map(|it| Report::Rc(it, detection))
                    .map_err(text)
            }
            Offered::Ccc => ccc::IndicationMessage::decode(message).map(Report::Ccc).map_err(|error| error.to_string()),
        }
    }

    /// Writes what a tenant receives of the report, which has the octets `message` and is of an action. `view` is how its
    /// subscription differs from that to the base station.
    ///
    /// # Errors
    /// The reason why it cannot be encoded.
    pub fn partition(
        &self,
        view: &View,
        node: &NodeState,
        tenant: usize,
        (action, message): (RicActionId, &[u8]),
        out: &mut Vec<u8>,
    ) -> Result<Content, String> {
        /// Keeps the records of own UEs.
        macro_rules! decoded {
            ($report:ident, $records:ident, $wire:ident) => {{
                let is_own = |rnti: u32| node.ues.tenant(rnti) == Some(tenant);
                if $report.$records.iter().all(|record| is_own(record.rnti)) {
                    return Ok(Content::Unchanged);
                }
                let mut own = $report.clone();
                own.$records = $report.$records.iter().filter(|record| is_own(record.rnti)).cloned().collect();
                own.encode(*$wire, out).map(|()| Content::Written)
            }};
        }
        let content = match (self, view) {
            (Report::Records(records), _) => Ok(records.write(tenant, message, out)),
            (Report::Mac(report, wire), _) => decoded!(report, ues, wire),
            (Report::Rlc(report, wire), _) => decoded!(report, bearers, wire),
            (Report::Pdcp(report, wire), _) => decoded!(report, bearers, wire),
            (Report::Gtp(report, wire), _) => decoded!(report, tunnels, wire),
            (Report::Rrc(report, wire), _) => events(node, tenant, report, *wire, out),
            (Report::Slice(report, wire), _) => slices(node, tenant, report, *wire, out),
            (Report::Tc(report, wire), _) => {
                let own = crate::tc::part(&node.tenants[tenant].tc, report);
                own.encode(*wire, out).map(|()| Content::Written)
            }
            (Report::Kpm(report, detection), View::Kpm(view)) => {
                view.partition(detection, node, tenant, action, report, out)
            }
            (Report::Rc(report, detection), View::Rc(view)) => {
                view.partition(detection, node, tenant, action, report, out)
            }
            (Report::Ccc(report), _) => {
                return ccc_partition(node, tenant, report, out).map_err(|error| error.to_string());
            }
            // a subscription to a function has the view of its model
            (Report::Kpm(..) | Report::Rc(..), _) => Ok(Content::Nothing),
        };
        content.map_err(|error| error.to_string())
    }
}

fn events(
    node: &NodeState,
    tenant: usize,
    report: &rrc::IndicationMessage<'_>,
    wire: Wire,
    out: &mut Vec<u8>,
) -> Result<Content, Error> {
    // also of a UE that has left, which the table of UEs does not have any more
    let is_own = |event: &rrc::Notification<'_>| node.sla.tenant_of(event.plmn, &event.s_nssais) == Some(tenant);
    let mut own: Vec<rrc::Notification<'_>> =
        report.notifications.iter().filter(|event| is_own(event)).cloned().collect();
    if own.is_empty() {
        return Ok(Content::Nothing);
    }
    let plmn = CellPlmn::to_tenant(node, tenant);
    let has_changed = own.iter_mut().fold(false, |any, event| event_cells(plmn, event) | any);
    if !has_changed && own.len() == report.notifications.len() {
        return Ok(Content::Unchanged);
    }
    rrc::IndicationMessage { notifications: own.into() }.encode(wire, out)?;
    Ok(Content::Written)
}

/// Changes the cells of an event of a UE. Returns whether something has changed.
pub(crate) fn event_cells(plmn: CellPlmn, event: &mut rrc::Notification<'_>) -> bool {
    let from = match &mut event.event {
        rrc::Event::HandedOver(from) => plmn.cell(from),
        _ => false,
    };
    plmn.cell(&mut event.cell) | from
}

fn slices(
    node: &NodeState,
    tenant: usize,
    report: &slice::IndicationMessage<'_>,
    wire: Wire,
    out: &mut Vec<u8>,
) -> Result<Content, Error> {
    let mut report = report.clone();
    let own = &node.tenants[tenant].slices;
    let schedulers = (report.slices.dl.scheduler, report.slices.ul.scheduler);
    report.slices = own.configuration.clone();
    report.slices.dl = DirectionSlices { scheduler: schedulers.0, ..report.slices.dl };
    report.slices.ul = DirectionSlices { scheduler: schedulers.1, ..report.slices.ul };
    report.ues = own.ue_slices().into();
    report.encode(wire, out)?;
    Ok(Content::Written)
}

#[cfg(test)]
mod tests;
