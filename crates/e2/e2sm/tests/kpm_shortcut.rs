//! Reports about UEs of a gNB-DU are read by a shortcut, with the result of the general decoder: for every form of a report, and
//! after any change of its octets.

use e2sm::Arena;
use e2sm::common::{GnbCuUeF1apId, RanUeId, UeId, UeIdGnbDu};
use e2sm::kpm::{
    GranularityPeriod, IndicationMessageFormat1, LabelInfoList, MeasurementDataItem, MeasurementInfoItem,
    MeasurementRecordItem, MeasurementType, MeasurementTypeId, MeasurementTypeName, Revision, UeMeasurementReportItem,
};
use per::{DecodeSized, EncodeSized, Error, Heap, List, Memo, Reader, Real, Size, Store, Writer};

const SIZE: Size = Size { lo: 1, hi: 65535, extensible: false };

fn record(value: u32) -> MeasurementRecordItem<'static> {
    MeasurementRecordItem::Integer(value)
}

fn info(names: &[&'static str]) -> List<'static, MeasurementInfoItem<'static>> {
    let item = |meas_type| MeasurementInfoItem {
        meas_type,
        label_info_list: LabelInfoList::NO_LABEL,
        match_cond_report_list: None,
    };
    let named = names.iter().map(|name| match *name {
        "" => item(MeasurementType::MeasId(MeasurementTypeId(7))),
        name => item(MeasurementType::MeasName(MeasurementTypeName::try_from(name).unwrap())),
    });
    named.collect()
}

fn report(id: u32, records: Vec<MeasurementRecordItem<'static>>) -> UeMeasurementReportItem<'static> {
    UeMeasurementReportItem {
        ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id), ran_ueid: None, cell_rnti: None }),
        meas_report: IndicationMessageFormat1 {
            meas_data: List::from(vec![MeasurementDataItem { meas_record: records.into(), incomplete_flag: None }]),
            meas_info_list: Some(Memo::from(info(&["DRB.UEThpDl", "RRU.PrbTotDl"]))),
            granul_period: Some(GranularityPeriod(1000)),
        },
    }
}

/// Reports of the frequent form and of all others, in an order in which lists repeat and do not.
fn reports() -> Vec<UeMeasurementReportItem<'static>> {
    let mut all = Vec::new();
    for id in [0, 255, 256, 65_536, u32::MAX] {
        all.push(report(id, vec![record(id), record(1)]));
    }
    let other_list = |names: &[&'static str]| {
        let mut other = report(2, vec![record(1)]);
        other.meas_report.meas_info_list = Some(Memo::from(info(names)));
        other
    };
    all.extend([other_list(&["CQI"]), other_list(&["CQI"]), other_list(&["CQI", ""]), other_list(&["CQI", ""])]);
    let mut named = report(3, vec![record(70_000)]);
    named.ue_id = UeId::GnbDu(UeIdGnbDu {
        gnb_cu_ue_f1ap_id: GnbCuUeF1apId(3),
        ran_ueid: Some(RanUeId([1, 2, 3, 4, 5, 6, 7, 8])),
        cell_rnti: None,
    });
    all.push(named);
    let mut bare = report(4, vec![record(9)]);
    (bare.meas_report.meas_info_list, bare.meas_report.granul_period) = (None, None);
    all.push(bare);
    all.push(report(5, vec![record(1), MeasurementRecordItem::NoValue]));
    all.push(report(6, vec![MeasurementRecordItem::Real(Real::from(0.5)), record(2)]));
    let mut periods = report(7, vec![record(1)]);
    let period = periods.meas_report.meas_data[0].clone();
    periods.meas_report.meas_data = List::from(vec![period; 3]);
    all.push(periods);
    all.push(report(8, (0..200).map(record).collect()));
    all.push(report(9, vec![record(1), record(2)]));
    all.push(report(10, vec![record(3), record(4)]));
    all
}

type Reports<'a> = List<'a, UeMeasurementReportItem<'a>>;

/// Reads a list with `decode`, and returns it with the position behind it.
fn read<'a, S: Store<'a>>(
    octets: &'a [u8],
    store: S,
    decode: impl FnOnce(&mut Reader<'a, S>) -> Result<Reports<'a>, Error>,
) -> Result<(Reports<'a>, usize), Error> {
    let mut reader = Reader::with_store(octets, Revision::V3_00.wire(), store);
    decode(&mut reader).map(|list| (list, reader.position()))
}

fn with_shortcut<'a, S: Store<'a>>(octets: &'a [u8], store: S) -> Result<(Reports<'a>, usize), Error> {
    read(octets, store, |reader| List::decode_sized(reader, SIZE, None))
}

fn without_shortcut(octets: &[u8]) -> Result<(Reports<'_>, usize), Error> {
    read(octets, Heap::default(), |reader| List::decode_items(reader, SIZE, per::Decode::decode_after))
}

fn encoded(reports: Vec<UeMeasurementReportItem<'static>>) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = Writer::new(&mut octets, Revision::V3_00.wire());
    List::from(reports).encode_sized(&mut writer, SIZE).unwrap();
    octets
}

fn assert_equal(octets: &[u8], arena: &Arena) {
    let expected = without_shortcut(octets);
    assert_eq!(with_shortcut(octets, Heap::default()), expected, "{octets:02x?}");
    assert_eq!(with_shortcut(octets, arena), expected, "{octets:02x?}");
}

#[test]
fn every_form_is_read_as_written() {
    let octets = encoded(reports());
    let arena = Arena::new();
    let (read, _) = with_shortcut(&octets, &arena).unwrap();
    assert_eq!(*read, reports()[..]);
    assert_equal(&octets, &arena);
}

#[test]
fn changed_octets_are_read_as_by_the_general_decoder() {
    let mut arena = Arena::new();
    let all = reports();
    let pairs = all.windows(2).chain(all.windows(3).skip(3).step_by(5));
    for octets in pairs.map(|pair| encoded(pair.to_vec())) {
        for at in 0..octets.len().min(120) {
            for mask in (0..8).map(|bit| 1 << bit).chain([0xFF]) {
                let mut changed = octets.clone();
                changed[at] ^= mask;
                arena.reset();
                assert_equal(&changed, &arena);
            }
        }
        for end in 0..octets.len() {
            arena.reset();
            assert_equal(&octets[..end], &arena);
        }
    }
}

#[test]
fn values_count_against_the_budget_of_a_message() {
    // 127 values in each of 3000 reports are more than `per::MAX_ITEMS`
    let octets = encoded(vec![report(1, (0..127).map(record).collect()); 3000]);
    let arena = Arena::new();
    let error = with_shortcut(&octets, &arena).unwrap_err();
    assert_eq!(error.kind, per::ErrorKind::TooManyItems);
    assert_eq!(Err(error), without_shortcut(&octets));
}
