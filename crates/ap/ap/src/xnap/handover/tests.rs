//! The octets are those of an independent encoder (pycrate 0.8).

use ids::Sst;

use super::*;
use crate::test_vectors::{octets, unhex};

const REQUEST: &str = "0000008099000006004900020003000700020040004e00090000f1100038040010000f00070000f1100100410053005c030e000003\
    07c0c61200010000000000000000000000000000000000000000000000000000000000000000000000000000000000028003a3529440005003a352944000\
    00000100203ec61300010000000400009000000910000200000058400e000c0000f110003800001100000c";
const CONDITIONAL_REQUEST: &str = "000000809e000007004900020003000700020040004e00090000f1100038040010000f00070000f1100100410053\
    005c030e00000307c0c6120001000000000000000000000000000000000000000000000000000000000000000000000000000000000002800\
    3a3529440005003a35294400000000100203ec61300010000000400009000000910000200000058400e000c0000f110003800001100000c009e000100";
const ACKNOWLEDGE: &str = "20000024000004004940020003004f400480010003002a4006000001000090004d40050400200000";
const CONDITIONAL_ACKNOWLEDGE: &str = "20000031000005004940020003004f400480010003002a4006000001000090004d40050400200000\
    009f00090000f1100038040010";
const FAILURE: &str = "4000000f000002004940020003000740020100";
const CONDITIONAL_FAILURE: &str = "4000001c00000300494002000300074002010000a100090000f1100038040010";
const CANCEL: &str = "00024017000003004900020003004f400480010003000740020900";
const CONDITIONAL_CANCEL: &str = "00024024000004004900020003004f40048001000300074002080000a000090000f1100038040010";

fn cell(identity: u64) -> NrCgi {
    NrCgi::new(PlmnIdentity::from_codes(1, 1, 2), identity)
}

fn request(is_conditional: bool) -> HandoverRequest {
    HandoverRequest {
        source_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId(3),
        source: (cell(0x380_0001), 12),
        target: cell(0x380_4001),
        guami: Guami {
            plmn_identity: PlmnIdentity::from_codes(1, 1, 2),
            amf_region_id: Bits::new(1, 8),
            amf_set_id: Bits::new(1, 10),
            amf_pointer: Bits::new(1, 6),
        },
        amf_ue_ngap_id: AmfUeNgapId(0xe00_0003),
        address: [198, 18, 0, 1].into(),
        sessions: vec![HandoverSession {
            id: 1,
            s_nssai: SNssai { sst: Sst([1]), sd: None },
            gateway: [198, 19, 0, 1].into(),
            teid: 4,
            flows: vec![(9, 9)],
        }],
        is_conditional,
    }
}

/// Each message, its octets, and what it says.
fn messages() -> Vec<(Vec<u8>, &'static str, HandoverMessage)> {
    let [source, target] = [3, 65_539].map(NgRanNodeUeXnapId);
    let both = |candidate: Option<NrCgi>| HandoverRequestAcknowledge {
        source_ng_ran_node_ue_xnap_id: source,
        target_ng_ran_node_ue_xnap_id: target,
        sessions: vec![(1, vec![9])],
        candidate,
    };
    let failure = |candidate| HandoverPreparationFailure {
        source_ng_ran_node_ue_xnap_id: source,
        cause: HandoverCause::NoRadioResources,
        candidate,
    };
    let cancel = |cause, candidate| HandoverCancel {
        source_ng_ran_node_ue_xnap_id: source,
        target_ng_ran_node_ue_xnap_id: target,
        cause,
        candidate,
    };
    let (to, named) = (cell(0x380_4001), Cgi::NrCgi(cell(0x380_4001)));
    let asked = |is_conditional| HandoverMessage::Request { target: named, is_conditional };
    vec![
        (request(false).encode().unwrap(), REQUEST, asked(false)),
        (request(true).encode().unwrap(), CONDITIONAL_REQUEST, asked(true)),
        (both(None).encode().unwrap(), ACKNOWLEDGE, HandoverMessage::Acknowledge { candidate: None }),
        (
            both(Some(to)).encode().unwrap(),
            CONDITIONAL_ACKNOWLEDGE,
            HandoverMessage::Acknowledge { candidate: Some(named) },
        ),
        (failure(None).encode().unwrap(), FAILURE, HandoverMessage::Failure { candidate: None }),
        (failure(Some(to)).encode().unwrap(), CONDITIONAL_FAILURE, HandoverMessage::Failure { candidate: Some(named) }),
        (
            cancel(HandoverCause::ConnectionLost, None).encode().unwrap(),
            CANCEL,
            HandoverMessage::Cancel { candidates: Vec::new() },
        ),
        (
            cancel(HandoverCause::ProcedureCancelled, Some(to)).encode().unwrap(),
            CONDITIONAL_CANCEL,
            HandoverMessage::Cancel { candidates: vec![named] },
        ),
    ]
}

#[test]
fn messages_match_vectors_and_are_read() {
    for (encoded, vector, meaning) in messages() {
        assert_eq!(encoded, unhex(vector), "{meaning:?}");
        assert_eq!(HandoverMessage::decode(&encoded), Some(meaning));
    }
}

#[test]
fn messages_of_other_encoders_are_read() {
    let target = Cgi::NrCgi(cell(0x380_4001));
    let request = octets("xnap-handover-request");
    let meaning = HandoverMessage::Request { target, is_conditional: false };
    assert_eq!(HandoverMessage::decode(&request), Some(meaning));
    let cancel = HandoverMessage::Cancel { candidates: Vec::new() };
    assert_eq!(HandoverMessage::decode(&octets("xnap-handover-cancel")), Some(cancel));
    assert_eq!(HandoverMessage::decode(&octets("xnap-ue-context-release")), None);
}

#[test]
fn any_octets_are_read_or_refused() {
    for (octets, ..) in messages() {
        for at in 0..octets.len() {
            let _ = HandoverMessage::decode(&octets[..at]);
            for bit in 0..8 {
                let mut changed = octets.clone();
                changed[at] ^= 1 << bit;
                let _ = HandoverMessage::decode(&changed);
            }
        }
    }
}

#[test]
fn values_out_of_range_are_refused() {
    let mut wrong = request(false);
    wrong.sessions[0].flows = vec![(9, 9); 65];
    assert!(wrong.encode().is_err(), "65 flows");
    wrong.sessions.clear();
    assert!(wrong.encode().is_err(), "no session");
}
