//! Delegated channels, and decisions about slots.

use super::*;

#[test]
fn one_controller_schedules_a_cell_at_a_time() {
    let mut test = Test::new();
    assert_eq!(
        test.decide(vec![slot(1, vec![grant(1, 1, (0, 50), 100)])]),
        (Some(FAILED), Vec::new()),
        "it holds no channel"
    );
    test.take(FIRST, &[1]).unwrap();
    assert_eq!(test.cell.lock().delegated.len(), 1);
    assert_eq!(test.take(GUEST, &[2]).unwrap_err().0, FAILED);
    test.function.controller_removed(FIRST);
    assert!(test.cell.lock().delegated.is_empty());
    test.take(GUEST, &[2]).unwrap();
    assert_eq!(test.take(GUEST, &[1]).unwrap_err().0, FAILED, "a UE that it does not see");
    assert_eq!(test.take(FIRST, &[1]).unwrap_err().0, FAILED);
    assert_eq!(test.cell.lock().delegated.iter().map(|held| held.ue.0).collect::<Vec<_>>(), [2]);
    assert_eq!(
        test.delegate(GUEST, &[2], LogicalChannelId(5)).unwrap_err().0,
        FAILED,
        "a channel that it does not have"
    );
}

#[test]
fn silent_controller_loses_its_channels() {
    let mut test = Test::new();
    test.take(FIRST, &[1, 2]).unwrap();
    test.until(900);
    let (cause, executed) = test.decide(vec![slot(900, vec![grant(1, 1, (0, 50), 100)])]);
    assert_eq!((cause, executed), (None, vec![vec![Executed::Fully]]));
    test.until(1899);
    assert_eq!(test.cell.lock().delegated.len(), 2, "a decision is a sign");
    test.until(1900);
    assert!(test.cell.lock().delegated.is_empty());
    test.take(GUEST, &[2]).unwrap();
}

#[test]
fn channels_of_departed_ues_return() {
    let mut test = Test::new();
    test.take(FIRST, &[1, 2]).unwrap();
    test.cell.lock().ues = vec![2];
    test.subscribe(
        FIRST,
        &EventTrigger::every(1),
        &ActionDefinition::measurements(&[LowerLayersMeasType::SlotTimeStamp]),
    )
    .unwrap();
    test.until(1);
    assert_eq!(test.cell.lock().delegated.iter().map(|held| held.ue.0).collect::<Vec<_>>(), [2]);
    assert_eq!(test.take(FIRST, &[1]).unwrap_err().0, FAILED);
}

#[test]
fn decisions_are_executed_as_far_as_they_can_be() {
    let mut test = Test::new();
    test.take(FIRST, &[1]).unwrap();
    let decided = test.decide(vec![
        slot(1, vec![grant(1, 1, (0, 30), 800)]),
        slot(2, vec![grant(1, 1, (0, 30), 1500), grant(2, 77, (30, 10), 100), grant(3, 2, (40, 10), 100)]),
    ]);
    let partly = |octets, cause| Executed::Partly(octets, cause);
    let second = vec![
        partly(1000, ExecutionCause::BufferEmpty),
        partly(0, ExecutionCause::UeNotAvailable),
        // its channel is not delegated
        partly(0, ExecutionCause::Other),
    ];
    assert_eq!(decided, (None, vec![vec![Executed::Fully], second]));
    let decisions = std::mem::take(&mut test.cell.lock().decisions);
    assert_eq!(
        decisions.iter().map(|decision| (decision.slot, decision.grants.len())).collect::<Vec<_>>(),
        [(1, 1), (2, 1)]
    );
    assert_eq!(decisions[0].grants[0].allocation, ResourceAllocation { start: 0, length: 30 });
    assert_eq!((decisions[0].grants[0].mcs, test.refused()), (10, Vec::new()));
    // nothing of a slot can be executed: the base station schedules it, and the control fails
    let absent = test.decide(vec![slot(3, vec![grant(1, 77, (0, 50), 100)])]);
    assert_eq!(absent, (Some(FAILED), vec![vec![partly(0, ExecutionCause::Other)]]));
    assert_eq!(test.refused(), [(3, SlotRefusal::NothingLeft)]);
}

