//! Controls of E2SM-LLC through the RAN function of a node, in steps.

use e2sm::common::RicStyleType;
use e2sm::llc::*;
use ferric::e2ap::{Cause, CauseRicRequest, RanFunctionId};
use radio::Random;

use super::*;
use crate::scenario::CellScenario;
use crate::{RanConfig, Scenario, Stepped};

const LLC: RanFunctionId = RanFunctionId(6);
const DRB_1: LogicalChannelId = LogicalChannelId(4);
/// A slot of the default cell, with subcarriers of 30 kHz.
const SLOT: Duration = Duration::from_micros(500);
const NUMEROLOGY: u8 = 1;
const BLOCKS: u16 = 106;

fn ran(ues: u16) -> Stepped {
    let scenario = Scenario::with_mixed_traffic(1, ues, 3);
    Stepped::new(RanConfig { scenario, ..RanConfig::default() }).unwrap()
}

fn control(ran: &mut Stepped, style: i64, message: ControlType<'_>) -> Result<Option<Vec<u8>>, Cause> {
    let (mut header, mut octets) = (Vec::new(), Vec::new());
    ControlHeader::new(RicStyleType(style), RicControlActionId(1)).encode(&mut header).unwrap();
    ControlMessage::from(message).encode(&mut octets).unwrap();
    ran.control(0, LLC, header, octets).map_err(|failure| failure.cause)
}

/// Takes the first bearer of UEs.
fn take(ran: &mut Stepped, ues: &[u64]) -> Result<(), Cause> {
    let starting_slot_number = SlotInfo::of(ran.network().cell(0).slot(), NUMEROLOGY);
    let item = LogicalChannelControlItem { logical_channel_id: DRB_1, starting_slot_number };
    let items = ues.iter().map(|ue| LogicalChannelUeIdItem {
        ue_id: ran.ue_id(0, *ue).unwrap(),
        logical_chan_cont_by_near_rt_ric_to_add_list: vec![item].into(),
        logical_chan_cont_by_near_rt_ric_to_rel_list: vec![item].into(),
    });
    let message = LogicalChannelHandlingControl { logical_channel_ueid_list: items.collect() };
    control(ran, STYLE_LOGICAL_CHANNELS, ControlType::LogicalChannelHandlingControl(message)).map(drop)
}

