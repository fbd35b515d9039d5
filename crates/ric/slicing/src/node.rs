//! The state of a node.

use std::collections::{BTreeMap, BTreeSet};

use e2sm::slice::{ControlMessage, DirectionSlices, NO_SLICE, Slice, SliceConfiguration, UeSlices};
use e2sm::{Arena, Wire, mac, pdcp, rlc, rrc, slice, tc};
use ferric::e2::topology::{UeChange, UeName};
use ferric::e2::{self, NodeId, SubscriptionId, Ticket};
use ferric::e2ap::{RanFunctionId, Version};

use tracing::warn;

use super::direction::Direction;
use super::model::ReportModel;
use super::ues::Ues;

/// The most UEs, and records of each kind of statistics, per node; further ones are omitted and counted.
pub(super) const MAX_RECORDS: usize = 8192;

/// A RAN function whose reports fill the database.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub model: ReportModel,
    pub function: RanFunctionId,
    pub wire: Wire,
    pub state: SourceState,
    /// Received reports.
    pub reports: u64,
    /// Reports that could not be decoded.
    pub undecodable: u64,
}

/// The state of the subscription to a source.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SourceState {
    Requested(Ticket),
    Subscribed(SubscriptionId),
    /// There is no subscription, with the reason.
    Unavailable(String),
}

/// The last report of one kind.
#[derive(Clone, Debug)]
pub(super) struct LatestReport<T> {
    /// The time of the report, in microseconds of Unix time.
    pub timestamp_us: i64,
    pub records: Vec<T>,
    /// The number of omitted records.
    pub omitted: usize,
}

impl<T: Clone> LatestReport<T> {
    fn new(records: &[T], timestamp_us: i64) -> Self {
        let count = records.len().min(MAX_RECORDS);
        LatestReport { timestamp_us, records: records[..count].to_vec(), omitted: records.len() - count }
    }
}

/// The content of a report that needs further processing.
pub(super) enum ReportContent {
    Statistics,
    Slices,
    /// The C-RNTIs of the UEs, and of those that have left since the last report.
    Rntis(Vec<UeChange>),
    /// Events of UEs. Their serving nodes are not determined yet.
    Ues(Vec<rrc::Notification<'static>>),
}

/// The slices of the last report, with the controls acknowledged since.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slices {
    pub set: SliceConfiguration<'static>,
    /// UEs that are in a slice.
    pub ues: BTreeMap<u16, UeSlices>,
}

/// The state of a node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub id: NodeId,
    pub name: String,
    pub version: Version,
    /// Its RAN functions: id, revision, object identifier.
    pub functions: Vec<(RanFunctionId, u16, Box<str>)>,
    pub sources: Vec<Source>,
    pub mac: Option<LatestReport<mac::UeStats>>,
    pub rlc: Option<LatestReport<rlc::BearerStats>>,
    pub pdcp: Option<LatestReport<pdcp::BearerStats>>,
    pub tc: Option<tc::IndicationMessage<'static>>,
    pub slices: Option<Slices>,
    pub ues: Ues,
}

impl Source {
    /// Records that there is no subscription, and logs it if the budget of lines allows.
    pub fn set_unavailable(&mut self, node: &str, why: String, is_logged: bool) {
        if is_logged {
            warn!(node, model = self.model.name(), "no statistics: {why}");
        }
        self.state = SourceState::Unavailable(why);
    }
}

impl Node {
    /// A node without reports.
    pub fn new(node: &e2::Node) -> Self {
        Node {
            id: node.id,
            name: node.global_id.to_string(),
            version: node.version,
            functions: Vec::new(),
            sources: Vec::new(),
            mac: None,
            rlc: None,
            pdcp: None,
            tc: None,
            slices: None,
            ues: Ues::default(),
        }
    }

    /// Updates its version and RAN functions.
    pub fn update(&mut self, node: &e2::Node) {
        self.version = node.version;
        let functions = node.functions.iter();
        self.functions = functions.map(|function| (function.id, function.revision.0, function.oid.clone())).collect();
    }

    /// Removes the reports of a model whose function was changed or removed.
    pub fn remove_reports(&mut self, model: ReportModel) {
        self.sources.retain(|source| source.model != model);
        match model {
            ReportModel::Mac => self.mac = None,
            ReportModel::Rlc => self.rlc = None,
            ReportModel::Pdcp => self.pdcp = None,
            ReportModel::Tc => self.tc = None,
            ReportModel::Slice => self.slices = None,
            ReportModel::Rrc => self.ues.remove_of_reporter(self.id),
        }
    }

    pub fn source(&self, model: ReportModel) -> Option<&Source> {
        self.sources.iter().find(|source| source.model == model)
    }

    /// Returns the C-RNTIs of all reported UEs.
    pub fn rntis(&self) -> Vec<u16> {
        let mut rntis: Vec<u16> = self.ues.iter().map(|(rnti, _)| rnti).collect();
        rntis.extend(self.slices.iter().flat_map(|slices| slices.ues.keys().copied()));
        let counted = self.mac.iter().flat_map(|mac| &mac.records);
        rntis.extend(counted.filter_map(|ue| u16::try_from(ue.rnti).ok()));
        rntis.sort_unstable();
        rntis.dedup();
        rntis
    }

