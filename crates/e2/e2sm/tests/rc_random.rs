//! Random RAN parameters round-trip in every revision, up to the greatest nesting depth.

use e2sm::Arena;
use e2sm::common::{AmfUeNgapId, Cgi, GnbCuUeF1apId, NrCgi, PartialUeId, PlmnIdentity, RicStyleType, UeId, UeIdGnbDu};
use e2sm::rc::*;
use per::{BitString, Bits, ErrorKind, List, Octets, PrintableString, Real};

/// A generator of values, from xorshift64*.
struct Maker(u64);

impl Maker {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 20) % end
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.coin().then(|| make(self))
    }

    fn list<T>(&mut self, lo: u64, hi: u64, mut make: impl FnMut(&mut Self) -> T) -> List<'static, T> {
        let count = lo + self.below(hi - lo + 1);
        (0..count).map(|_| make(self)).collect()
    }

    fn id(&mut self) -> RanParameterId {
        // IDs outside of 1 to 2^32 - 1 have another encoding
        RanParameterId([0, 1, 255, 256, u32::MAX, self.0 as u32][self.below(6) as usize])
    }

    fn value(&mut self) -> RanParameterValue<'static> {
        match self.below(6) {
            0 => RanParameterValue::ValueBoolean(self.coin()),
            1 => RanParameterValue::ValueInt(self.next() as i64 >> self.below(64)),
            2 => RanParameterValue::ValueReal(Real::from(self.next() as i64 as f64 / 1024.0)),
            3 => RanParameterValue::ValueBitS(BitString::new(self.next() >> 40, 24)),
            4 => RanParameterValue::ValueOctS(Octets::from(vec![7; self.below(200) as usize])),
            _ => RanParameterValue::ValuePrintableString(PrintableString::literal("internet")),
        }
    }

    fn structure(&mut self, levels: u32) -> RanParameterStructure<'static> {
        RanParameterStructure { parameters: self.maybe(|m| m.list(1, 3, |m| m.parameter(levels))) }
    }

    fn parameter(&mut self, levels: u32) -> RanParameterItem<'static> {
        let value_type = match self.below(if levels > 0 { 4 } else { 2 }) {
            0 => RanParameterValueType::ElementTrue(RanParameterElementTrue { value: self.value() }),
            1 => RanParameterValueType::ElementFalse(RanParameterElementFalse { value: self.maybe(Self::value) }),
            2 => RanParameterValueType::Structure(RanParameterValueTypeStructure {
                structure: self.structure(levels - 1),
            }),
            _ => RanParameterValueType::List(RanParameterValueTypeList {
                list: RanParameterList { list: self.list(1, 3, |m| m.structure(levels - 1)) },
            }),
        };
        RanParameterItem { ran_parameter_id: self.id(), value_type }
    }

    fn ue_id(&mut self) -> UeId<'static> {
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(self.next() as u32), ran_ueid: None, cell_rnti: None })
    }

    fn testing(&mut self, levels: u32) -> RanParameterTesting<'static> {
        RanParameterTesting(self.list(1, 3, |m| m.test(levels)))
    }

    fn test(&mut self, levels: u32) -> RanParameterTestingItem<'static> {
        let ran_parameter_type = match self.below(if levels > 0 { 4 } else { 2 }) {
            0 => RanParameterTestingType::ElementTrue(RanParameterTestingElementTrue { value: self.value() }),
            1 => RanParameterTestingType::ElementFalse(RanParameterTestingElementFalse {
                test_condition: if self.coin() {
                    RanParameterTestingCondition::Comparison(Comparison::LessThan)
                } else {
                    RanParameterTestingCondition::Presence(Presence::NonZero)
                },
                value: self.maybe(Self::value),
                logical_or: self.maybe(|_| LogicalOr::True),
            }),
            2 => {
                RanParameterTestingType::List(RanParameterTestingList { list: self.list(1, 2, |m| m.test(levels - 1)) })
            }
            _ => RanParameterTestingType::Structure(RanParameterTestingStructure {
                structure: self.list(1, 2, |m| m.test(levels - 1)),
            }),
        };
        RanParameterTestingItem { ran_parameter_id: self.id(), ran_parameter_type }
    }
}

fn makers() -> impl Iterator<Item = (Maker, Revision)> {
    let seeds = (1..=200u64).map(|seed| seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    seeds.flat_map(|state| Revision::ALL.map(|revision| (Maker(state), revision)))
}

fn control(ran_p_list: List<'static, RanParameterItem<'static>>) -> ControlMessage<'static> {
    ControlMessage { formats: ControlMessageFormats::Format1(ControlMessageFormat1 { ran_p_list }) }
}

#[test]
fn controls_round_trip() {
    let mut arena = Arena::new();
    for (mut maker, revision) in makers() {
        let message = control(maker.list(0, 4, |m| m.parameter(6)));
        let mut bytes = Vec::new();
        message.encode(revision, &mut bytes).unwrap_or_else(|error| panic!("{error}: {message:?}"));
        arena.reset();
        let read = ControlMessage::decode(&bytes, revision, &arena).unwrap_or_else(|e| panic!("{e}: {message:?}"));
        assert_eq!(read, message);
        let mut again = Vec::new();
        read.encode(revision, &mut again).unwrap();
        assert_eq!(again, bytes);
        assert_eq!(ControlMessage::decode_owned(&bytes, revision).unwrap(), message);
    }
}

