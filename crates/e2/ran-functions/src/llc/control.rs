//! Controls: which logical channels a controller schedules, and its decisions about slots.

use std::collections::BTreeSet;

use e2sm::Arena;
use e2sm::common::{UeId, ntp_timestamp};
use e2sm::llc::{
    ControlHeader, ControlHeaderFormats, ControlMessage, ControlMessageFormats, ControlOutcome, ControlType,
    CsiRsPrecodingBandItem, CsiRsPrecodingBandsNotExecutedItem, DlControlInfoType, DlGrantItem, DlGrantOutcomeItem,
    DlScheduledSlotOutcomeItem, DlSchedulingControl, DlSchedulingControlOutcome, DlSlotToBeScheduledItem,
    ExecutionCause, ExecutionLevel, LogicalChannelControlItem, LogicalChannelHandlingControl, LogicalChannelItem,
    NotFullyExecuted, OutcomeType, PRECODING_CAUSE_OTHER, PRECODING_CAUSE_UNRECOGNIZED_UE, PdschSmgItem,
    ResourceAllocation, STYLE_LOGICAL_CHANNELS, STYLE_SCHEDULING, ScheduledLogicalChannelOutcomeItem, SlotInfo,
};
use ferric::agent::{ControlFailure, ControllerId, Ue, Views};
use ferric::e2::{ControlRequest, Time};
use ferric::e2ap::Cause;
use tracing::{debug, info};

use super::definition::ACTION;
use super::delegation::Delegations;
use super::source::{CellFormat, ChannelShare, LlcSource, SlotDecision, SlotGrant};
use super::{LlcConfig, SlotRefusal};
use crate::cause::{CONTROL_FAILED, CONTROL_MESSAGE_INVALID, RESOURCE_LIMIT, undecodable};
use crate::wall_clock::WallClock;

/// No transport block of NR has as many octets (TS 38.214 5.1.3.2: about 1.3 million bits).
const MAX_BLOCK_OCTETS: i64 = 1 << 20;
/// Symbols of a slot.
const SYMBOLS: i64 = 14;
/// Units of a processing time margin in a second.
const MARGIN_UNITS: i64 = 32_768;
const MAX_MARGIN: i64 = 32_767;

/// A control in progress.
pub(super) struct Control<'a, S> {
    pub source: &'a mut S,
    pub config: &'a LlcConfig,
    pub delegations: &'a mut Delegations,
    /// The slots that have a decision and are not over.
    pub decided: &'a mut BTreeSet<u64>,
    pub wall_clock: &'a WallClock,
    pub views: &'a Views,
    pub controller: ControllerId,
    pub now: Time,
}

