//! Reports and subscriptions.

use super::*;

#[test]
fn definition_has_the_styles_of_the_specification() {
    let function = Test::new().function.definition();
    assert_eq!((function.id, function.oid.as_str()), (RanFunctionId(6), OID));
    let arena = Arena::new();
    let definition = RanFunctionDefinition::decode(&function.definition, &arena).unwrap();
    assert_eq!(&*definition.ran_function_name.short_name, SHORT_NAME);
    let reports = definition.ran_function_definition_report.unwrap().ric_report_style_list;
    assert_eq!(reports.iter().map(|style| style.ric_indication_message_format_type.0).collect::<Vec<_>>(), [1, 2]);
    let controls = definition.ran_function_definition_control.unwrap().ric_control_style_list;
    assert_eq!(controls.iter().map(|style| style.ric_control_style_type.0).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn periodic_reports_have_buffers_feedback_and_slots() {
    let mut test = Test::new();
    let all = [
        LowerLayersMeasType::SlotTimeStamp,
        LowerLayersMeasType::DlHarqStatistics,
        LowerLayersMeasType::DlRlcBufferStatus,
        LowerLayersMeasType::DlPdcpBufferStatus,
        LowerLayersMeasType::DlRlcBufferStatus,
    ];
    test.subscribe(FIRST, &EventTrigger::every(2), &ActionDefinition::measurements(&all)).unwrap();
    test.subscribe(GUEST, &EventTrigger::every(4), &ActionDefinition::measurements(&all)).unwrap();
    test.cell.lock().harq = HarqCounts { acks: 5, nacks: 1, dtxs: 0 };
    test.until(2);
    test.cell.lock().harq.acks = 8;
    test.until(5);
    let sent = test.sent();
    assert_eq!(sent.iter().map(|(ms, who, ..)| (*ms, who.0)).collect::<Vec<_>>(), [(2, 1), (4, 1), (4, 2)]);
    let items = |at: usize| {
        let (.., header, message) = &sent[at];
        assert_eq!(*header, IndicationHeader::new(None));
        let IndicationMessageFormats::Format2(format) = &message.formats else { panic!("{message:?}") };
        format.lower_layers_measurement_list.iter().cloned().collect::<Vec<_>>()
    };
    // each kind once, in the order of the enumeration
    let [rlc, pdcp, harq, stamp] = &items(0)[..] else { panic!("{:?}", items(0)) };
    let LowerLayersMeasurement::DlRlcBufferStatus(status) = &rlc.lower_layers_measurement_type else {
        panic!("{rlc:?}")
    };
    let ues = &status.dl_rlc_ue_identifiers_list;
    let first = &ues[0].dl_rlc_ue_bearers_list[0];
    assert_eq!(
        (ues.len(), first.lc_id, first.dl_rlc_buffer_occupancy, first.dl_rlc_hol_time_to_live),
        (2, DRB, 1500, 40)
    );
    assert_eq!(rlc.slot_time_stamp.slot_info, SlotInfo::of(1, 0), "the last slot that is over");
    let LowerLayersMeasurement::DlPdcpBufferStatus(status) = &pdcp.lower_layers_measurement_type else {
        panic!("{pdcp:?}")
    };
    let bearer = &status.dl_pdcp_ue_identifiers_list[0].dl_pdcp_ue_bearers_list[0];
    assert_eq!((bearer.drb_id, bearer.dl_pdcp_buffer_occupancy), (1, 750));
    let acks = |item: &LowerLayersMeasurementItem<'_>| match &item.lower_layers_measurement_type {
        LowerLayersMeasurement::DlHarqStatistics(statistics) => {
            let codeword = &statistics.dl_harq_ue_identifier_list[0].dl_harq_codeword_list[0];
            (codeword.dl_su_ack_count, codeword.dl_su_nack_count)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!((acks(harq), acks(&items(1)[2])), ((5, 1), (3, 0)), "since the last report");
    assert_eq!(stamp.slot_time_stamp.slot_info, SlotInfo::of(2, 0), "the slot that begins");
    // 1,700,000,000 s after 1970, which is when the slot begins
    assert_eq!(stamp.slot_time_stamp.slot_start_time[..4], 0xE8FE_6F80_u32.to_be_bytes());
    let LowerLayersMeasurement::DlRlcBufferStatus(status) = &items(2)[0].lower_layers_measurement_type else {
        panic!()
    };
    assert_eq!(status.dl_rlc_ue_identifiers_list.len(), 1, "the guest sees one UE");
}

#[test]
fn empty_cell_has_no_report_but_slots() {
    let mut test = Test::new();
    test.cell.lock().ues.clear();
    test.subscribe(
        FIRST,
        &EventTrigger::every(1),
        &ActionDefinition::measurements(&[LowerLayersMeasType::DlRlcBufferStatus]),
    )
    .unwrap();
    test.until(3);
    assert!(test.sent().is_empty(), "a list of UEs cannot be empty");
    test.subscribe(
        GUEST,
        &EventTrigger::every(1),
        &ActionDefinition::measurements(&[LowerLayersMeasType::SlotTimeStamp]),
    )
    .unwrap();
    test.until(5);
    assert_eq!(test.sent().len(), 2);
}

#[test]
fn arrivals_are_copied_once_for_the_ues_of_their_events() {
    let mut test = Test::new();
    test.cell.lock().arrivals = vec![(1, Arrivals { csi: 3, srs: 1 }), (2, Arrivals { csi: 1, srs: 0 })];
    let individual = |ue| EventTriggerUeInfo {
        ue_info_list: vec![EventTriggerUeInfoItem {
            event_trigger_ue_id: RicEventTriggerUeId(1),
            ue_type: UeType::Individual(IndividualUeInfo { ue_id: id(ue) }),
            logical_or: None,
        }]
        .into(),
    };
    let event = |number, kind, ues, logical_or| EventTriggerFormat1Item {
        ric_event_trigger_condition_id: RicEventTriggerConditionId(number),
        lower_layers_info_type: kind,
        associated_ue_info: ues,
        logical_or,
    };
    let trigger = |items: Vec<_>| EventTrigger {
        formats: EventTriggerFormats::Format1(EventTriggerFormat1 {
            message_list: items.into(),
            global_associated_ue_info: None,
        }),
    };
    let csi = LowerLayersInfoType::Csi;
    let by_ue = trigger(vec![event(10, csi, Some(individual(1)), Some(LogicalOr::True)), event(20, csi, None, None)]);
    test.subscribe(FIRST, &by_ue, &ActionDefinition::copies(csi)).unwrap();
    test.until(1);
    let reports = |sent: Vec<(u64, ControllerId, IndicationHeader, IndicationMessage<'static>)>| {
        let read = |(.., header, message): (u64, ControllerId, IndicationHeader, IndicationMessage<'static>)| {
            let IndicationHeaderFormats::Format1(header) = header.formats;
            let IndicationMessageFormats::Format1(format) = &message.formats else { panic!("{message:?}") };
            let LowerLayersInfo::Csi(csi) = &format.lower_layers_info_type else { panic!("{message:?}") };
            let fields = &csi.csi_ue_identifier_list[0].csi_report_list[0].csi_fields_csi_report_part1;
            (header.ric_event_trigger_condition_id.unwrap().0, fields.value().unwrap(), fields.len())
        };
        sent.into_iter().map(read).collect::<Vec<_>>()
    };
    assert_eq!(reports(test.sent()), [(10, 1, 4), (20, 2, 4)], "what had arrived before is reported once");
    test.until(4);
    assert!(test.sent().is_empty());
    test.cell.lock().arrivals[1].1.csi = 2;
    test.until(5);
    assert_eq!(reports(test.sent()), [(20, 2, 4)]);
    // sounding reference signals have no UE but that of the event
    let srs = LowerLayersInfoType::Srs;
    test.function.unsubscribe(RequestKey { controller: FIRST, id: request_id(FIRST) });
    assert_eq!(test.function.next_report(), None);
    test.subscribe(FIRST, &trigger(vec![event(30, srs, Some(individual(1)), None)]), &ActionDefinition::copies(srs))
        .unwrap();
    test.until(6);
    let sent = test.sent();
    let IndicationMessageFormats::Format1(format) = &sent[0].3.formats else { panic!("{sent:?}") };
    let LowerLayersInfo::Srs(received) = &format.lower_layers_info_type else { panic!("{sent:?}") };
    assert_eq!(&*received.srs_receive_antenna_list[0].srs_symbol_list[0].raw_srs.to_cow(), [1; 4]);
}

#[test]
fn unsupported_subscriptions_are_refused() {
    let mut test = Test::new();
    let (csi, srs) = (LowerLayersInfoType::Csi, LowerLayersInfoType::Srs);
    let slots = ActionDefinition::measurements(&[LowerLayersMeasType::SlotTimeStamp]);
    assert_eq!(
        test.subscribe(FIRST, &EventTrigger::arrival(csi), &ActionDefinition::copies(srs)),
        Err(ACTION_NOT_SUPPORTED)
    );
    assert_eq!(test.subscribe(FIRST, &EventTrigger::arrival(csi), &slots), Err(ACTION_NOT_SUPPORTED));
    assert_eq!(
        test.subscribe(FIRST, &EventTrigger::every(1), &ActionDefinition::copies(csi)),
        Err(ACTION_NOT_SUPPORTED)
    );
    let wrong_style = ActionDefinition { ric_style_type: RicStyleType(1), ..slots.clone() };
    assert_eq!(test.subscribe(FIRST, &EventTrigger::every(1), &wrong_style), Err(ACTION_NOT_SUPPORTED));
    // two events at once
    let mut both = EventTrigger::arrival(csi);
    if let EventTriggerFormats::Format1(format) = &mut both.formats {
        let item = format.message_list[0].clone();
        format.message_list =
            vec![EventTriggerFormat1Item { logical_or: Some(LogicalOr::False), ..item.clone() }, item].into();
    }
    assert_eq!(test.subscribe(FIRST, &both, &ActionDefinition::copies(csi)), Err(TRIGGER_NOT_SUPPORTED));
    let garbage = subscription(FIRST, vec![0xFF; 3], Vec::new());
    assert_eq!(test.function.subscribe(millis(0), FIRST, &garbage, &test.views), Err(TRANSFER_SYNTAX_ERROR));
    assert_eq!(test.function.next_report(), None);
}
