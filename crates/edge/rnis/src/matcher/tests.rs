//! The index against [`Criteria::are_met_by`].

use super::*;
use crate::event::{Bearer, BearerEvent, BearerQos, Change, HandoverStatus, Quantities, S1Bearer, Tunnel, UeIds};
use crate::identity::AssociateIdType;

/// Random numbers of a seed (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    /// At most `max` values, which may be equal.
    fn some<T>(&mut self, max: u64, mut value: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(max + 1)).map(|_| value(self)).collect()
    }

    /// One of a few, so that criteria and events meet; of E-UTRA and NR with the same number.
    fn cell(&mut self) -> Cell {
        let plmn = "00101".parse().unwrap();
        let number = self.below(3);
        if self.below(2) == 0 { Cell::nr(plmn, number) } else { Cell::eutra(plmn, number as u32) }
    }

    fn ue(&mut self) -> AssociateId {
        let kind = if self.below(2) == 0 { AssociateIdType::UeIpv4 } else { AssociateIdType::GtpTeid };
        AssociateId { kind, value: self.below(4).to_string() }
    }

    fn status(&mut self) -> HandoverStatus {
        [HandoverStatus::InPreparation, HandoverStatus::Completed, HandoverStatus::Cancelled][self.below(3) as usize]
    }

    fn bearer_event(&mut self) -> BearerEvent {
        [BearerEvent::Established, BearerEvent::Modified, BearerEvent::Released][self.below(3) as usize]
    }

    fn criteria(&mut self) -> Criteria {
        Criteria {
            topic: Topic::ALL[self.below(9) as usize],
            plmn: None,
            cells: self.some(2, Self::cell),
            ues: self.some(2, Self::ue),
            handover_status: self.some(2, Self::status),
            qci: (self.below(2) == 0).then(|| self.below(3) as u8),
            erab_ids: self.some(2, |random| random.below(3) as u8),
            triggers: self.some(2, |random| random.below(3) as u8),
            bearer_events: self.some(2, Self::bearer_event),
        }
    }

    fn event(&mut self) -> Event {
        let qos = (self.below(2) == 0).then(|| BearerQos { qci: self.below(3) as u8, rates_bps: None });
        let bearer = Bearer { erab_id: self.below(3) as u8, qos };
        let trigger = self.below(3) as u8;
        let tunnel = || Tunnel { address: "10.0.0.1".into(), teid: "1".into() };
        let change = match self.below(9) {
            0 => Change::CellChange { targets: self.some(2, Self::cell), status: self.status() },
            1 => Change::BearerEstablished(bearer),
            2 => Change::BearerModified(bearer),
            3 => Change::BearerReleased(bearer),
            4 => {
                let serving = Quantities::default();
                Change::Measured { trigger, serving, neighbours: Vec::new(), nr_neighbours: Vec::new() }
            }
            5 => {
                let (serving, neighbours) = (Vec::new(), Vec::new());
                Change::NrMeasured { trigger, serving, neighbours, eutra_neighbours: Vec::new() }
            }
            6 => Change::TimingAdvance { value: 1 },
            7 => Change::CarrierAggregation { added: Vec::new(), removed: Vec::new(), measured: Vec::new() },
            _ => {
                let bearer = |random: &mut Self| {
                    let erab_id = random.below(3) as u8;
                    S1Bearer { erab_id, base_station: tunnel(), gateway: tunnel() }
                };
                Change::S1Bearer { event: self.bearer_event(), bearers: self.some(3, bearer) }
            }
        };
        let ue = UeIds { associate_ids: self.some(3, Self::ue), temporary: None, slices: Vec::new() };
        Event { received_ns: 0, cell: self.cell(), ue, change }
    }
}

#[test]
fn index_finds_what_each_criterion_finds() {
    let mut matches = 0;
    for seed in 1..=60 {
        let mut random = Random(seed * 0x9E37_79B9);
        let mut matcher = Matcher::default();
        let mut naive: std::collections::BTreeMap<Key, Criteria> = std::collections::BTreeMap::new();
        let mut found = Vec::new();
        for _ in 0..400 {
            let key = Key(random.below(60));
            if random.below(4) == 0 {
                assert_eq!(matcher.remove(key), naive.remove(&key).is_some(), "seed {seed}");
            } else {
                let criteria = random.criteria();
                matcher.insert(key, criteria.clone());
                naive.insert(key, criteria);
            }
            let event = random.event();
            matcher.find(&event, &mut found);
            let expected: Vec<Key> = naive.iter().filter(|(_, c)| c.are_met_by(&event)).map(|(key, _)| *key).collect();
            assert_eq!(found, expected, "seed {seed}, {event:?}");
            matches += found.len();
        }
        naive.keys().for_each(|key| assert!(matcher.remove(*key)));
        assert!(matcher.criteria.is_empty());
        for index in &matcher.by_topic {
            assert!(index.any.is_empty() && index.by_cell.is_empty(), "seed {seed}: {index:?}");
            assert!(index.by_ue.is_empty() && index.by_cell_and_ue.is_empty(), "seed {seed}: {index:?}");
        }
    }
    assert!(matches > 10_000, "the events meet criteria: {matches}");
}
