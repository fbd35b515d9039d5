//! Nanoseconds to encode and decode an indication message of 32 UEs with 8 measurements each: `cargo bench -p ferric-e2sm`.

use std::hint::black_box;
use std::time::Instant;

use e2sm::Arena;
use e2sm::common::{GnbCuUeF1apId, UeId, UeIdGnbDu};
use e2sm::kpm::{
    GranularityPeriod, IndicationMessage, IndicationMessageFormat1, IndicationMessageFormat3, IndicationMessageFormats,
    LabelInfoList, MeasurementDataItem, MeasurementInfoItem, MeasurementRecordItem, MeasurementType,
    MeasurementTypeName, Revision, UeMeasurementReportItem,
};
use per::{List, Memo};

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

/// A message whose UEs have their measurements in the same order, or each in another order.
fn message(same: bool) -> IndicationMessage<'static> {
    let report = |ue: u32| UeMeasurementReportItem {
        ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(ue), ran_ueid: None, cell_rnti: None }),
        meas_report: IndicationMessageFormat1 {
            meas_data: List::from(vec![MeasurementDataItem {
                meas_record: (0..8).map(|i| MeasurementRecordItem::Integer(ue * 1000 + i * 37)).collect(),
                incomplete_flag: None,
            }]),
            meas_info_list: Some(Memo::from(
                (0..8)
                    .map(|i| MeasurementInfoItem {
                        meas_type: MeasurementType::MeasName(
                            MeasurementTypeName::try_from(NAMES[(i + if same { 0 } else { ue as usize }) % 8])
                                .expect("the names are ASCII"),
                        ),
                        label_info_list: LabelInfoList::NO_LABEL,
                        match_cond_report_list: None,
                    })
                    .collect::<List<'_, _>>(),
            )),
            granul_period: Some(GranularityPeriod(1000)),
        },
    };
    IndicationMessage {
        formats: IndicationMessageFormats::Format3(IndicationMessageFormat3 {
            ue_meas_report_list: (0..32).map(report).collect(),
        }),
    }
}

/// Reads every value.
fn visit(message: &IndicationMessage<'_>) -> u64 {
    let IndicationMessageFormats::Format3(reports) = &message.formats else { return 0 };
    let mut sum = 0;
    for report in &reports.ue_meas_report_list {
        for data in &report.meas_report.meas_data {
            for item in &data.meas_record {
                if let MeasurementRecordItem::Integer(value) = item {
                    sum += u64::from(*value);
                }
            }
        }
        for info in report.meas_report.meas_info_list.iter().flat_map(|list| list.iter()) {
            if let MeasurementType::MeasName(name) = &info.meas_type {
                sum += name.len() as u64;
            }
        }
    }
    sum
}

/// The fastest of many batches: the cost of the code without disturbance.
fn measure(name: &str, mut once: impl FnMut()) {
    let mut best = f64::INFINITY;
    for _ in 0..100 {
        let start = Instant::now();
        for _ in 0..200 {
            once();
        }
        best = best.min(start.elapsed().as_secs_f64() / 200.0);
    }
    println!("{name:<40} {:>9.0} ns", best * 1e9);
}

fn main() {
    let mut arena = Arena::new();
    for (name, same) in [("same lists", true), ("every list differs", false)] {
        let message = message(same);
        let mut bytes = Vec::new();
        message.encode(Revision::V3_00, &mut bytes).expect("the message is valid");
        measure(&format!("decode and visit, {name}"), || {
            arena.reset();
            let read = IndicationMessage::decode(black_box(&bytes), Revision::V3_00, &arena).expect("just encoded");
            black_box(visit(&read));
        });
        let mut out = Vec::new();
        measure(&format!("encode, {name}"), || {
            out.clear();
            black_box(&message).encode(Revision::V3_00, &mut out).expect("the message is valid");
        });
    }
}
