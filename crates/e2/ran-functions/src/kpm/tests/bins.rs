//! Distributions: bins of the source's, and of the controller's.

use e2sm::kpm::{BinIndex, BinRangeDefinition, BinRangeItem, BinRangeValue, DistMeasurementBinRangeItem, StartEndInd};

use super::*;

const DIST: &str = "RRU.PrbTotDlDist";
const CQI_DIST: &str = "CARR.WBCQIDist";

/// Each millisecond a sample: its number modulo 10.
#[derive(Default)]
struct Samples(u64);

impl KpmSource for Samples {
    type Snapshot = u64;

    fn cell(&self) -> Cgi {
        cell(1)
    }

    fn measurements(&self) -> &[SupportedMeasurement] {
        &[
            SupportedMeasurement { name: Cow::Borrowed(RRC), id: None, scope: OfferScope::Cell },
            SupportedMeasurement { name: Cow::Borrowed(DIST), id: Some(5), scope: OfferScope::Cell },
            SupportedMeasurement { name: Cow::Borrowed(CQI_DIST), id: Some(6), scope: OfferScope::CellAndUe },
        ]
    }

    fn ues(&self, _out: &mut Vec<Ue>) {}

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        ue_id(ue.0)
    }

    fn take_snapshot(&self, mark: &mut u64) {
        *mark = self.0;
    }

    fn advance(&mut self, until: Time) {
        self.0 = self.0.max(until.as_nanos() / 1_000_000);
    }

    fn value(&self, since: &u64, _whom: MeasuredObject<'_>, _offer: usize, _label: &MeasurementLabel) -> Value {
        Value::Integer((self.0 - since) as u32)
    }

    fn bins(&self, offer: usize) -> &[&[Bin]] {
        const LAST: &[Bin] = &[Bin { from: 0.0, to: 2.0 }, Bin { from: 2.0, to: 9.0 }, Bin { from: 9.0, to: 10.0 }];
        const PARITY: &[Bin] = &[Bin { from: 0.0, to: 1.0 }, Bin { from: 1.0, to: 2.0 }];
        match offer {
            1 => &[LAST],
            2 => &[LAST, PARITY, PARITY],
            _ => &[],
        }
    }

    fn supports_label(&self, offer: usize, label: &MeasurementLabel) -> bool {
        *label == MeasurementLabel::NO_LABEL || offer == 2 && *label == of_slice()
    }

    /// By the last digit, whether that is odd, and whether the tens are.
    fn bin_count(
        &self,
        since: &u64,
        _whom: MeasuredObject<'_>,
        _offer: usize,
        bins: &[Bin],
        label: &MeasurementLabel,
    ) -> Value {
        let is_in = |sample: &u64| {
            let of_sample = [sample % 10, sample % 2, sample / 10 % 2];
            bins.iter().zip(of_sample).all(|(bin, value)| (bin.from..bin.to).contains(&(value as f64)))
        };
        let count = (*since..self.0).filter(is_in).count() as u32;
        // values of the slice are a hundred times as large, to distinguish them
        Value::Integer(if *label == of_slice() { 100 * count } else { count })
    }
}

fn of_slice() -> MeasurementLabel {
    MeasurementLabel { slice_id: Some(SNssai { sst: Sst([1]), sd: None }), ..MeasurementLabel::default() }
}

/// A bin of three dimensions.
fn cube(x: u16, y: u16, z: u16, start_end_ind: Option<StartEndInd>) -> MeasurementLabel {
    let (dist_bin_y, dist_bin_z) = (Some(y), Some(z));
    MeasurementLabel { dist_bin_y, dist_bin_z, ..bin(x, start_end_ind).meas_label }
}

fn bin(x: u16, start_end_ind: Option<StartEndInd>) -> LabelInfoItem {
    LabelInfoItem { meas_label: MeasurementLabel { dist_bin_x: Some(x), start_end_ind, ..MeasurementLabel::default() } }
}

fn action(name: &'static str, labels: Vec<LabelInfoItem>, own: Option<BinRangeDefinition<'static>>) -> Vec<u8> {
    let mut item = info(by_name(name), MeasurementLabel::NO_LABEL);
    item.label_info_list = LabelInfoList(List::from(labels));
    let mut format = format1(vec![item], 20);
    format.dist_meas_bin_range_info = own
        .map(|bin_range_def| List::from(vec![DistMeasurementBinRangeItem { meas_type: by_name(name), bin_range_def }]));
    let mut bytes = Vec::new();
    style1(format).encode(Revision::V3_00, &mut bytes).unwrap();
    bytes
}

fn ranges(ranges: &[(u16, i64, i64)]) -> BinRangeDefinition<'static> {
    let item = |(index, from, to): &(u16, i64, i64)| BinRangeItem {
        bin_index: BinIndex(*index),
        start_value: BinRangeValue::ValueInt(*from),
        end_value: BinRangeValue::ValueInt(*to),
    };
    BinRangeDefinition {
        bin_range_list_x: ranges.iter().map(item).collect(),
        bin_range_list_y: None,
        bin_range_list_z: None,
    }
}