#[test]
fn impossible_decisions_are_refused_slot_by_slot() {
    use SlotRefusal::*;
    let mut test = Test::new();
    test.take(FIRST, &[1, 2]).unwrap();
    test.until(20);
    let good = || vec![grant(1, 1, (0, 25), 100), grant(2, 2, (25, 25), 100)];
    let with = |change: &dyn Fn(&mut Vec<DlGrantItem<'static>>)| {
        let mut grants = good();
        change(&mut grants);
        grants
    };
    let dci = |change: &dyn Fn(&mut Dci10)| {
        with(&|grants| {
            if let DlControlInfoType::Dci10(dci) = &mut grants[1].dl_control_info_type {
                change(dci);
            }
        })
    };
    let octets = |octets, second| {
        let item = LogicalChannelItem { logical_channel_id: DRB, noof_bytes_tb1: octets, noof_bytes_tb2: second };
        with(&|grants| grants[0].logical_channel_list = vec![item].into())
    };
    let twice = LogicalChannelItem { logical_channel_id: DRB, noof_bytes_tb1: 1, noof_bytes_tb2: None };
    let far = 20 + 129;
    let spoilt = [
        (slot(19, good()), Past),
        (slot(0, good()), Past),
        (slot(far, good()), TooFarAhead),
        (slot(29, good()), NoDownlink),
        (slot(22, with(&|grants| grants[1].grant_id = 1)), RepeatedGrant),
        (slot(22, with(&|grants| grants[1].ue_id = id(1))), RepeatedUe),
        (slot(22, vec![grant(1, 1, (0, 26), 100), grant(2, 2, (25, 25), 100)]), Overlap),
        (slot(22, dci(&|dci| dci.freq_domain_resources = 50 * 51 / 2)), BeyondCell),
        (slot(22, dci(&|dci| dci.freq_domain_resources = i64::MAX)), BeyondCell),
        (slot(22, dci(&|dci| dci.freq_domain_resources = -1)), BeyondCell),
        (slot(22, dci(&|dci| dci.mcs = 29)), UnknownMcs),
        (slot(22, dci(&|dci| dci.mcs = 300)), UnknownMcs),
        (slot(22, octets(-1, None)), InvalidOctets),
        (slot(22, octets(i64::MAX, None)), InvalidOctets),
        (slot(22, octets(1, Some(-1))), InvalidOctets),
        (slot(22, with(&|grants| grants[0].logical_channel_list = vec![twice; 2].into())), InvalidOctets),
    ];
    for (item, refusal) in spoilt {
        let number = item.slot_info.nearest(20);
        let grants = item.dl_grant_list.len();
        let (cause, executed) = test.decide(vec![item, slot(21, good())]);
        // the other slot of the control is not affected, but by the decision before it
        let of_refused = vec![Executed::Partly(0, refusal.cause()); grants];
        assert_eq!(executed[0], of_refused, "{refusal}");
        let refused = test.refused();
        assert_eq!(refused[0], (number, refusal), "{refused:?}");
        let is_first = refusal == Past && number == 19;
        assert_eq!((cause.is_none(), refused.len()), (is_first, if is_first { 1 } else { 2 }), "{refused:?}");
        assert!(is_first || refused[1] == (21, AlreadyDecided), "{refused:?}");
    }
    assert_eq!(test.cell.lock().decisions.len(), 1);
    // another subcarrier spacing, and precoders that do not exist
    let mut wrong = slot(22, good());
    wrong.slot_info = SlotInfo::of(44, 1);
    let mut precoder = slot(22, good());
    precoder.pdsch_smg_list = vec![PdschSmgItem { precoder_id: 1, ..precoder.pdsch_smg_list[0] }].into();
    let mut beyond = slot(22, good());
    beyond.pdsch_smg_list = vec![PdschSmgItem { start_rb: i64::MAX, ..beyond.pdsch_smg_list[0] }].into();
    for (item, refusal) in [(wrong, WrongSubcarrierSpacing), (precoder, InvalidPrecoder), (beyond, InvalidPrecoder)] {
        assert_eq!(test.decide(vec![item]).0, Some(FAILED));
        assert_eq!(test.refused()[0].1, refusal);
    }
}

