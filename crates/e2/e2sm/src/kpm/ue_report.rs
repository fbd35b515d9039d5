//! Reads the reports about UEs of a gNB-DU in their most frequent form.

use ids::{GnbCuUeF1apId, RanUeId};
use per::{Decode, DecodeSized, List, ListBuilder, Memo, Reader, Size, Store};

use super::measurement::whole_numbers_in;
use super::{
    GranularityPeriod, IndicationMessageFormat1, MeasurementDataItem, MeasurementInfoItem, UeMeasurementReportItem,
};
use crate::common::{UeId, UeIdGnbDu};

type MeasurementInfoList<'a> = Memo<'a, List<'a, MeasurementInfoItem<'a>>>;

/// Reads reports from an octet boundary that have no extension and one granularity period of whole numbers. Each is created where
/// the list keeps it: its 150 octets would be moved several times otherwise.
#[inline(always)]
pub(super) fn gnb_du_reports<'a, S: Store<'a>>(
    reader: &mut Reader<'a, S>,
    most: usize,
    reports: &mut impl ListBuilder<'a, UeMeasurementReportItem<'a>>,
) -> usize {
    let mut count = 0;
    while count < most {
        let begin = reader.clone();
        if push_report(reader, reports).is_none() {
            *reader = begin;
            break;
        }
        count += 1;
    }
    count
}

/// Appends the next report. Returns `None` if it has another form or is malformed.
#[inline(always)]
fn push_report<'a, S: Store<'a>>(
    reader: &mut Reader<'a, S>,
    reports: &mut impl ListBuilder<'a, UeMeasurementReportItem<'a>>,
) -> Option<()> {
    let octets = reader.octets_ahead()?;
    let (ue_id, rest) = gnb_du_ue_id(octets)?;
    // no extension, the presence of measInfoList and granulPeriod; one period in 16 bits; no extension, no incompleteFlag; the
    // number of values
    let (&[preamble @ 0..=0x7F, 0, 0, 0..=0x3F, values @ 1..=0x7F], rest) = rest.split_first_chunk()? else {
        return None;
    };
    let (has_list, has_period) = (preamble & 0x40 != 0, preamble & 0x20 != 0);
    reader.take_items(1 + usize::from(values)).ok()?;
    let (meas_record, rest) = whole_numbers_in(rest, values.into(), reader.store())?;
    let mut meas_data = reader.store().begin(1);
    meas_data.push(MeasurementDataItem { meas_record, incomplete_flag: None });
    let report = Report { ue_id, meas_data: meas_data.end(), has_period };

    if !has_list {
        reader.skip_octets(octets.len() - rest.len());
        return report.push(reader, None, reports);
    }
    let before = reports.last().and_then(|report| report.meas_report.meas_info_list.as_ref());
    if let Some((list, items, rest)) = before.and_then(|before| before.repeated_in(rest)) {
        reader.take_items(items).ok()?;
        reader.skip_octets(octets.len() - rest.len());
        return report.push(reader, Some(list), reports);
    }
    reader.skip_octets(octets.len() - rest.len());
    let list = MeasurementInfoList::decode_sized(reader, Size { lo: 1, hi: 65535, extensible: false }, None).ok()?;
    report.push(reader, Some(list), reports)
}

/// Reads no extension of the report and of the choice; the alternative 1 in three bits; no extension; the presence of ranUEID; the
/// number of octets of the id less one in two bits; padding; the id; ranUEID.
#[inline(always)]
fn gnb_du_ue_id(octets: &[u8]) -> Option<(UeIdGnbDu, &[u8])> {
    let &[head @ 0x08..=0x0B, next, n3, n2, n1, n0] = octets.first_chunk()? else { return None };
    let length = usize::from(head & 1) << 1 | usize::from(next >> 7);
    let id = GnbCuUeF1apId(u32::from_be_bytes([n3, n2, n1, n0]) >> (24 - 8 * length));
    let rest = &octets[3 + length..];
    let (ran_ueid, rest) = if head & 2 == 0 {
        (None, rest)
    } else {
        let (ran_ueid, rest) = rest.split_first_chunk()?;
        (Some(RanUeId(*ran_ueid)), rest)
    };
    Some((UeIdGnbDu { gnb_cu_ue_f1ap_id: id, ran_ueid, cell_rnti: None }, rest))
}

/// A report without its list of measurements.
struct Report<'a> {
    ue_id: UeIdGnbDu,
    meas_data: List<'a, MeasurementDataItem<'a>>,
    has_period: bool,
}

impl<'a> Report<'a> {
    /// Reads the granularity period, which follows the list, and appends the report.
    #[inline(always)]
    fn push<S: Store<'a>>(
        self,
        reader: &mut Reader<'a, S>,
        meas_info_list: Option<MeasurementInfoList<'a>>,
        reports: &mut impl ListBuilder<'a, UeMeasurementReportItem<'a>>,
    ) -> Option<()> {
        let Report { ue_id, meas_data, has_period } = self;
        let granul_period = if has_period { Some(GranularityPeriod::decode(reader).ok()?) } else { None };
        let meas_report = IndicationMessageFormat1 { meas_data, meas_info_list, granul_period };
        reports.push(UeMeasurementReportItem { ue_id: UeId::GnbDu(ue_id), meas_report });
        Some(())
    }
}
