//! Messages against `vectors/interfaces`, whose octets are those of an independent encoder (pycrate 0.8.1).

use ap::e1ap::{CnSupport, GnbCuUpE1SetupRequest, GnbCuUpE1SetupResponse};
use ap::f1ap::{F1SetupRequest, F1SetupResponse, NrCarrier, NrMode, ServedCarrier, ServedCell, TransmissionBandwidth};
use ap::ngap::{NgSetupRequest, NgSetupResponse, RrcInactiveTransitionReport, RrcState};
use ap::s1ap::{S1SetupRequest, S1SetupResponse, UeContextResumeRequest, UeContextSuspendRequest, UeS1apIds};
use ap::{PagingDrx, ServedPlmn, x2ap, xnap};
use ids::{
    AmfUeNgapId, EnbId, EnbUeX2apId, EutraTac, FiveGsTac, GlobalEnbId, GlobalGnbId, GnbCuUpId, GnbDuId, GnbId, Guami,
    MmeUeS1apId, NgRanNodeUeXnapId, NrCgi, NrPci, PlmnIdentity, SNssai, Sd, Sst,
};
use per::Bits;

const PLMN: PlmnIdentity = PlmnIdentity::from_codes(1, 1, 2);
const GUEST: PlmnIdentity = PlmnIdentity::from_codes(999, 70, 2);
const TAC: FiveGsTac = FiveGsTac([0, 0, 1]);
const GNB: u32 = 0xe05;
const CELL: NrCgi = NrCgi::new(PLMN, (GNB as u64) << 14 | 1);

fn plmns() -> Vec<ServedPlmn> {
    let slice = |sst, sd: Option<[u8; 3]>| SNssai { sst: Sst([sst]), sd: sd.map(Sd) };
    vec![
        ServedPlmn { plmn_identity: PLMN, s_nssais: vec![slice(1, None), slice(2, Some([0, 0, 0xff]))] },
        ServedPlmn { plmn_identity: GUEST, s_nssais: vec![slice(1, None)] },
    ]
}

#[track_caller]
fn check(name: &str, octets: Result<Vec<u8>, per::Error>) {
    let path = format!("{}/../../../vectors/interfaces/{name}.hex", env!("CARGO_MANIFEST_DIR"));
    let expected = std::fs::read_to_string(path).unwrap();
    let digits: String = octets.unwrap().iter().map(|octet| format!("{octet:02x}")).collect();
    assert_eq!(digits, expected.trim(), "{name}");
}

