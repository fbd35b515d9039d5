//! The interfaces that a node declares, each with the two messages that set it up: NG, S1, E1 and F1.
//!
//! The interfaces have no other end, so the responses are those of an AMF or MME that serves everything requested, and of a
//! CU-CP that activates all cells. Xn and X2 are not declared: their setup is not modelled.

use std::collections::BTreeMap;

use ap::e1ap::{CnSupport, GnbCuUpE1SetupRequest, GnbCuUpE1SetupResponse};
use ap::f1ap::{F1SetupRequest, F1SetupResponse, NrCarrier, NrMode, ServedCell, TransmissionBandwidth};
use ap::ngap::{NgSetupRequest, NgSetupResponse};
use ap::s1ap::{S1SetupRequest, S1SetupResponse};
use ap::{PagingDrx, ServedPlmn};
use ferric::e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceE1,
    E2NodeComponentInterfaceF1, E2NodeComponentInterfaceNg, E2NodeComponentInterfaceS1, E2NodeComponentInterfaceType,
};
use ids::{
    EnbId, EutraTac, FiveGsTac, GlobalEnbId, GlobalGnbId, GnbCuUpId, GnbDuId, GnbId, NrCgi, NrPci, PlmnIdentity,
    SNssai, Sst,
};
use per::{Bits, PrintableString};
use radio::phy::{Duplex, Grid};

use crate::band::Spectrum;
use crate::gnb_cells::GnbCell;
use crate::node::{GNB_ID_BITS, MCC, MNC, NR_CELL_BITS, Node, guami, selected_network, selected_slice};
use crate::node_type::{ENB_ID_BITS, NodeType, ONLY, gummei};
use crate::scenario::Scenario;

/// The tracking area of all cells.
pub const TAC: FiveGsTac = FiveGsTac([0, 0, 1]);
/// Networks of a cell (maxnoofBPLMNs of TS 38.413 9.4.7).
const MAX_PLMNS: usize = 12;
/// Slices of a network that are declared.
const MAX_SLICES: usize = 64;
/// Networks of a cell in F1 and S1 (maxnoofBPLMNs of TS 38.473 and TS 36.413).
const MAX_PLMNS_F1_S1: usize = 6;
const AMF_NAME: &str = "amf-1";
const MME_NAME: &str = "mme-1";

/// The network of all nodes.
pub fn plmn() -> PlmnIdentity {
    PlmnIdentity::from_codes(MCC, MNC, 2)
}

/// The global id of an eNB.
pub fn enb_id(id: u32) -> GlobalEnbId {
    GlobalEnbId { plmn_identity: plmn(), enb_id: EnbId::MacroEnbId(Bits::new(id.into(), ENB_ID_BITS)) }
}

/// The identity of a cell of a gNB, by its number in the gNB.
fn nr_cgi(gnb: u32, local: u16) -> NrCgi {
    NrCgi::new(plmn(), u64::from(gnb) << (NR_CELL_BITS - GNB_ID_BITS) | u64::from(local))
}

/// The name of the DU of a cell.
pub fn du_name(gnb: u32, place: GnbCell) -> String {
    if place.has_siblings() { format!("gnb-{gnb:x}-du-{}", place.local) } else { format!("gnb-{gnb:x}-du") }
}

/// The octets of an encoded message.
pub fn encoded(octets: Result<Vec<u8>, per::Error>) -> Vec<u8> {
    octets.unwrap_or_else(|error| panic!("the model's values are within the protocols' bounds: {error}"))
}

/// The networks that a scenario's UEs select, the base stations' own first, with their slices: at least one each.
pub fn served_plmns(scenario: &Scenario) -> Vec<ServedPlmn> {
    let mut slices: BTreeMap<PlmnIdentity, Vec<SNssai>> = BTreeMap::from([(plmn(), Vec::new())]);
    for ue in &scenario.ues {
        let (network, slice) = (selected_network(&ue.subscription), selected_slice(&ue.subscription));
        if slices.len() < MAX_PLMNS || slices.contains_key(&network) {
            let of_network = slices.entry(network).or_default();
            if of_network.len() < MAX_SLICES && !of_network.contains(&slice) {
                of_network.push(slice);
            }
        }
    }
    let own = slices.remove_entry(&plmn());
    let served = |(plmn_identity, mut s_nssais): (PlmnIdentity, Vec<SNssai>)| {
        if s_nssais.is_empty() {
            s_nssais.push(SNssai { sst: Sst([1]), sd: None });
        }
        s_nssais.sort_unstable();
        ServedPlmn { plmn_identity, s_nssais }
    };
    own.into_iter().chain(slices).map(served).collect()
}

