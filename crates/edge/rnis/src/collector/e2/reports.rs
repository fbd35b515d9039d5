//! The reports of nodes, by service model.

use std::collections::BTreeSet;

use ap::lte_rrc;
use ap::nr_rrc::{self, CellResult, MeasurementChanges, MeasurementReport, ReportKind};
use e2sm::ccc::{self, RanConfigurationStructure};
use e2sm::common::{EutraPci, NrPci, ServingCellPci};
use e2sm::rc::{self, IndicationMessageFormats, NeighborCellItem, NeighborRelationInfo, rrc_message};
use e2sm::rrc::{self, Event as Notified};
use e2sm::{Arena, Error, gtp, kpm};
use ferric::e2::NodeId;
use ferric::e2ap::GlobalE2NodeId;
use ferric::xapp::Commands;
use ids::Cgi;

use super::interfaces::BearerChanges;
use super::layer2::{self, Values};
use super::names::{Named, core_key};
use super::offers::{Kind, Measurements};
use super::{Core, Output, measurements};
use crate::collector::ues::{BearerReport, Moment};
use crate::event::{BearerQos, CellMeasurement, Change, NrCellMeasurement, Quantities, Tunnel};
use crate::identity::Cell;
use crate::state::BearerState;

/// The trigger of periodic reports.
const PERIODICAL: u8 = 1;
/// The most neighbours of a report that are read.
const MAX_NEIGHBOURS: usize = 32;

