//! The slices of cells: shares of a cell's scheduler (FlexRIC's slice model).

use std::fmt;

use e2::NodeId;
use e2sm::slice::{
    ControlHeader, ControlMessage, DeleteSlices, DirectionSlices, IndicationMessage, MODEL, NvsParameters, Parameters,
    Share, Slice, SliceConfiguration,
};
use per::PrintableString;

use super::control::{Answer, Encoded, OutcomeModel};
use super::core::Core;
use super::error::{Error, Noun};
use super::node::NodeEntry;
use super::ric::{Handle, Node, Ric};
use super::session::Attempt;

/// The scheduler that divides a cell by shares.
const SCHEDULER: &str = "NVS";
/// The most slices of a direction (the model's bound).
const MAX_SLICES: usize = 1024;

/// A direction of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the UE.
    Downlink,
    /// From the UE.
    Uplink,
}

/// A slice to set: a share of the cell's resource blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceShare {
    /// Its number, by which it is changed later.
    pub id: u32,
    /// A label for people.
    pub label: String,
    /// The share in percent.
    pub share_percent: f32,
}

impl SliceShare {
    /// A slice without a label.
    #[must_use]
    pub const fn new(id: u32, share_percent: f32) -> Self {
        SliceShare { id, label: String::new(), share_percent }
    }
}

/// A slice as a node reports it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SliceState {
    /// The node.
    pub node: String,
    /// The direction.
    pub direction: Direction,
    /// Its number.
    pub id: u32,
    /// Its label.
    pub label: String,
    /// Its share in percent; `None` if the scheduler divides the cell otherwise.
    pub share_percent: Option<f32>,
    /// The number of UEs in it.
    pub ues: usize,
}

/// The slices of one node, or of all: in the downlink, unless [`Slices::uplink`] selects the other direction.
#[derive(Clone)]
pub struct Slices {
    ric: Handle,
    node: Option<String>,
    direction: Direction,
}

impl Ric {
    /// The slices of all nodes.
    #[must_use]
    pub fn slices(&self) -> Slices {
        Slices { ric: self.handle().clone(), node: None, direction: Direction::Downlink }
    }
}

impl Node {
    /// The slices of this node.
    #[must_use]
    pub fn slices(&self) -> Slices {
        Slices { ric: self.handle().clone(), node: Some(self.name()), direction: Direction::Downlink }
    }
}

impl Slices {
    /// The same nodes' slices in the uplink.
    #[must_use]
    pub fn uplink(&self) -> Slices {
        Slices { direction: Direction::Uplink, ..self.clone() }
    }

    /// The slices of both directions, as nodes report them now. Waits for the reports of nodes that have slices.
    ///
    /// # Errors
    /// [`Error::NotOffered`] if no node has slices; [`Error::Unknown`] for the node.
    pub fn list(&self) -> Result<Vec<SliceState>, Error> {
        let only = self.node.clone();
        self.ric.session.ask_until(
            || "list of slices".into(),
            self.ric.deadline,
            move |core, commands| {
                core.follow_slices(commands);
                if let Some(Err(error)) = only.as_ref().map(|node| core.node_named(node)) {
                    return Attempt::Done(Err(error));
                }
                let is_wanted = |node: &&NodeEntry| only.as_ref().is_none_or(|only| **only == *node.name);
                let nodes: Vec<_> = core.nodes().filter(is_wanted).collect();
                let offering: Vec<_> = nodes.iter().filter(|node| node.model(MODEL).is_some()).collect();
                if offering.is_empty() {
                    let node = nodes.first().filter(|_| only.is_some()).map(|node| node.name.to_string());
                    let error = Error::NotOffered { node, what: "slices".into(), nearest: Vec::new() };
                    // the first node may come
                    return if nodes.is_empty() { Attempt::Wait(error) } else { Attempt::Done(Err(error)) };
                }
                let mut states = Vec::new();
                for node in offering {
                    let Some(reported) = core.slices.get(&node.id) else {
                        let what = format!("report of the slices of {}", node.name);
                        return Attempt::Wait(Error::Timeout { what, after: super::core::NODE_ANSWER });
                    };
                    states.extend(states_of(&node.name, reported));
                }
                Attempt::Done(Ok(states))
            },
        )
    }

    /// Adds slices, and changes those whose number exists, all together or not at all.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::NotOffered`], [`Error::Refused`] with what the node says, such as too large shares.
    pub fn set(&self, slices: impl IntoIterator<Item = SliceShare>) -> Result<Vec<Answer>, Error> {
        let slices: Vec<SliceShare> = slices.into_iter().collect();
        if slices.is_empty() || slices.len() > MAX_SLICES {
            return Err(Error::invalid("slices", slices.len(), format!("1 to {MAX_SLICES} slices")));
        }
        for slice in &slices {
            if !(slice.share_percent > 0.0 && slice.share_percent <= 100.0) {
                return Err(Error::invalid("share_percent", slice.share_percent, "a share above 0, up to 100"));
            }
            if slices.iter().filter(|other| other.id == slice.id).count() > 1 {
                return Err(Error::invalid("id", slice.id, "each number once"));
            }
        }
        let encoded: Vec<Slice<'static>> = slices.iter().map(encode).collect::<Result<_, _>>()?;
        let of_direction = DirectionSlices { scheduler: PrintableString::literal(SCHEDULER), slices: encoded.into() };
        let message = ControlMessage::AddOrModify(match self.direction {
            Direction::Downlink => SliceConfiguration { dl: of_direction, ..SliceConfiguration::default() },
            Direction::Uplink => SliceConfiguration { ul: of_direction, ..SliceConfiguration::default() },
        });
        let answers = self.send("slices", message)?;
        self.verify(&answers, move |reported| {
            slices.iter().all(|slice| {
                let share = reported.iter().find(|state| state.id == slice.id).and_then(|state| state.share_percent);
                share.is_some_and(|share| (share - slice.share_percent).abs() < 0.01)
            })
        })?;
        Ok(answers)
    }

