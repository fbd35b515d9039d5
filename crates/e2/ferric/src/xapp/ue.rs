//! UEs, and the controls that concern one.

use std::fmt;
use std::time::{Duration, Instant};

use e2::NodeId;
use e2::topology::{UeIdentity, UeReference};
use e2ap::GlobalE2NodeId;
use e2sm::rc::{Control, ControlAction, DrbQos, Drx, Handover, LONG_DRX_CYCLES_MS};
use e2sm::slice::{ControlMessage, MODEL, UeSlices};

use super::control::{self, Answer, Encoded};
use super::core::Core;
use super::error::Error;
use super::names::CellId;
use super::resolve::{IntoName, name};
use super::ric::Handle;
use super::session::{Attempt, Reply};
use super::slices::{encode_control, unknown_slice};

/// How long a UE may be unknown between two cells.
const HANDOVER_GAP: Duration = Duration::from_secs(2);

/// A change of the QoS of a bearer. What is absent stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qos {
    /// The data radio bearer, 1 to 32. Default: 1.
    pub drb: u8,
    /// The 5QI.
    pub five_qi: Option<u8>,
    /// The priority level, 1 (served first) to 127.
    pub priority: Option<u8>,
}

impl Default for Qos {
    fn default() -> Self {
        Qos { drb: 1, five_qi: None, priority: None }
    }
}

/// A UE, by one of its names. The handle stays valid when the UE moves to another cell.
#[derive(Clone)]
pub struct Ue {
    ric: Handle,
    reference: UeReference,
}

impl Ue {
    pub(super) fn new(ric: Handle, reference: UeReference) -> Self {
        Ue { ric, reference }
    }

    /// The same UE with verified controls; see [`Ric::verified`](super::Ric::verified).
    #[must_use]
    pub fn verified(&self, within: Duration) -> Ue {
        Ue { ric: Handle { verify: Some(within), ..self.ric.clone() }, reference: self.reference.clone() }
    }

    /// The name of this handle.
    #[must_use]
    pub fn reference(&self) -> &UeReference {
        &self.reference
    }

    /// Waits for a UE that is between two cells: its old node has reported that it left, its new one not yet that it came.
    fn await_known(&self) -> Result<(), Error> {
        let deadline = self.ric.deadline.min(HANDOVER_GAP);
        Handle { deadline, ..self.ric.clone() }.await_ue(&self.reference)
    }

    /// What is known of the UE now.
    ///
    /// # Errors
    /// [`Error::Unknown`] if it has left.
    pub fn identity(&self) -> Result<UeIdentity, Error> {
        let end = Instant::now() + self.ric.deadline.min(HANDOVER_GAP);
        loop {
            self.await_known()?;
            let reference = self.reference.clone();
            let identity = self.ric.session.ask(
                || format!("identity of {}", self.reference),
                self.ric.deadline,
                move |core, _, reply| {
                    reply.send(core.directory.find(&reference).map(|ue| core.directory.identity(ue)));
                },
            );
            match identity {
                // it has left its cell in between
                Err(Error::Unknown { .. }) if Instant::now() < end => {}
                result => return result,
            }
        }
    }

    /// The cell that the UE is in, where it is known.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the UE has left.
    pub fn cell(&self) -> Result<Option<CellId>, Error> {
        Ok(self.identity()?.cell.map(CellId::new))
    }