impl Core {
    #[allow(clippy::too_many_arguments, reason = "what every report needs")]
    pub(super) fn read(
        &mut self,
        kind: &Kind,
        node: NodeId,
        message: &[u8],
        arena: &Arena,
        at: Moment,
        ric: &mut Commands<'_>,
        output: &dyn Output,
    ) -> Result<(), Error> {
        match kind {
            Kind::Notifications(wire) => {
                for notification in &rrc::IndicationMessage::decode(message, *wire, arena)?.notifications {
                    self.notify(node, notification, at, ric, output);
                }
            }
            Kind::MeasurementReports(rc::Detection { revision, wire, .. }) => {
                let message = rc::IndicationMessage::decode_in(message, *revision, *wire, arena)?;
                let Some((ue_id, copy)) = rrc_message(&message, *revision)? else { return Ok(()) };
                if let (Some(named), Ok(report)) = (self.names.learn(node, &ue_id), MeasurementReport::decode(&copy)) {
                    let named = self.meet(node, named, at, output);
                    self.report_measurement(node, &named.key, &report, at, output);
                }
            }
            Kind::EutraMeasurementReports(rc::Detection { revision, wire, .. }) => {
                let message = rc::IndicationMessage::decode_in(message, *revision, *wire, arena)?;
                let Some((ue_id, copy)) = rrc_message(&message, *revision)? else { return Ok(()) };
                if let (Some(named), Ok(report)) =
                    (self.names.learn(node, &ue_id), lte_rrc::MeasurementReport::decode(&copy))
                {
                    let named = self.meet(node, named, at, output);
                    self.report_eutra_measurement(node, &named.key, &report, at, output);
                }
            }
            Kind::Reconfigurations(rc::Detection { revision, wire, .. }) => {
                let message = rc::IndicationMessage::decode_in(message, *revision, *wire, arena)?;
                let Some((ue_id, copy)) = rrc_message(&message, *revision)? else { return Ok(()) };
                if let (Some(named), Ok(changes)) =
                    (self.names.learn(node, &ue_id), MeasurementChanges::decode_nr(&copy))
                {
                    let named = self.meet(node, named, at, output);
                    self.measurements.apply(&named.key, &changes);
                }
            }
            Kind::EutraReconfigurations(rc::Detection { revision, wire, .. }) => {
                let message = rc::IndicationMessage::decode_in(message, *revision, *wire, arena)?;
                let Some((ue_id, copy)) = rrc_message(&message, *revision)? else { return Ok(()) };
                let (cells, changes) =
                    (lte_rrc::SecondaryCells::decode(&copy), MeasurementChanges::decode_eutra(&copy));
                if cells.is_err() && changes.is_err() {
                    return Ok(());
                }
                let Some(named) = self.names.learn(node, &ue_id) else { return Ok(()) };
                let named = self.meet(node, named, at, output);
                if let Ok(changes) = changes {
                    self.measurements.apply(&named.key, &changes);
                }
                if let Ok(cells) = cells {
                    // a cell whose physical identity is unknown cannot be named
                    let added = cells.added.iter().map(|added| (added.index, self.cells.find_eutra(added.pci)));
                    self.ues.reconfigure(&named.key, at, &cells.released, added, output);
                }
            }
            Kind::NeighbourRelations(rc::Detection { revision, wire, .. }) => {
                let message = rc::IndicationMessage::decode_in(message, *revision, *wire, arena)?;
                if let IndicationMessageFormats::Format4(format) = &message.formats {
                    for cell in &format.cell_info_list {
                        self.learn_neighbours(cell.cell_global_id, cell.neighbor_relation_table.as_ref());
                    }
                }
            }
            Kind::InterfaceMessages(of) => {
                let Some((key, copy)) = self.interface_message(node, of, message, arena, at, output)? else {
                    return Ok(());
                };
                let BearerChanges { reports, released } = self.sessions.read(&key, &copy);
                if reports.iter().any(|report| report.state.tunnel.is_some()) {
                    // they are new, even if the arrival of the UE has not been reported yet
                    self.ues.arrive(&key);
                }
                if !reports.is_empty() {
                    self.ues.report_bearers(&key, at, &reports, false, output);
                }
                if !released.is_empty() {
                    self.ues.release_bearers(&key, at, &released, output);
                }
            }
            Kind::HandoverMessages(rc::Detection { revision, wire, .. }) => {
                let message = rc::IndicationMessage::decode_in(message, *revision, *wire, arena)?;
                let Some((ue_id, copy)) = rc::interface_message(&message, *revision)? else { return Ok(()) };
                // the UE may have left the node: it is not to be met there again
                let key = match core_key(&ue_id) {
                    Some(key) => key,
                    None => {
                        let Some(named) = self.names.learn(node, &ue_id) else { return Ok(()) };
                        self.meet(node, named, at, output).key
                    }
                };
                let is_x2 = self.nodes.get(&node).is_some_and(|of| matches!(of.info.global_id, GlobalE2NodeId::Enb(_)));
                let (targets, status) = self.handovers.read(&key, &copy, is_x2);
                for target in targets {
                    let source = [self.only_cell(node), self.ues.cell(&key)].into_iter().flatten();
                    if let Some(cell) = source.into_iter().find(|cell| *cell != target) {
                        let change = Change::CellChange { targets: vec![target], status };
                        self.ues.publish(&key, at, cell, change, output);
                    }
                }
            }
            Kind::Cells => {
                let ccc::IndicationMessageFormat::CellLevel(cells) = ccc::IndicationMessage::decode(message)?.format
                else {
                    return Ok(());
                };
                for reported in cells {
                    self.learn_cell(node, reported.cell_global_id, ric, output);
                    for structure in reported.structures {
                        let RanConfigurationStructure::NrCellDu(du) = structure.values else { continue };
                        if let Some(pci) = du.nr_pci {
                            self.cells.learn(pci, Cell(reported.cell_global_id));
                        }
                    }
                }
            }
            Kind::Tunnels(wire) => {
                let message = gtp::IndicationMessage::decode(message, *wire, arena)?;
                self.report_tunnels(node, &message, *wire, at, output);
            }
            Kind::CellMeasurements(of, cell) => {
                let message = decode_kpm(of, message, arena)?;
                let values = layer2::of_cell(&message, &of.action);
                output.update(&mut |state| layer2::write_cell(&values, state.cells.entry(Cell(*cell)).or_default()));
            }
            Kind::UeMeasurements(of) => {
                let message = decode_kpm(of, message, arena)?;
                self.report_ues(node, &layer2::of_ues(&message, &of.action), at, output);
            }
        }
        Ok(())
    }

    /// The key of the UE of a copied message, and the message.
    fn interface_message(
        &mut self,
        node: NodeId,
        rc::Detection { revision, wire, .. }: &rc::Detection,
        message: &[u8],
        arena: &Arena,
        at: Moment,
        output: &dyn Output,
    ) -> Result<Option<(String, Vec<u8>)>, Error> {
        let message = rc::IndicationMessage::decode_in(message, *revision, *wire, arena)?;
        let Some((ue_id, copy)) = rc::interface_message(&message, *revision)? else { return Ok(None) };
        let Some(named) = self.names.learn(node, &ue_id) else { return Ok(None) };
        Ok(Some((self.meet(node, named, at, output).key, copy)))
    }

