//! SLICE: periodic reports of the slices of a cell, and their control.
//!
//! A base station implements [`SliceSource`]; [`SliceFunction`] implements the RAN function.
//!
//! * The slices of all controllers in a direction are promised at most all resources: a control that exceeds them is
//!   refused, and its outcome states the shares. The share of a static slice is that of its positions; of a rate, its ratio
//!   to the reference rate; of resource blocks before a deadline, their part of all resource blocks until then.
//! * A control takes effect as a whole or not at all. The outcome of a refused control states the reason.
//! * The controller that adds a slice owns it; other controllers cannot change or delete it, nor associate UEs with it or
//!   release them from it. The slices of a controller are deleted when the controller is removed from the node, but remain
//!   when only its connection is lost.
//! * A report contains all slices, and the slices of those UEs that the controller may see.

mod admission;
mod control;
mod source;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::SystemTime;

use e2sm::slice::{
    ControlHeader, ControlMessage, ControlOutcome, IndicationHeader, IndicationMessage, MODEL, NO_SLICE, UeSlices,
};
use ferric::agent::{Admission, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Ue, Views};
use ferric::e2::{ControlRequest, Function, SubscriptionRequest, Time};
use ferric::e2ap::{Cause, RanFunctionId};
use per::{List, PrintableString};
use tracing::{info, warn};

use crate::cause::TRANSFER_SYNTAX_ERROR;
use crate::periodic::{PeriodicActions, PeriodicConfig};
use crate::shared_source::SharedSource;
use crate::wall_clock::WallClock;
use control::{Owners, Request};

pub use admission::{SliceResources, validate_slices};
pub use ids::Direction;
pub use source::{Capacity, SliceAssociation, SliceSource};

/// Configuration of [`SliceFunction`].
#[derive(Clone, Debug)]
pub struct SliceConfig {
    /// RAN function ID, encoding and reports.
    pub periodic: PeriodicConfig,
    /// The maximum number of slices in a direction. Default: 64.
    pub max_slices: usize,
}

impl Default for SliceConfig {
    fn default() -> Self {
        SliceConfig { periodic: PeriodicConfig::default(), max_slices: 64 }
    }
}

/// The RAN function of the SLICE service model, for all controllers of its node.
pub struct SliceFunction<H: SharedSource<Source: SliceSource>> {
    source: H,
    config: SliceConfig,
    wall_clock: WallClock,
    actions: PeriodicActions,
    owners: Owners,
    ues: Vec<Ue>,
}

impl<H: SharedSource<Source: SliceSource>> SliceFunction<H> {
    /// Creates a function without subscriptions.
    ///
    /// # Panics
    /// If the service model does not have the configured encoding.
    #[must_use]
    pub fn new(source: H, config: SliceConfig) -> Self {
        config.periodic.function(&MODEL);
        SliceFunction {
            source,
            config,
            wall_clock: WallClock::system(),
            actions: PeriodicActions::default(),
            owners: Owners::default(),
            ues: Vec::new(),
        }
    }

    /// Replaces the system clock as the source of the time of day in reports.
    #[must_use]
    pub fn with_wall_clock(mut self, wall_clock: impl Fn() -> SystemTime + Send + 'static) -> Self {
        self.wall_clock = WallClock::new(wall_clock);
        self
    }

    /// The number of reports that were skipped because the agent was polled late.
    #[must_use]
    pub fn skipped_reports(&self) -> u64 {
        self.actions.skipped_reports()
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

impl<H: SharedSource<Source: SliceSource>> RanFunction for SliceFunction<H> {
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
        self.actions.subscribe(now, controller, request, &self.config.periodic)
    }

    fn unsubscribe(&mut self, key: RequestKey) {
        self.actions.unsubscribe(key);
    }

    fn control(
        &mut self,
        now: Time,
        controller: ControllerId,
        request: &ControlRequest,
        context: &mut FunctionContext<'_>,
    ) -> Result<Option<Vec<u8>>, ControlFailure> {
        let wire = self.config.periodic.wire;
        let message = ControlHeader::decode(&request.header, wire)
            .and_then(|_| ControlMessage::decode_owned(&request.message, wire))
            .map_err(|error| self.refuse(controller, TRANSFER_SYNTAX_ERROR, &error.to_string()))?;
        let mut source = self.source.write();
        // the control takes effect at `now`, not earlier
        source.advance(now);
        let request = Request {
            source: &mut *source,
            owners: &mut self.owners,
            controller,
            views: context.views(),
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
        self.actions.next_due()
    }

    fn report(&mut self, now: Time, context: &mut FunctionContext<'_>) {
        let SliceFunction { source, config, wall_clock, actions, ues, .. } = self;
        wall_clock.update(now);
        let timestamp_us = wall_clock.unix_us(now);
        let (mut source, wire) = (source.write(), config.periodic.wire);
        source.advance(now);
        ues.clear();
        source.ues(ues);
        let (mut header, mut message) = (Vec::new(), Vec::new());
        actions.report_due(now, &MODEL, |key, action| {
            let views = context.views();
            let visible = ues.iter().filter(|ue| views.sees(key.controller, **ue));
            let ues: List<'_, UeSlices> = visible.filter_map(|ue| slices_of(&*source, *ue)).collect();
            header.clear();
            message.clear();
            let encoded = IndicationHeader::default().encode(wire, &mut header).and_then(|()| {
                IndicationMessage { slices: source.slices().clone(), ues, timestamp_us }.encode(wire, &mut message)
            });
            match encoded {
                // fails only for a subscription that has ended, which the pending `unsubscribe` removes
                Ok(()) => drop(context.report(key, action, &header, &message)),
                Err(error) => warn!(%error, "cannot encode a slice report: a value of the source is out of range"),
            }
        });
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        let mut source = self.source.write();
        let request = Request {
            source: &mut *source,
            owners: &mut self.owners,
            controller,
            views: &Views::default(),
            max_slices: self.config.max_slices,
        };
        if let Err(refusal) = request.delete_all_of_controller() {
            let reason = refusal.text();
            warn!(
                controller = controller.0,
                reason, "cannot delete slices of a removed controller; they have no owner now"
            );
            self.owners.remove_controller(controller);
        }
    }
}

/// The slices of a UE; `None` if it has none and is not listed then.
fn slices_of<S: SliceSource>(source: &S, ue: Ue) -> Option<UeSlices> {
    let SliceAssociation { dl, ul } = source.slice_association(ue);
    let has_slice = dl.is_some() || ul.is_some();
    let (dl_id, ul_id) = (dl.unwrap_or(NO_SLICE), ul.unwrap_or(NO_SLICE));
    (has_slice || source.lists_all_ues()).then(|| UeSlices { dl_id, ul_id, rnti: source.rnti(ue) })
}

impl<H: SharedSource<Source: SliceSource>> fmt::Debug for SliceFunction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SliceFunction")
            .field("config", &self.config)
            .field("actions", &self.actions)
            .field("owners", &self.owners)
            .finish_non_exhaustive()
    }
}