    /// Hands the UE over to a cell (E2SM-RC 8.4.4.1).
    ///
    /// # Errors
    /// [`Error::Unknown`] for the UE or the cell, with the known ones; [`Error::NotOffered`], [`Error::Refused`] with the cause.
    pub fn handover(&self, cell: impl IntoName<CellId>) -> Result<Answer, Error> {
        let target = name(cell)?;
        let answer = self.control(format!("handover of {} to {target}", self.reference), move |core, node| {
            core.check_cell(target)?;
            Ok(ControlAction::Handover(Handover::to(target.at(node))))
        })?;
        if let Some(within) = self.ric.verify {
            let (reference, node) = (self.reference.clone(), answer.node.clone());
            self.ric.session.ask_until(
                || format!("effect of the handover of {}", self.reference),
                within,
                move |core, _| {
                    let found = core.directory.find(&reference).map(|ue| core.directory.place_of(ue).cell);
                    match found {
                        Ok(Some(cell)) if cell == target => Attempt::Done(Ok(())),
                        Ok(Some(cell)) => {
                            let what = format!("{reference} is in cell {cell}, not in {target}");
                            Attempt::Wait(Error::Unverified { node: node.clone(), what })
                        }
                        Ok(None) | Err(_) => {
                            let what = format!("no report of the cell of {reference}");
                            Attempt::Wait(Error::Unverified { node: node.clone(), what })
                        }
                    }
                },
            )?;
        }
        Ok(answer)
    }

    /// Sets the UE's long DRX cycle (E2SM-RC 8.4.3.1): the longest one of TS 38.331 that is not above it.
    ///
    /// # Errors
    /// [`Error::Invalid`] below 10 ms or above 10,240 ms; otherwise as [`Ue::handover`]. On a handle that verifies,
    /// [`Error::NotOffered`]: no report shows it.
    pub fn drx(&self, cycle_ms: u16) -> Result<Answer, Error> {
        let range = LONG_DRX_CYCLES_MS[0]..=LONG_DRX_CYCLES_MS[LONG_DRX_CYCLES_MS.len() - 1];
        if !range.contains(&cycle_ms) {
            return Err(Error::invalid("cycle_ms", cycle_ms, format!("{} to {} ms", range.start(), range.end())));
        }
        self.check_unverified("DRX cycles")?;
        self.control(format!("DRX of {}", self.reference), move |_, _| Ok(ControlAction::Drx(Drx::long(cycle_ms))))
    }

    /// Changes the QoS of a bearer of the UE (E2SM-RC 8.4.2.1).
    ///
    /// # Errors
    /// [`Error::Invalid`] with the parameter; otherwise as [`Ue::drx`].
    pub fn qos(&self, qos: Qos) -> Result<Answer, Error> {
        let Qos { drb, five_qi, priority } = qos;
        if !(1..=32).contains(&drb) {
            return Err(Error::invalid("drb", drb, "a bearer from 1 to 32"));
        }
        if priority.is_some_and(|priority| !(1..=127).contains(&priority)) {
            return Err(Error::invalid("priority", priority.unwrap_or(0), "1 to 127"));
        }
        if five_qi.is_none() && priority.is_none() {
            return Err(Error::invalid("qos", "nothing", "a 5QI or a priority"));
        }
        self.check_unverified("the QoS of bearers")?;
        self.control(format!("QoS of {}", self.reference), move |_, _| {
            Ok(ControlAction::DrbQos(DrbQos { drb_id: drb, five_qi, priority_level: priority, ..DrbQos::default() }))
        })
    }

    /// Fails on a handle that verifies: no report shows such a control's effect.
    fn check_unverified(&self, what: &str) -> Result<(), Error> {
        match self.ric.verify {
            None => Ok(()),
            Some(_) => Err(Error::NotOffered { node: None, what: format!("a report of {what}"), nearest: Vec::new() }),
        }
    }

