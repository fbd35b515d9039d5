//! SLICE: the slices of a cell, told by the period and set.
//!
//! A base station implements [`SliceSource`]; [`SliceFunction`] does the rest.
//!
//! * What all controllers' slices of a direction are promised is at most what there is: a control that asks for more is
//!   refused, and its outcome tells the numbers. What a promise weighs: a static slice its positions, a rate its quotient
//!   with its reference, a share itself, blocks before a deadline their part of all blocks until then.
//! * A control is carried out as a whole or not at all. A refusal's outcome says why.
//! * A slice is the controller's that added it; others neither change nor delete it, nor move UEs into it or out of it.
//!   When a controller is removed from the node, its slices go; where only its connection is lost, they stay.
//! * Controllers are told of all slices, and of the slices of those UEs that they may see.

mod admission;
mod control;
mod source;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::SystemTime;

use e2sm::slice::{
    ControlHeader, ControlMessage, ControlOutcome, IndicationHeader, IndicationMessage, MODEL, NO_SLICE, UeSlices,
};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, CauseProtocol, RanFunctionId};
use per::{List, PrintableString};
use tracing::{info, warn};

use crate::periodic::{PeriodicConfig, Schedule};
use crate::wall_clock::WallClock;
use control::{Owners, Request};

pub use admission::{SliceResources, validate_slices};
pub use source::{Capacity, Direction, SliceAssociation, SliceSource};

/// What a function offers, and its bounds.
#[derive(Clone, Debug)]
pub struct SliceConfig {
    /// Its reports, id and wire form.
    pub periodic: PeriodicConfig,
    /// Slices of a direction. Default: 64.
    pub max_slices: usize,
}

impl Default for SliceConfig {
    fn default() -> Self {
        SliceConfig { periodic: PeriodicConfig::default(), max_slices: 64 }
    }
}

/// The RAN function of SLICE, towards all controllers of its node.
pub struct SliceFunction<S: SliceSource> {
    source: Rc<RefCell<S>>,
    config: SliceConfig,
    wall_clock: WallClock,
    schedule: Schedule,
    owners: Owners,
    ues: Vec<Ue>,
}

impl<S: SliceSource> SliceFunction<S> {
    /// A function without subscriptions.
    ///
    /// # Panics
    /// Where the model does not have the configured wire form.
    #[must_use]
    pub fn new(source: Rc<RefCell<S>>, config: SliceConfig) -> Self {
        config.periodic.function(&MODEL);
        SliceFunction {
            source,
            config,
            wall_clock: WallClock::new(SystemTime::now),
            schedule: Schedule::default(),
            owners: Owners::default(),
            ues: Vec::new(),
        }
    }

    /// Reports that were not sent because the host came late, until now.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.schedule.skipped()
    }

    fn outcome(&self, text: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let diagnostic = PrintableString::try_from(text).ok()?;
        ControlOutcome { diagnostic }.encode(self.config.periodic.wire, &mut out).ok()?;
        Some(out)
    }

    fn refuse(&self, controller: ControllerId, cause: Cause, text: &str) -> ControlFailure {
        info!(controller = controller.0, %cause, "slice control refused: {text}");
        ControlFailure { cause, outcome: self.outcome(text) }
    }
}

impl<S: SliceSource> RanFunction for SliceFunction<S> {
    fn id(&self) -> RanFunctionId {
        self.config.periodic.function_id(&MODEL)
    }

    fn definition(&self) -> Function {
        self.config.periodic.function(&MODEL)
    }

    fn subscribe(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &SubscriptionRequest,
        _views: &Views,
    ) -> Result<Admission, Cause> {
        self.schedule.subscribe(now, controller, request, &self.config.periodic)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.schedule.unsubscribe(key);
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        reports: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let wire = self.config.periodic.wire;
        let message = ControlHeader::decode(&request.header, wire)
            .and_then(|_| ControlMessage::decode_owned(&request.message, wire))
            .map_err(|error| {
                let cause = Cause::Protocol(CauseProtocol::TransferSyntaxError);
                self.refuse(controller, cause, &error.to_string())
            })?;
        let mut source = self.source.borrow_mut();
        // what was before goes on as it was
        source.advance(now);
        let request = Request {
            source: &mut *source,
            owners: &mut self.owners,
            controller,
            views: reports.views(),
            max_slices: self.config.max_slices,
        };
        let done = match &message {
            ControlMessage::AddOrModify(slices) => request.add_or_modify(slices),
            ControlMessage::Delete(ids) => request.delete(ids),
            ControlMessage::Associate(ues) => request.associate(ues),
        };
        drop(source);
        match done {
            Ok(()) => Ok(self.outcome("")),
            Err(refusal) => Err(self.refuse(controller, refusal.cause(), &refusal.text())),
        }
    }

    fn next_report(&self) -> Option<Time> {
        self.schedule.next()
    }

    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
        let SliceFunction { source, config, wall_clock, schedule, ues, .. } = self;
        wall_clock.tick(now);
        let timestamp_us = wall_clock.unix_us(now);
        source.borrow_mut().advance(now);
        let (source, wire) = (source.borrow(), config.periodic.wire);
        ues.clear();
        source.ues(ues);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        schedule.due(now, |key, action| {
            let views = reports.views();
            let told =
                ues.iter().filter(|ue| views.sees(key.controller, **ue)).filter_map(|ue| slices_of(&*source, *ue));
            let told: List<'_, UeSlices> = told.collect();
            header.clear();
            message.clear();
            let written = IndicationHeader::default().encode(wire, &mut header).and_then(|()| {
                IndicationMessage { slices: source.slices().clone(), ues: told, timestamp_us }
                    .encode(wire, &mut message)
            });
            match written {
                // a subscription that is gone by now is forgotten by the `unsubscribe` to come
                Ok(()) => drop(reports.report(key, action, &header, &message)),
                Err(error) => warn!(%error, "slices cannot be told: the base station's values break a bound"),
            }
        });
        schedule.warn_late(&MODEL);
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        let mut source = self.source.borrow_mut();
        let request = Request {
            source: &mut *source,
            owners: &mut self.owners,
            controller,
            views: &Views::default(),
            max_slices: self.config.max_slices,
        };
        if let Err(refusal) = request.withdraw() {
            warn!(controller = controller.0, "slices of a removed controller stay, nobody's now: {}", refusal.text());
            self.owners.forget_all_of(controller);
        }
    }
}

/// The slices of a UE that is in any.
fn slices_of<S: SliceSource>(source: &S, ue: Ue) -> Option<UeSlices> {
    let SliceAssociation { dl, ul } = source.slice_association(ue);
    let is_in_any = dl.is_some() || ul.is_some();
    let (dl_id, ul_id) = (dl.unwrap_or(NO_SLICE), ul.unwrap_or(NO_SLICE));
    is_in_any.then(|| UeSlices { dl_id, ul_id, rnti: source.rnti(ue) })
}

impl<S: SliceSource> fmt::Debug for SliceFunction<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SliceFunction")
            .field("config", &self.config)
            .field("schedule", &self.schedule)
            .field("owners", &self.owners)
            .finish_non_exhaustive()
    }
}