    /// Reads an RRC notification.
    fn notify(
        &mut self,
        node: NodeId,
        notification: &rrc::Notification<'_>,
        at: Moment,
        ric: &mut Commands<'_>,
        output: &dyn Output,
    ) {
        let cell = Cell(notification.cell);
        self.learn_cell(node, notification.cell, ric, output);
        if notification.event == Notified::Detached {
            if let Some(key) = self.names.forget(node, notification) {
                self.ues.leave(&key, at, Some(cell));
            }
            return;
        }
        let Some(named) = self.names.learn_notified(node, notification) else { return };
        let named = self.rename(named, output);
        let scope = self.names.station(node).map_or(0, |station| station.0.into());
        self.ues.see(&named.key, named.identity, scope, Some(cell), output);
        match notification.event {
            Notified::HandedOver(from) => self.ues.change_cell(&named.key, at, Cell(from), cell, output),
            Notified::Attached => self.ues.arrive(&named.key),
            Notified::Present | Notified::Detached => {}
        }
    }

    fn rename(&mut self, named: Named, output: &dyn Output) -> Named {
        if let Some(former) = &named.former_key {
            self.ues.rename(former, &named.key, output);
            self.measurements.rename(former, &named.key);
        }
        named
    }

    /// A report names a UE. Where no RRC notifications report arrivals, and before its notification has come, this is how it is seen.
    fn meet(&mut self, node: NodeId, named: Named, at: Moment, output: &dyn Output) -> Named {
        let named = self.rename(named, output);
        let has_notifications = self.station_has(node, |kind| matches!(kind, Kind::Notifications(_)));
        if has_notifications && self.ues.bearers(&named.key).is_some() {
            return named;
        }
        let cell = self.only_cell(node);
        let before = self.ues.cell(&named.key);
        let scope = self.names.station(node).map_or(0, |station| station.0.into());
        self.ues.see(&named.key, named.identity.clone(), scope, cell, output);
        if let (Some(before), Some(cell)) = (before, cell) {
            self.ues.change_cell(&named.key, at, before, cell, output);
        }
        named
    }

    /// The physical identities of a cell and of its neighbours.
    fn learn_neighbours(&mut self, cell: Cgi, table: Option<&NeighborRelationInfo<'_>>) {
        let Some(table) = table else { return };
        match table.serving_cell_pci {
            ServingCellPci::Nr(NrPci(pci)) | ServingCellPci::Eutra(EutraPci(pci)) => self.cells.learn(pci, Cell(cell)),
        }
        for neighbour in &table.neighbor_cell_list {
            match neighbour {
                NeighborCellItem::Nr(nr) => self.cells.learn(nr.nr_pci.0, Cell(Cgi::NrCgi(nr.nr_cgi))),
                NeighborCellItem::Eutra(of) => self.cells.learn(of.eutra_pci.0, Cell(Cgi::EutraCgi(of.eutra_cgi))),
            }
        }
    }

    /// Why a UE reports: what its base station has configured for the measurement identity, or else what the operator says.
    fn trigger(&self, key: &str, meas_id: u8, trigger: impl Fn(ReportKind) -> u8) -> u8 {
        let seen = self.measurements.kind(key, meas_id).map(trigger);
        seen.or_else(|| self.config.triggers.get(&meas_id).copied()).unwrap_or(measurements::NOT_AVAILABLE)
    }