impl Node {
    /// The identity of its cell in a gNB.
    #[cfg(feature = "control")]
    pub(crate) fn nr_cgi(&self) -> NrCgi {
        nr_cgi(self.gnb, self.mobility.place().local)
    }

    /// The interfaces that the node declares.
    pub fn components(&self) -> Vec<E2NodeComponentConfigAdditionItem<'static>> {
        let plmns = &*self.networks();
        let place = self.mobility.place();
        let f1 = || {
            let id = E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(place.local.into()) });
            let cell = self.cell();
            // without a band for the carrier, the messages are left out
            let messages = f1_setup(self.gnb, place, NrPci(self.nr_pci()), plmns, cell.grid()).unwrap_or_default();
            component(E2NodeComponentInterfaceType::F1, id, messages)
        };
        let e1 = || {
            let id = E2NodeComponentId::E1(E2NodeComponentInterfaceE1 { gnb_cu_up_id: GnbCuUpId(ONLY) });
            component(E2NodeComponentInterfaceType::E1, id, e1_setup(self.gnb, plmns))
        };
        let ng = || {
            let id = E2NodeComponentInterfaceNg { amf_name: PrintableString::literal(AMF_NAME) };
            component(E2NodeComponentInterfaceType::Ng, E2NodeComponentId::Ng(id), ng_setup(self.gnb, plmns))
        };
        match self.node_type {
            NodeType::Gnb => vec![ng()],
            NodeType::CuCp if self.profile.has_ng_only => vec![ng()],
            NodeType::CuCp => vec![ng(), f1(), e1()],
            NodeType::CuUp => vec![e1()],
            NodeType::Du => vec![f1()],
            NodeType::Enb => {
                let id = E2NodeComponentInterfaceS1 { mme_name: PrintableString::literal(MME_NAME) };
                let messages = s1_setup(self.gnb, plmns);
                vec![component(E2NodeComponentInterfaceType::S1, E2NodeComponentId::S1(id), messages)]
            }
        }
    }
}

/// An interface with the request and the response that set it up.
fn component(
    interface_type: E2NodeComponentInterfaceType,
    id: E2NodeComponentId<'static>,
    [request, response]: [Vec<u8>; 2],
) -> E2NodeComponentConfigAdditionItem<'static> {
    let configuration = E2NodeComponentConfiguration { request_part: request.into(), response_part: response.into() };
    E2NodeComponentConfigAdditionItem { interface_type, id, configuration }
}

/// An NG SETUP REQUEST and its RESPONSE.
fn ng_setup(gnb: u32, plmns: &[ServedPlmn]) -> [Vec<u8>; 2] {
    let request = NgSetupRequest {
        global_gnb_id: GlobalGnbId { plmn_identity: plmn(), gnb_id: GnbId::new(gnb, GNB_ID_BITS) },
        ran_node_name: &format!("gnb-{gnb:x}"),
        tac: TAC,
        broadcast_plmns: plmns,
        default_paging_drx: PagingDrx::V128,
    };
    let response = NgSetupResponse {
        amf_name: AMF_NAME,
        served_guami: guami(),
        relative_amf_capacity: u8::MAX,
        supported_plmns: plmns,
    };
    [encoded(request.encode()), encoded(response.encode())]
}

/// An S1 SETUP REQUEST and its RESPONSE.
fn s1_setup(enb: u32, plmns: &[ServedPlmn]) -> [Vec<u8>; 2] {
    let plmns = first_plmns(plmns);
    let request = S1SetupRequest {
        global_enb_id: enb_id(enb),
        enb_name: &format!("enb-{enb:x}"),
        tac: EutraTac([0, 1]),
        broadcast_plmns: &plmns,
        default_paging_drx: PagingDrx::V128,
    };
    let gummei = gummei();
    let response = S1SetupResponse {
        mme_name: MME_NAME,
        served_plmns: &plmns,
        mme_group_id: gummei.mme_group_id,
        mme_code: gummei.mme_code,
        relative_mme_capacity: u8::MAX,
    };
    [encoded(request.encode()), encoded(response.encode())]
}

/// A GNB-CU-UP E1 SETUP REQUEST and its RESPONSE.
fn e1_setup(gnb: u32, plmns: &[ServedPlmn]) -> [Vec<u8>; 2] {
    let request = GnbCuUpE1SetupRequest {
        transaction_id: 0,
        gnb_cu_up_id: GnbCuUpId(ONLY),
        gnb_cu_up_name: &format!("gnb-{gnb:x}-cu-up"),
        cn_support: CnSupport::FiveGc,
        supported_plmns: plmns,
    };
    let response = GnbCuUpE1SetupResponse { transaction_id: 0, gnb_cu_cp_name: &format!("gnb-{gnb:x}-cu") };
    [encoded(request.encode()), encoded(response.encode())]
}