#[test]
fn conditions_round_trip() {
    for (mut maker, revision) in makers() {
        let policy = |m: &mut Maker| ActionDefinitionFormat2Item {
            policy_action: RicPolicyAction {
                policy_action_id: RicControlActionId(1),
                ran_parameters_list: m.maybe(|m| m.list(1, 3, |m| m.parameter(3))),
                policy_decision: m.maybe(|_| Decision::Reject),
            },
            policy_condition_definition: m.maybe(|m| m.testing(4)),
        };
        let formats = ActionDefinitionFormats::Format2(ActionDefinitionFormat2 {
            policy_conditions_list: maker.list(1, 3, policy),
        });
        let action = ActionDefinition { ric_style_type: RicStyleType(2), formats };
        let mut bytes = Vec::new();
        action.encode(revision, &mut bytes).unwrap();
        assert_eq!(ActionDefinition::decode_owned(&bytes, revision).unwrap(), action);

        let formats = EventTriggerFormats::Format2(EventTriggerFormat2 {
            ric_call_process_type_id: RicCallProcessTypeId(3),
            ric_call_process_breakpoint_id: RicCallProcessBreakpointId(1),
            associated_e2_node_info: maker.maybe(|m| m.testing(4)),
            associated_ue_info: maker.maybe(|m| EventTriggerUeInfo {
                ue_info_list: m.list(1, 3, |m| EventTriggerUeInfoItem {
                    event_trigger_ue_id: RicEventTriggerUeId(1),
                    ue_type: EventTriggerUeType::Individual(EventTriggerUeIndividual {
                        ue_id: m.ue_id(),
                        ran_parameter_testing: m.maybe(|m| m.testing(2)),
                    }),
                    logical_or: None,
                }),
            }),
        });
        let trigger = EventTrigger { formats };
        bytes.clear();
        trigger.encode(revision, &mut bytes).unwrap();
        assert_eq!(EventTrigger::decode_owned(&bytes, revision).unwrap(), trigger);
    }
}

#[test]
fn values_of_other_revisions_are_not_encoded() {
    let not_in = |result: Result<(), per::Error>| assert_eq!(result.unwrap_err().kind, ErrorKind::NotInRevision);
    let mut bytes = Vec::new();
    let header = ControlHeader {
        formats: ControlHeaderFormats::Format4(ControlHeaderFormat4 {
            partial_ueid: PartialUeId { amf_ue_ngap_id: Some(AmfUeNgapId(1)), ..PartialUeId::default() },
            ric_style_type: RicStyleType(3),
            ric_control_action_id: RicControlActionId(1),
            ric_control_decision: None,
        }),
    };
    not_in(header.encode(Revision::V1_03, &mut bytes));
    not_in(header.encode(Revision::V3_00, &mut bytes));
    header.encode(Revision::V5_00, &mut bytes).unwrap();
    assert_eq!(ControlHeader::decode_owned(&bytes, Revision::V5_00).unwrap(), header);
    // an unknown format cannot be skipped
    let error = ControlHeader::decode_owned(&bytes, Revision::V3_00).unwrap_err();
    assert_eq!(error.kind, ErrorKind::UnknownExtension);

    // format 5 of event triggers differs between revisions
    let on_demand = EventTriggerFormat5 {
        on_demand: e2sm::common::True,
        associated_ue_info: None,
        associated_cell_info: Some(EventTriggerCellInfo {
            cell_info_list: List::from(vec![EventTriggerCellInfoItem {
                event_trigger_cell_id: RicEventTriggerCellId(1),
                cell_type: EventTriggerCellType::Individual(EventTriggerCellIndividual {
                    cell_global_id: Cgi::NrCgi(NrCgi {
                        plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
                        nr_cell_identity: Bits::new(1, 36),
                    }),
                }),
                logical_or: None,
            }]),
        }),
    };
    let old = EventTrigger { formats: EventTriggerFormats::Format5(on_demand) };
    let new = EventTrigger { formats: EventTriggerFormats::Unused5 };
    for (revision, fits, other) in
        [(Revision::V1_03, &old, &new), (Revision::V3_00, &new, &old), (Revision::V5_00, &new, &old)]
    {
        let mut bytes = Vec::new();
        not_in(other.encode(revision, &mut bytes));
        fits.encode(revision, &mut bytes).unwrap();
        assert_eq!(EventTrigger::decode_owned(&bytes, revision).unwrap(), *fits);
    }
}

/// A parameter inside that many structures.
fn nested(levels: usize) -> ControlMessage<'static> {
    let element = RanParameterElementFalse { value: Some(RanParameterValue::ValueInt(5)) };
    let mut value_type = RanParameterValueType::ElementFalse(element);
    for _ in 0..levels {
        let item = RanParameterItem { ran_parameter_id: RanParameterId(1), value_type };
        let structure = RanParameterStructure { parameters: Some(List::from(vec![item])) };
        value_type = RanParameterValueType::Structure(RanParameterValueTypeStructure { structure });
    }
    control(List::from(vec![RanParameterItem { ran_parameter_id: RanParameterId(1), value_type }]))
}

/// The nesting depth of a peer's parameters is limited.
#[test]
fn nesting_is_bounded() {
    let deepest = usize::from(per::MAX_DEPTH) - 1;
    for revision in Revision::ALL {
        let encoded = [0, 1, deepest, deepest + 1, 200].map(|levels| {
            let mut bytes = Vec::new();
            nested(levels).encode(revision, &mut bytes).unwrap();
            (levels, bytes)
        });
        let small_stack = std::thread::Builder::new().stack_size(512 << 10);
        let test = small_stack.spawn(move || {
            for (levels, bytes) in encoded {
                match ControlMessage::decode_owned(&bytes, revision) {
                    Ok(message) => assert!(levels <= deepest && message == nested(levels), "{levels}"),
                    Err(error) => {
                        assert!(levels > deepest && error.kind == ErrorKind::TooDeep, "{levels}: {error}");
                    }
                }
            }
        });
        test.unwrap().join().unwrap();
    }
}