    /// Removes what the latest reports contain of a UE that has left: the next ones come a period later.
    pub fn forget_ue(&mut self, rnti: u16) {
        let is_other = |of_record: u32| of_record != u32::from(rnti);
        if let Some(mac) = &mut self.mac {
            mac.records.retain(|ue| is_other(ue.rnti));
        }
        if let Some(rlc) = &mut self.rlc {
            rlc.records.retain(|bearer| is_other(bearer.rnti));
        }
        if let Some(pdcp) = &mut self.pdcp {
            pdcp.records.retain(|bearer| is_other(bearer.rnti));
        }
        if let Some(slices) = &mut self.slices {
            slices.ues.remove(&rnti);
        }
    }

    /// Returns the slices of a UE.
    pub fn slices_of(&self, rnti: u16) -> UeSlices {
        let known = self.slices.as_ref().and_then(|slices| slices.ues.get(&rnti)).copied();
        known.unwrap_or(UeSlices { dl_id: NO_SLICE, ul_id: NO_SLICE, rnti })
    }

    /// Decodes and stores a report.
    pub fn store_report(
        &mut self,
        model: ReportModel,
        wire: Wire,
        message: &[u8],
        arena: &Arena,
    ) -> Result<ReportContent, e2sm::Error> {
        match model {
            ReportModel::Mac => {
                let report = mac::IndicationMessage::decode(message, wire, arena)?;
                let latest = LatestReport::new(&report.ues, report.timestamp_us);
                let before = self.mac.replace(latest).map(|report| rntis(&report.records)).unwrap_or_default();
                let now = self.mac.as_ref().map(|report| rntis(&report.records)).unwrap_or_default();
                let left = before.difference(&now).map(|rnti| UeName::Rnti { rnti: *rnti, cell: None });
                let changes = now.iter().copied().map(UeChange::Rnti).chain(left.map(UeChange::Left)).collect();
                return Ok(ReportContent::Rntis(changes));
            }
            ReportModel::Rlc => {
                let report = rlc::IndicationMessage::decode(message, wire, arena)?;
                self.rlc = Some(LatestReport::new(&report.bearers, report.timestamp_us));
            }
            ReportModel::Pdcp => {
                let report = pdcp::IndicationMessage::decode(message, wire, arena)?;
                self.pdcp = Some(LatestReport::new(&report.bearers, report.timestamp_us));
            }
            ReportModel::Tc => self.tc = Some(tc::IndicationMessage::decode_owned(message, wire)?),
            ReportModel::Slice => {
                let report = slice::IndicationMessage::decode_owned(message, wire)?;
                let ues = report.ues.iter().take(MAX_RECORDS).map(|ue| (ue.rnti, *ue)).collect();
                self.slices = Some(Slices { set: report.slices, ues });
                self.slices_reported();
                return Ok(ReportContent::Slices);
            }
            ReportModel::Rrc => {
                let report = rrc::IndicationMessage::decode_owned(message, wire)?;
                let notifications = report.notifications.iter().take(MAX_RECORDS).cloned().collect();
                return Ok(ReportContent::Ues(notifications));
            }
        }
        Ok(ReportContent::Statistics)
    }
}

fn rntis(records: &[mac::UeStats]) -> BTreeSet<u16> {
    records.iter().filter_map(|ue| u16::try_from(ue.rnti).ok()).collect()
}

impl Slices {
    pub fn of(&self, direction: Direction) -> &DirectionSlices<'static> {
        match direction {
            Direction::Downlink => &self.set.dl,
            Direction::Uplink => &self.set.ul,
        }
    }

    pub fn slice(&self, direction: Direction, id: u32) -> Option<&Slice<'static>> {
        self.of(direction).slices.iter().find(|slice| slice.id == id)
    }

    /// Applies an acknowledged control, as the node's next report will.
    pub fn apply(&mut self, control: &ControlMessage<'static>) {
        match control {
            ControlMessage::AddOrModify(wanted) => {
                merge(&mut self.set.dl, &wanted.dl);
                merge(&mut self.set.ul, &wanted.ul);
            }
            ControlMessage::Delete(ids) => {
                let remaining = |ids: &[u32], slices: &DirectionSlices<'static>| {
                    slices.slices.iter().filter(|slice| !ids.contains(&slice.id)).cloned().collect()
                };
                self.set.dl.slices = remaining(&ids.dl, &self.set.dl);
                self.set.ul.slices = remaining(&ids.ul, &self.set.ul);
                for ue in self.ues.values_mut() {
                    ue.dl_id = if ids.dl.contains(&ue.dl_id) { NO_SLICE } else { ue.dl_id };
                    ue.ul_id = if ids.ul.contains(&ue.ul_id) { NO_SLICE } else { ue.ul_id };
                }
            }
            ControlMessage::Associate(ues) => {
                for ue in ues.iter() {
                    self.ues.insert(ue.rnti, *ue);
                }
            }
        }
        self.ues.retain(|_, ue| (ue.dl_id, ue.ul_id) != (NO_SLICE, NO_SLICE));
    }
}

fn merge(existing: &mut DirectionSlices<'static>, wanted: &DirectionSlices<'static>) {
    if !wanted.scheduler.is_empty() {
        existing.scheduler = wanted.scheduler.clone();
    }
    let mut slices = existing.slices.to_vec();
    for slice in &wanted.slices {
        match slices.iter_mut().find(|known| known.id == slice.id) {
            Some(known) => *known = slice.clone(),
            None => slices.push(slice.clone()),
        }
    }
    existing.slices = slices.into();
}