impl<S: LlcSource> Control<'_, S> {
    /// Executes a control. Returns its outcome, and the first slot about which it decides.
    pub fn execute(mut self, request: &ControlRequest) -> Result<(Vec<u8>, Option<u64>), ControlFailure> {
        let header = ControlHeader::decode(&request.header).map_err(undecodable("control header"))?;
        let ControlHeaderFormats::Format1(header) = header.formats;
        let arena = Arena::new();
        let message = ControlMessage::decode(&request.message, &arena).map_err(undecodable("control message"))?;
        let ControlMessageFormats::Format1(message) = message.formats;
        let (style, action) = (header.ric_style_type.0, header.ric_control_action_id.0);
        match (style, &message.control_type) {
            (STYLE_LOGICAL_CHANNELS, ControlType::LogicalChannelHandlingControl(control)) if action == ACTION => {
                self.delegate(control)?;
                Ok((encoded(&OutcomeType::LogicalChannelHandling(self.timestamp()).into())?, None))
            }
            (STYLE_SCHEDULING, ControlType::DlSchedulingControl(control)) if action == ACTION => self.decide(control),
            _ => {
                info!(style, action, "control refused: its message is not one of this style and action");
                Err(CONTROL_MESSAGE_INVALID.into())
            }
        }
    }

    fn timestamp(&self) -> [u8; 8] {
        ntp_timestamp(self.wall_clock.at(self.now)).to_be_bytes()
    }

    /// The UEs of the cell that the controller may see, with their identities.
    fn ues(&self) -> Vec<(Ue, UeId<'static>)> {
        let mut ues = Vec::new();
        self.source.ues(&mut ues);
        ues.retain(|ue| self.views.sees(self.controller, *ue));
        ues.into_iter().map(|ue| (ue, self.source.ue_id(ue))).collect()
    }

    /// Changes the channels that the controller schedules: all of them, or none.
    fn delegate(&mut self, control: &LogicalChannelHandlingControl<'_>) -> Result<(), Cause> {
        if self.delegations.scheduler().is_some_and(|scheduler| scheduler != self.controller) {
            info!(controller = self.controller.0, "logical channels refused: another controller schedules the cell");
            return Err(CONTROL_FAILED);
        }
        let (ues, next) = (self.ues(), self.source.next_slot());
        let numerology = self.source.format().numerology;
        let from = |item: &LogicalChannelControlItem| {
            let slot = item.starting_slot_number;
            let is_of_cell = slot.numerology() == numerology;
            is_of_cell.then(|| slot.nearest(next).max(next)).ok_or(CONTROL_MESSAGE_INVALID)
        };
        let (mut added, mut released, mut channels) = (Vec::new(), Vec::new(), Vec::new());
        for item in &control.logical_channel_ueid_list {
            let Some(ue) = find(&ues, &item.ue_id) else {
                info!(controller = self.controller.0, "logical channels refused: the cell has no such UE");
                return Err(CONTROL_FAILED);
            };
            channels.clear();
            self.source.rlc_buffers(ue, &mut channels);
            for wanted in &item.logical_chan_cont_by_near_rt_ric_to_add_list {
                let channel = wanted.logical_channel_id;
                if !channels.iter().any(|known| u16::from(known.id) == channel.0) {
                    info!(channel = channel.0, "logical channel refused: the UE has none of this id");
                    return Err(CONTROL_FAILED);
                }
                added.push((ue, channel, from(wanted)?));
            }
            for wanted in &item.logical_chan_cont_by_near_rt_ric_to_rel_list {
                released.push((ue, wanted.logical_channel_id, from(wanted)?));
            }
        }
        if self.delegations.channels().len() + added.len() > self.config.max_channels {
            return Err(RESOURCE_LIMIT);
        }
        // a channel in both lists stays delegated: lists cannot be empty
        released.into_iter().for_each(|(ue, channel, from)| self.delegations.release(ue, channel, from));
        added.into_iter().for_each(|(ue, channel, from)| self.delegations.add(self.controller, ue, channel, from));
        self.delegations.sign(self.now);
        self.source.set_delegated(self.delegations.channels());
        Ok(())
    }

    /// Takes the decisions about slots, each alone.
    fn decide(&mut self, control: &DlSchedulingControl<'_>) -> Result<(Vec<u8>, Option<u64>), ControlFailure> {
        if self.delegations.scheduler() != Some(self.controller) {
            info!(controller = self.controller.0, "decisions refused: the controller schedules no logical channel");
            return Err(CONTROL_FAILED.into());
        }
        let (ues, next) = (self.ues(), self.source.next_slot());
        self.decided.retain(|slot| *slot >= next);
        let (mut outcomes, mut first, mut accepted) = (Vec::new(), None, false);
        for item in &control.dl_slot_to_be_scheduled_list {
            let slot = item.slot_info.nearest(next);
            first = first.or(Some(slot));
            let grants = match self.decide_slot(slot, next, item, &ues) {
                Ok(grants) => {
                    accepted = true;
                    grants
                }
                Err(refusal) => {
                    debug!(slot, "decision refused: {refusal}");
                    self.source.refused(slot, refusal);
                    item.dl_grant_list.iter().map(|grant| nothing(grant, refusal.cause())).collect()
                }
            };
            outcomes.push(DlScheduledSlotOutcomeItem {
                slot_info: item.slot_info,
                dl_grant_outcome_list: grants.into(),
                additional_dl_allocation_list: Vec::new().into(),
                csi_rs_precoding_bands_not_executed_list: item
                    .csi_rs_precoding_band_list
                    .iter()
                    .enumerate()
                    .map(|(at, band)| not_precoded(at, band, &ues))
                    .collect(),
            });
        }
        let processing_time_margin = first.map_or(0, |slot| margin(self.source.slot_offset_ns(self.now, slot)));
        let outcome = encoded(
            &OutcomeType::DlSchedulingParameters(DlSchedulingControlOutcome {
                received_timestamp: self.timestamp(),
                processing_time_margin,
                scheduled_slot_outcome_list: outcomes.into(),
            })
            .into(),
        )?;
        if !accepted {
            return Err(ControlFailure { cause: CONTROL_FAILED, outcome: Some(outcome) });
        }
        self.delegations.sign(self.now);
        Ok((outcome, first))
    }

    /// Takes the decision about a slot, and returns the outcome of its grants.
    fn decide_slot(
        &mut self,
        slot: u64,
        next: u64,
        item: &DlSlotToBeScheduledItem<'_>,
        ues: &[(Ue, UeId<'static>)],
    ) -> Result<Vec<DlGrantOutcomeItem<'static>>, SlotRefusal> {
        let format = self.source.format();
        self.check_slot(slot, next, item.slot_info, format)?;
        check_precoders(item, format)?;
        let mut decision = SlotDecision { slot, grants: Vec::new() };
        // the place of each grant in the decision, or why it is not there
        let mut places = Vec::new();
        for (at, grant) in item.dl_grant_list.iter().enumerate() {
            if item.dl_grant_list.iter().take(at).any(|earlier| earlier.grant_id == grant.grant_id) {
                return Err(SlotRefusal::RepeatedGrant);
            }
            let shares = self.shares(grant)?;
            let Some((allocation, mcs)) = allocation(grant, format)? else {
                places.push(Err(ExecutionCause::Other));
                continue;
            };
            if decision.grants.iter().any(|other| other.allocation.overlaps(&allocation)) {
                return Err(SlotRefusal::Overlap);
            }
            let Some(ue) = find(ues, &grant.ue_id) else {
                places.push(Err(ExecutionCause::UeNotAvailable));
                continue;
            };
            if decision.grants.iter().any(|other| other.ue == ue) {
                return Err(SlotRefusal::RepeatedUe);
            }
            let is_held = |share: &ChannelShare| self.delegations.has(self.controller, ue, share.channel, slot);
            if !shares.iter().any(is_held) {
                places.push(Err(ExecutionCause::Other));
                continue;
            }
            let channels = shares.into_iter().filter(is_held).collect();
            places.push(Ok(decision.grants.len()));
            decision.grants.push(SlotGrant { ue, allocation, mcs, channels });
        }
        if decision.grants.is_empty() {
            return Err(SlotRefusal::NothingLeft);
        }
        self.source.schedule(&mut decision);
        self.decided.insert(slot);
        let outcome = |(grant, place): (&DlGrantItem<'_>, &Result<usize, ExecutionCause>)| match place {
            Ok(at) => executed(grant, &decision.grants[*at]),
            Err(cause) => nothing(grant, *cause),
        };
        Ok(item.dl_grant_list.iter().zip(&places).map(outcome).collect())
    }

    fn check_slot(&self, slot: u64, next: u64, info: SlotInfo, format: CellFormat) -> Result<(), SlotRefusal> {
        if info.numerology() != format.numerology {
            return Err(SlotRefusal::WrongSubcarrierSpacing);
        }
        if slot < next {
            return Err(SlotRefusal::Past);
        }
        if slot - next > u64::from(self.config.horizon_slots) {
            return Err(SlotRefusal::TooFarAhead);
        }
        if !self.source.has_downlink(slot) {
            return Err(SlotRefusal::NoDownlink);
        }
        if self.decided.contains(&slot) {
            return Err(SlotRefusal::AlreadyDecided);
        }
        Ok(())
    }

    /// The logical channels of a grant, each once.
    fn shares(&self, grant: &DlGrantItem<'_>) -> Result<Vec<ChannelShare>, SlotRefusal> {
        let mut shares: Vec<ChannelShare> = Vec::new();
        for LogicalChannelItem { logical_channel_id, noof_bytes_tb1, noof_bytes_tb2 } in &grant.logical_channel_list {
            let is_valid = |octets: i64| (0..=MAX_BLOCK_OCTETS).contains(&octets);
            if !is_valid(*noof_bytes_tb1) || noof_bytes_tb2.is_some_and(|octets| !is_valid(octets)) {
                return Err(SlotRefusal::InvalidOctets);
            }
            if shares.iter().any(|share| share.channel == *logical_channel_id) {
                return Err(SlotRefusal::InvalidOctets);
            }
            let octets = *noof_bytes_tb1 as u32; // checked above
            shares.push(ChannelShare { channel: *logical_channel_id, octets, scheduled: 0, cause: None });
        }
        Ok(shares)
    }
}

