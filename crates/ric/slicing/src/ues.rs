//! The UEs that RRC reports.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use e2sm::common::{Cgi, PlmnIdentity, RntiValue, SNssai, UeId};
use e2sm::rrc::{Event, Ipv4Address, Notification};
use ferric::e2::NodeId;
use ferric::e2::topology::{UeContext, UeIdentity, UeName, UeReference};

use super::associations::RuleOfUe;
use super::node::MAX_RECORDS;

/// The most S-NSSAIs of a UE: it may request so many (TS 24.501 4.6.2.2).
const MAX_S_NSSAIS: usize = 8;

/// A UE as RRC reports it.
#[derive(Clone, Debug)]
pub(super) struct Ue {
    /// The node that reported it: a separate CU-CP, if there is one.
    pub reporter: NodeId,
    pub id: UeId<'static>,
    pub cell: Cgi,
    pub plmn: PlmnIdentity,
    pub s_nssais: Vec<SNssai>,
    pub addresses: Vec<Ipv4Addr>,
    pub rule: RuleOfUe,
}

impl Ue {
    /// All names of the UE, which has this C-RNTI.
    pub fn identity(&self, rnti: u16) -> UeIdentity {
        let mut names = UeName::all_of(&self.id);
        names.push(UeName::rnti(RntiValue(rnti), &self.cell));
        UeIdentity::of(&names, UeContext { addresses: self.addresses.clone(), ..UeContext::default() })
    }

    /// Whether a reference names the UE, which has this C-RNTI at the node of this name.
    pub fn is(&self, reference: &UeReference, rnti: u16, node: &str) -> bool {
        if let UeReference::Ip(address) = reference {
            return self.addresses.contains(address);
        }
        let names = UeName::all_of(&self.id);
        names.iter().chain([&UeName::rnti(RntiValue(rnti), &self.cell)]).any(|name| reference.is(name, node))
    }
}

/// The name that each UE ID of its kind has.
fn mandatory_name(id: &UeId<'_>) -> Option<UeName> {
    UeName::all_of(id).first().copied()
}

/// The UEs of a node that RRC reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Ues {
    by_rnti: BTreeMap<u16, Ue>,
    /// Their C-RNTIs, by the name that they keep across cells: a UE has another gNB-CU UE F1AP ID at another DU.
    rntis: HashMap<UeName, u16>,
    /// The number of omitted UEs.
    pub omitted: u64,
}

impl Ues {
    /// Handles an event of a UE.
    pub fn notified(&mut self, reporter: NodeId, notification: &Notification<'static>) {
        let Notification { event, rnti, cell, plmn, s_nssais, ue_id, addresses } = notification;
        if *event == Event::Detached {
            return self.remove(rnti.0);
        }
        // a UE that is reported again is evaluated again: it may be another one with the same identity
        let (id, s_nssais) = (ue_id.clone(), s_nssais.iter().take(MAX_S_NSSAIS).copied().collect());
        let addresses = addresses.iter().flatten().map(|Ipv4Address(octets)| Ipv4Addr::from(*octets)).collect();
        self.add(rnti.0, Ue { reporter, id, cell: *cell, plmn: *plmn, s_nssais, addresses, rule: RuleOfUe::New });
    }

    /// Adds a UE under a C-RNTI, and removes it under any other.
    pub fn add(&mut self, rnti: u16, ue: Ue) {
        self.leave(&ue.id);
        self.remove(rnti);
        if self.by_rnti.len() >= MAX_RECORDS {
            self.omitted += 1;
            return;
        }
        self.rntis.extend(mandatory_name(&ue.id).map(|name| (name, rnti)));
        self.by_rnti.insert(rnti, ue);
    }

    /// Removes a UE. Returns its C-RNTI, if it was known.
    pub fn leave(&mut self, id: &UeId<'static>) -> Option<u16> {
        let rnti = self.rntis.remove(&mandatory_name(id)?)?;
        self.by_rnti.remove(&rnti);
        Some(rnti)
    }

    fn remove(&mut self, rnti: u16) {
        if let Some(ue) = self.by_rnti.remove(&rnti) {
            mandatory_name(&ue.id).and_then(|name| self.rntis.remove(&name));
        }
    }

    /// Removes the UEs that a lost node reported.
    pub fn remove_of_reporter(&mut self, node: NodeId) {
        self.by_rnti.retain(|_, ue| ue.reporter != node);
        self.rntis.retain(|_, rnti| self.by_rnti.contains_key(rnti));
    }

    pub fn get(&self, rnti: u16) -> Option<&Ue> {
        self.by_rnti.get(&rnti)
    }

    pub fn get_mut(&mut self, rnti: u16) -> Option<&mut Ue> {
        self.by_rnti.get_mut(&rnti)
    }

