//! The UEs of a CU that several base stations share: which of them has each UE.

use std::collections::{BTreeMap, HashMap};

use e2sm::common::{Cgi, NrCgi, RntiValue, UeId};
use e2sm::rrc::{Event, IndicationMessage, Notification};
use ferric::e2::NodeId;
use ferric::e2::topology::{Part, Ue, UeName};
use per::{IntoOwned, List};

use crate::ues::mandatory_name;

/// The maximum number of UEs of a CU; further ones belong to no base station.
const MAX_UES: usize = 65_536;

/// Whether a UE is at a part of a gNB, as far as the part has reported it: a DU that it has left may not have said so yet, but has another
/// gNB-CU UE F1AP ID for it than the CU-CP.
pub(super) fn is_at(ue: &Ue, part: NodeId, cu: NodeId) -> bool {
    let view = |node: NodeId| ue.views().iter().find(|view| view.node == node);
    let f1ap = |node: NodeId| view(node).into_iter().flat_map(|view| &view.names).filter(|name| is_f1ap(name));
    let has_other = f1ap(part).next().is_some() && f1ap(cu).next().is_some();
    view(part).is_some() && (!has_other || f1ap(part).any(|name| f1ap(cu).any(|of_cu| of_cu == name)))
}

fn is_f1ap(name: &UeName) -> bool {
    matches!(name, UeName::F1ap(_))
}

/// The cells and UEs of a CU.
#[derive(Debug, Default)]
pub(super) struct SharedCu {
    /// The base station of each cell.
    pub cells: BTreeMap<NrCgi, usize>,
    /// The DU of each cell.
    dus: BTreeMap<NrCgi, Part>,
    /// By the name on NG, which a UE keeps when it moves to another DU: its gNB-CU UE F1AP ID is another one then.
    ues: HashMap<UeName, Stay>,
    /// The cells with a UE of this C-RNTI, which is unique in its cell only.
    by_rnti: HashMap<u16, Vec<Cgi>>,
}

/// Where a UE is.
#[derive(Debug)]
struct Stay {
    /// Its last event.
    notification: Notification<'static>,
    /// Its C-RNTI before its last handover.
    rnti_before: Option<u16>,
}

impl SharedCu {
    /// The base station of a cell.
    pub fn station_of(&self, cell: &Cgi) -> Option<usize> {
        match cell {
            Cgi::NrCgi(cell) => self.cells.get(cell).copied(),
            Cgi::EutraCgi(_) => None,
        }
    }

    /// Replaces the cells of a DU of a base station.
    pub fn set_cells(&mut self, station: usize, du: Part, cells: impl Iterator<Item = NrCgi>) {
        let Self { cells: stations, dus, .. } = self;
        dus.retain(|cell, of| {
            let stays = *of != du;
            if !stays {
                stations.remove(cell);
            }
            stays
        });
        for cell in cells {
            self.dus.insert(cell, du);
            self.cells.insert(cell, station);
        }
    }

    /// The base station of a UE.
    pub fn owner(&self, ue_id: &UeId<'_>) -> Option<usize> {
        self.station_of(&self.ues.get(&mandatory_name(ue_id)?)?.notification.cell)
    }

    /// The UE ID, as the CU-CP reports it, of a UE of a base station; optional parts may be missing.
    pub fn find(&self, station: usize, ue_id: &UeId<'_>) -> Option<&UeId<'static>> {
        let known = &self.ues.get(&mandatory_name(ue_id)?)?.notification;
        (self.station_of(&known.cell) == Some(station)).then_some(&known.ue_id)
    }

    /// The base station of the UE with a C-RNTI; `None` if UEs of several cells have it.
    pub fn owner_of_rnti(&self, rnti: u32) -> Option<usize> {
        match self.by_rnti.get(&u16::try_from(rnti).ok()?)?[..] {
            [ref cell] => self.station_of(cell),
            _ => None,
        }
    }

    /// Records the events of a report.
    pub fn observe(&mut self, report: &IndicationMessage<'_>) {
        report.notifications.iter().for_each(|event| self.notified(event));
    }

    fn notified(&mut self, event: &Notification<'_>) {
        let Some(id) = mandatory_name(&event.ue_id) else { return };
        let before = self.ues.remove(&id).map(|stay| stay.notification);
        if let Some(before) = &before {
            let rnti = before.rnti.0;
            if let Some(cells) = self.by_rnti.get_mut(&rnti) {
                cells.retain(|cell| *cell != before.cell);
                if cells.is_empty() {
                    self.by_rnti.remove(&rnti);
                }
            }
        }
        if event.event == Event::Detached || self.ues.len() >= MAX_UES {
            return;
        }
        let cells = self.by_rnti.entry(event.rnti.0).or_default();
        if !cells.contains(&event.cell) {
            cells.push(event.cell);
        }
        let rnti_before = before.map(|before| before.rnti.0);
        self.ues.insert(id, Stay { notification: event.clone().into_owned(), rnti_before });
    }

    /// The events of a base station: a UE that is handed over to a cell of another one leaves it.
    pub fn events_of<'a>(&self, station: usize, report: &IndicationMessage<'a>) -> List<'a, Notification<'a>> {
        let own = report.notifications.iter().filter_map(|event| {
            if self.station_of(&event.cell) == Some(station) {
                return Some(event.clone());
            }
            let Event::HandedOver(source) = event.event else { return None };
            if self.station_of(&source) != Some(station) {
                return None;
            }
            let rnti = mandatory_name(&event.ue_id).and_then(|id| self.ues.get(&id)).and_then(|stay| {
                // the report may be read before or after it was recorded
                let is_recorded = stay.notification.cell == event.cell;
                if is_recorded { stay.rnti_before } else { Some(stay.notification.rnti.0) }
            });
            let rnti = RntiValue(rnti?);
            Some(Notification { event: Event::Detached, cell: source, rnti, ..event.clone() })
        });
        own.collect()
    }

