//! Random values of every message round-trip in every revision.

use e2sm::Arena;
use e2sm::common::{
    AmfUeNgapId, BeamId, CellRnti, Cgi, EnbId, EutraCgi, FiveQi, GlobalEnbId, GlobalGnbId, GlobalNgRanNodeId,
    GnbCuCpUeE1apId, GnbCuCpUeE1apIdItem, GnbCuUeF1apId, GnbCuUeF1apIdItem, GnbId, Guami, Gummei, MmeUeS1apId, NrCgi,
    PlmnIdentity, Qci, QosFlowIdentifier, RanUeId, RntiValue, SNssai, Sd, Sst, True, UeId, UeIdEnb, UeIdGnb, UeIdGnbDu,
};
use e2sm::kpm::*;
use per::{BitString, Bits, List, Memo, Octets, PrintableString, Real, Single};

/// A generator of values of one revision, from xorshift64*.
struct Maker {
    state: u64,
    revision: Revision,
}

impl Maker {
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 20) % end
    }

    /// A number in `lo..=hi`, with a bias to the bounds.
    fn within(&mut self, lo: u64, hi: u64) -> u64 {
        match self.below(4) {
            0 => lo,
            1 => hi,
            _ => lo + self.next() % (hi - lo + 1),
        }
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.coin().then(|| make(self))
    }

    /// As `maybe`, for a component that `revision` introduced.
    fn since<T>(&mut self, revision: Revision, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.revision >= revision && self.coin()).then(|| make(self))
    }

    fn list<T>(&mut self, lo: u64, hi: u64, mut make: impl FnMut(&mut Self) -> T) -> List<'static, T> {
        let count = self.within(lo, hi);
        (0..count).map(|_| make(self)).collect()
    }

    fn octets<const N: usize>(&mut self) -> [u8; N] {
        [(); N].map(|()| self.below(256) as u8)
    }

    fn bits(&mut self, lo: u64, hi: u64) -> Bits {
        let count = self.within(lo, hi) as u8;
        Bits::new(self.next() & ((1 << count) - 1), count)
    }

    fn text(&mut self, lo: u64, hi: u64) -> PrintableString<'static> {
        let count = self.within(lo, hi);
        let text: String = (0..count).map(|_| char::from(b'A' + self.below(26) as u8)).collect();
        PrintableString::try_from(text).unwrap()
    }

    fn real(&mut self) -> Real<'static> {
        let scale = self.below(80) as i32 - 40;
        Real::from((self.next() as i64 as f64) * 2f64.powi(scale))
    }

    fn plmn(&mut self) -> PlmnIdentity {
        PlmnIdentity(self.octets())
    }

    fn cgi(&mut self) -> Cgi {
        let plmn_identity = self.plmn();
        if self.coin() {
            Cgi::NrCgi(NrCgi { plmn_identity, nr_cell_identity: self.bits(36, 36) })
        } else {
            Cgi::EutraCgi(EutraCgi { plmn_identity, eutra_cell_identity: self.bits(28, 28) })
        }
    }

    fn cell_rnti(&mut self) -> CellRnti {
        CellRnti { c_rnti: RntiValue(self.within(0, 65535) as u16), cell_global_id: self.cgi() }
    }

    fn global_gnb_id(&mut self) -> GlobalGnbId {
        GlobalGnbId { plmn_identity: self.plmn(), gnb_id: GnbId::GnbId(self.bits(22, 32)) }
    }

    fn ue_id(&mut self) -> UeId<'static> {
        match self.below(3) {
            0 => UeId::GnbDu(UeIdGnbDu {
                gnb_cu_ue_f1ap_id: GnbCuUeF1apId(self.within(0, u64::from(u32::MAX)) as u32),
                ran_ueid: self.maybe(|m| RanUeId(m.octets())),
                cell_rnti: self.since(Revision::V4_00, Self::cell_rnti),
            }),
            1 => UeId::Gnb(Single::from(UeIdGnb {
                amf_ue_ngap_id: AmfUeNgapId(self.within(0, (1 << 40) - 1) as i64),
                guami: Guami {
                    plmn_identity: self.plmn(),
                    amf_region_id: self.bits(8, 8),
                    amf_set_id: self.bits(10, 10),
                    amf_pointer: self.bits(6, 6),
                },
                gnb_cu_ue_f1ap_id_list: self.maybe(|m| {
                    m.list(1, 4, |m| GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(m.below(1 << 32) as u32) })
                }),
                gnb_cu_cp_ue_e1ap_id_list: self.maybe(|m| {
                    m.list(1, 9, |m| GnbCuCpUeE1apIdItem {
                        gnb_cu_cp_ue_e1ap_id: GnbCuCpUeE1apId(m.below(1 << 9) as u32),
                    })
                }),
                ran_ueid: self.maybe(|m| RanUeId(m.octets())),
                m_ng_ran_ue_xnap_id: None,
                global_gnb_id: self.maybe(Self::global_gnb_id),
                global_ng_ran_node_id: self.maybe(|m| GlobalNgRanNodeId::Gnb(m.global_gnb_id())),
                cell_rnti: self.since(Revision::V4_00, Self::cell_rnti),
            })),
            _ => UeId::Enb(Single::from(UeIdEnb {
                mme_ue_s1ap_id: MmeUeS1apId(self.below(1 << 32) as u32),
                gummei: Gummei { plmn_identity: self.plmn(), mme_group_id: self.octets(), mme_code: self.octets() },
                m_enb_ue_x2ap_id: None,
                m_enb_ue_x2ap_id_extension: None,
                global_enb_id: self.maybe(|m| GlobalEnbId {
                    plmn_identity: m.plmn(),
                    enb_id: match m.below(4) {
                        0 => EnbId::MacroEnbId(m.bits(20, 20)),
                        1 => EnbId::HomeEnbId(m.bits(28, 28)),
                        2 => EnbId::ShortMacroEnbId(m.bits(18, 18)),
                        _ => EnbId::LongMacroEnbId(m.bits(21, 21)),
                    },
                }),
                cell_rnti: self.since(Revision::V4_00, Self::cell_rnti),
            })),
        }
    }

    fn label(&mut self) -> MeasurementLabel {
        if self.coin() {
            return MeasurementLabel::NO_LABEL;
        }
        let number = |m: &mut Self| m.within(0, 65535) as u16;
        MeasurementLabel {
            no_label: None,
            plmn_id: self.maybe(Self::plmn),
            slice_id: self.maybe(|m| SNssai { sst: Sst(m.octets()), sd: m.maybe(|m| Sd(m.octets())) }),
            five_qi: self.maybe(|m| FiveQi(m.below(256) as u8)),
            qfi: self.maybe(|m| QosFlowIdentifier(m.below(256) as u8)),
            qci: self.maybe(|m| Qci(m.below(256) as u8)),
            qci_max: self.maybe(|m| Qci(m.below(256) as u8)),
            qci_min: self.maybe(|m| Qci(m.below(256) as u8)),
            arp_max: self.maybe(|m| m.within(1, 15) as u8),
            arp_min: self.maybe(|m| m.within(0, 255) as u8),
            bitrate_range: self.maybe(number),
            layer_mu_mimo: self.maybe(number),
            sum: self.maybe(|_| True),
            dist_bin_x: self.maybe(number),
            dist_bin_y: self.maybe(number),
            dist_bin_z: self.maybe(number),
            pre_label_override: self.maybe(|_| True),
            start_end_ind: self.maybe(|m| if m.coin() { StartEndInd::Start } else { StartEndInd::End }),
            min: self.maybe(|_| True),
            max: self.maybe(|_| True),
            avg: self.maybe(|_| True),
            ssb_index: self.since(Revision::V2_03, number),
            non_gob_bfmode_index: self.since(Revision::V2_03, number),
            mimo_mode_index: self.since(Revision::V2_03, |m| m.within(1, 2) as u8),
            cell_global_id: self.since(Revision::V4_00, Self::cgi),
            beam_id: self.since(Revision::V4_00, |m| BeamId::NrBeamId(m.below(64) as u8)),
        }
    }

    fn test_value(&mut self) -> TestCondValue<'static> {
        match self.below(if self.revision >= Revision::V2_03 { 7 } else { 6 }) {
            0 => TestCondValue::ValueInt(self.next() as i64 >> self.below(64)),
            1 => TestCondValue::ValueEnum(self.below(9) as i64),
            2 => TestCondValue::ValueBool(self.coin()),
            3 if self.coin() => TestCondValue::ValueBitS(BitString::new(self.next() >> 40, 24)),
            // the last bits have a separate octet
            3 => TestCondValue::ValueBitS(BitString::Long {
                octets: Octets::from(vec![self.below(256) as u8; 9].into_iter().chain([0x80]).collect::<Vec<_>>()),
                count: 73,
            }),
            4 => TestCondValue::ValueOctS(Octets::from(vec![7; self.below(200) as usize])),
            5 => TestCondValue::ValuePrtS(self.text(0, 30)),
            _ => TestCondValue::ValueReal(self.real()),
        }
    }

    fn expression(&mut self) -> TestCondExpression {
        [TestCondExpression::Equal, TestCondExpression::Contains, TestCondExpression::Present][self.below(3) as usize]
    }

    fn test(&mut self) -> TestCondInfo<'static> {
        let old = self.revision == Revision::V2_01;
        TestCondInfo {
            test_type: match self.below(if old { 2 } else { 4 }) {
                0 => TestCondType::Gbr(True),
                1 => TestCondType::Rsrq(True),
                2 => TestCondType::UlRsrp(True),
                _ => TestCondType::SNssai(True),
            },
            test_expr: (old || self.coin()).then(|| self.expression()),
            test_value: (old || self.coin()).then(|| self.test_value()),
        }
    }

    fn condition(&mut self) -> MatchingCondItem<'static> {
        MatchingCondItem {
            choice: if self.coin() {
                MatchingCondItemChoice::MeasLabel(self.label())
            } else {
                MatchingCondItemChoice::TestCondInfo(self.test())
            },
            logical_or: self.since(Revision::V2_03, |_| True),
        }
    }

    fn meas_type(&mut self) -> MeasurementType<'static> {
        if self.coin() {
            MeasurementType::MeasName(MeasurementTypeName(self.text(1, 200)))
        } else {
            MeasurementType::MeasId(MeasurementTypeId(self.within(1, 70_000) as u32))
        }
    }

    fn info(&mut self) -> MeasurementInfoItem<'static> {
        MeasurementInfoItem {
            meas_type: self.meas_type(),
            label_info_list: LabelInfoList(self.list(1, 3, |m| LabelInfoItem { meas_label: m.label() })),
            match_cond_report_list: self.since(Revision::V4_00, |m| {
                m.list(1, 3, |m| MatchCondReportItem {
                    meas_value_report_cond: MeasValueReportCond {
                        test_expr: m.expression(),
                        test_value: m.test_value(),
                    },
                    logical_or: m.maybe(|_| True),
                })
            }),
        }
    }

    fn bins(&mut self) -> BinRangeDefinition<'static> {
        let value = |m: &mut Self| {
            if m.coin() { BinRangeValue::ValueInt(m.below(1 << 40) as i64) } else { BinRangeValue::ValueReal(m.real()) }
        };
        let bins = |m: &mut Self| {
            m.list(1, 3, |m| BinRangeItem {
                bin_index: BinIndex(m.within(0, 65535) as u16),
                start_value: value(m),
                end_value: value(m),
            })
        };
        BinRangeDefinition {
            bin_range_list_x: bins(self),
            bin_range_list_y: self.maybe(bins),
            bin_range_list_z: self.maybe(bins),
        }
    }

    fn data(&mut self) -> List<'static, MeasurementDataItem<'static>> {
        let kinds = if self.revision >= Revision::V4_00 { 4 } else { 3 };
        self.list(1, 3, |m| MeasurementDataItem {
            meas_record: m.list(1, 9, |m| match m.below(kinds) {
                0 => MeasurementRecordItem::Integer(m.within(0, u64::from(u32::MAX)) as u32 >> m.below(32)),
                1 => MeasurementRecordItem::Real(m.real()),
                2 => MeasurementRecordItem::NoValue,
                _ => MeasurementRecordItem::NotSatisfied,
            }),
            incomplete_flag: m.maybe(|_| True),
        })
    }

    fn report(&mut self) -> IndicationMessageFormat1<'static> {
        IndicationMessageFormat1 {
            meas_data: self.data(),
            meas_info_list: self.maybe(|m| Memo::from(m.list(1, 4, Self::info))),
            granul_period: self.maybe(|m| GranularityPeriod(m.within(1, u64::from(u32::MAX)) as u32)),
        }
    }

    fn message(&mut self) -> IndicationMessage<'static> {
        let formats = match self.below(3) {
            0 => IndicationMessageFormats::Format1(self.report()),
            1 => IndicationMessageFormats::Format2(IndicationMessageFormat2 {
                meas_data: self.data(),
                meas_cond_ueid_list: self.list(1, 3, |m| MeasurementCondUeidItem {
                    meas_type: m.meas_type(),
                    matching_cond: m.list(1, 3, Self::condition),
                    matching_ueid_list: m.maybe(|m| m.list(1, 3, |m| MatchingUeidItem { ue_id: m.ue_id() })),
                    matching_ueid_per_gp: m.since(Revision::V2_03, |m| {
                        m.list(1, 3, |m| MatchingUeidPerGpItem {
                            matched_per_gp: if m.coin() {
                                MatchedPerGp::NoUeMatched(True)
                            } else {
                                let ues = m.list(1, 3, |m| MatchingUeidItemPerGp { ue_id: m.ue_id() });
                                MatchedPerGp::OneOrMoreUeMatched(ues)
                            },
                        })
                    }),
                }),
                granul_period: None,
            }),
            _ => {
                // repeats a report, so that lists repeat
                let again = self.report();
                IndicationMessageFormats::Format3(IndicationMessageFormat3 {
                    ue_meas_report_list: self.list(1, 6, |m| UeMeasurementReportItem {
                        ue_id: m.ue_id(),
                        meas_report: if m.coin() { again.clone() } else { m.report() },
                    }),
                })
            }
        };
        IndicationMessage { formats }
    }

    fn subscription(&mut self) -> ActionDefinitionFormat1<'static> {
        ActionDefinitionFormat1 {
            meas_info_list: self.list(1, 4, Self::info),
            granul_period: GranularityPeriod(self.within(1, 10_000) as u32),
            cell_global_id: self.maybe(Self::cgi),
            dist_meas_bin_range_info: self.since(Revision::V2_03, |m| {
                m.list(1, 2, |m| DistMeasurementBinRangeItem { meas_type: m.meas_type(), bin_range_def: m.bins() })
            }),
        }
    }

    fn action(&mut self) -> ActionDefinition<'static> {
        let formats = match self.below(5) {
            0 => ActionDefinitionFormats::Format1(self.subscription()),
            1 => ActionDefinitionFormats::Format2(ActionDefinitionFormat2 {
                ue_id: self.ue_id(),
                subscript_info: self.subscription(),
            }),
            2 => ActionDefinitionFormats::Format3(ActionDefinitionFormat3 {
                meas_cond_list: self.list(1, 3, |m| MeasurementCondItem {
                    meas_type: m.meas_type(),
                    matching_cond: m.list(1, 3, Self::condition),
                    bin_range_def: m.since(Revision::V2_03, Self::bins),
                }),
                granul_period: GranularityPeriod(1),
                cell_global_id: None,
            }),
            3 => ActionDefinitionFormats::Format4(ActionDefinitionFormat4 {
                matching_ue_cond_list: self.list(1, 3, |m| MatchingUeCondPerSubItem {
                    test_cond_info: m.test(),
                    logical_or: m.since(Revision::V2_03, |_| True),
                }),
                subscription_info: self.subscription(),
            }),
            _ => ActionDefinitionFormats::Format5(ActionDefinitionFormat5 {
                matching_ueid_list: self.list(2, 4, |m| MatchingUeidPerSubItem { ue_id: m.ue_id() }),
                subscription_info: self.subscription(),
            }),
        };
        let style = self.below(1 << 33) as i64 - (1 << 32);
        ActionDefinition { ric_style_type: e2sm::common::RicStyleType(style), formats }
    }
}

