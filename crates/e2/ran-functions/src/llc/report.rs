//! The contents of reports.

use e2sm::llc::{
    ChannelCarryingUci, Csi, CsiReportItem, CsiUeIdentifierItem, DlHarqCodewordItem, DlHarqStatistics,
    DlHarqUeIdentifierItem, DlPdcpBufferStatus, DlPdcpUeBearersItem, DlPdcpUeIdentifiersItem, DlRlcBufferStatus,
    DlRlcUeBearersItem, DlRlcUeIdentifiersItem, IndicationMessage, IndicationMessageFormat1, IndicationMessageFormat2,
    IndicationMessageFormats, LogicalChannelId, LowerLayersInfo, LowerLayersInfoType, LowerLayersMeasType,
    LowerLayersMeasurement, LowerLayersMeasurementItem, SlotTimeStamp, Srs, SrsReceiveAntennaItem, SrsSymbolItem,
};
use ferric::agent::Ue;
use per::{BitString, List, Octets};

use super::source::{BufferStatus, HarqCounts, LlcSource, ReceivedSrs, SrsSymbol};

/// The longest time to live in a report, in units of 0.5 ms: also that of an empty buffer.
const MAX_TIME_TO_LIVE: u16 = 1023;
/// The nanoseconds of a unit.
const TIME_TO_LIVE_UNIT_NS: u128 = 500_000;

fn time_to_live(buffer: &BufferStatus) -> u16 {
    let Some(left) = buffer.time_to_live else { return MAX_TIME_TO_LIVE };
    u16::try_from(left.as_nanos() / TIME_TO_LIVE_UNIT_NS).unwrap_or(u16::MAX).min(MAX_TIME_TO_LIVE)
}

/// The value of a UE in a table that is sorted by UE, and the place where it belongs.
fn of_ue<T: Copy>(table: &[(Ue, T)], ue: Ue) -> Result<T, usize> {
    table.binary_search_by_key(&ue, |(of, _)| *of).map(|at| table[at].1)
}

/// Replaces the values of a table by those of the UEs, so that it has no more entries than the cell has UEs.
pub(super) fn remember<T>(table: &mut Vec<(Ue, T)>, ues: &[Ue], value: impl Fn(Ue) -> T) {
    table.clear();
    table.extend(ues.iter().map(|ue| (*ue, value(*ue))));
    table.sort_unstable_by_key(|(ue, _)| *ue);
}

/// The measurements of some UEs; `None` if there is nothing to measure. `data` is the last slot of the data, `now` the slot
/// that begins.
pub(super) fn measurements<S: LlcSource>(
    source: &S,
    ues: &[Ue],
    kinds: &[LowerLayersMeasType],
    (data, now): (SlotTimeStamp, SlotTimeStamp),
    harq: &[(Ue, HarqCounts)],
) -> Option<IndicationMessage<'static>> {
    let item = |kind: &LowerLayersMeasType| {
        let (slot_time_stamp, lower_layers_measurement_type) = match kind {
            LowerLayersMeasType::DlRlcBufferStatus => (data, rlc(source, ues)?),
            LowerLayersMeasType::DlPdcpBufferStatus => (data, pdcp(source, ues)?),
            LowerLayersMeasType::DlHarqStatistics => (data, harq_statistics(source, ues, harq)?),
            LowerLayersMeasType::SlotTimeStamp => (now, LowerLayersMeasurement::SlotTimeStamp),
        };
        Some(LowerLayersMeasurementItem { slot_time_stamp, lower_layers_measurement_type })
    };
    let lower_layers_measurement_list: List<'_, _> = kinds.iter().filter_map(item).collect();
    (!lower_layers_measurement_list.is_empty()).then_some(IndicationMessage {
        formats: IndicationMessageFormats::Format2(IndicationMessageFormat2 { lower_layers_measurement_list }),
    })
}

fn rlc<S: LlcSource>(source: &S, ues: &[Ue]) -> Option<LowerLayersMeasurement<'static>> {
    let mut buffers = Vec::new();
    let mut of_ue = |ue: &Ue| {
        buffers.clear();
        source.rlc_buffers(*ue, &mut buffers);
        let bearer = |buffer: &BufferStatus| DlRlcUeBearersItem {
            lc_id: LogicalChannelId(buffer.id.into()),
            dl_rlc_buffer_occupancy: buffer.octets.into(),
            dl_rlc_hol_time_to_live: time_to_live(buffer),
        };
        let dl_rlc_ue_bearers_list: List<'_, _> = buffers.iter().map(bearer).collect();
        let ue_id = source.ue_id(*ue);
        (!dl_rlc_ue_bearers_list.is_empty()).then_some(DlRlcUeIdentifiersItem { ue_id, dl_rlc_ue_bearers_list })
    };
    let dl_rlc_ue_identifiers_list: List<'_, _> = ues.iter().filter_map(&mut of_ue).collect();
    (!dl_rlc_ue_identifiers_list.is_empty())
        .then_some(LowerLayersMeasurement::DlRlcBufferStatus(DlRlcBufferStatus { dl_rlc_ue_identifiers_list }))
}