    /// The events with which a new subscriber of a base station learns its UEs.
    pub fn present(&self, station: usize) -> List<'_, Notification<'_>> {
        let own = self.ues.values().map(|stay| &stay.notification);
        let own = own.filter(|of_ue| self.station_of(&of_ue.cell) == Some(station));
        own.map(|of_ue| Notification { event: Event::Present, ..of_ue.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use e2sm::common::{AmfUeNgapId, GnbCuUeF1apId, GnbCuUeF1apIdItem, Guami, PlmnIdentity, UeIdGnb, UeIdGnbDu};
    use ferric::e2::topology::RanDatabase;
    use ferric::e2::{Components, Time};
    use ferric::e2ap::{GlobalE2NodeId, GnbDuId, GnbId};
    use per::Bits;

    use super::*;
    use crate::testing::{A, ue_id};

    const CELLS: [NrCgi; 3] = [NrCgi::new(A, 1), NrCgi::new(A, 2), NrCgi::new(A, 3)];

    /// Cell 1 is of the first base station, cell 2 of the second, cell 3 of none.
    fn cu() -> SharedCu {
        SharedCu { cells: [(CELLS[0], 0), (CELLS[1], 1)].into_iter().collect(), ..SharedCu::default() }
    }

    fn event(number: u16, rnti: u16, cell: usize, event: Event) -> Notification<'static> {
        Notification {
            event,
            ue_id: ue_id(number),
            rnti: RntiValue(rnti),
            cell: Cgi::NrCgi(CELLS[cell]),
            plmn: PlmnIdentity::from_codes(1, 1, 2),
            s_nssais: Vec::new().into(),
            addresses: None,
        }
    }

    fn report(events: &[Notification<'static>]) -> IndicationMessage<'static> {
        IndicationMessage { notifications: events.to_vec().into() }
    }

    fn events_of(cu: &SharedCu, station: usize, report: &IndicationMessage<'static>) -> Vec<Notification<'static>> {
        cu.events_of(station, report).iter().cloned().collect()
    }

    #[test]
    fn events_are_those_of_the_cells_of_a_base_station() {
        let mut cu = cu();
        let events = [0, 1, 2].map(|cell| event(cell as u16, 70 + cell as u16, cell, Event::Attached));
        cu.observe(&report(&events));
        for station in [0, 1] {
            assert_eq!(events_of(&cu, station, &report(&events)), [events[station].clone()]);
            assert_eq!(cu.owner(&ue_id(station as u16)), Some(station));
            assert_eq!(cu.owner_of_rnti(70 + station as u32), Some(station));
            let present: Vec<_> = cu.present(station).iter().map(|event| event.ue_id.clone()).collect();
            assert_eq!(present, [ue_id(station as u16)]);
        }
        assert_eq!((cu.owner(&ue_id(2)), cu.owner_of_rnti(72), cu.owner_of_rnti(1 << 16)), (None, None, None));
    }

    #[test]
    fn ue_that_is_handed_over_between_base_stations_leaves_one_of_them() {
        let mut cu = cu();
        cu.observe(&report(&[event(5, 70, 0, Event::Attached)]));
        let moved = event(5, 99, 1, Event::HandedOver(Cgi::NrCgi(CELLS[0])));
        let left = event(5, 70, 0, Event::Detached);
        // before the event is recorded, and after
        for _ in 0..2 {
            let report = report(std::slice::from_ref(&moved));
            assert_eq!(events_of(&cu, 0, &report), std::slice::from_ref(&left));
            assert_eq!(events_of(&cu, 1, &report), std::slice::from_ref(&moved));
            if cu.owner(&ue_id(5)) == Some(0) {
                cu.observe(&report);
            }
        }
        assert_eq!((cu.owner(&ue_id(5)), cu.owner_of_rnti(70), cu.owner_of_rnti(99)), (Some(1), None, Some(1)));
    }

    /// UE 5, as a CU-CP names it.
    fn of_cu(f1ap: Option<u32>) -> UeId<'static> {
        let item = |id| List::from(vec![GnbCuUeF1apIdItem { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(id) }]);
        let name = UeIdGnb {
            amf_ue_ngap_id: AmfUeNgapId(5),
            guami: Guami {
                plmn_identity: A,
                amf_region_id: Bits::new(1, 8),
                amf_set_id: Bits::new(1, 10),
                amf_pointer: Bits::new(1, 6),
            },
            gnb_cu_ue_f1ap_id_list: f1ap.map(item),
            gnb_cu_cp_ue_e1ap_id_list: None,
            ran_ueid: None,
            m_ng_ran_ue_xnap_id: None,
            global_gnb_id: None,
            global_ng_ran_node_id: None,
            cell_rnti: None,
        };
        UeId::Gnb(name.into())
    }

    #[test]
    fn ue_has_another_f1ap_id_at_another_du() {
        let named = |f1ap: u32, of: Event, cell: usize| Notification {
            ue_id: of_cu(Some(f1ap)),
            ..event(5, 70 + cell as u16, cell, of)
        };
        let mut cu = cu();
        cu.observe(&report(&[named(1, Event::Attached, 0)]));
        let moved = named(2, Event::HandedOver(Cgi::NrCgi(CELLS[0])), 1);
        cu.observe(&report(std::slice::from_ref(&moved)));
        assert_eq!((cu.present(0).len(), cu.present(1).len()), (0, 1), "it is one UE");
        assert_eq!((cu.owner(&of_cu(None)), cu.owner(&moved.ue_id)), (Some(1), Some(1)));
        assert_eq!((cu.find(0, &of_cu(None)), cu.find(1, &of_cu(None))), (None, Some(&moved.ue_id)));
        assert_eq!(events_of(&cu, 0, &report(&[moved])).len(), 1, "it has left the first base station");
        cu.observe(&report(&[named(2, Event::Detached, 1)]));
        assert_eq!((cu.owner(&of_cu(None)), cu.owner_of_rnti(71)), (None, None));
    }

    /// A DU that has not yet said that the UE has left has another F1AP ID for it than the CU-CP.
    #[test]
    fn ue_is_at_the_du_that_has_its_f1ap_id() {
        let (of_cu_cp, dus) = (NodeId(1), [NodeId(2), NodeId(3)]);
        let mut ran = RanDatabase::new(10);
        for (node, du) in [(of_cu_cp, None), (dus[0], Some(1)), (dus[1], Some(2))] {
            let mut id = GlobalE2NodeId::gnb(A, GnbId::new(1, 22));
            if let GlobalE2NodeId::Gnb(gnb) = &mut id {
                gnb.gnb_du_id = du.map(GnbDuId);
            }
            ran.update_node(node, id, &Components::default());
        }
        let mut learn = |node: NodeId, ue_id: UeId<'_>| {
            let ue = ran.learn_ue_id(Time::default(), node, &ue_id).unwrap();
            let ue = ran.ue(ue).unwrap();
            dus.map(|du| is_at(ue, du, of_cu_cp))
        };
        let at_du = |f1ap| {
            let (ran_ueid, cell_rnti) = (None, None);
            UeId::GnbDu(UeIdGnbDu { gnb_cu_ue_f1ap_id: GnbCuUeF1apId(f1ap), ran_ueid, cell_rnti })
        };
        learn(of_cu_cp, of_cu(Some(1)));
        assert_eq!(learn(dus[0], at_du(1)), [true, false]);
        assert_eq!(learn(of_cu_cp, of_cu(Some(2))), [false, false]);
        assert_eq!(learn(dus[1], at_du(2)), [false, true]);
        assert_eq!(learn(of_cu_cp, of_cu(None)), [true, true], "the CU-CP does not tell it");
    }

    #[test]
    fn cells_are_those_that_the_du_declares_now() {
        let mut cu = SharedCu::default();
        let station_of = |cu: &SharedCu| CELLS.map(|cell| cu.station_of(&Cgi::NrCgi(cell)));
        cu.set_cells(0, Part::Du(1), [CELLS[0]].into_iter());
        cu.set_cells(1, Part::Du(2), [CELLS[1]].into_iter());
        assert_eq!(station_of(&cu), [Some(0), Some(1), None]);
        cu.set_cells(1, Part::Du(2), [CELLS[2]].into_iter());
        assert_eq!(station_of(&cu), [Some(0), None, Some(1)]);
    }

    #[test]
    fn rnti_of_two_cells_belongs_to_no_base_station() {
        let mut cu = cu();
        cu.observe(&report(&[event(1, 70, 0, Event::Attached), event(2, 70, 1, Event::Attached)]));
        assert_eq!(cu.owner_of_rnti(70), None);
        cu.observe(&report(&[event(2, 70, 1, Event::Detached)]));
        assert_eq!(cu.owner_of_rnti(70), Some(0));
    }
}