fn function(revision: Revision) -> KpmFunction<ExclusiveSource<Samples>> {
    let config = KpmConfig { revision, ..KpmConfig::default() };
    KpmFunction::new(ExclusiveSource::default(), config).with_wall_clock(wall_clock)
}

fn subscribe(function: &mut KpmFunction<ExclusiveSource<Samples>>, action: &[u8]) -> Result<Admission, Cause> {
    let trigger = every(20, Revision::V3_00);
    function.subscribe(millis(0), FIRST, &request(1, &trigger, &[action]), &Views::with_first(FIRST))
}

#[test]
fn definition_contains_bins() {
    for revision in Revision::FROM_V2 {
        let bytes = function(revision).definition().definition;
        let definition = RanFunctionDefinition::decode_owned(&bytes, revision).unwrap();
        let style = &definition.ric_report_style_list.as_ref().unwrap()[0];
        let bins = |at: usize| style.meas_info_action_list[at].bin_range_def.as_ref().map(|d| d.bin_range_list_x.len());
        assert_eq!((bins(0), bins(1)), (None, (revision > Revision::V2_01).then_some(3)));
    }
}

#[test]
fn bins_are_counted_one_by_one_and_in_ranges() {
    let (start, end) = (Some(StartEndInd::Start), Some(StartEndInd::End));
    let own = || Some(ranges(&[(1, 0, 1), (7, 1, 10)]));
    for (labels, own, expected) in [
        (vec![bin(2, None), bin(1, None)], None, vec![14, 4]),
        (vec![bin(1, start), bin(3, end), bin(2, None)], None, vec![4, 14, 2, 14]),
        (vec![bin(7, None), bin(1, None)], own(), vec![18, 2]),
        (vec![LabelInfoItem { meas_label: MeasurementLabel::NO_LABEL }], None, vec![20]),
    ] {
        let mut function = function(Revision::V3_00);
        subscribe(&mut function, &action(DIST, labels, own)).unwrap();
        let (mut sent, mut views) = (Vec::new(), Views::with_first(FIRST));
        let mut recorder = Recorder { at_ms: 20, sent: &mut sent };
        function.report(millis(20), &mut FunctionContext::new(&mut views, &mut recorder));
        let message = IndicationMessage::decode_owned(&sent[0].message, Revision::V3_00).unwrap();
        let values: Vec<_> = message.rows(None).map(|row| row.value).collect();
        assert_eq!(values, expected.into_iter().map(Value::Integer).collect::<Vec<_>>());
        assert!(message.rows(None).all(|row| row.label.is_some()), "each has its label");
    }
}

/// The values of the first report of a subscription.
fn values(action: &[u8]) -> Vec<u32> {
    let mut function = function(Revision::V3_00);
    subscribe(&mut function, action).unwrap();
    let (mut sent, mut views) = (Vec::new(), Views::with_first(FIRST));
    let mut recorder = Recorder { at_ms: 20, sent: &mut sent };
    function.report(millis(20), &mut FunctionContext::new(&mut views, &mut recorder));
    let message = IndicationMessage::decode_owned(&sent[0].message, Revision::V3_00).unwrap();
    let value = |row: e2sm::kpm::Row<'_>| match row.value {
        Value::Integer(value) => value,
        other => panic!("{other:?}"),
    };
    message.rows(None).map(value).collect()
}

#[test]
fn bins_of_three_dimensions() {
    let label = |meas_label| LabelInfoItem { meas_label };
    let (start, end) = (Some(StartEndInd::Start), Some(StartEndInd::End));
    let network = Some(PlmnIdentity::from_codes(1, 1, 2));
    let of_slice = MeasurementLabel { plmn_id: network, ..of_slice() };
    let in_slice =
        |label: MeasurementLabel| MeasurementLabel { plmn_id: of_slice.plmn_id, slice_id: of_slice.slice_id, ..label };
    let own = || {
        let mut own = ranges(&[(9, 0, 10)]);
        own.bin_range_list_y = Some(ranges(&[(4, 0, 2)]).bin_range_list_x);
        own.bin_range_list_z = Some(ranges(&[(1, 0, 1), (2, 1, 2)]).bin_range_list_x);
        own
    };
    for (labels, own, expected) in [
        // of 0 to 19: 0 and 10; 1 and 11; 9 and 19
        (
            vec![cube(1, 1, 1, None), cube(1, 2, 1, None), cube(3, 2, 2, None), cube(3, 1, 1, None)],
            None,
            vec![1, 1, 1, 0],
        ),
        // the last dimension is counted first
        (vec![cube(2, 1, 1, start), cube(3, 2, 2, end)], None, vec![4, 4, 3, 3, 0, 0, 1, 1]),
        (vec![cube(9, 4, 1, start), cube(9, 4, 2, end)], Some(own()), vec![10, 10]),
        (vec![in_slice(cube(2, 1, 1, None)), of_slice], None, vec![400, 20]),
        (vec![in_slice(cube(2, 1, 1, start)), in_slice(cube(2, 2, 1, end))], None, vec![400, 300]),
    ] {
        let labels = labels.into_iter().map(label).collect();
        assert_eq!(values(&action(CQI_DIST, labels, own)), expected);
    }
}

