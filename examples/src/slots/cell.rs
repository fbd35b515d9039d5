//! A cell as its reports show it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use e2sm::Arena;
use e2sm::common::{RicStyleType, UeId};
use e2sm::llc::{
    ControlHeader, ControlMessage, ControlOutcome, ControlOutcomeFormats, ControlType, Dci10, DlControlInfoType,
    DlGrantItem, DlSchedulingControl, DlSlotToBeScheduledItem, ExecutionLevel, IndicationMessage,
    IndicationMessageFormats, LogicalChannelControlItem, LogicalChannelHandlingControl, LogicalChannelId,
    LogicalChannelItem, LogicalChannelUeIdItem, LowerLayersInfo, LowerLayersMeasurement, OutcomeType, PdschSmgItem,
    PrecoderCoeffItem, PrecoderItem, ResourceAllocation, RicControlActionId, STYLE_LOGICAL_CHANNELS, STYLE_SCHEDULING,
    SlotInfo, resource_indication_value,
};
use ferric::e2::Ticket;
use ferric::e2::topology::UeReference;
use ferric::e2ap::RanFunctionId;
use per::{IntoOwned, List};

use super::{SlotShare, SlotUe};
use crate::link_adaptation::LinkAdaptation;

/// The weight of a slot in a UE's average throughput: it covers about 200 slots.
const AVERAGE: f64 = 0.005;
/// Resource elements for data of a resource block: 14 symbols without two for control and two with reference signals.
const ELEMENTS: f64 = 120.0;
/// Bits of a CQI, which are the last of a report (TS 38.212 6.3.1.1.2).
const CQI_BITS: usize = 4;
/// The most octets that a grant requests of a channel.
const MAX_OCTETS: i64 = 1 << 20;
/// Slots that a control has room for.
const MAX_SLOTS: usize = 63;

/// A UE of a cell.
#[derive(Debug)]
struct CellUe {
    id: UeId<'static>,
    number: u64,
    /// Its first id, in words.
    name: Arc<str>,
    /// The logical channels: octets in the buffer, and whether the xApp schedules them.
    channels: BTreeMap<LogicalChannelId, (i64, bool)>,
    link: LinkAdaptation,
    layers: u8,
    average_octets: f64,
    average_at: u64,
    /// Octets of decisions that the buffer status does not contain yet, by slot.
    planned: VecDeque<(u64, i64)>,
}

impl CellUe {
    /// Octets in its buffers that no decision has.
    fn backlog(&self) -> i64 {
        let queued: i64 = self.channels.values().map(|(octets, _)| *octets).fold(0, i64::saturating_add);
        queued.saturating_sub(self.planned.iter().map(|(_, octets)| *octets).fold(0, i64::saturating_add))
    }

    /// Octets that a resource block carries; 0 out of coverage.
    fn octets_per_block(&self) -> f64 {
        if self.link.cqi() == 0 { 0.0 } else { self.link.bits() * ELEMENTS * f64::from(self.layers) / 8.0 }
    }

    fn decay(&mut self, slot: u64) {
        let since = slot.saturating_sub(self.average_at).min(1 << 16);
        self.average_octets *= (1.0 - AVERAGE).powi(since as i32);
        self.average_at = self.average_at.max(slot);
    }
}

