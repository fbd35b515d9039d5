//! The state of a node.

use std::collections::BTreeMap;

use e2sm::slice::{ControlMessage, DirectionSlices, NO_SLICE, Slice, SliceConfiguration, UeSlices};
use e2sm::{Arena, Wire, mac, pdcp, rlc, rrc, slice, tc};
use ferric::e2::{self, NodeId, SubscriptionId, Ticket};
use ferric::e2ap::{RanFunctionId, Version};

use tracing::warn;

use super::direction::Direction;
use super::model::Feed;
use super::ues::Ues;

/// The most UEs, and records of each kind of statistics, per node; further ones are omitted and counted.
pub(super) const MAX_RECORDS: usize = 8192;

/// A RAN function whose reports fill the database.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub feed: Feed,
    pub function: RanFunctionId,
    pub wire: Wire,
    pub state: SourceState,
    /// Received reports.
    pub reports: u64,
    /// Reports that could not be decoded.
    pub unread: u64,
}

/// The state of the subscription to a source.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SourceState {
    Asked(Ticket),
    Subscribed(SubscriptionId),
    /// There is no subscription, with the reason.
    Silent(String),
}

/// The last report of one kind.
#[derive(Clone, Debug)]
pub(super) struct LatestReport<T> {
    /// The time of the report, in microseconds of Unix time.
    pub timestamp_us: i64,
    pub records: Vec<T>,
    /// The number of omitted records.
    pub left_out: usize,
}

impl<T: Clone> LatestReport<T> {
    fn new(records: &[T], timestamp_us: i64) -> Self {
        let kept = records.len().min(MAX_RECORDS);
        LatestReport { timestamp_us, records: records[..kept].to_vec(), left_out: records.len() - kept }
    }
}

/// The content of a report that needs further processing.
pub(super) enum ReportContent {
    Statistics,
    Slices,
    /// Events of UEs, whose serving nodes are to be determined.
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
    /// Records that there is no subscription.
    pub fn silence(&mut self, node: &str, why: String) {
        warn!(node, model = self.feed.name(), "no statistics: {why}");
        self.state = SourceState::Silent(why);
    }
}

impl Node {
    /// A node without reports.
    pub fn new(told: &e2::Node) -> Self {
        Node {
            id: told.id,
            name: told.global_id.to_string(),
            version: told.version,
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

    /// Updates its RAN functions.
    pub fn told(&mut self, told: &e2::Node) {
        self.version = told.version;
        let functions = told.functions.iter();
        self.functions = functions.map(|function| (function.id, function.revision.0, function.oid.clone())).collect();
    }

    /// Removes the reports of a model whose function was changed or removed.
    pub fn forget(&mut self, feed: Feed) {
        self.sources.retain(|source| source.feed != feed);
        match feed {
            Feed::Mac => self.mac = None,
            Feed::Rlc => self.rlc = None,
            Feed::Pdcp => self.pdcp = None,
            Feed::Tc => self.tc = None,
            Feed::Slice => self.slices = None,
            Feed::Rrc => self.ues.remove_of_reporter(self.id),
        }
    }

    pub fn source(&self, feed: Feed) -> Option<&Source> {
        self.sources.iter().find(|source| source.feed == feed)
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

    /// Returns the slices of a UE.
    pub fn slices_of(&self, rnti: u16) -> UeSlices {
        let known = self.slices.as_ref().and_then(|slices| slices.ues.get(&rnti)).copied();
        known.unwrap_or(UeSlices { dl_id: NO_SLICE, ul_id: NO_SLICE, rnti })
    }

    /// Decodes and stores a report.
    pub fn keep(
        &mut self,
        feed: Feed,
        wire: Wire,
        message: &[u8],
        arena: &Arena,
    ) -> Result<ReportContent, e2sm::Error> {
        match feed {
            Feed::Mac => {
                let told = mac::IndicationMessage::decode(message, wire, arena)?;
                self.mac = Some(LatestReport::new(&told.ues, told.timestamp_us));
            }
            Feed::Rlc => {
                let told = rlc::IndicationMessage::decode(message, wire, arena)?;
                self.rlc = Some(LatestReport::new(&told.bearers, told.timestamp_us));
            }
            Feed::Pdcp => {
                let told = pdcp::IndicationMessage::decode(message, wire, arena)?;
                self.pdcp = Some(LatestReport::new(&told.bearers, told.timestamp_us));
            }
            Feed::Tc => self.tc = Some(tc::IndicationMessage::decode_owned(message, wire)?),
            Feed::Slice => {
                let told = slice::IndicationMessage::decode_owned(message, wire)?;
                let ues = told.ues.iter().take(MAX_RECORDS).map(|ue| (ue.rnti, *ue)).collect();
                self.slices = Some(Slices { set: told.slices, ues });
                self.slices_reported();
                return Ok(ReportContent::Slices);
            }
            Feed::Rrc => {
                let told = rrc::IndicationMessage::decode_owned(message, wire)?;
                let notifications = told.notifications.iter().take(MAX_RECORDS).cloned().collect();
                return Ok(ReportContent::Ues(notifications));
            }
        }
        Ok(ReportContent::Statistics)
    }
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
    pub fn done(&mut self, control: &ControlMessage<'static>) {
        match control {
            ControlMessage::AddOrModify(wanted) => {
                merge(&mut self.set.dl, &wanted.dl);
                merge(&mut self.set.ul, &wanted.ul);
            }
            ControlMessage::Delete(ids) => {
                let stays = |ids: &[u32], slices: &DirectionSlices<'static>| {
                    slices.slices.iter().filter(|slice| !ids.contains(&slice.id)).cloned().collect()
                };
                self.set.dl.slices = stays(&ids.dl, &self.set.dl);
                self.set.ul.slices = stays(&ids.ul, &self.set.ul);
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

fn merge(there: &mut DirectionSlices<'static>, wanted: &DirectionSlices<'static>) {
    if !wanted.scheduler.is_empty() {
        there.scheduler = wanted.scheduler.clone();
    }
    let mut slices = there.slices.to_vec();
    for slice in &wanted.slices {
        match slices.iter_mut().find(|known| known.id == slice.id) {
            Some(known) => *known = slice.clone(),
            None => slices.push(slice.clone()),
        }
    }
    there.slices = slices.into();
}
