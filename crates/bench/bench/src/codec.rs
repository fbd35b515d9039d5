//! The times of the codecs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use e2ap::{
    RanFunctionId, RicActionId, RicIndication, RicIndicationSn, RicIndicationType, RicRequestId, Version, peek,
};
use e2sm::Arena;
use e2sm::common::{GnbCuUeF1apId, UeId, UeIdGnbDu};
use e2sm::kpm::{
    GranularityPeriod, IndicationMessage, IndicationMessageFormat1, IndicationMessageFormat3, IndicationMessageFormats,
    LabelInfoList, MeasurementDataItem, MeasurementInfoItem, MeasurementRecordItem, MeasurementType,
    MeasurementTypeName, Revision, UeMeasurementReportItem,
};
use per::{Gather, List, Memo};

use crate::{Codec, CountingAllocator};

/// The most batches, and the operations of each. The fastest batch is the least disturbed one.
const BATCHES: usize = 400;
const BATCH: usize = 500;

/// Measures each row for at most `limit`.
pub(crate) fn measure(limit: Duration) -> anyhow::Result<Codec> {
    let octets: Vec<u8> = (0..1500u32).map(|i| ((7 * i + 3) & 255) as u8).collect();
    let indication = RicIndication {
        request_id: RicRequestId { requestor: 1021, instance: 7 },
        ran_function_id: RanFunctionId(147),
        action_id: RicActionId(3),
        sn: Some(RicIndicationSn(40000)),
        kind: RicIndicationType::Report,
        header: octets[..20].into(),
        message: octets[..].into(),
        call_process_id: None,
    };
    let version = Version::V2_03;
    let mut pdu = Vec::new();
    e2ap::encode(&indication, version, &mut pdu)?;

    let peek_1500_ns = fastest_ns(limit, || _ = black_box(peek::indication(black_box(&pdu))));
    let decode_1500_ns = fastest_ns(limit, || {
        let gather = Gather::new();
        drop(black_box(e2ap::decode(black_box(&pdu), version, &gather)));
    });
    let mut out = Vec::with_capacity(4096);
    let encode_1500_ns = fastest_ns(limit, || {
        out.clear();
        let _ = black_box(e2ap::encode(black_box(&indication), version, &mut out));
    });
    let before = CountingAllocator::count();
    let gather = Gather::new();
    black_box(e2ap::decode(black_box(&pdu), version, &gather)).ok();
    out.clear();
    e2ap::encode(&indication, version, &mut out)?;
    let decode_allocs = CountingAllocator::count() - before;

    Ok(Codec {
        peek_1500_ns,
        decode_1500_ns,
        encode_1500_ns,
        decode_allocs,
        kpm_f3_32x8_decode_ns: kpm(limit, true)?,
        kpm_f3_32x8_distinct_decode_ns: kpm(limit, false)?,
    })
}

fn fastest_ns(limit: Duration, mut once: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let begun = Instant::now();
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..BATCH {
            once();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / BATCH as f64);
        if begun.elapsed() >= limit {
            break;
        }
    }
    best
}

/// The time to decode an indication message into a reused arena and to visit every value.
fn kpm(limit: Duration, same_lists: bool) -> anyhow::Result<f64> {
    let revision = Revision::V3_00;
    let mut bytes = Vec::new();
    message(same_lists).encode(revision, &mut bytes)?;
    let mut arena = Arena::new();
    Ok(fastest_ns(limit, || {
        arena.reset();
        if let Ok(message) = IndicationMessage::decode(black_box(&bytes), revision, &arena) {
            black_box(visit(&message));
        }
    }))
}

/// Visits every value and every name.
fn visit(message: &IndicationMessage<'_>) -> u64 {
    let IndicationMessageFormats::Format3(reports) = &message.formats else { return 0 };
    let mut sum = 0;
    for UeMeasurementReportItem { meas_report, .. } in &reports.ue_meas_report_list {
        for item in meas_report.meas_data.iter().flat_map(|data| data.meas_record.iter()) {
            if let MeasurementRecordItem::Integer(value) = item {
                sum += u64::from(*value);
            }
        }
        for info in meas_report.meas_info_list.iter().flat_map(|list| list.iter()) {
            if let MeasurementType::MeasName(name) = &info.meas_type {
                sum += name.0.len() as u64;
            }
        }
    }
    sum
}

const NAMES: [&str; 8] = [
    "DRB.UEThpDl",
    "DRB.UEThpUl",
    "DRB.RlcSduDelayDl",
    "DRB.PdcpSduVolumeDL",
    "DRB.PdcpSduVolumeUL",
    "RRU.PrbTotDl",
    "RRU.PrbTotUl",
    "DRB.PacketLossRateUl",
];

/// 32 UEs with 8 measurements each, in the same order or in different orders.
fn message(same_lists: bool) -> IndicationMessage<'static> {
    let report = |ue: u32| {
        let name = |i: usize| NAMES[(i + if same_lists { 0 } else { ue as usize }) % NAMES.len()];
        let names: List<'_, _> = (0..NAMES.len())
            .map(|i| MeasurementInfoItem {
                meas_type: MeasurementType::MeasName(MeasurementTypeName(per::PrintableString::literal(name(i)))),
                label_info_list: LabelInfoList::NO_LABEL,
                match_cond_report_list: None,
            })
            .collect();
        UeMeasurementReportItem {
            ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(ue), ran_ueid: None, cell_rnti: None }),
            meas_report: IndicationMessageFormat1 {
                meas_data: List::from(vec![MeasurementDataItem {
                    meas_record: (0..8).map(|i| MeasurementRecordItem::Integer(ue * 1000 + i * 37)).collect(),
                    incomplete_flag: None,
                }]),
                meas_info_list: Some(Memo::from(names)),
                granul_period: Some(GranularityPeriod(1000)),
            },
        }
    };
    let ue_meas_report_list = (0..32).map(report).collect();
    IndicationMessage { formats: IndicationMessageFormats::Format3(IndicationMessageFormat3 { ue_meas_report_list }) }
}