#[test]
fn grants_that_the_cell_does_not_support_are_left_out() {
    let mut test = Test::new();
    test.take(FIRST, &[1, 2]).unwrap();
    let other = |info| DlGrantItem { dl_control_info_type: info, ..grant(2, 2, (25, 25), 100) };
    let dci11 = |freq_domain_resources| {
        DlControlInfoType::Dci11(Dci11 {
            use_cs_rnti: None,
            carrier_indicator: None,
            freq_domain_resources,
            time_domain_resources: 0,
            vrb_to_prb_mapping: None,
            prb_bundling_size_indicator: 0,
            mcs_tb1: 5,
            redundancy_version_tb1: 0,
            mcs_tb2: None,
            redundancy_version_tb2: None,
            antenna_ports: Bits::new(0, 4),
            transmission_config_indication: None,
            srs_request: None,
            dmrs_sequence_init: 0,
        })
    };
    let value = resource_indication_value(ResourceAllocation { start: 25, length: 25 }, BLOCKS).unwrap();
    // a bitmap of groups is an allocation of type 0
    for info in [DlControlInfoType::SemiPersistence, dci11(BitString::new(0x1FF, 9))] {
        test.until(test.ms + 1);
        let number = test.ms;
        let (cause, executed) = test.decide(vec![slot(number, vec![grant(1, 1, (0, 25), 100), other(info)])]);
        assert_eq!((cause, executed), (None, vec![vec![Executed::Fully, Executed::Partly(0, ExecutionCause::Other)]]));
    }
    test.until(test.ms + 1);
    let (_, executed) = test.decide(vec![slot(test.ms, vec![other(dci11(BitString::new(value.into(), 11)))])]);
    assert_eq!(executed, [[Executed::Fully]], "the same allocation in DCI format 1_1");
    // a second transport block
    test.until(test.ms + 1);
    let mut second = grant(1, 1, (0, 50), 100);
    second.logical_channel_list =
        vec![LogicalChannelItem { logical_channel_id: DRB, noof_bytes_tb1: 100, noof_bytes_tb2: Some(50) }].into();
    assert_eq!(test.decide(vec![slot(test.ms, vec![second])]).1, [[Executed::Partly(100, ExecutionCause::Other)]]);
}

#[test]
fn outcome_has_arrival_and_margin() {
    let mut test = Test::new();
    test.take(FIRST, &[1]).unwrap();
    test.until(10);
    let message = |number| DlSchedulingControl {
        dl_slot_to_be_scheduled_list: vec![slot(number, vec![grant(1, 1, (0, 50), 9)])].into(),
    };
    let outcome = test.control(FIRST, STYLE_SCHEDULING, ControlType::DlSchedulingControl(message(14))).unwrap();
    let OutcomeType::DlSchedulingParameters(outcome) = of(&outcome) else { panic!() };
    assert_eq!(outcome.received_timestamp[..4], 0xE8FE_6F80_u32.to_be_bytes());
    assert_eq!(outcome.processing_time_margin, 131, "4 ms in units of 1/32768 s");
    let (cause, outcome) =
        test.control(FIRST, STYLE_SCHEDULING, ControlType::DlSchedulingControl(message(8))).unwrap_err();
    let Some(ControlOutcome { formats: ControlOutcomeFormats::Format1(format) }) = outcome else { panic!() };
    let OutcomeType::DlSchedulingParameters(outcome) = format.control_type else { panic!() };
    assert_eq!((cause, outcome.processing_time_margin), (FAILED, -65));
}

#[test]
fn bands_of_reference_signals_are_not_executed() {
    let mut test = Test::new();
    test.take(FIRST, &[1]).unwrap();
    let band = |ue| CsiRsPrecodingBandItem {
        precoder_id: 0,
        ueid: id(ue),
        nzp_csi_rs_resource_id: 0,
        start_rb: 0,
        noof_rbs: 50,
    };
    let mut item = slot(1, vec![grant(1, 1, (0, 50), 9)]);
    item.csi_rs_precoding_band_list = vec![band(1), band(77)].into();
    let message = DlSchedulingControl { dl_slot_to_be_scheduled_list: vec![item].into() };
    let outcome = test.control(FIRST, STYLE_SCHEDULING, ControlType::DlSchedulingControl(message)).unwrap();
    let OutcomeType::DlSchedulingParameters(outcome) = of(&outcome) else { panic!() };
    let bands = &outcome.scheduled_slot_outcome_list[0].csi_rs_precoding_bands_not_executed_list;
    assert_eq!(
        bands.iter().map(|band| (band.csi_rs_precoding_band_id, band.cause)).collect::<Vec<_>>(),
        [(0, 0), (1, 2)]
    );
}

#[test]
fn control_of_another_style_or_garbage_is_refused() {
    let mut test = Test::new();
    let decision = ControlType::DlSchedulingControl(DlSchedulingControl {
        dl_slot_to_be_scheduled_list: vec![slot(1, vec![grant(1, 1, (0, 50), 9)])].into(),
    });
    assert_eq!(test.control(FIRST, STYLE_LOGICAL_CHANNELS, decision.clone()).unwrap_err().0, CONTROL_MESSAGE_INVALID);
    assert_eq!(test.control(FIRST, 3, decision).unwrap_err().0, CONTROL_MESSAGE_INVALID);
    let mut context = FunctionContext::new(&mut test.views, &mut test.out);
    let failure = test.function.control(millis(0), FIRST, &control(vec![0xFF; 2], vec![]), &mut context).unwrap_err();
    assert_eq!(failure.cause, TRANSFER_SYNTAX_ERROR);
}