/// The UE with an identity.
fn find(ues: &[(Ue, UeId<'static>)], id: &UeId<'_>) -> Option<Ue> {
    ues.iter().find(|(_, known)| known.is_same_ue(id)).map(|(ue, _)| *ue)
}

/// The resource blocks and the MCS of a grant; `None` of one that a base station without semi-persistent scheduling, further
/// carriers and allocations of type 0 cannot execute.
fn allocation(grant: &DlGrantItem<'_>, format: CellFormat) -> Result<Option<(ResourceAllocation, u8)>, SlotRefusal> {
    let (value, mcs) = match &grant.dl_control_info_type {
        DlControlInfoType::Dci10(dci) if dci.use_cs_rnti.is_none() => {
            (u64::try_from(dci.freq_domain_resources).map_err(|_| SlotRefusal::BeyondCell)?, dci.mcs)
        }
        DlControlInfoType::Dci11(dci) if dci.use_cs_rnti.is_none() && dci.carrier_indicator.is_none() => {
            let bits = usize::from(ResourceAllocation::bits(format.resource_blocks));
            match dci.freq_domain_resources.value() {
                Some(value) if dci.freq_domain_resources.len() == bits => (value, dci.mcs_tb1),
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let allocation = ResourceAllocation::of_value(value, format.resource_blocks).ok_or(SlotRefusal::BeyondCell)?;
    match u8::try_from(mcs) {
        Ok(mcs) if mcs < format.mcs_count => Ok(Some((allocation, mcs))),
        _ => Err(SlotRefusal::UnknownMcs),
    }
}

/// Precoders are checked although the cell has none to choose: a controller with a wrong list decides about another cell.
fn check_precoders(item: &DlSlotToBeScheduledItem<'_>, format: CellFormat) -> Result<(), SlotRefusal> {
    let is_within = |start: i64, count: i64, end: i64| {
        start >= 0 && count > 0 && start.checked_add(count).is_some_and(|after| after <= end)
    };
    let blocks = i64::from(format.resource_blocks);
    let exists = |precoder: u16| usize::from(precoder) < item.precoder_list.len();
    let is_group = |group: &PdschSmgItem| {
        exists(group.precoder_id)
            && is_within(group.start_rb, group.noof_rbs, blocks)
            && is_within(group.start_symbol, group.noof_symbols, SYMBOLS)
    };
    let is_band =
        |band: &CsiRsPrecodingBandItem<'_>| exists(band.precoder_id) && is_within(band.start_rb, band.noof_rbs, blocks);
    let are_valid = item.pdsch_smg_list.iter().all(is_group) && item.csi_rs_precoding_band_list.iter().all(is_band);
    if are_valid { Ok(()) } else { Err(SlotRefusal::InvalidPrecoder) }
}

/// The outcome of a band of reference signals, which have no precoders here.
fn not_precoded(
    at: usize,
    band: &CsiRsPrecodingBandItem<'_>,
    ues: &[(Ue, UeId<'static>)],
) -> CsiRsPrecodingBandsNotExecutedItem {
    let is_known = find(ues, &band.ueid).is_some();
    let cause = if is_known { PRECODING_CAUSE_OTHER } else { PRECODING_CAUSE_UNRECOGNIZED_UE };
    CsiRsPrecodingBandsNotExecutedItem { csi_rs_precoding_band_id: at as u16, cause } // below 63
}

/// The outcome of a grant that is not executed.
fn nothing(grant: &DlGrantItem<'_>, cause: ExecutionCause) -> DlGrantOutcomeItem<'static> {
    let channel = |item: &LogicalChannelItem| ScheduledLogicalChannelOutcomeItem {
        logical_channel_id: item.logical_channel_id,
        noof_bytes_scheduled: 0,
        cause: cause.number(),
    };
    partly(grant.grant_id, grant.logical_channel_list.iter().map(channel))
}

/// The outcome of a grant that the base station has taken.
fn executed(grant: &DlGrantItem<'_>, taken: &SlotGrant) -> DlGrantOutcomeItem<'static> {
    let has_second = |item: &LogicalChannelItem| item.noof_bytes_tb2.is_some_and(|octets| octets > 0);
    let outcome = |item: &LogicalChannelItem| {
        let share = taken.channels.iter().find(|share| share.channel == item.logical_channel_id);
        let (octets, cause) = match share {
            Some(share) => (share.scheduled, share.cause.unwrap_or(ExecutionCause::Other)),
            None => (0, ExecutionCause::Other),
        };
        let is_full = share.is_some_and(|share| share.scheduled == share.octets) && !has_second(item);
        let item = ScheduledLogicalChannelOutcomeItem {
            logical_channel_id: item.logical_channel_id,
            noof_bytes_scheduled: octets.into(),
            cause: cause.number(),
        };
        (is_full, item)
    };
    let outcomes: Vec<_> = grant.logical_channel_list.iter().map(outcome).collect();
    match outcomes.iter().all(|(is_full, _)| *is_full) {
        true => DlGrantOutcomeItem { grant_id: grant.grant_id, execution_level: ExecutionLevel::FullyExecuted },
        false => partly(grant.grant_id, outcomes.into_iter().map(|(_, item)| item)),
    }
}

fn partly(
    grant_id: u16,
    channels: impl Iterator<Item = ScheduledLogicalChannelOutcomeItem>,
) -> DlGrantOutcomeItem<'static> {
    let scheduled_logical_channel_outcome_list = channels.collect();
    let level = ExecutionLevel::NotFullyExecuted(NotFullyExecuted { scheduled_logical_channel_outcome_list });
    DlGrantOutcomeItem { grant_id, execution_level: level }
}

/// A processing time margin.
fn margin(left_ns: i64) -> i32 {
    let units = i128::from(left_ns) * i128::from(MARGIN_UNITS) / 1_000_000_000;
    units.clamp(-i128::from(MAX_MARGIN), i128::from(MAX_MARGIN)) as i32
}

fn encoded(outcome: &ControlOutcome<'_>) -> Result<Vec<u8>, ControlFailure> {
    let mut octets = Vec::new();
    // ids beyond the extensible ranges of a peer return as they came
    match outcome.encode(&mut octets) {
        Ok(()) => Ok(octets),
        Err(error) => {
            info!(%error, "control refused: its outcome cannot be encoded");
            Err(CONTROL_MESSAGE_INVALID.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margin_is_in_parts_of_a_second() {
        assert_eq!([0, 1_000_000, -1_000_000, i64::MAX, i64::MIN].map(margin), [0, 32, -32, 32_767, -32_767]);
    }
}