/// A decision that is not answered yet: its slots, each with the UEs of its grants.
pub(super) type Decision = Vec<(u64, Vec<UeId<'static>>)>;

/// A control that is to be sent.
pub(super) struct SlotControl {
    pub header: Vec<u8>,
    pub message: Vec<u8>,
    /// What it decides; `None` if it takes channels.
    pub decision: Option<Decision>,
}

/// A cell.
#[derive(Debug)]
pub(super) struct SlotCell {
    pub function: RanFunctionId,
    /// The node, as the RIC logs it.
    pub node: Arc<str>,
    ues: Vec<CellUe>,
    /// UEs that it has had.
    seen: u64,
    numerology: u8,
    /// The last slot that a report has named.
    slot: u64,
    decisions: BTreeMap<Ticket, Decision>,
}

impl SlotCell {
    pub fn new(function: RanFunctionId, node: String) -> Self {
        let (ues, decisions) = (Vec::new(), BTreeMap::new());
        SlotCell { function, node: node.into(), ues, seen: 0, numerology: 0, slot: 0, decisions }
    }

    /// Slots of a millisecond.
    pub fn slots_per_ms(&self) -> u64 {
        1 << self.numerology
    }

    /// The last slot that a report has named.
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// The UEs at the beginning of a slot.
    pub fn ues(&mut self, slot: u64) -> Vec<SlotUe> {
        let at_slot = |ue: &mut CellUe| {
            ue.decay(slot);
            SlotUe {
                number: ue.number,
                backlog_octets: ue.backlog(),
                octets_per_block: ue.octets_per_block(),
                average_octets: ue.average_octets,
            }
        };
        self.ues.iter_mut().map(at_slot).collect()
    }

    /// The names of the same UEs.
    pub fn names(&self) -> impl Iterator<Item = Arc<str>> {
        self.ues.iter().map(|ue| Arc::clone(&ue.name))
    }

    fn ue(&mut self, id: &UeId<'_>) -> &mut CellUe {
        let at = self.ues.iter().position(|ue| ue.id.is_same_ue(id)).unwrap_or_else(|| {
            self.seen += 1;
            self.ues.push(CellUe {
                id: id.clone().into_owned(),
                number: self.seen,
                name: UeReference::of(id).to_string().into(),
                channels: BTreeMap::new(),
                link: LinkAdaptation::default(),
                layers: 1,
                average_octets: 0.0,
                average_at: 0,
                planned: VecDeque::new(),
            });
            self.ues.len() - 1
        });
        &mut self.ues[at]
    }

    /// Takes a report. Returns the slot that begins, if it names one.
    pub fn report(&mut self, message: &IndicationMessage<'_>) -> Option<u64> {
        let measurements = match &message.formats {
            IndicationMessageFormats::Format2(measurements) => &measurements.lower_layers_measurement_list,
            IndicationMessageFormats::Format1(copy) => {
                let LowerLayersInfo::Csi(csi) = &copy.lower_layers_info_type else { return None };
                for item in &csi.csi_ue_identifier_list {
                    let fields = item.csi_report_list.first().map(|report| &report.csi_fields_csi_report_part1);
                    let Some((value, bits)) = fields.and_then(|fields| Some((fields.value()?, fields.len()))) else {
                        continue;
                    };
                    let ue = self.ue(&item.ue_id);
                    ue.link.report((value & 15) as u8);
                    // the rank less one is before the CQI
                    ue.layers = if bits > CQI_BITS { (value >> CQI_BITS & 3) as u8 + 1 } else { 1 };
                }
                return None;
            }
        };
        let mut begins = None;
        for item in measurements {
            let info = item.slot_time_stamp.slot_info;
            self.numerology = info.numerology();
            let slot = info.nearest(self.slot);
            match &item.lower_layers_measurement_type {
                LowerLayersMeasurement::DlRlcBufferStatus(status) => {
                    let present = &status.dl_rlc_ue_identifiers_list;
                    self.ues.retain(|ue| present.iter().any(|item| item.ue_id.is_same_ue(&ue.id)));
                    for item in present {
                        let ue = self.ue(&item.ue_id);
                        for bearer in &item.dl_rlc_ue_bearers_list {
                            ue.channels.entry(bearer.lc_id).or_insert((0, false)).0 = bearer.dl_rlc_buffer_occupancy;
                        }
                        ue.planned.retain(|(planned, _)| *planned > slot);
                    }
                }
                LowerLayersMeasurement::DlHarqStatistics(statistics) => {
                    for item in &statistics.dl_harq_ue_identifier_list {
                        let ue = self.ue(&item.harq_ue_id);
                        for codeword in &item.dl_harq_codeword_list {
                            ue.link.feedback(codeword.dl_su_ack_count, codeword.dl_su_nack_count);
                        }
                    }
                }
                LowerLayersMeasurement::SlotTimeStamp => begins = Some(slot),
                LowerLayersMeasurement::DlPdcpBufferStatus(_) => {}
            }
        }
        self.slot = begins.unwrap_or(self.slot);
        begins
    }

    /// The control that takes channels that the xApp does not schedule yet, from the first of the slots on, then the decisions about
    /// the slots, of which `shares` divides the blocks.
    pub fn controls(
        &mut self,
        slots: &[u64],
        blocks: u16,
        mut shares: impl FnMut(u64, &[SlotUe]) -> Vec<SlotShare>,
    ) -> Vec<SlotControl> {
        let Some(first) = slots.first() else { return Vec::new() };
        let mut controls = Vec::new();
        if let Some(control) = self.delegation(*first) {
            let message = ControlType::LogicalChannelHandlingControl(control).into();
            controls.extend(encoded(STYLE_LOGICAL_CHANNELS, &message, None));
        }
        for slots in slots.chunks(MAX_SLOTS) {
            let mut decision = Decision::new();
            let decide = |slot: &u64| self.decide(*slot, blocks, &mut shares, &mut decision);
            let items: Vec<_> = slots.iter().filter_map(decide).collect();
            if !items.is_empty() {
                let control = DlSchedulingControl { dl_slot_to_be_scheduled_list: items.into() };
                let message = ControlType::DlSchedulingControl(control).into();
                controls.extend(encoded(STYLE_SCHEDULING, &message, Some(decision)));
            }
        }
        controls
    }

    /// A decision has been sent.
    pub fn sent(&mut self, ticket: Ticket, decision: Decision) {
        self.decisions.insert(ticket, decision);
    }

    fn delegation(&mut self, from: u64) -> Option<LogicalChannelHandlingControl<'static>> {
        let starting_slot_number = SlotInfo::of(from, self.numerology);
        let mut list = Vec::new();
        for ue in &mut self.ues {
            let new = ue.channels.iter_mut().filter(|(_, (_, is_held))| !is_held);
            let items: Vec<_> = new
                .map(|(channel, (_, is_held))| {
                    *is_held = true;
                    LogicalChannelControlItem { logical_channel_id: *channel, starting_slot_number }
                })
                .collect();
            if !items.is_empty() {
                list.push(LogicalChannelUeIdItem {
                    ue_id: ue.id.clone(),
                    // neither list can be empty; what is released and added is added
                    logical_chan_cont_by_near_rt_ric_to_rel_list: items.clone().into(),
                    logical_chan_cont_by_near_rt_ric_to_add_list: items.into(),
                });
            }
        }
        (!list.is_empty()).then_some(LogicalChannelHandlingControl { logical_channel_ueid_list: list.into() })
    }

    fn decide(
        &mut self,
        slot: u64,
        cell_blocks: u16,
        shares: &mut impl FnMut(u64, &[SlotUe]) -> Vec<SlotShare>,
        decision: &mut Decision,
    ) -> Option<DlSlotToBeScheduledItem<'static>> {
        let ues = self.ues(slot);
        let mut start = 0;
        let mut grants = Vec::new();
        for SlotShare { ue: at, blocks } in shares(slot, &ues) {
            let allocation = ResourceAllocation { start, length: blocks };
            let (Some(value), Some(ue)) = (resource_indication_value(allocation, cell_blocks), self.ues.get_mut(at))
            else {
                continue;
            };
            let channel = |(channel, (octets, _)): (&LogicalChannelId, &(i64, bool))| LogicalChannelItem {
                logical_channel_id: *channel,
                // as much of the buffer as the block has room for
                noof_bytes_tb1: (*octets).clamp(0, MAX_OCTETS),
                noof_bytes_tb2: None,
            };
            let logical_channel_list: List<'_, LogicalChannelItem> =
                ue.channels.iter().filter(|(_, (octets, _))| *octets > 0).map(channel).collect();
            // a grant has data
            if logical_channel_list.is_empty() {
                continue;
            }
            start += blocks;
            let carried = (ue.octets_per_block() * f64::from(blocks)) as i64;
            ue.planned.push_back((slot, carried.min(ue.backlog()).max(0)));
            grants.push(DlGrantItem {
                grant_id: grants.len() as u16 + 1,
                bwp_id: None,
                ue_id: ue.id.clone(),
                logical_channel_list,
                dl_control_info_type: DlControlInfoType::Dci10(Dci10 {
                    use_cs_rnti: None,
                    freq_domain_resources: value.into(),
                    time_domain_resources: 0,
                    vrb_to_prb_mapping: None,
                    mcs: ue.link.mcs().into(),
                    redundancy_version: 0,
                }),
            });
        }
        if grants.is_empty() {
            return None;
        }
        decision.push((slot, grants.iter().map(|grant| grant.ue_id.clone()).collect()));
        let (start_rb, noof_rbs, start_symbol, noof_symbols) = (0, cell_blocks.into(), 2, 12);
        let group = PdschSmgItem { precoder_id: 0, smg_priority: None, start_rb, noof_rbs, start_symbol, noof_symbols };
        let one = PrecoderCoeffItem { precoder_coeff_i: 1, precoder_coeff_q: 0 };
        let precoder = PrecoderItem { compression_information: None, precoder_coeff_list: vec![one].into() };
        Some(DlSlotToBeScheduledItem {
            slot_info: SlotInfo::of(slot, self.numerology),
            dl_grant_list: grants.into(),
            pdsch_smg_list: vec![group].into(),
            csi_rs_precoding_band_list: Vec::new().into(),
            precoder_list: vec![precoder].into(),
        })
    }

    /// Takes the answer to a control, and returns whether it was a decision: what UEs get counts for their averages.
    pub fn controlled(&mut self, ticket: Ticket, outcome: Option<&[u8]>, arena: &mut Arena) -> bool {
        let Some(decision) = self.decisions.remove(&ticket) else { return false };
        arena.reset();
        let outcome = outcome.and_then(|octets| ControlOutcome::decode(octets, arena).ok());
        let slots = match outcome.map(|outcome| outcome.formats) {
            Some(ControlOutcomeFormats::Format1(format)) => match format.control_type {
                OutcomeType::DlSchedulingParameters(outcome) => outcome.scheduled_slot_outcome_list,
                OutcomeType::LogicalChannelHandling(_) => return true,
            },
            None => Vec::new().into(),
        };
        for ((slot, ues), outcome) in decision.iter().zip(&slots) {
            for (id, grant) in ues.iter().zip(&outcome.dl_grant_outcome_list) {
                let ue = self.ue(id);
                let Some(planned) = ue.planned.iter_mut().find(|(planned, _)| planned == slot) else { continue };
                if let ExecutionLevel::NotFullyExecuted(part) = &grant.execution_level {
                    let channels = &part.scheduled_logical_channel_outcome_list;
                    planned.1 =
                        channels.iter().map(|channel| channel.noof_bytes_scheduled).fold(0, i64::saturating_add);
                }
                ue.average_octets += AVERAGE * planned.1 as f64;
            }
        }
        true
    }
}

fn encoded(style: i64, message: &ControlMessage<'_>, decision: Option<Decision>) -> Option<SlotControl> {
    let (mut header, mut octets) = (Vec::new(), Vec::new());
    ControlHeader::new(RicStyleType(style), RicControlActionId(1)).encode(&mut header).ok()?;
    message.encode(&mut octets).ok()?;
    Some(SlotControl { header, message: octets, decision })
}