    /// Removes slices. Their UEs are then in none.
    ///
    /// # Errors
    /// [`Error::Invalid`], [`Error::NotOffered`], [`Error::Refused`] with what the node says, such as an unknown slice.
    pub fn remove(&self, ids: impl IntoIterator<Item = u32>) -> Result<Vec<Answer>, Error> {
        let ids: Vec<u32> = ids.into_iter().collect();
        if ids.is_empty() || ids.len() > MAX_SLICES {
            return Err(Error::invalid("ids", ids.len(), format!("1 to {MAX_SLICES} slices")));
        }
        let of_direction = ids.clone().into();
        let message = ControlMessage::Delete(match self.direction {
            Direction::Downlink => DeleteSlices { dl: of_direction, ..DeleteSlices::default() },
            Direction::Uplink => DeleteSlices { ul: of_direction, ..DeleteSlices::default() },
        });
        let answers = self.send("slices", message)?;
        self.verify(&answers, move |reported| reported.iter().all(|state| !ids.contains(&state.id)))?;
        Ok(answers)
    }

    fn send(&self, what: &'static str, message: ControlMessage<'static>) -> Result<Vec<Answer>, Error> {
        self.ric.control_nodes(what, self.node.clone(), move |_, node| encode_control(node, &message))
    }

    /// Waits until the nodes' reports show an effect, on a handle that verifies.
    fn verify(
        &self,
        answers: &[Answer],
        shows: impl Fn(&[SliceState]) -> bool + Send + Clone + 'static,
    ) -> Result<(), Error> {
        let Some(within) = self.ric.verify else { return Ok(()) };
        for node in answers.iter().map(|answer| answer.node.clone()) {
            let (direction, shows) = (self.direction, shows.clone());
            self.ric.session.ask_until(|| format!("effect at {node}"), within, {
                let node = node.clone();
                move |core, commands| {
                    core.follow_slices(commands);
                    let states = core.slices_of(&node).map(|reported| states_of(&node, reported));
                    let mut states = states.unwrap_or_default();
                    states.retain(|state| state.direction == direction);
                    if shows(&states) {
                        return Attempt::Done(Ok(()));
                    }
                    let what = format!("the node reports the slices {states:?}");
                    Attempt::Wait(Error::Unverified { node: node.clone(), what })
                }
            })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Slices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slices").field("node", &self.node).field("direction", &self.direction).finish_non_exhaustive()
    }
}

fn encode(slice: &SliceShare) -> Result<Slice<'static>, Error> {
    let label = PrintableString::try_from(slice.label.clone())
        .map_err(|_| Error::invalid("label", &slice.label, "letters, digits and spaces of ASCII"))?;
    let parameters = Parameters::Nvs(NvsParameters::Capacity(Share { reserved: slice.share_percent / 100.0 }));
    Ok(Slice { id: slice.id, label, ue_scheduler: PrintableString::literal(""), parameters })
}

/// Encodes a control of the slice model; `None` if the node does not have it.
pub(super) fn encode_control(node: &NodeEntry, message: &ControlMessage<'_>) -> Result<Option<Encoded>, Error> {
    let Some((function, wire)) = node.model(MODEL) else { return Ok(None) };
    let (mut header, mut octets) = (Vec::new(), Vec::new());
    let written = ControlHeader::default().encode(wire, &mut header).and_then(|()| message.encode(wire, &mut octets));
    written.map_err(|error| Error::invalid("slices", "these values", error.to_string()))?;
    Ok(Some(Encoded { function, header, message: octets, outcome: OutcomeModel::Slice(wire) }))
}

fn states_of(node: &str, reported: &IndicationMessage<'_>) -> Vec<SliceState> {
    let of = |direction| {
        let slices = match direction {
            Direction::Downlink => &reported.slices.dl.slices,
            Direction::Uplink => &reported.slices.ul.slices,
        };
        slices.iter().map(move |slice| SliceState {
            node: node.to_owned(),
            direction,
            id: slice.id,
            label: slice.label.to_string(),
            share_percent: match &slice.parameters {
                Parameters::Nvs(NvsParameters::Capacity(share)) => Some(share.reserved * 100.0),
                _ => None,
            },
            ues: reported
                .ues
                .iter()
                .filter(|ue| slice.id == if direction == Direction::Downlink { ue.dl_id } else { ue.ul_id })
                .count(),
        })
    };
    of(Direction::Downlink).chain(of(Direction::Uplink)).collect()
}

/// The error for a slice that a node does not have, with those that it has; `None` if it has it, or has not reported yet.
pub(super) fn unknown_slice(core: &Core, node: NodeId, id: u32) -> Option<Error> {
    let reported = core.slices.get(&node)?;
    let mut ids: Vec<u32> =
        reported.slices.dl.slices.iter().chain(&reported.slices.ul.slices).map(|slice| slice.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let is_known = ids.contains(&id);
    let nearest = || ids.iter().take(3).map(u32::to_string).collect();
    (!is_known).then(|| Error::Unknown { kind: Noun::Slice, name: id.to_string(), nearest: nearest() })
}