/// Style 3: the bin stands in a condition's label, and the bins may be the controller's.
#[test]
fn bins_of_groups() {
    let item = |label, bin_range_def| e2sm::kpm::MeasurementCondItem {
        meas_type: by_name(CQI_DIST),
        matching_cond: List::from(vec![MatchingCondItem {
            choice: MatchingCondItemChoice::MeasLabel(label),
            logical_or: None,
        }]),
        bin_range_def,
    };
    let own = |bins: &[(u16, i64, i64)]| {
        let mut own = ranges(bins);
        own.bin_range_list_y = Some(ranges(&[(1, 0, 2)]).bin_range_list_x);
        own.bin_range_list_z = own.bin_range_list_y.clone();
        own
    };
    let asked = |items| {
        let format = e2sm::kpm::ActionDefinitionFormat3 {
            meas_cond_list: List::from(items),
            granul_period: GranularityPeriod(20),
            cell_global_id: None,
        };
        let formats = ActionDefinitionFormats::Format3(format);
        let mut bytes = Vec::new();
        ActionDefinition { ric_style_type: RicStyleType(3), formats }.encode(Revision::V3_00, &mut bytes).unwrap();
        bytes
    };
    let items = vec![
        item(cube(2, 1, 1, None), None),
        item(cube(7, 1, 1, None), Some(own(&[(7, 0, 4)]))),
        item(MeasurementLabel::NO_LABEL, None),
    ];
    assert_eq!(values(&asked(items)), [4, 8, 20]);
    let mut two = item(cube(2, 1, 1, None), None);
    two.matching_cond = List::from([two.matching_cond.to_vec(), two.matching_cond.to_vec()].concat());
    let semantic = Cause::Protocol(CauseProtocol::SemanticError);
    for (item, cause) in [
        (two, semantic),
        (item(cube(4, 1, 1, None), None), Cause::RicRequest(CauseRicRequest::RequestedInformationUnavailable)),
        (item(cube(1, 1, 1, None), Some(ranges(&[(1, 0, 4)]))), Cause::RicRequest(CauseRicRequest::ActionNotSupported)),
    ] {
        let mut function = function(Revision::V3_00);
        assert_eq!(subscribe(&mut function, &asked(vec![item])), Err(cause));
    }
}

#[test]
fn invalid_bins_are_refused() {
    use CauseRicRequest::{ActionNotSupported, FunctionResourceLimit, RequestedInformationUnavailable};
    let request = Cause::RicRequest;
    let semantic = Cause::Protocol(CauseProtocol::SemanticError);
    let (start, end) = (Some(StartEndInd::Start), Some(StartEndInd::End));
    let of = |meas_label| LabelInfoItem { meas_label };
    let elsewhere = MeasurementLabel { plmn_id: Some(PlmnIdentity::from_codes(2, 2, 2)), ..of_slice() };
    let mut plane = ranges(&[(1, 0, 5)]);
    plane.bin_range_list_y = Some(plane.bin_range_list_x.clone());
    for (name, labels, own, cause) in [
        (DIST, vec![bin(4, None)], None, request(RequestedInformationUnavailable)),
        (RRC, vec![bin(1, None)], None, request(RequestedInformationUnavailable)),
        (DIST, vec![bin(2, start)], None, semantic),
        (DIST, vec![bin(3, start), bin(2, end)], None, semantic),
        (DIST, vec![bin(1, start), bin(1, start)], None, semantic),
        (DIST, vec![bin(1, end)], None, request(RequestedInformationUnavailable)),
        (DIST, vec![bin(1, start), bin(60_000, end)], None, request(FunctionResourceLimit)),
        (DIST, vec![bin(1, None)], Some(ranges(&[(1, 5, 5)])), semantic),
        (DIST, vec![bin(1, None)], Some(plane), request(ActionNotSupported)),
        (RRC, vec![bin(1, None)], Some(ranges(&[(1, 0, 5)])), request(ActionNotSupported)),
        (CQI_DIST, vec![bin(1, None)], None, request(RequestedInformationUnavailable)),
        (DIST, vec![of(cube(1, 1, 1, None))], None, request(RequestedInformationUnavailable)),
        (CQI_DIST, vec![of(cube(1, 1, 3, None))], None, request(RequestedInformationUnavailable)),
        (CQI_DIST, vec![of(cube(1, 2, 1, start)), of(cube(3, 1, 2, end))], None, semantic),
        (
            CQI_DIST,
            vec![of(cube(1, 1, 1, start)), of(cube(9999, 9999, 9999, end))],
            None,
            request(FunctionResourceLimit),
        ),
        (CQI_DIST, vec![of(elsewhere)], None, request(RequestedInformationUnavailable)),
    ] {
        let mut function = function(Revision::V3_00);
        assert_eq!(subscribe(&mut function, &action(name, labels.clone(), own)), Err(cause), "{name} {labels:?}");
    }
}
