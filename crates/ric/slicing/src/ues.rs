//! The UEs that RRC tells of.

use std::collections::{BTreeMap, HashMap};

use e2sm::common::{Cgi, PlmnIdentity, SNssai, UeId};
use e2sm::rrc::{Event, Notification};
use ferric::e2::NodeId;

use super::associations::RuleOfUe;
use super::node::MAX_RECORDS;

/// S-NSSAIs that are kept of a UE: it may ask for so many (TS 24.501 4.6.2.2).
const MAX_S_NSSAIS: usize = 8;

/// What RRC tells of a UE.
#[derive(Clone, Debug)]
pub(super) struct Ue {
    /// The node that tells it: the CU-CP, where it has one of its own.
    pub told_by: NodeId,
    pub id: UeId<'static>,
    pub cell: Cgi,
    pub plmn: PlmnIdentity,
    pub s_nssais: Vec<SNssai>,
    pub rule: RuleOfUe,
}

/// The UEs of a node that RRC tells of.
#[derive(Clone, Debug, Default)]
pub(super) struct Ues {
    by_rnti: BTreeMap<u16, Ue>,
    /// Their C-RNTIs, by what they are called from cell to cell.
    rntis: HashMap<UeId<'static>, u16>,
    /// UEs for which there was no room.
    pub left_out: u64,
}

impl Ues {
    /// Something happened to a UE.
    pub fn notified(&mut self, told_by: NodeId, notification: &Notification<'static>) {
        let Notification { event, rnti, cell, plmn, s_nssais, ue_id } = notification;
        if *event == Event::Detached {
            return self.remove(rnti.0);
        }
        // one that is told of again is looked at anew: it may be another with the same name
        let (id, s_nssais) = (ue_id.clone(), s_nssais.iter().take(MAX_S_NSSAIS).copied().collect());
        self.add(rnti.0, Ue { told_by, id, cell: *cell, plmn: *plmn, s_nssais, rule: RuleOfUe::New });
    }

    /// A UE is here: under this name and no other.
    pub fn add(&mut self, rnti: u16, ue: Ue) {
        self.leave(&ue.id);
        self.remove(rnti);
        if self.by_rnti.len() >= MAX_RECORDS {
            self.left_out += 1;
            return;
        }
        self.rntis.insert(ue.id.clone(), rnti);
        self.by_rnti.insert(rnti, ue);
    }

    /// A UE is here no more.
    pub fn leave(&mut self, id: &UeId<'static>) {
        if let Some(rnti) = self.rntis.remove(id) {
            self.by_rnti.remove(&rnti);
        }
    }

    fn remove(&mut self, rnti: u16) {
        if let Some(ue) = self.by_rnti.remove(&rnti) {
            self.rntis.remove(&ue.id);
        }
    }

    /// A node that told of UEs is gone.
    pub fn forget_teller(&mut self, node: NodeId) {
        self.by_rnti.retain(|_, ue| ue.told_by != node);
        self.rntis.retain(|_, rnti| self.by_rnti.contains_key(rnti));
    }

    pub fn get(&self, rnti: u16) -> Option<&Ue> {
        self.by_rnti.get(&rnti)
    }

    pub fn get_mut(&mut self, rnti: u16) -> Option<&mut Ue> {
        self.by_rnti.get_mut(&rnti)
    }

    /// By C-RNTI.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Ue)> {
        self.by_rnti.iter().map(|(rnti, ue)| (*rnti, ue))
    }

    /// By C-RNTI.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u16, &mut Ue)> {
        self.by_rnti.iter_mut().map(|(rnti, ue)| (*rnti, ue))
    }
}

#[cfg(test)]
mod tests {
    use e2sm::common::{EutraCgi, GnbCuUeF1apId, RntiValue, UeIdGnbDu};
    use per::{Bits, List};

    use super::*;

    const NODE: NodeId = NodeId(1);

    fn told(number: u32, rnti: u16, event: Event) -> Notification<'static> {
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
        }
    }

    fn names(ues: &Ues) -> Vec<(u16, &UeId<'static>)> {
        assert_eq!(ues.rntis.len(), ues.by_rnti.len());
        assert!(ues.by_rnti.iter().all(|(rnti, ue)| ues.rntis[&ue.id] == *rnti));
        ues.iter().map(|(rnti, ue)| (rnti, &ue.id)).collect()
    }

    #[test]
    fn each_ue_has_one_name_and_each_name_one_ue() {
        let mut ues = Ues::default();
        let of = |number| told(number, 0, Event::Present).ue_id;
        ues.notified(NODE, &told(1, 10, Event::Attached));
        ues.notified(NODE, &told(2, 11, Event::Attached));
        assert_eq!(names(&ues), [(10, &of(1)), (11, &of(2))]);
        // the first gets the name of the second, which nobody has told to be gone
        ues.notified(NODE, &told(1, 11, Event::Present));
        assert_eq!(names(&ues), [(11, &of(1))]);
        ues.notified(NODE, &told(2, 12, Event::Attached));
        ues.leave(&of(1));
        ues.leave(&of(7));
        assert_eq!(names(&ues), [(12, &of(2))]);
        ues.notified(NodeId(2), &told(3, 13, Event::Attached));
        ues.forget_teller(NODE);
        assert_eq!(names(&ues), [(13, &of(3))]);
        ues.notified(NODE, &told(3, 13, Event::Detached));
        ues.notified(NODE, &told(4, 14, Event::Detached));
        assert_eq!(names(&ues), []);
    }

    #[test]
    fn there_is_an_end_to_them() {
        let mut ues = Ues::default();
        for number in 0..MAX_RECORDS as u32 + 3 {
            ues.notified(NODE, &told(number, number as u16, Event::Attached));
        }
        assert_eq!((names(&ues).len(), ues.left_out), (MAX_RECORDS, 3));
        // who is there may change
        ues.notified(NODE, &told(5, 60_000, Event::Attached));
        assert_eq!((names(&ues).len(), ues.left_out), (MAX_RECORDS, 3));
    }
}
