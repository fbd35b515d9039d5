//! The interfaces that a node declares, each with the two messages that set it up: NG, S1, E1 and F1.
//!
//! Nobody is at the other end, so the answers are those of an AMF or MME that serves what is asked for, and of a CU-CP that
//! has all cells activated. Xn and X2 are not declared: what would be said when they are set up is not modelled.

mod e1;
mod f1;
mod ng;
mod s1;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use e2sm::common::{PlmnIdentity, SNssai, Sst};
use ferric::e2ap::{
    E2NodeComponentConfigAdditionItem, E2NodeComponentConfiguration, E2NodeComponentId, E2NodeComponentInterfaceE1,
    E2NodeComponentInterfaceF1, E2NodeComponentInterfaceNg, E2NodeComponentInterfaceS1, E2NodeComponentInterfaceType,
    GnbCuUpId, GnbDuId,
};
use per::{List, Octets, Per, PrintableString};

use super::messages::{Criticality, MessageOf, NoSuchThing, Pdu, ProtocolIeField, ProtocolIes, encoded};
use super::plmn;
use crate::node::{Node, selected_network, selected_slice};
use crate::part::{ONLY, Part};
use crate::scenario::Scenario;

/// Networks of a cell (maxnoofBPLMNs of TS 38.413 9.3.3.5).
const MAX_NETWORKS: usize = 12;
/// Slices of a network that are told.
const MAX_SLICES: usize = 64;
/// Networks of a cell in F1 and S1 (maxnoofBPLMNs of TS 38.473 and TS 36.413).
const MAX_FEW_NETWORKS: usize = 6;
const AMF_NAME: &str = "amf-1";
const MME_NAME: &str = "mme-1";

/// A network that cells serve, and its slices: one at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedNetwork {
    pub plmn: PlmnIdentity,
    pub slices: Vec<SNssai>,
}

impl ServedNetwork {
    /// Those that a scenario's UEs have chosen, the base stations' own first.
    pub fn of(scenario: &Scenario) -> Vec<ServedNetwork> {
        let mut slices: BTreeMap<PlmnIdentity, Vec<SNssai>> = BTreeMap::from([(plmn(), Vec::new())]);
        for ue in &scenario.ues {
            let (network, slice) = (selected_network(&ue.subscription), selected_slice(&ue.subscription));
            if slices.len() < MAX_NETWORKS || slices.contains_key(&network) {
                let of_network = slices.entry(network).or_default();
                if of_network.len() < MAX_SLICES && !of_network.contains(&slice) {
                    of_network.push(slice);
                }
            }
        }
        let own = slices.remove_entry(&plmn());
        let mut networks: Vec<_> =
            own.into_iter().chain(slices).map(|(plmn, slices)| ServedNetwork { plmn, slices }).collect();
        for network in &mut networks {
            if network.slices.is_empty() {
                network.slices.push(SNssai { sst: Sst([1]), sd: None });
            }
            network.slices.sort_unstable();
        }
        networks
    }
}

/// PagingDRX, the same in NG and S1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
enum PagingDrx {
    V32,
    V64,
    V128,
    V256,
}

/// The name of a node (RANNodeName, AMFName, MMEname and their likes).
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=150, extensible)]
struct NodeName<'a>(PrintableString<'a>);

/// TransactionID of F1AP and E1AP.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=255, extensible)]
struct TransactionId(u8);

/// GNB-DU-ID and GNB-CU-UP-ID.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(range = 0..=68_719_476_735)]
struct GnbPartId(i64);

impl GnbPartId {
    const ONLY: GnbPartId = GnbPartId(ONLY);
}

/// S-NSSAI of NGAP and E1AP.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct Slice {
    sst: [u8; 1],
    sd: Option<[u8; 3]>,
    ie_extensions: Option<NoSuchThing>,
}

impl Slice {
    fn of(slice: &SNssai) -> Slice {
        Slice { sst: slice.sst.0, sd: slice.sd.map(|sd| sd.0), ie_extensions: None }
    }
}

/// An interface, and what was said when it was set up: a request and its answer.
fn component(
    interface_type: E2NodeComponentInterfaceType,
    id: E2NodeComponentId<'static>,
    [request, response]: [Octets<'static>; 2],
) -> E2NodeComponentConfigAdditionItem<'static> {
    let configuration = E2NodeComponentConfiguration { request_part: request, response_part: response };
    E2NodeComponentConfigAdditionItem { interface_type, id, configuration }
}

impl Node {
    /// The interfaces that the node declares.
    pub fn components(&self) -> Vec<E2NodeComponentConfigAdditionItem<'static>> {
        let networks = &*self.networks();
        let f1 = || {
            let id = E2NodeComponentId::F1(E2NodeComponentInterfaceF1 { gnb_du_id: GnbDuId(ONLY) });
            let cell = self.cell();
            let messages = f1::setup(self.gnb, self.nr_pci(), networks, cell.grid());
            // who finds the carrier in no band has nothing to say of it
            component(E2NodeComponentInterfaceType::F1, id, messages.unwrap_or_default())
        };
        let e1 = || {
            let id = E2NodeComponentId::E1(E2NodeComponentInterfaceE1 { gnb_cu_up_id: GnbCuUpId(ONLY) });
            component(E2NodeComponentInterfaceType::E1, id, e1::setup(self.gnb, networks))
        };
        let ng = || {
            let id = E2NodeComponentInterfaceNg { amf_name: PrintableString::literal(AMF_NAME) };
            component(E2NodeComponentInterfaceType::Ng, E2NodeComponentId::Ng(id), ng::setup(self.gnb, networks))
        };
        match self.part {
            Part::Gnb => vec![ng()],
            Part::CuCp => vec![ng(), f1(), e1()],
            Part::CuUp => vec![e1()],
            Part::Du => vec![f1()],
            Part::Enb => {
                let id = E2NodeComponentInterfaceS1 { mme_name: PrintableString::literal(MME_NAME) };
                let messages = s1::setup(self.gnb, networks);
                vec![component(E2NodeComponentInterfaceType::S1, E2NodeComponentId::S1(id), messages)]
            }
        }
    }
}

/// F1AP-PDU (TS 38.473 9.4.3), which has no marker for extensions, but an alternative.
#[derive(Clone, Debug, PartialEq, Per)]
enum F1Pdu<'a> {
    InitiatingMessage(MessageOf<'a>),
    SuccessfulOutcome(MessageOf<'a>),
    UnsuccessfulOutcome(MessageOf<'a>),
    Extension(NoSuchThing),
}

/// A request and its answer, of a procedure whose IEs are these.
fn messages(
    procedure_code: u8,
    request: Vec<ProtocolIeField<'static>>,
    response: Vec<ProtocolIeField<'static>>,
) -> [Octets<'static>; 2] {
    let message = |ies| message(procedure_code, ies);
    [encoded(&Pdu::InitiatingMessage(message(request))), encoded(&Pdu::SuccessfulOutcome(message(response)))]
}

fn message(procedure_code: u8, ies: Vec<ProtocolIeField<'static>>) -> MessageOf<'static> {
    let value = encoded(&ProtocolIes { protocol_ies: List::from(ies) });
    MessageOf { procedure_code, criticality: Criticality::Reject, value }
}

/// A name of a node, as PrintableString.
fn name(text: String) -> PrintableString<'static> {
    PrintableString::try_from(text).expect("letters, digits and hyphens")
}
