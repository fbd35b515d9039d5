//! What is known of a node.

use std::collections::BTreeMap;

use e2sm::slice::{ControlMessage, DirectionSlices, NO_SLICE, Slice, SliceConfiguration, UeSlices};
use e2sm::{Arena, Wire, mac, pdcp, rlc, rrc, slice, tc};
use ferric::e2::{self, NodeId, SubscriptionId, Ticket};
use ferric::e2ap::{RanFunctionId, Version};

use tracing::warn;

use super::direction::Direction;
use super::model::Feed;
use super::ues::Ues;

/// UEs, and records of each kind of statistics, that are kept of a node; more are left out and counted.
pub(super) const MAX_RECORDS: usize = 8192;

/// A function that feeds the database.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub feed: Feed,
    pub function: RanFunctionId,
    pub wire: Wire,
    pub state: SourceState,
    /// Reports that came.
    pub reports: u64,
    /// Reports that could not be read.
    pub unread: u64,
}

/// How far a source is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SourceState {
    Asked(Ticket),
    Subscribed(SubscriptionId),
    /// There are no reports, and why.
    Silent(String),
}

/// The last report of one kind.
#[derive(Clone, Debug)]
pub(super) struct Latest<T> {
    /// When it was made, in microseconds of Unix time.
    pub timestamp_us: i64,
    pub records: Vec<T>,
    /// Records for which there was no room.
    pub left_out: usize,
}

impl<T: Clone> Latest<T> {
    fn new(records: &[T], timestamp_us: i64) -> Self {
        let kept = records.len().min(MAX_RECORDS);
        Latest { timestamp_us, records: records[..kept].to_vec(), left_out: records.len() - kept }
    }
}

/// What a report told of, beyond numbers.
pub(super) enum Kept {
    Statistics,
    Slices,
    /// What happened to UEs: who serves them is to be found out.
    Ues(Vec<rrc::Notification<'static>>),
}

/// What SLICE tells, and what was acknowledged since.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slices {
    pub set: SliceConfiguration<'static>,
    /// UEs that are in a slice.
    pub ues: BTreeMap<u16, UeSlices>,
}

/// What is known of a node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub id: NodeId,
    pub name: String,
    pub version: Version,
    /// What it offers: id, revision, object identifier.
    pub functions: Vec<(RanFunctionId, u16, Box<str>)>,
    pub sources: Vec<Source>,
    pub mac: Option<Latest<mac::UeStats>>,
    pub rlc: Option<Latest<rlc::BearerStats>>,
    pub pdcp: Option<Latest<pdcp::BearerStats>>,
    pub tc: Option<tc::IndicationMessage<'static>>,
    pub slices: Option<Slices>,
    pub ues: Ues,
}

impl Source {
    /// There are no reports, for that reason.
    pub fn silence(&mut self, node: &str, why: String) {
        warn!(node, model = self.feed.name(), "no statistics: {why}");
        self.state = SourceState::Silent(why);
    }
}

impl Node {
    /// A node of which nothing was told yet.
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

    /// It tells what it offers.
    pub fn told(&mut self, told: &e2::Node) {
        self.version = told.version;
        let functions = told.functions.iter();
        self.functions = functions.map(|function| (function.id, function.revision.0, function.oid.clone())).collect();
    }

    /// Forgets what a model told: its function is another now, or gone.
    pub fn forget(&mut self, feed: Feed) {
        self.sources.retain(|source| source.feed != feed);
        match feed {
            Feed::Mac => self.mac = None,
            Feed::Rlc => self.rlc = None,
            Feed::Pdcp => self.pdcp = None,
            Feed::Tc => self.tc = None,
            Feed::Slice => self.slices = None,
            Feed::Rrc => self.ues.forget_teller(self.id),
        }
    }

    pub fn source(&self, feed: Feed) -> Option<&Source> {
        self.sources.iter().find(|source| source.feed == feed)
    }

    /// All UEs that anything tells of.
    pub fn rntis(&self) -> Vec<u16> {
        let mut rntis: Vec<u16> = self.ues.iter().map(|(rnti, _)| rnti).collect();
        rntis.extend(self.slices.iter().flat_map(|slices| slices.ues.keys().copied()));
        let counted = self.mac.iter().flat_map(|mac| &mac.records);
        rntis.extend(counted.filter_map(|ue| u16::try_from(ue.rnti).ok()));
        rntis.sort_unstable();
        rntis.dedup();
        rntis
    }

    /// The slices that a UE is in.
    pub fn slices_of(&self, rnti: u16) -> UeSlices {
        let known = self.slices.as_ref().and_then(|slices| slices.ues.get(&rnti)).copied();
        known.unwrap_or(UeSlices { dl_id: NO_SLICE, ul_id: NO_SLICE, rnti })
    }

    /// Takes a report.
    pub fn keep(&mut self, feed: Feed, wire: Wire, message: &[u8], arena: &Arena) -> Result<Kept, e2sm::Error> {
        match feed {
            Feed::Mac => {
                let told = mac::IndicationMessage::decode(message, wire, arena)?;
                self.mac = Some(Latest::new(&told.ues, told.timestamp_us));
            }
            Feed::Rlc => {
                let told = rlc::IndicationMessage::decode(message, wire, arena)?;
                self.rlc = Some(Latest::new(&told.bearers, told.timestamp_us));
            }
            Feed::Pdcp => {
                let told = pdcp::IndicationMessage::decode(message, wire, arena)?;
                self.pdcp = Some(Latest::new(&told.bearers, told.timestamp_us));
            }
            Feed::Tc => self.tc = Some(tc::IndicationMessage::decode_owned(message, wire)?),
            Feed::Slice => {
                let told = slice::IndicationMessage::decode_owned(message, wire)?;
                let ues = told.ues.iter().take(MAX_RECORDS).map(|ue| (ue.rnti, *ue)).collect();
                self.slices = Some(Slices { set: told.slices, ues });
                self.told_slices();
                return Ok(Kept::Slices);
            }
            Feed::Rrc => {
                let told = rrc::IndicationMessage::decode_owned(message, wire)?;
                let notifications = told.notifications.iter().take(MAX_RECORDS).cloned().collect();
                return Ok(Kept::Ues(notifications));
            }
        }
        Ok(Kept::Statistics)
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

    /// Takes what a node has acknowledged for done, as its next report will tell.
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