    fn report_measurement(
        &mut self,
        node: NodeId,
        key: &str,
        report: &MeasurementReport,
        at: Moment,
        output: &dyn Output,
    ) {
        let Some(serving) = self.ues.cell(key).or_else(|| self.only_cell(node)) else { return };
        // the serving cell of a UE whose cell is known teaches the physical identity
        if let Some(pci) = report.serving.pci {
            self.cells.learn(pci, serving);
        }
        let measured = |result: &CellResult, cell| NrCellMeasurement {
            cell,
            quantities: Quantities { rsrp: result.rsrp, rsrq: result.rsrq, sinr: result.sinr },
        };
        // a neighbour whose cell is unknown cannot be named
        let neighbours = report.neighbours.iter().take(MAX_NEIGHBOURS).filter_map(|result| {
            let cell = self.cells.find(result.pci?)?;
            Some(measured(result, cell))
        });
        let secondary: Vec<_> = report
            .secondary
            .iter()
            .filter_map(|of| {
                let named = |result: &CellResult| Some(measured(result, self.cells.find(result.pci?)?));
                Some((named(&of.cell)?, of.best_neighbour.as_ref().and_then(named)))
            })
            .collect();
        let eutra_neighbours = report.eutra_neighbours.iter().take(MAX_NEIGHBOURS).filter_map(|result| {
            let quantities = Quantities { rsrp: result.rsrp, rsrq: result.rsrq, sinr: result.sinr };
            Some(CellMeasurement { cell: self.cells.find_eutra(result.pci)?, quantities })
        });
        let change = Change::NrMeasured {
            trigger: self.trigger(key, report.meas_id, measurements::nr_trigger),
            serving: std::iter::once(measured(&report.serving, serving))
                .chain(secondary.iter().map(|(cell, _)| *cell))
                .collect(),
            neighbours: neighbours.collect(),
            eutra_neighbours: eutra_neighbours.collect(),
        };
        self.ues.publish(key, at, serving, change, output);
        // a UE reports all its serving cells (TS 38.331 5.5.5.1), so it says which are secondary
        let cells = secondary.iter().map(|(cell, _)| cell.cell).collect();
        let any = |of: NrCellMeasurement| CellMeasurement { cell: of.cell, quantities: of.quantities };
        let measured: Vec<_> = secondary.into_iter().map(|(cell, best)| (any(cell), best.map(any))).collect();
        self.ues.aggregate(key, at, cells, &measured, output);
    }

    fn report_eutra_measurement(
        &mut self,
        node: NodeId,
        key: &str,
        report: &lte_rrc::MeasurementReport,
        at: Moment,
        output: &dyn Output,
    ) {
        let Some(serving) = self.ues.cell(key).or_else(|| self.only_cell(node)) else { return };
        let neighbours = report.neighbours.iter().take(MAX_NEIGHBOURS).filter_map(|result| {
            let quantities = Quantities { rsrp: result.rsrp, rsrq: result.rsrq, sinr: None };
            Some(CellMeasurement { cell: self.cells.find_eutra(result.pci)?, quantities })
        });
        let nr_neighbours = report.nr_neighbours.iter().take(MAX_NEIGHBOURS).filter_map(|result| {
            let quantities = Quantities { rsrp: result.rsrp, rsrq: result.rsrq, sinr: result.sinr };
            Some(NrCellMeasurement { cell: self.cells.find(result.pci)?, quantities })
        });
        let change = Change::Measured {
            trigger: self.trigger(key, report.meas_id, measurements::eutra_trigger),
            serving: Quantities { rsrp: Some(report.rsrp), rsrq: Some(report.rsrq), sinr: None },
            neighbours: neighbours.collect(),
            nr_neighbours: nr_neighbours.collect(),
        };
        self.ues.publish(key, at, serving, change, output);
    }

    /// Reads a snapshot of the tunnels of all UEs of a node.
    fn report_tunnels(
        &mut self,
        node: NodeId,
        message: &gtp::IndicationMessage<'_>,
        wire: e2sm::Wire,
        at: Moment,
        output: &dyn Output,
    ) {
        let keys = self.names.by_rnti(node);
        let mut by_ue = std::collections::HashMap::<&str, Vec<BearerReport>>::new();
        for tunnel in &message.tunnels {
            let key = u16::try_from(tunnel.rnti).ok().and_then(|rnti| keys.get(&rnti));
            let Some(key) = key.filter(|_| tunnel.qfi <= 63) else { continue };
            let end = |teid: u32| Tunnel { address: String::new(), teid: format!("{teid:08x}") };
            // FlexRIC's layout has one octet of it
            let gateway = if wire == e2sm::Wire::Plain { Tunnel::default() } else { end(tunnel.teid_upf) };
            let state = BearerState { qos: None, tunnel: Some((end(tunnel.teid_gnb), gateway)) };
            by_ue.entry(key).or_default().push(BearerReport { id: tunnel.qfi, state, slice: None });
        }
        for (key, reports) in by_ue {
            self.ues.report_bearers(key, at, &reports, true, output);
        }
    }