fn makers() -> impl Iterator<Item = Maker> {
    let seeds = (1..=400u64).map(|seed| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    seeds.flat_map(|state| Revision::FROM_V2.map(|revision| Maker { state, revision }))
}

#[test]
fn messages_round_trip() {
    let mut arena = Arena::new();
    for mut maker in makers() {
        let revision = maker.revision;
        let message = maker.message();
        let mut bytes = Vec::new();
        message.encode(revision, &mut bytes).unwrap_or_else(|error| panic!("{error}: {message:?}"));
        arena.reset();
        let read = IndicationMessage::decode(&bytes, revision, &arena).unwrap_or_else(|e| panic!("{e}: {message:?}"));
        assert_eq!(read, message);
        assert_eq!(IndicationMessage::decode_owned(&bytes, revision).unwrap(), message);
        let mut again = Vec::new();
        read.encode(revision, &mut again).unwrap();
        assert_eq!(again, bytes);
    }
}

#[test]
fn actions_round_trip() {
    let mut arena = Arena::new();
    for mut maker in makers() {
        let revision = maker.revision;
        let action = maker.action();
        let mut bytes = Vec::new();
        action.encode(revision, &mut bytes).unwrap_or_else(|error| panic!("{error}: {action:?}"));
        arena.reset();
        assert_eq!(ActionDefinition::decode(&bytes, revision, &arena).unwrap(), action);
        assert_eq!(ActionDefinition::decode_owned(&bytes, revision).unwrap(), action);
    }
}

/// Older revisions skip the additions of v04.00 to a SEQUENCE.
#[test]
fn older_revisions_skip_additions() {
    let ue_id = |cell_rnti| UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(5), ran_ueid: None, cell_rnti });
    let cell =
        Cgi::NrCgi(NrCgi { plmn_identity: PlmnIdentity::from_codes(1, 1, 2), nr_cell_identity: Bits::new(1, 36) });
    let cell_rnti = CellRnti { c_rnti: RntiValue(0x4601), cell_global_id: cell };
    let report = |cell_rnti, label: MeasurementLabel| IndicationMessage {
        formats: IndicationMessageFormats::Format3(IndicationMessageFormat3 {
            ue_meas_report_list: List::from(vec![UeMeasurementReportItem {
                ue_id: ue_id(cell_rnti),
                meas_report: IndicationMessageFormat1 {
                    meas_data: List::from(vec![MeasurementDataItem {
                        meas_record: List::from(vec![MeasurementRecordItem::Integer(1)]),
                        incomplete_flag: None,
                    }]),
                    meas_info_list: Some(Memo::from(List::from(vec![MeasurementInfoItem {
                        meas_type: MeasurementType::MeasId(MeasurementTypeId(1)),
                        label_info_list: LabelInfoList(List::from(vec![LabelInfoItem { meas_label: label }])),
                        match_cond_report_list: None,
                    }]))),
                    granul_period: None,
                },
            }]),
        }),
    };
    let with_cell = MeasurementLabel { cell_global_id: Some(cell), ..MeasurementLabel::NO_LABEL };
    let new = report(Some(cell_rnti), with_cell);
    let mut bytes = Vec::new();
    new.encode(Revision::V4_00, &mut bytes).unwrap();
    assert_eq!(IndicationMessage::decode_owned(&bytes, Revision::V4_00).unwrap(), new);
    let old = report(None, MeasurementLabel::NO_LABEL);
    assert_eq!(IndicationMessage::decode_owned(&bytes, Revision::V3_00).unwrap(), old);

    let error = new.encode(Revision::V3_00, &mut bytes).unwrap_err();
    assert_eq!(error.kind, per::ErrorKind::NotInRevision);
}