#[test]
fn ngap_messages_match_vectors() {
    let report = RrcInactiveTransitionReport {
        amf_ue_ngap_id: AmfUeNgapId(0x0e00_0003),
        ran_ue_ngap_id: 3,
        rrc_state: RrcState::Inactive,
        nr_cgi: NrCgi::new(PLMN, 0xe00 << 14 | 1),
        tac: TAC,
    };
    let expected = "0025402a000004000a0005600e000003005500020003005c4001000079400f4000f110003800001000f110000001";
    let digits: String = report.encode().unwrap().iter().map(|octet| format!("{octet:02x}")).collect();
    assert_eq!(digits, expected);
    let plmns = plmns();
    let request = NgSetupRequest {
        global_gnb_id: GlobalGnbId { plmn_identity: PLMN, gnb_id: GnbId::new(GNB, 22) },
        ran_node_name: "gnb-e05",
        tac: TAC,
        broadcast_plmns: &plmns,
        default_paging_drx: PagingDrx::V128,
    };
    check("setup/ngap-ng-setup-request", request.encode());
    let served_guami = Guami {
        plmn_identity: PLMN,
        amf_region_id: Bits::new(1, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    };
    let networks = |octets: &[u8]| {
        let mut networks = Vec::new();
        ap::ngap::visit_broadcast_plmns(octets, |network| networks.push(network));
        networks
    };
    let request = request.encode().unwrap();
    assert_eq!(networks(&request), plmns);
    for length in 0..request.len() {
        assert!(plmns.starts_with(&networks(&request[..length])), "{length}");
    }
    let (amf_name, relative_amf_capacity) = ("amf-1", u8::MAX);
    let response = NgSetupResponse { amf_name, served_guami, relative_amf_capacity, supported_plmns: &plmns };
    check("setup/ngap-ng-setup-response", response.encode());
}

#[test]
fn s1ap_messages_match_vectors() {
    let ids = UeS1apIds { mme_ue_s1ap_id: MmeUeS1apId(0x0e00_0005), enb_ue_s1ap_id: 259 };
    check("s1ap-ue-context-suspend-request", UeContextSuspendRequest(ids).encode());
    check("s1ap-ue-context-resume-request", UeContextResumeRequest(ids).encode());
    let request = S1SetupRequest {
        global_enb_id: GlobalEnbId { plmn_identity: PLMN, enb_id: EnbId::MacroEnbId(Bits::new(GNB.into(), 20)) },
        enb_name: "enb-e05",
        tac: EutraTac([0, 1]),
        broadcast_plmns: &[PLMN, GUEST],
        default_paging_drx: PagingDrx::V128,
    };
    check("setup/s1ap-s1-setup-request", request.encode());
    let request = request.encode().unwrap();
    let networks = |octets: &[u8]| {
        let mut networks = Vec::new();
        ap::s1ap::visit_broadcast_plmns(octets, |plmn| networks.push(plmn));
        networks
    };
    assert_eq!(networks(&request), [PLMN, GUEST]);
    for length in 0..request.len() {
        assert!([PLMN, GUEST].starts_with(&networks(&request[..length])), "{length}");
    }
    let response = S1SetupResponse {
        mme_name: "mme-1",
        served_plmns: &[PLMN, GUEST],
        mme_group_id: [0, 1],
        mme_code: [1],
        relative_mme_capacity: u8::MAX,
    };
    check("setup/s1ap-s1-setup-response", response.encode());
}

#[test]
fn e1ap_messages_match_vectors() {
    let request = GnbCuUpE1SetupRequest {
        transaction_id: 0,
        gnb_cu_up_id: GnbCuUpId(1),
        gnb_cu_up_name: "gnb-e05-cu-up",
        cn_support: CnSupport::FiveGc,
        supported_plmns: &plmns(),
    };
    check("setup/e1ap-setup-request", request.encode());
    let response = GnbCuUpE1SetupResponse { transaction_id: 0, gnb_cu_cp_name: "gnb-e05-cu" };
    check("setup/e1ap-setup-response", response.encode());
}

fn f1_setup_request(mode: NrMode<'_>) -> Vec<u8> {
    let nr_pci = NrPci((GNB % 1008) as u16);
    let cell = ServedCell { nr_cgi: CELL, nr_pci, tac: TAC, served_plmns: &[PLMN, GUEST], mode };
    let (gnb_du_id, gnb_du_name) = (GnbDuId(1), "gnb-e05-du");
    F1SetupRequest { transaction_id: 0, gnb_du_id, gnb_du_name, served_cells: &[cell] }.encode().unwrap()
}

#[test]
fn f1ap_messages_match_vectors() {
    let bandwidth = TransmissionBandwidth::new(30, 106).unwrap();
    let tdd = f1_setup_request(NrMode::Tdd(NrCarrier { nr_arfcn: 640_000, bands: &[48, 77, 78], bandwidth }));
    check("setup/f1ap-f1-setup-request-tdd", Ok(tdd.clone()));
    let bandwidth = TransmissionBandwidth::new(15, 52).unwrap();
    let carrier = |nr_arfcn| NrCarrier { nr_arfcn, bands: &[1], bandwidth };
    let fdd = f1_setup_request(NrMode::Fdd { uplink: carrier(386_000), downlink: carrier(424_000) });
    check("setup/f1ap-f1-setup-request-fdd", Ok(fdd.clone()));
    let response = F1SetupResponse { transaction_id: 0, gnb_cu_name: "gnb-e05-cu", cells_to_be_activated: &[CELL] };
    check("setup/f1ap-f1-setup-response", response.encode());

    let of_tdd = ServedCarrier { is_tdd: true, subcarrier_spacing_khz: 30, prbs: 106 };
    let of_fdd = ServedCarrier { is_tdd: false, subcarrier_spacing_khz: 15, prbs: 52 };
    for (request, carrier) in [(tdd, of_tdd), (fdd, of_fdd)] {
        let mut cells = Vec::new();
        ap::f1ap::visit_served_cells(&request, |cell, carrier| cells.push((cell, carrier)));
        assert_eq!(cells, [(CELL, Some(carrier))]);
        let networks = |octets: &[u8]| {
            let mut networks = Vec::new();
            ap::f1ap::visit_served_plmns(octets, |plmn| networks.push(plmn));
            networks
        };
        assert_eq!(networks(&request), [PLMN, GUEST]);
        for length in 0..request.len() {
            assert!([PLMN, GUEST].starts_with(&networks(&request[..length])), "{length}");
            ap::f1ap::visit_served_cells(&request[..length], |cell, read| {
                assert_eq!(cell, CELL);
                assert!(read.is_none_or(|read| read == carrier));
            });
        }
    }
    ap::f1ap::visit_served_cells(&response.encode().unwrap(), |cell, _| panic!("{cell} of a response"));
}

#[test]
fn carrier_is_displayed_by_its_channel_bandwidth() {
    for (is_tdd, subcarrier_spacing_khz, prbs, shown) in [
        (true, 30, 106, "NR 40 MHz TDD"),
        (false, 15, 52, "NR 10 MHz FDD"),
        (true, 30, 273, "NR 100 MHz TDD"),
        (true, 120, 66, "NR 100 MHz TDD"),
        (true, 30, 50, "NR 50 PRBs of 30 kHz TDD"),
    ] {
        assert_eq!(ServedCarrier { is_tdd, subcarrier_spacing_khz, prbs }.to_string(), shown);
    }
}

#[test]
fn handover_messages_match_vectors() {
    let release = xnap::UeContextRelease {
        source_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId(3),
        target_ng_ran_node_ue_xnap_id: NgRanNodeUeXnapId(259),
    };
    check("xnap-ue-context-release", release.encode());
    let release = x2ap::UeContextRelease { old_enb_ue_x2ap_id: EnbUeX2apId(5), new_enb_ue_x2ap_id: EnbUeX2apId(4095) };
    check("x2ap-ue-context-release", release.encode());
}
