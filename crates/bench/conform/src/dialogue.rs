//! A dialogue with the peer over one association: what a check waits for, and what is answered besides.

use std::time::{Duration, Instant};

use e2ap::{ErrorIndication, Pdu, Version};

use crate::association::{Association, Incoming};
use crate::check::{fail, inconclusive};
use crate::{Step, Timeouts, expect};

/// Answers what a check does not wait for, so that the peer continues.
pub(crate) trait Responder {
    /// Returns the answers to a message.
    fn respond(&mut self, pdu: &Pdu<'static>) -> Vec<Pdu<'static>>;
}

/// A dialogue.
pub(crate) struct Dialogue<R> {
    association: Association,
    pub version: Version,
    pub timeouts: Timeouts,
    pub responder: R,
    /// Which Error Indications are expected beside an answer, and how many have come.
    forgives: fn(&ErrorIndication<'_>) -> bool,
    pub forgiven: u32,
}

impl<R: Responder> Dialogue<R> {
    pub fn new(association: Association, version: Version, timeouts: Timeouts, responder: R) -> Self {
        Dialogue { association, version, timeouts, responder, forgives: |_| false, forgiven: 0 }
    }

    /// Accepts Error Indications beside what is waited for.
    pub fn forgive(&mut self, forgives: fn(&ErrorIndication<'_>) -> bool) {
        (self.forgives, self.forgiven) = (forgives, 0);
    }

    /// Sends a message.
    pub fn send<'a>(&mut self, pdu: impl Into<Pdu<'a>>) -> Step {
        let octets = encode(&pdu.into(), self.version)?;
        self.association.send(&octets);
        Ok(())
    }

    /// Sends octets.
    pub fn send_octets(&mut self, octets: &[u8]) {
        self.association.send(octets);
    }

    /// Answers a message as the responder does.
    pub fn respond(&mut self, pdu: &Pdu<'static>) -> Step {
        for answer in self.responder.respond(pdu) {
            self.send(answer)?;
        }
        Ok(())
    }

    /// Returns the next message of the peer as octets, without a look at them.
    pub fn next_octets(&mut self, within: Duration) -> Incoming {
        self.association.next(Instant::now() + within)
    }

    /// Waits for a message: `wanted` returns its judgement of those that it has waited for, and the others are answered. An Error
    /// Indication that is not waited for, a message that cannot be decoded, and the end of the association fail the check.
    /// `None` if the time is over.
    pub fn receive_within<T>(
        &mut self,
        what: &str,
        within: Duration,
        mut wanted: impl FnMut(&Pdu<'static>) -> Option<Step<T>>,
    ) -> Step<Option<T>> {
        let deadline = Instant::now() + within;
        loop {
            let octets = match self.association.next(deadline) {
                Incoming::Pdu(octets) => octets,
                Incoming::Nothing => return Ok(None),
                Incoming::End(reason) => return fail(format!("the association ended before {what}: {reason}")),
            };
            let pdu = match expect::decode(&octets, self.version) {
                Ok(pdu) => pdu,
                Err(reason) => return fail(reason),
            };
            if let Some(judgement) = wanted(&pdu) {
                return judgement.map(Some);
            }
            if let Pdu::ErrorIndication(indication) = &pdu {
                if (self.forgives)(indication) {
                    self.forgiven += 1;
                    continue;
                }
                return fail(format!("{} instead of {what}", expect::describe(indication)));
            }
            self.respond(&pdu)?;
        }
    }

    /// Waits for an answer, whose absence fails the check.
    pub fn receive<T>(&mut self, what: &str, wanted: impl FnMut(&Pdu<'static>) -> Option<Step<T>>) -> Step<T> {
        let within = self.timeouts.answer;
        match self.receive_within(what, within, wanted)? {
            Some(found) => Ok(found),
            None => fail(format!("no {what} within {within:?}")),
        }
    }

    /// Waits for what the peer does of its own accord; without it the check is inconclusive.
    pub fn receive_if_offered<T>(
        &mut self,
        what: &str,
        wanted: impl FnMut(&Pdu<'static>) -> Option<Step<T>>,
    ) -> Step<T> {
        let within = self.timeouts.action;
        match self.receive_within(what, within, wanted)? {
            Some(found) => Ok(found),
            None => inconclusive(format!("the peer sent no {what} within {within:?}")),
        }
    }

    /// Waits for a request that the peer sends of its own accord, and answers it as the responder does.
    pub fn answer_if_offered(&mut self, what: &str, is_wanted: impl Fn(&Pdu<'static>) -> bool) -> Step {
        let request = self.receive_if_offered(what, |pdu| is_wanted(pdu).then(|| Ok(pdu.clone())))?;
        self.respond(&request)
    }

    /// Waits for the end of the association. Messages before it are passed to `look`.
    pub fn await_end(&mut self, within: Duration, mut look: impl FnMut(&[u8]) -> Step) -> Step<bool> {
        let deadline = Instant::now() + within;
        loop {
            match self.association.next(deadline) {
                Incoming::Pdu(octets) => look(&octets)?,
                Incoming::Nothing => return Ok(false),
                Incoming::End(_) => return Ok(true),
            }
        }
    }

    /// Closes the association.
    pub fn close(mut self) {
        // what has arrived belongs to the recording
        let _ = self.association.unread();
        self.association.close();
    }
}

/// Encodes a message of this end; what the version cannot express makes the check inconclusive.
pub(crate) fn encode(pdu: &Pdu<'_>, version: Version) -> Step<Vec<u8>> {
    let mut octets = Vec::new();
    match pdu.encode(version, &mut octets) {
        Ok(()) => Ok(octets),
        Err(error) => inconclusive(format!("{} cannot be written in E2AP {version}: {error}", pdu.name())),
    }
}