fn grant(grant_id: u16, ue_id: UeId<'static>, value: i64, octets: i64) -> DlGrantItem<'static> {
    DlGrantItem {
        grant_id,
        bwp_id: None,
        ue_id,
        logical_channel_list: vec![LogicalChannelItem {
            logical_channel_id: DRB_1,
            noof_bytes_tb1: octets,
            noof_bytes_tb2: None,
        }]
        .into(),
        dl_control_info_type: DlControlInfoType::Dci10(Dci10 {
            use_cs_rnti: None,
            freq_domain_resources: value,
            time_domain_resources: 0,
            vrb_to_prb_mapping: None,
            mcs: 4,
            redundancy_version: 0,
        }),
    }
}

fn slot(number: u64, grants: Vec<DlGrantItem<'static>>) -> DlSlotToBeScheduledItem<'static> {
    let (start_rb, noof_rbs, start_symbol, noof_symbols) = (0, BLOCKS.into(), 0, 14);
    let one = PrecoderCoeffItem { precoder_coeff_i: 1, precoder_coeff_q: 0 };
    DlSlotToBeScheduledItem {
        slot_info: SlotInfo::of(number, NUMEROLOGY),
        dl_grant_list: grants.into(),
        pdsch_smg_list: vec![PdschSmgItem {
            precoder_id: 0,
            smg_priority: None,
            start_rb,
            noof_rbs,
            start_symbol,
            noof_symbols,
        }]
        .into(),
        csi_rs_precoding_band_list: Vec::new().into(),
        precoder_list: vec![PrecoderItem { compression_information: None, precoder_coeff_list: vec![one].into() }]
            .into(),
    }
}

fn decide(ran: &mut Stepped, slots: Vec<DlSlotToBeScheduledItem<'static>>) -> Result<Option<Vec<u8>>, Cause> {
    let message = DlSchedulingControl { dl_slot_to_be_scheduled_list: slots.into() };
    control(ran, STYLE_SCHEDULING, ControlType::DlSchedulingControl(message))
}

#[test]
fn bearers_have_logical_channels_behind_those_of_signalling() {
    for (channel, bearer) in [(1, None), (3, None), (4, Some(1)), (32, Some(29)), (300, None)] {
        assert_eq!(bearer_of(LogicalChannelId(channel)), bearer);
    }
    assert_eq!([9, 5, 80, 255].map(delay_budget).map(|budget| budget.as_millis()), [300, 100, 10, 300]);
}

#[test]
fn cell_obeys_a_decision_about_its_next_slot() {
    let mut ran = ran(8);
    ran.step(SLOT * 400);
    let ue = ran.ues(0)[0];
    let ues = ran.ues(0);
    take(&mut ran, &ues).unwrap();
    let (number, index) = {
        let network = ran.network();
        let cell = network.cell(0);
        let (index, _) = cell.ues().find(|(_, there)| there.number() == ue).unwrap();
        (cell.slot(), index)
    };
    // the next slot with a downlink, and a grant of all blocks for one UE
    let ahead = (0..10).find(|ahead| ran.network().cell(0).grid().slot_kind(number + ahead).0 > 0).unwrap();
    ran.step(SLOT * ahead as u32);
    let value = resource_indication_value(ResourceAllocation { start: 0, length: BLOCKS }, BLOCKS).unwrap();
    let id = ran.ue_id(0, ue).unwrap();
    let before = *ran.network().cell(0).ue(index).unwrap().downlink().counts();
    let outcome = decide(&mut ran, vec![slot(number + ahead, vec![grant(1, id, value.into(), 1 << 20)])]).unwrap();
    assert!(ControlOutcome::decode_owned(&outcome.unwrap()).is_ok());
    ran.step(SLOT);
    let network = ran.network();
    let counts = network.cell(0).delegation_counts();
    assert_eq!((counts.decided, counts.grants + counts.dropped), (1, 1), "{counts:?}");
    let after = network.cell(0).ue(index).unwrap().downlink().counts();
    if counts.grants == 1 {
        assert_eq!((after.blocks - before.blocks, after.last_prbs), (1, u32::from(BLOCKS)));
    }
}

#[test]
fn lte_cell_has_no_function() {
    let mut scenario = Scenario::with_mixed_traffic(1, 2, 1);
    scenario.cells[0] = CellScenario::default();
    scenario.cells[0].radio.carrier = radio::phy::Carrier::lte();
    let ran = Stepped::new(RanConfig { scenario, ..RanConfig::default() }).unwrap();
    assert!(ran.functions(0).iter().all(|function| function.id != LLC));
}

/// Decisions of every kind of nonsense: the cell goes on.
#[test]
fn arbitrary_decisions_do_not_stop_the_cell() {
    let mut ran = ran(12);
    let mut random = Random::new(7, 0);
    let mut below = |bound: u64| random.next_u64() % bound;
    ran.step(Duration::from_secs(1));
    let ids: Vec<_> = ran.ues(0).iter().map(|ue| ran.ue_id(0, *ue).unwrap()).collect();
    let numbers = crate::node_type::UeNumbers { at_cu: 2, at_du: 2 };
    let absent = crate::node_type::NodeType::Gnb.ue_id(1, numbers, false);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..600 {
        if below(8) == 0 {
            let ues = ran.ues(0);
            let some: Vec<u64> = ues.iter().copied().filter(|_| below(3) > 0).collect();
            if !some.is_empty() {
                take(&mut ran, &some).unwrap();
            }
        }
        let next = ran.network().cell(0).slot();
        let slots = (0..1 + below(4)).map(|_| {
            let grants = (0..1 + below(5)).map(|at| {
                let id = if below(10) == 0 { absent.clone() } else { ids[below(ids.len() as u64) as usize].clone() };
                let start = below(u64::from(BLOCKS)) as u16;
                let length = 1 + below(u64::from(BLOCKS - start)) as u16;
                let value = match below(10) {
                    0 => below(1 << 20) as i64 - 1000,
                    _ => resource_indication_value(ResourceAllocation { start, length }, BLOCKS).unwrap().into(),
                };
                let octets = [0, 10, 3000, 1 << 20, -1, i64::MAX][below(6) as usize];
                grant(at as u16 + 1, id, value, octets)
            });
            let grants: Vec<_> = grants.collect();
            slot((next + below(20)).saturating_sub(below(3)), grants)
        });
        let slots: Vec<_> = slots.collect();
        match decide(&mut ran, slots) {
            Ok(_) => accepted += 1,
            Err(Cause::RicRequest(CauseRicRequest::ControlFailedToExecute)) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        ran.step(SLOT * (below(3) as u32));
    }
    assert!(accepted > 20 && refused > 100, "{accepted} accepted, {refused} refused");
    let counts = ran.network().cell(0).delegation_counts();
    assert!(counts.late > 0 && counts.refused > 0 && counts.missed > 0 && counts.decided > 0, "{counts:?}");
    // nobody decides any more: the cell carries what it did
    let sent = |ran: &Stepped| ran.network().cell(0).usage(Direction::Downlink).scheduled_slots;
    let (before, begun) = (sent(&ran), ran.ues(0).len());
    ran.step(Duration::from_secs(2));
    assert!(sent(&ran) > before && begun > 0);
    let received = ran.measure(0, None, "RRU.PrbTotDl").unwrap();
    assert!(received > 0.0, "{received} % of the blocks are used");
}
