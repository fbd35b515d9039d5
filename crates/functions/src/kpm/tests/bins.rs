//! Distributions: bins of the source's, and of the controller's.

use e2sm::kpm::{BinIndex, BinRangeDefinition, BinRangeItem, BinRangeValue, DistMeasurementBinRangeItem, StartEndInd};

use super::*;

const DIST: &str = "RRU.PrbTotDlDist";

/// Each millisecond a sample: its number modulo 10.
#[derive(Default)]
struct Samples(u64);

impl KpmSource for Samples {
    type Mark = u64;

    fn cell(&self) -> Cgi {
        cell(1)
    }

    fn offers(&self) -> &[Offer] {
        &[
            Offer { name: RRC, id: None, scope: OfferScope::Cell },
            Offer { name: DIST, id: Some(5), scope: OfferScope::Cell },
        ]
    }

    fn ues(&self, _out: &mut Vec<Ue>) {}

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        ue_id(ue.0)
    }

    fn mark(&self, mark: &mut u64) {
        *mark = self.0;
    }

    fn advance(&mut self, until: Time) {
        self.0 = self.0.max(until.as_nanos() / 1_000_000);
    }

    fn value(&self, since: &u64, _whom: Whom<'_>, _offer: usize, _label: &MeasurementLabel) -> Value {
        Value::Integer((self.0 - since) as u32)
    }

    fn bins(&self, offer: usize) -> &[Bin] {
        if offer == 1 {
            &[Bin { from: 0.0, to: 2.0 }, Bin { from: 2.0, to: 9.0 }, Bin { from: 9.0, to: 10.0 }]
        } else {
            &[]
        }
    }

    fn binned(&self, since: &u64, _whom: Whom<'_>, _offer: usize, bin: Bin) -> Value {
        let is_in = |sample: &u64| (bin.from..bin.to).contains(&((sample % 10) as f64));
        Value::Integer((*since..self.0).filter(is_in).count() as u32)
    }
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

fn function(revision: Revision) -> KpmFunction<Samples> {
    let config = KpmConfig { revision, ..KpmConfig::default() };
    KpmFunction::new(Rc::default(), config).with_wall_clock(wall_clock)
}

fn subscribe(function: &mut KpmFunction<Samples>, action: &[u8]) -> Result<Admission, Cause> {
    let trigger = every(20, Revision::V3_00);
    function.subscribe(millis(0), FIRST, &request(1, &trigger, &[action]), &Views::with_first(FIRST))
}

#[test]
fn the_definition_tells_the_bins() {
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
        function.report(millis(20), &mut Reports::new(&mut views, &mut recorder));
        let message = IndicationMessage::decode_owned(&sent[0].message, Revision::V3_00).unwrap();
        let values: Vec<_> = message.rows(None).map(|row| row.value).collect();
        assert_eq!(values, expected.into_iter().map(Value::Integer).collect::<Vec<_>>());
        assert!(message.rows(None).all(|row| row.label.is_some()), "each has its label");
    }
}

#[test]
fn bins_that_are_none_are_refused() {
    use CauseRicRequest::{ActionNotSupported, FunctionResourceLimit, RequestedInformationUnavailable};
    let request = Cause::RicRequest;
    let semantic = Cause::Protocol(CauseProtocol::SemanticError);
    let (start, end) = (Some(StartEndInd::Start), Some(StartEndInd::End));
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
    ] {
        let mut function = function(Revision::V3_00);
        assert_eq!(subscribe(&mut function, &action(name, labels.clone(), own)), Err(cause), "{name} {labels:?}");
    }
}