    /// Moves the UE to a slice of its cell's scheduler, in both directions.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::NotOffered`], [`Error::Refused`] with what the node says, such as an unknown slice.
    pub fn slice(&self, id: u32) -> Result<Answer, Error> {
        let reference = self.reference.clone();
        self.await_known()?;
        let answers = self.ric.session.ask(
            || format!("move of {} to slice {id}", self.reference),
            self.ric.deadline,
            move |core, commands, reply: Reply<Vec<Answer>>| match encode_slice(core, &reference, id) {
                Ok(control) => control::send(core, commands, vec![control], reply),
                Err(error) => reply.send(Err(error)),
            },
        )?;
        let answer = answers.into_iter().next().ok_or(Error::Closed)?;
        if let Some(within) = self.ric.verify {
            let (reference, node) = (self.reference.clone(), answer.node.clone());
            self.ric.session.ask_until(
                || format!("effect of the move of {} to slice {id}", self.reference),
                within,
                move |core, commands| {
                    core.follow_slices(commands);
                    let rnti = core.directory.find(&reference).ok().and_then(|ue| core.directory.identity(ue).rnti);
                    let reported = core.slices_of(&node).zip(rnti);
                    let now = reported.and_then(|(of, rnti)| of.ues.iter().find(|ue| ue.rnti == rnti));
                    if now.is_some_and(|ue| ue.dl_id == id || ue.ul_id == id) {
                        return Attempt::Done(Ok(()));
                    }
                    let what = format!("the node reports {reference} in {now:?}");
                    Attempt::Wait(Error::Unverified { node: node.clone(), what })
                },
            )?;
        }
        Ok(answer)
    }

    /// Sends a control of E2SM-RC to the node of the UE's base station that offers its action.
    fn control(
        &self,
        what: String,
        action: impl FnOnce(&Core, &GlobalE2NodeId) -> Result<ControlAction, Error> + Send + 'static,
    ) -> Result<Answer, Error> {
        let reference = self.reference.clone();
        self.await_known()?;
        let answers = self.ric.session.ask(
            || what,
            self.ric.deadline,
            move |core, commands, reply: Reply<Vec<Answer>>| {
                let encoded = core.directory.find(&reference).and_then(|ue| {
                    let nodes = core.directory.nodes_of(ue);
                    let mut nodes = nodes.iter().filter_map(|node| core.node(*node));
                    let Some(first) = nodes.next() else { return Err(Error::NodeLost { node: reference.to_string() }) };
                    let action = action(core, &first.global_id)?;
                    let id = action.id();
                    let Some(node) = std::iter::once(first).chain(nodes).find(|node| control::offers(node, id)) else {
                        return Err(first.lacks(id.to_string()));
                    };
                    let Some(ue_id) = core.directory.ue_id_for(node.id, ue) else {
                        return Err(node.lacks(format!("an identity of {reference} for E2SM-RC")));
                    };
                    Ok((node.id, control::encode_rc(node, &Control::of_ue(ue_id, action))?))
                });
                match encoded {
                    Ok(control) => control::send(core, commands, vec![control], reply),
                    Err(error) => reply.send(Err(error)),
                }
            },
        )?;
        answers.into_iter().next().ok_or(Error::Closed)
    }
}

impl fmt::Debug for Ue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ue").field(&self.reference.to_string()).finish()
    }
}

/// Encodes the move of a UE to a slice.
fn encode_slice(core: &Core, reference: &UeReference, id: u32) -> Result<(NodeId, Encoded), Error> {
    let ue = core.directory.find(reference)?;
    let nodes = core.directory.nodes_of(ue);
    let mut nodes = nodes.iter().filter_map(|node| core.node(*node));
    let Some(first) = nodes.next() else { return Err(Error::NodeLost { node: reference.to_string() }) };
    let Some(node) = std::iter::once(first).chain(nodes).find(|node| node.model(MODEL).is_some()) else {
        return Err(first.lacks("slices"));
    };
    if let Some(error) = unknown_slice(core, node.id, id) {
        return Err(error);
    }
    let Some(rnti) = core.directory.identity(ue).rnti else {
        return Err(node.lacks(format!("the C-RNTI of {reference}, which names UEs in slices")));
    };
    // a direction without slices ignores its number
    let message = ControlMessage::Associate(vec![UeSlices { dl_id: id, ul_id: id, rnti }].into());
    match encode_control(node, &message)? {
        Some(encoded) => Ok((node.id, encoded)),
        None => Err(node.lacks("slices")),
    }
}
