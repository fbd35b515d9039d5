//! The UEs of a CU that several base stations share: which of them has each UE.

use std::collections::{BTreeMap, HashMap};

use e2sm::common::{Cgi, NrCgi, RntiValue, UeId};
use e2sm::rrc::{Event, IndicationMessage, Notification};
use per::{IntoOwned, List};

/// The maximum number of UEs of a CU; further ones belong to no base station.
const MAX_UES: usize = 65_536;

/// The cells and UEs of a CU.
#[derive(Debug, Default)]
pub(super) struct SharedCu {
    /// The base station of each cell.
    pub cells: BTreeMap<NrCgi, usize>,
    ues: HashMap<UeId<'static>, Stay>,
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

    /// The base station of a UE.
    pub fn owner(&self, ue_id: &UeId<'_>) -> Option<usize> {
        let same = || self.ues.iter().find(|(known, _)| known.is_same_ue(ue_id)).map(|(_, stay)| stay);
        let stay = self.ues.get(ue_id).or_else(same)?;
        self.station_of(&stay.notification.cell)
    }

    /// The UE ID, as the CU-CP reports it, of a UE of a base station; optional parts may be missing.
    pub fn find(&self, station: usize, ue_id: &UeId<'_>) -> Option<&UeId<'static>> {
        let is_it = |known: &UeId<'static>| known == ue_id || known.is_same_ue(ue_id);
        let (known, stay) = self.ues.iter().find(|(known, _)| is_it(known))?;
        (self.station_of(&stay.notification.cell) == Some(station)).then_some(known)
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
        let id = event.ue_id.clone().into_owned();
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
            let rnti = self.ues.get(&event.ue_id).and_then(|stay| {
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
    use e2sm::common::PlmnIdentity;

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

    #[test]
    fn rnti_of_two_cells_belongs_to_no_base_station() {
        let mut cu = cu();
        cu.observe(&report(&[event(1, 70, 0, Event::Attached), event(2, 70, 1, Event::Attached)]));
        assert_eq!(cu.owner_of_rnti(70), None);
        cu.observe(&report(&[event(2, 70, 1, Event::Detached)]));
        assert_eq!(cu.owner_of_rnti(70), Some(0));
    }
}
