//! Carrier aggregation of the emulated RAN as events of the collector on E2: of NR by measurement reports, of E-UTRA by the
//! reconfigurations of its UEs.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ferric::xapp::{Reconnect, XappConfig};
use radio::phy::{Carrier, Position, UeRadio};
use radio::traffic::{FlowSpecification, Kind};
use radio::{CarrierAggregationConfig, Time};
use ran::scenario::{ChannelScenario, FlowScenario, SiteScenario, TimelineChange, TimelineEntry};
use ran::{RanConfig, Scenario};
use rnis::collector::e2::{E2Collector, E2Config};
use rnis::{Cell, Change, Directory, Event, Output, State};
use system_tests::{PATIENCE, RicAndRan};

/// The id of the first gNB or eNB of an emulated RAN.
const FIRST_NODE: u64 = 0xe00;

#[derive(Default)]
struct Recorder {
    events: Mutex<Vec<Event>>,
    state: Mutex<State>,
}

impl Output for Recorder {
    fn publish(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }

    fn update(&self, change: &mut dyn FnMut(&mut State)) {
        change(&mut self.state.lock().unwrap());
    }
}

/// A change of secondary cells: the primary cell, and the cells added and removed.
type Reconfiguration = (String, BTreeSet<String>, BTreeSet<String>);

impl Recorder {
    fn reconfigurations(&self) -> Vec<Reconfiguration> {
        let events = self.events.lock().unwrap();
        let of = |event: &Event| match &event.change {
            Change::CarrierAggregation { added, removed, .. } => {
                let digits = |cells: &[Cell]| cells.iter().map(Cell::digits).collect();
                Some((event.cell.digits(), digits(added), digits(removed)))
            }
            _ => None,
        };
        events.iter().filter_map(of).collect()
    }
}

/// A base station with three carriers, a UE that can aggregate all of them, and one that cannot. The second secondary cell is
/// locked after a while and unlocked again, in turn, and the UE is handed over to it and back.
fn base_station(carrier: impl Fn(u16) -> Carrier) -> RanConfig {
    let mut scenario = Scenario::with_mixed_traffic(3, 1, 1);
    for (number, cell) in (0..).zip(&mut scenario.cells) {
        cell.base_station = Some("north".to_owned());
        cell.radio.carrier = carrier(number);
        cell.position = Position::default();
        cell.site = SiteScenario::default();
    }
    scenario.ues.truncate(2);
    for (ue, max_carriers) in scenario.ues.iter_mut().zip([3, 1]) {
        ue.cell = 0;
        ue.max_carriers = max_carriers;
        let position = Some(Position { x_m: 80.0, y_m: 60.0 });
        ue.channel =
            ChannelScenario::Geometry { position, motion: radio::phy::Motion::Still, radio: UeRadio::default() };
        let kind = Kind::ConstantBitRate { rate_bps: 200_000_000, packet_octets: 1400 };
        ue.flows = vec![FlowScenario { specification: FlowSpecification::new(kind), ports: (5000, 5000) }];
    }
    scenario.carrier_aggregation = CarrierAggregationConfig { addition_dbm: -120.0, ..scenario.carrier_aggregation };
    scenario.measurement.report_interval = Some(Duration::from_millis(240));
    let at = |ms, change| TimelineEntry { at: Time::from_millis(ms), change };
    let set = |state| TimelineChange::Administrative { cell: 2, state };
    let rounds = (0..40).flat_map(|round| {
        let start = 4000 + 8000 * round;
        [
            at(start, set(radio::AdministrativeState::Locked)),
            at(start + 2000, set(radio::AdministrativeState::Unlocked)),
            at(start + 4000, TimelineChange::HandOver { ue: 0, to: 1 }),
            at(start + 6000, TimelineChange::HandOver { ue: 0, to: 0 }),
        ]
    });
    scenario.timeline = rounds.collect();
    RanConfig { scenario, rc_revision: "v01.03".parse().unwrap(), ..RanConfig::default() }
}

/// Waits for the changes of secondary cells, in any order, and checks that all concern the `cells` of the base station.
fn expect_reconfigurations(config: RanConfig, cells: [String; 3]) {
    let running = RicAndRan::start(Vec::new(), config);
    let reconnect = Reconnect { first: Duration::from_millis(50), last: Duration::from_millis(200) };
    let session = XappConfig { reconnect: Some(reconnect), ..XappConfig::default() };
    let config = E2Config { session, period_ms: 100, triggers: HashMap::new() };
    let mut collector = E2Collector::connect(&running.ric.xapp, config, Arc::new(Directory::default())).unwrap();
    let recorder = Recorder::default();
    let set = |numbers: &[usize]| numbers.iter().map(|number| cells[*number].clone()).collect::<BTreeSet<String>>();
    // at once or one by one
    let are_added = |all: &[Reconfiguration], primary: usize, wanted: &[usize]| {
        let added = all.iter().filter(|(cell, ..)| *cell == cells[primary]).flat_map(|(_, added, _)| added.clone());
        added.collect::<BTreeSet<String>>().is_superset(&set(wanted))
    };
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "{:?}", recorder.reconfigurations());
        collector.poll(Some(Duration::from_millis(20)), &recorder).unwrap();
        let all = recorder.reconfigurations();
        let is_released = all.iter().any(|(_, _, removed)| *removed == set(&[2]));
        if is_released && are_added(&all, 0, &[1, 2]) && are_added(&all, 1, &[0, 2]) {
            break;
        }
    }
    for (primary, added, removed) in recorder.reconfigurations() {
        assert!(cells.contains(&primary) && added.is_disjoint(&removed));
        assert!(added.iter().chain(&removed).all(|cell| cells.contains(cell)));
    }
}

#[test]
fn secondary_cells_of_ues_of_nr_are_events() {
    let carrier = |number| Carrier { frequency_mhz: 3500.0 + 40.0 * f64::from(number), ..Carrier::default() };
    let identity = |number: u64| format!("{:09x}", (FIRST_NODE + number) << 14 | 1);
    expect_reconfigurations(base_station(carrier), [0, 1, 2].map(identity));
}

#[test]
fn secondary_cells_of_ues_of_eutra_are_events() {
    let carrier =
        |number| Carrier { bandwidth_mhz: 20.0, frequency_mhz: 1815.0 + 20.0 * f64::from(number), ..Carrier::lte() };
    let identity = |number: u64| format!("{:07x}", (FIRST_NODE + number) << 8 | 1);
    expect_reconfigurations(base_station(carrier), [0, 1, 2].map(identity));
}