/// An F1 SETUP REQUEST of a DU with one cell, and the RESPONSE that activates the cell; `None` for a carrier outside all bands.
fn f1_setup(gnb: u32, place: GnbCell, nr_pci: NrPci, plmns: &[ServedPlmn], grid: &Grid) -> Option<[Vec<u8>; 2]> {
    let carrier = grid.carrier();
    let spectrum = Spectrum::of(carrier)?;
    let bandwidth = TransmissionBandwidth::new(15 << carrier.numerology, grid.prbs())?;
    let at = |nr_arfcn| NrCarrier { nr_arfcn, bands: &spectrum.bands, bandwidth };
    let mode = match carrier.duplex {
        Duplex::Fdd => NrMode::Fdd { uplink: at(spectrum.uplink_arfcn), downlink: at(spectrum.downlink_arfcn) },
        Duplex::Tdd { .. } | Duplex::LteTdd { .. } => NrMode::Tdd(at(spectrum.downlink_arfcn)),
    };
    let nr_cgi = nr_cgi(gnb, place.local);
    let cell = ServedCell { nr_cgi, nr_pci, tac: TAC, served_plmns: &first_plmns(plmns), mode };
    let request = F1SetupRequest {
        transaction_id: 0,
        gnb_du_id: GnbDuId(place.local.into()),
        gnb_du_name: &du_name(gnb, place),
        served_cells: &[cell],
    };
    let gnb_cu_name = &*format!("gnb-{gnb:x}-cu");
    let response = F1SetupResponse { transaction_id: 0, gnb_cu_name, cells_to_be_activated: &[nr_cgi] };
    Some([encoded(request.encode()), encoded(response.encode())])
}

/// The networks that have room in a message of F1 or S1.
fn first_plmns(plmns: &[ServedPlmn]) -> Vec<PlmnIdentity> {
    plmns.iter().take(MAX_PLMNS_F1_S1).map(|plmn| plmn.plmn_identity).collect()
}

/// The expected octets are those of an independent encoder.
#[cfg(test)]
mod tests {
    use ids::Sd;
    use radio::phy::Carrier;

    use super::*;

    const GNB: u32 = 0xe05;

    fn plmns() -> Vec<ServedPlmn> {
        let slice = |sst, sd: Option<[u8; 3]>| SNssai { sst: Sst([sst]), sd: sd.map(Sd) };
        let guest = PlmnIdentity::from_codes(999, 70, 2);
        vec![
            ServedPlmn { plmn_identity: plmn(), s_nssais: vec![slice(1, None), slice(2, Some([0, 0, 0xff]))] },
            ServedPlmn { plmn_identity: guest, s_nssais: vec![slice(1, None)] },
        ]
    }

    macro_rules! vectors {
        ($($name:literal),*) => {
            [$(include_str!(concat!("../../../../vectors/interfaces/setup/", $name, ".hex")).trim()),*]
        };
    }

    fn digits(messages: [Vec<u8>; 2]) -> [String; 2] {
        messages.map(|octets| octets.iter().map(|octet| format!("{octet:02x}")).collect())
    }

    #[test]
    fn setup_messages_match_vectors() {
        assert_eq!(digits(ng_setup(GNB, &plmns())), vectors!["ngap-ng-setup-request", "ngap-ng-setup-response"]);
        assert_eq!(digits(s1_setup(GNB, &plmns())), vectors!["s1ap-s1-setup-request", "s1ap-s1-setup-response"]);
        assert_eq!(digits(e1_setup(GNB, &plmns())), vectors!["e1ap-setup-request", "e1ap-setup-response"]);
        let nr_pci = NrPci((GNB % 1008) as u16);
        let place = GnbCell { first: 5, local: 1, count: 1 };
        let f1 = |carrier: Carrier| f1_setup(GNB, place, nr_pci, &plmns(), &carrier.check().unwrap()).map(digits);
        let tdd = vectors!["f1ap-f1-setup-request-tdd", "f1ap-f1-setup-response"];
        assert_eq!(f1(Carrier::default()).unwrap(), tdd);
        let fdd = Carrier {
            bandwidth_mhz: 10.0,
            numerology: 0,
            frequency_mhz: 2120.0,
            duplex: Duplex::Fdd,
            ..Carrier::default()
        };
        let vector = vectors!["f1ap-f1-setup-request-fdd", "f1ap-f1-setup-response"];
        assert_eq!(f1(fdd.clone()).unwrap(), vector);
        assert_eq!(f1(Carrier { frequency_mhz: 1000.0, ..fdd }), None, "in no band");
    }
}