    /// Returns the UEs, by C-RNTI.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Ue)> {
        self.by_rnti.iter().map(|(rnti, ue)| (*rnti, ue))
    }

    /// Returns the UEs, by C-RNTI.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u16, &mut Ue)> {
        self.by_rnti.iter_mut().map(|(rnti, ue)| (*rnti, ue))
    }
}

#[cfg(test)]
mod tests {
    use e2sm::common::{AmfUeNgapId, EutraCgi, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, UeIdGnb, UeIdGnbDu};
    use per::{Bits, List};

    use super::*;

    const NODE: NodeId = NodeId(1);

    fn notification(number: u32, rnti: u16, event: Event) -> Notification<'static> {
        let (ran_ueid, cell_rnti) = (None, None);
        Notification {
            event,
            ue_id: UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(number), ran_ueid, cell_rnti }),
            rnti: RntiValue(rnti),
            cell: Cgi::EutraCgi(EutraCgi {
                plmn_identity: PlmnIdentity([0; 3]),
                eutra_cell_identity: Bits::new(1, 28),
            }),
            plmn: PlmnIdentity([0; 3]),
            s_nssais: List::default(),
            addresses: None,
        }
    }

    fn names(ues: &Ues) -> Vec<(u16, &UeId<'static>)> {
        assert_eq!(ues.rntis.len(), ues.by_rnti.len());
        assert!(ues.by_rnti.iter().all(|(rnti, ue)| ues.rntis[&mandatory_name(&ue.id).unwrap()] == *rnti));
        ues.iter().map(|(rnti, ue)| (rnti, &ue.id)).collect()
    }

    #[test]
    fn c_rnti_and_identity_are_unique() {
        let mut ues = Ues::default();
        let of = |number| notification(number, 0, Event::Present).ue_id;
        ues.notified(NODE, &notification(1, 10, Event::Attached));
        ues.notified(NODE, &notification(2, 11, Event::Attached));
        assert_eq!(names(&ues), [(10, &of(1)), (11, &of(2))]);
        // the first UE gets the C-RNTI of the second, whose departure was not reported
        ues.notified(NODE, &notification(1, 11, Event::Present));
        assert_eq!(names(&ues), [(11, &of(1))]);
        ues.notified(NODE, &notification(2, 12, Event::Attached));
        ues.leave(&of(1));
        ues.leave(&of(7));
        assert_eq!(names(&ues), [(12, &of(2))]);
        ues.notified(NodeId(2), &notification(3, 13, Event::Attached));
        ues.remove_of_reporter(NODE);
        assert_eq!(names(&ues), [(13, &of(3))]);
        ues.notified(NODE, &notification(3, 13, Event::Detached));
        ues.notified(NODE, &notification(4, 14, Event::Detached));
        assert_eq!(names(&ues), []);
    }

    #[test]
    fn ue_that_has_another_f1ap_id_leaves() {
        let named = |f1ap: u32, rnti: u16| {
            let id = GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(f1ap) };
            let name = UeIdGnb {
                amf_ue_ngap_id: AmfUeNgapId(5),
                guami: Guami {
                    plmn_identity: PlmnIdentity([0; 3]),
                    amf_region_id: Bits::new(1, 8),
                    amf_set_id: Bits::new(1, 10),
                    amf_pointer: Bits::new(1, 6),
                },
                gnb_cu_ue_f1ap_id_list: Some(List::from(vec![id])),
                gnb_cu_cp_ue_e1ap_id_list: None,
                ran_ueid: None,
                m_ng_ran_ue_xnap_id: None,
                global_gnb_id: None,
                global_ng_ran_node_id: None,
                cell_rnti: None,
            };
            Notification { ue_id: UeId::Gnb(name.into()), ..notification(1, rnti, Event::Attached) }
        };
        let mut ues = Ues::default();
        ues.notified(NODE, &named(1, 10));
        assert_eq!(ues.leave(&named(2, 20).ue_id), Some(10));
        ues.notified(NODE, &named(2, 20));
        ues.notified(NODE, &named(3, 30));
        assert_eq!(names(&ues), [(30, &named(3, 30).ue_id)]);
    }

    #[test]
    fn ues_are_bounded() {
        let mut ues = Ues::default();
        for number in 0..MAX_RECORDS as u32 + 3 {
            ues.notified(NODE, &notification(number, number as u16, Event::Attached));
        }
        assert_eq!((names(&ues).len(), ues.omitted), (MAX_RECORDS, 3));
        // a stored UE can change
        ues.notified(NODE, &notification(5, 60_000, Event::Attached));
        assert_eq!((names(&ues).len(), ues.omitted), (MAX_RECORDS, 3));
    }
}
