//! Values whose octets were calculated by hand, and limits of types.

use per::Bits;

use super::*;
use crate::common::{RicStyleType, UeId, UeIdGnbDu};

#[test]
fn slot_time_stamp_has_the_octets_of_the_clauses() {
    let message = IndicationMessage {
        formats: IndicationMessageFormats::Format2(IndicationMessageFormat2 {
            lower_layers_measurement_list: vec![LowerLayersMeasurementItem {
                slot_time_stamp: SlotTimeStamp {
                    slot_info: SlotInfo::of(20 * 513 + 19, 1),
                    slot_start_time: [0xE8, 0xFE, 0x6F, 0x80, 0x80, 0, 0, 0],
                },
                lower_layers_measurement_type: LowerLayersMeasurement::SlotTimeStamp,
            }]
            .into(),
        }),
    };
    let mut octets = Vec::new();
    message.encode(&mut octets).unwrap();
    assert_eq!(IndicationMessage::decode_owned(&octets).unwrap(), message);
    // E2SM-LLC v01.00 8.4.2: extension bits of two sequences and the CHOICE, its index 1 of 2 (01), the list's count less
    // one in 6 bits, then three sequences; frame 513 in two aligned octets; SCS 30, slot 19 in 5 bits
    assert_eq!(octets[..2], [0b0010_0000, 0b0000_0000]);
    assert!(octets.windows(8).any(|octets| octets == [0xE8, 0xFE, 0x6F, 0x80, 0x80, 0, 0, 0]));
    assert!(octets.windows(2).any(|octets| octets == [0x02, 0x01]), "{octets:02x?}");
}

/// A control of 63 slots with 63 grants each is the largest that the type allows.
#[test]
fn largest_control_round_trips() {
    let ue_id =
        UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: crate::common::GnbCuUeF1apId(7), ran_ueid: None, cell_rnti: None });
    let grant = |grant_id| DlGrantItem {
        grant_id,
        bwp_id: None,
        ue_id: ue_id.clone(),
        logical_channel_list: vec![LogicalChannelItem {
            logical_channel_id: LogicalChannelId(4),
            noof_bytes_tb1: 1500,
            noof_bytes_tb2: None,
        }]
        .into(),
        dl_control_info_type: DlControlInfoType::Dci11(Dci11 {
            use_cs_rnti: None,
            carrier_indicator: None,
            freq_domain_resources: per::BitString::new(2024, 13),
            time_domain_resources: 0,
            vrb_to_prb_mapping: Some(VrbToPrbMapping::Interleaved),
            prb_bundling_size_indicator: 0,
            mcs_tb1: 28,
            redundancy_version_tb1: 0,
            mcs_tb2: None,
            redundancy_version_tb2: None,
            antenna_ports: Bits::new(3, 4),
            transmission_config_indication: None,
            srs_request: Some(Bits::new(1, 2)),
            dmrs_sequence_init: 1,
        }),
    };
    let slot = |slot| DlSlotToBeScheduledItem {
        slot_info: SlotInfo::of(slot, 0),
        dl_grant_list: (1..=63).map(grant).collect(),
        pdsch_smg_list: vec![PdschSmgItem {
            precoder_id: 0,
            smg_priority: None,
            start_rb: 0,
            noof_rbs: 106,
            start_symbol: 2,
            noof_symbols: 12,
        }]
        .into(),
        csi_rs_precoding_band_list: Vec::new().into(),
        precoder_list: vec![PrecoderItem {
            compression_information: None,
            precoder_coeff_list: vec![PrecoderCoeffItem { precoder_coeff_i: 32767, precoder_coeff_q: -1 }].into(),
        }]
        .into(),
    };
    let control = DlSchedulingControl { dl_slot_to_be_scheduled_list: (0..63).map(slot).collect() };
    let message = ControlMessage::from(ControlType::DlSchedulingControl(control));
    let mut octets = Vec::new();
    message.encode(&mut octets).unwrap();
    assert_eq!(ControlMessage::decode_owned(&octets).unwrap(), message);
    let mut grants = message;
    let ControlMessageFormats::Format1(ControlMessageFormat1 {
        control_type: ControlType::DlSchedulingControl(control),
    }) = &mut grants.formats
    else {
        unreachable!()
    };
    control.dl_slot_to_be_scheduled_list = (0..64).map(slot).collect();
    assert!(grants.encode(&mut Vec::new()).is_err(), "64 slots are beyond the type");
}

#[test]
fn causes_return_from_their_numbers() {
    for number in -1..=8 {
        let cause = ExecutionCause::of(number);
        assert!(cause.number() == number || cause == ExecutionCause::Other, "{number}: {cause}");
    }
}

#[test]
fn control_header_of_other_style_is_read() {
    let header = ControlHeader::new(RicStyleType(-7), RicControlActionId(65535));
    let mut octets = Vec::new();
    header.encode(&mut octets).unwrap();
    assert_eq!(ControlHeader::decode(&octets).unwrap(), header);
    assert!(ControlHeader::decode(&octets[..octets.len() - 1]).is_err());
}
