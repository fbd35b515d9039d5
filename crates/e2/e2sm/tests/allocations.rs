//! Decoding an indication into an arena that was used before does not allocate.

use e2sm::Arena;
use e2sm::common::{GnbCuUeF1apId, UeId, UeIdGnbDu};
use e2sm::kpm::{
    ActionDefinition, GranularityPeriod, IndicationMessage, IndicationMessageFormat1, IndicationMessageFormat3,
    IndicationMessageFormats, LabelInfoList, MeasurementDataItem, MeasurementInfoItem, MeasurementRecordItem,
    MeasurementType, MeasurementTypeName, Revision, UeMeasurementReportItem,
};
use per::{List, Memo, Real};
use testkit::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn message(ues: u32, same_lists: bool) -> IndicationMessage<'static> {
    const NAMES: [&str; 4] = ["DRB.UEThpDl", "DRB.UEThpUl", "RRU.PrbTotDl", "CQI"];
    let info = |i: usize| MeasurementInfoItem {
        meas_type: MeasurementType::MeasName(MeasurementTypeName::try_from(NAMES[i % 4]).unwrap()),
        label_info_list: LabelInfoList::NO_LABEL,
        match_cond_report_list: None,
    };
    let report = |ue: u32| UeMeasurementReportItem {
        ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(ue), ran_ueid: None, cell_rnti: None }),
        meas_report: IndicationMessageFormat1 {
            meas_data: List::from(vec![MeasurementDataItem {
                meas_record: List::from(vec![
                    MeasurementRecordItem::Integer(ue * 70_000),
                    MeasurementRecordItem::Real(Real::from(f64::from(ue) / 3.0)),
                    MeasurementRecordItem::NoValue,
                    MeasurementRecordItem::Integer(7),
                ]),
                incomplete_flag: None,
            }]),
            meas_info_list: Some(Memo::from(
                (0..4).map(|i| info(i + if same_lists { 0 } else { ue as usize })).collect::<List<'_, _>>(),
            )),
            granul_period: Some(GranularityPeriod(1000)),
        },
    };
    IndicationMessage {
        formats: IndicationMessageFormats::Format3(IndicationMessageFormat3 {
            ue_meas_report_list: (0..ues).map(report).collect(),
        }),
    }
}

#[test]
fn steady_state_allocates_nothing() {
    for same_lists in [true, false] {
        let message = message(32, same_lists);
        let mut bytes = Vec::new();
        message.encode(Revision::V3_00, &mut bytes).unwrap();
        let mut arena = Arena::new();
        let mut read_and_visit = || {
            arena.reset();
            let read = IndicationMessage::decode(&bytes, Revision::V3_00, &arena).unwrap();
            read.rows(None).filter_map(|row| row.value.number()).sum::<f64>()
        };
        // the arena grows to the size of the message
        let first = read_and_visit();
        read_and_visit();
        let before = CountingAllocator::count();
        let mut sum = 0.0;
        for _ in 0..10 {
            sum += read_and_visit();
        }
        assert_eq!(CountingAllocator::count() - before, 0);
        assert!((sum - 10.0 * first).abs() < 1e-6);
    }
}

/// Fragments of 16384 octets are reassembled in the arena.
#[test]
fn fragments_are_reassembled_in_arena() {
    let message = message(1000, true);
    let mut bytes = Vec::new();
    message.encode(Revision::V3_00, &mut bytes).unwrap();
    assert!(bytes.len() > 65536, "{}", bytes.len());
    let arena = Arena::new();
    let read = IndicationMessage::decode(&bytes, Revision::V3_00, &arena).unwrap();
    assert_eq!(read.rows(None).count(), 4000);
    assert_eq!(IndicationMessage::decode_owned(&bytes, Revision::V3_00).unwrap(), read);
    let mut again = Vec::new();
    read.encode(Revision::V3_00, &mut again).unwrap();
    assert_eq!(again, bytes);
}

/// The announced length of a list allocates no more memory than its items need.
#[test]
fn announced_items_do_not_allocate() {
    for fill in [0x00, 0x0F, 0x40, 0x7F, 0xFF] {
        for announced in [[0xFF, 0xFE], [0x80, 0x00]] {
            for at in 1..8 {
                let mut bytes = [fill; 64];
                bytes[0] = 0;
                bytes[at..at + 2].copy_from_slice(&announced);
                let before = CountingAllocator::requested_octets();
                let arena = Arena::new();
                let read = IndicationMessage::decode(&bytes, Revision::V3_00, &arena).is_ok();
                let read = read || ActionDefinition::decode(&bytes, Revision::V3_00, &arena).is_ok();
                let taken = CountingAllocator::requested_octets() - before;
                assert!(taken < 256 << 10, "{taken} octets for {bytes:02x?}, {read}");
            }
        }
    }
}