    /// Reads the measurements of all UEs of a node.
    fn report_ues(&mut self, node: NodeId, ues: &[(&e2sm::common::UeId<'_>, Values)], at: Moment, output: &dyn Output) {
        let has_notifications = self.station_has(node, |kind| matches!(kind, Kind::Notifications(_)));
        let has_reports = self
            .station_has(node, |kind| matches!(kind, Kind::MeasurementReports(_) | Kind::EutraMeasurementReports(_)));
        let is_enb = self.nodes.get(&node).is_some_and(|node| matches!(node.info.global_id, GlobalE2NodeId::Enb(_)));
        let mut reported = BTreeSet::new();
        for (ue_id, values) in ues {
            let Some(named) = self.names.learn(node, ue_id) else { continue };
            let Named { key, .. } = self.meet(node, named, at, output);
            self.ues.measure(&key, |measurements| layer2::write_ue(values, measurements), output);
            self.recognize_qos(&key, values, at, output);
            if let Some(timing_advance) = values.timing_advance() {
                self.ues.advance_timing(&key, at, timing_advance, output);
            }
            if let Some((cell, signal)) = self.ues.cell(&key).zip(values.signal()).filter(|_| !has_reports) {
                self.ues.publish(&key, at, cell, measured(signal, cell, is_enb), output);
            }
            reported.insert(key);
        }
        let Some(of) = self.nodes.get_mut(&node) else { return };
        let before = std::mem::replace(&mut of.reported, reported);
        if !has_notifications {
            let cell = self.only_cell(node);
            let gone: Vec<String> = match self.nodes.get(&node) {
                Some(of) => before.difference(&of.reported).cloned().collect(),
                None => Vec::new(),
            };
            gone.iter().for_each(|key| self.ues.leave(key, at, cell));
        }
    }

    /// The QoS of a UE's only bearer, by the 5QI of its traffic: GTP statistics have none, and a controller may change it.
    fn recognize_qos(&mut self, key: &str, values: &Values, at: Moment, output: &dyn Output) {
        let Some(qci) = values.only_five_qi() else { return };
        let Some(bearers) = self.ues.bearers(key).filter(|bearers| bearers.len() == 1) else { return };
        let Some((id, bearer)) = bearers.first_key_value() else { return };
        if bearer.qos.is_some_and(|qos| qos.qci == qci) {
            return;
        }
        let state = BearerState { qos: Some(BearerQos { qci, rates_bps: None }), tunnel: None };
        let report = BearerReport { id: *id, state, slice: None };
        self.ues.report_bearers(key, at, &[report], false, output);
    }
}

fn decode_kpm<'a>(of: &Measurements, message: &'a [u8], arena: &'a Arena) -> Result<kpm::IndicationMessage<'a>, Error> {
    kpm::IndicationMessage::decode_in(message, of.detection.revision, of.detection.wire, arena)
}

/// A periodic report of what a UE measures of its serving cell, from the means of a period.
fn measured((rsrp_dbm, rsrq_db, sinr_db): (f64, f64, Option<f64>), cell: Cell, is_enb: bool) -> Change {
    if is_enb {
        let serving = Quantities {
            rsrp: Some(lte_rrc::rsrp_range(rsrp_dbm)),
            rsrq: Some(lte_rrc::rsrq_range(rsrq_db)),
            sinr: sinr_db.map(lte_rrc::sinr_range),
        };
        return Change::Measured { trigger: PERIODICAL, serving, neighbours: Vec::new(), nr_neighbours: Vec::new() };
    }
    let quantities = Quantities {
        rsrp: Some(nr_rrc::rsrp_range(rsrp_dbm)),
        rsrq: Some(nr_rrc::rsrq_range(rsrq_db)),
        sinr: sinr_db.map(nr_rrc::sinr_range),
    };
    Change::NrMeasured {
        trigger: PERIODICAL,
        serving: vec![NrCellMeasurement { cell, quantities }],
        neighbours: Vec::new(),
        eutra_neighbours: Vec::new(),
    }
}