fn pdcp<S: LlcSource>(source: &S, ues: &[Ue]) -> Option<LowerLayersMeasurement<'static>> {
    let mut buffers = Vec::new();
    let mut of_ue = |ue: &Ue| {
        buffers.clear();
        source.pdcp_buffers(*ue, &mut buffers);
        let bearer = |buffer: &BufferStatus| DlPdcpUeBearersItem {
            drb_id: buffer.id.into(),
            dl_pdcp_buffer_occupancy: buffer.octets.into(),
            dl_pdcp_hol_time_to_live: time_to_live(buffer),
        };
        let dl_pdcp_ue_bearers_list: List<'_, _> = buffers.iter().map(bearer).collect();
        let ue_id = source.ue_id(*ue);
        (!dl_pdcp_ue_bearers_list.is_empty()).then_some(DlPdcpUeIdentifiersItem { ue_id, dl_pdcp_ue_bearers_list })
    };
    let dl_pdcp_ue_identifiers_list: List<'_, _> = ues.iter().filter_map(&mut of_ue).collect();
    (!dl_pdcp_ue_identifiers_list.is_empty())
        .then_some(LowerLayersMeasurement::DlPdcpBufferStatus(DlPdcpBufferStatus { dl_pdcp_ue_identifiers_list }))
}

/// The feedback since the last report, of UEs that had some.
fn harq_statistics<S: LlcSource>(
    source: &S,
    ues: &[Ue],
    before: &[(Ue, HarqCounts)],
) -> Option<LowerLayersMeasurement<'static>> {
    let since = |now: u64, before: u64| i64::try_from(now.saturating_sub(before)).unwrap_or(i64::MAX);
    let item = |ue: &Ue| {
        let (now, before) = (source.harq(*ue), of_ue(before, *ue).unwrap_or_default());
        let codeword = DlHarqCodewordItem {
            dl_su_ack_count: since(now.acks, before.acks),
            dl_su_nack_count: since(now.nacks, before.nacks),
            dl_su_dtx_count: since(now.dtxs, before.dtxs),
            ..DlHarqCodewordItem::default()
        };
        let (harq_ue_id, dl_harq_codeword_list) = (source.ue_id(*ue), vec![codeword].into());
        (codeword != DlHarqCodewordItem::default())
            .then_some(DlHarqUeIdentifierItem { harq_ue_id, dl_harq_codeword_list })
    };
    let dl_harq_ue_identifier_list: List<'_, _> = ues.iter().filter_map(item).collect();
    (!dl_harq_ue_identifier_list.is_empty())
        .then_some(LowerLayersMeasurement::DlHarqStatistics(DlHarqStatistics { dl_harq_ue_identifier_list }))
}

/// How much information of a kind has arrived.
pub(super) fn arrived<S: LlcSource>(source: &S, ue: Ue, kind: LowerLayersInfoType) -> u64 {
    let arrivals = source.arrivals(ue);
    match kind {
        LowerLayersInfoType::Csi => arrivals.csi,
        LowerLayersInfoType::Srs => arrivals.srs,
    }
}

/// Whether something has arrived since the last report. What had arrived before the subscription is reported once: a controller
/// would not know it for a period otherwise.
pub(super) fn is_new<S: LlcSource>(source: &S, seen: &[(Ue, u64)], ue: Ue, kind: LowerLayersInfoType) -> bool {
    arrived(source, ue, kind) > of_ue(seen, ue).unwrap_or_default()
}

/// A copy of the reports of channel state of some UEs.
pub(super) fn csi<S: LlcSource>(source: &S, ues: &[Ue], at: SlotTimeStamp) -> Option<IndicationMessage<'static>> {
    let item = |ue: &Ue| {
        let report = source.csi(*ue)?;
        Some(CsiUeIdentifierItem {
            ue_id: source.ue_id(*ue),
            channel_carrying_uci: ChannelCarryingUci::Pucch,
            csi_report_list: vec![CsiReportItem {
                csi_report_config_id: report.config_id.into(),
                csi_fields_csi_report_part1: BitString::new(report.part1.value, report.part1.count),
                csi_fields_csi_report_part2: None,
            }]
            .into(),
        })
    };
    let csi_ue_identifier_list: List<'_, _> = ues.iter().filter_map(item).collect();
    (!csi_ue_identifier_list.is_empty()).then(|| copy(at, LowerLayersInfo::Csi(Csi { csi_ue_identifier_list })))
}

/// A copy of the sounding reference signals of a UE.
pub(super) fn srs(received: &ReceivedSrs, at: SlotTimeStamp) -> IndicationMessage<'static> {
    let symbol = |symbol: &SrsSymbol| SrsSymbolItem {
        srs_compression_header: [symbol.compression_header],
        raw_srs: Octets::from(symbol.section.clone()),
    };
    let antenna =
        |symbols: &Vec<SrsSymbol>| SrsReceiveAntennaItem { srs_symbol_list: symbols.iter().map(symbol).collect() };
    copy(at, LowerLayersInfo::Srs(Srs { srs_receive_antenna_list: received.iter().map(antenna).collect() }))
}

fn copy(slot_time_stamp: SlotTimeStamp, lower_layers_info_type: LowerLayersInfo<'_>) -> IndicationMessage<'_> {
    let format = IndicationMessageFormat1 { slot_time_stamp, lower_layers_info_type };
    IndicationMessage { formats: IndicationMessageFormats::Format1(format) }
}
