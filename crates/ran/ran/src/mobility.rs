//! Handovers between the cells of the RAN.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use e2sm::common::{Cgi, RntiValue};
use ferric::agent::Ue;
use ferric::e2::topology::{UeContext, UeIdentity, UeName};
use radio::{
    ArrivalCause, DepartureCause, HandoverError, INDEX_REUSE_DELAY, MAX_UES_PER_CELL, NetworkEvent, PowerState, UeEntry,
};
use ran_functions::kpm::KpmSource;
use tracing::{debug, info, warn};

use crate::RanConfig;
#[cfg(feature = "control")]
use crate::control::MobilityEvents;
use crate::gnb_cells::GnbCell;
use crate::node::{Node, ue_of};
use crate::scenario::address;

/// A node's part in handovers.
#[derive(Debug)]
pub struct Mobility {
    number: u16,
    /// The identities of all cells.
    cells: Rc<[Cgi]>,
    /// The places of all cells in their base stations.
    places: Rc<[GnbCell]>,
    /// The period of the handovers that the configuration orders, and the time of the next one.
    period: Option<(Duration, radio::Time)>,
    /// UEs that the cell had no place for, as of the last warning.
    turned_away: u64,
    /// Why handovers of UEs of the cell began, for the log.
    pub handover_reasons: BTreeMap<Ue, &'static str>,
    /// What controllers are informed of.
    #[cfg(feature = "control")]
    pub events: MobilityEvents,
}

impl Mobility {
    pub fn new(number: u16, config: &RanConfig, cells: Rc<[Cgi]>, places: Rc<[GnbCell]>) -> Self {
        let per_minute = u32::from(config.handovers_per_minute);
        let period = Duration::from_secs(60).checked_div(per_minute).filter(|_| cells.len() > 1);
        Mobility {
            number,
            cells,
            places,
            period: period.map(|period| (period, radio::Time::START + period)),
            turned_away: 0,
            handover_reasons: BTreeMap::new(),
            #[cfg(feature = "control")]
            events: MobilityEvents::new(period.is_some() || config.scenario.has_moving_ues()),
        }
    }

    /// The node's number in the RAN.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The other nodes, beginning with the next one.
    pub fn other_nodes(&self) -> impl Iterator<Item = u16> + use<> {
        let (number, nodes) = (self.number, self.cells.len() as u16); // bounded by the scenario
        (1..nodes).map(move |distance| (number + distance) % nodes)
    }

    /// The place of its cell in its base station.
    pub fn place(&self) -> GnbCell {
        self.places[usize::from(self.number)]
    }

    /// The number of the base station that has a cell: that of its first cell.
    pub fn base_station_of(&self, cell: u16) -> u16 {
        self.places.get(usize::from(cell)).map_or(cell, |place| place.first)
    }

    /// Whether a cell is one of its own base station.
    pub fn is_sibling(&self, cell: u16) -> bool {
        self.base_station_of(cell) == self.place().first
    }

    /// The number of a cell of the RAN.
    pub fn find_cell(&self, cell: &Cgi) -> Option<usize> {
        self.cells.iter().position(|known| known == cell)
    }

    /// The cell of a node of the RAN.
    pub fn cell_of(&self, number: u16) -> Cgi {
        self.cells[usize::from(number)]
    }
}

impl Node {
    /// Processes the cell's arrivals, departures and handovers, and the messages from neighbours.
    pub fn process_cell_events(&mut self) {
        if !self.node_type.has_rrc() {
            return;
        }
        let (happenings, turned_away) = {
            let mut simulation = self.simulation.borrow_mut();
            let happenings: Vec<NetworkEvent> = simulation.model.network.take_events(self.cell_number()).collect();
            (happenings, simulation.model.network.rejected_arrivals(self.cell_number()))
        };
        self.warn_turned_away(turned_away);
        self.receive_from_neighbours();
        for happening in happenings {
            self.process_cell_event(happening);
        }
        self.change_sessions();
        let now = self.cell().now();
        self.begin_periodic_handover(now);
        self.report_inactivity();
        self.report_measurements();
    }

    fn process_cell_event(&mut self, happening: NetworkEvent) {
        let cell = self.cell_number();
        match happening {
            NetworkEvent::Arrived { ue: stay, from, cause } => {
                self.remember_ue(&stay);
                self.log_arrival(&stay, from.map(|(cell, _)| cell), cause);
                self.report_arrival(&stay, from);
            }
            NetworkEvent::Departed { ue: stay, cause } => {
                self.remember_ue(&stay);
                let reason = self.mobility.handover_reasons.remove(&ue_of(&stay));
                match cause {
                    DepartureCause::Left => {
                        self.simulation.borrow_mut().bearers.by_ue.remove(&stay.number);
                    }
                    DepartureCause::Handover { to } => {
                        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
                        info!(names = %self.names(&stay), "UE {}: cell {cell} -> {to}{reason}", stay.number);
                    }
                    DepartureCause::LinkFailure => {
                        info!(ue = stay.number, cell, names = %self.names(&stay), "radio link failure (T310 expired): the UE searches for a cell");
                    }
                    DepartureCause::CellAsleep => {
                        info!(
                            ue = stay.number,
                            cell,
                            "energy saving, and no neighbour could take the UE within the grace: released to RRC_IDLE"
                        );
                    }
                    DepartureCause::CellLocked => {
                        info!(
                            ue = stay.number,
                            cell,
                            names = %self.names(&stay),
                            "cell locked and no neighbour can take the UE: released to RRC_IDLE"
                        );
                    }
                }
                // with the CU it stays: its arrival at the other DU is reported
                let is_moving = matches!(cause, DepartureCause::Handover { to } if self.mobility.is_sibling(to as u16));
                if !is_moving {
                    self.report_departure(&stay);
                }
            }
            NetworkEvent::HandoverTriggered { ue: stay, to } => {
                let target = self.mobility.cell_of(to as u16);
                self.mobility.handover_reasons.insert(ue_of(&stay), "A3");
                self.begin_handover(ue_of(&stay), target);
            }
            NetworkEvent::HandoverFailed { ue: stay, to } => {
                info!(
                    ue = stay.number,
                    cell,
                    to,
                    names = %self.names(&stay),
                    "handover failed (T304 expired before the access to the target): the UE re-establishes its connection"
                );
                // a CU has expected it at another DU
                if self.mobility.is_sibling(to as u16) {
                    self.report_departure(&stay);
                }
            }
            NetworkEvent::HandoverPrepared { ue: stay, to, refusal, is_conditional, stayed } => {
                self.remember_ue(&stay);
                self.report_preparation(&stay, to, refusal, is_conditional, stayed);
            }
            NetworkEvent::HandoverCancelled { ue: stay, to, is_conditional, cause } => {
                self.remember_ue(&stay);
                self.report_cancellation(&stay, to, is_conditional, cause);
            }
            NetworkEvent::SecondaryCellAdded { ue: stay, secondary } => {
                debug!(
                    ue = stay.number,
                    cell,
                    secondary = secondary.cell,
                    index = secondary.index,
                    "secondary cell added"
                );
                self.report_secondary_cell(&stay, secondary, true);
            }
            NetworkEvent::SecondaryCellReleased { ue: stay, secondary } => {
                debug!(
                    ue = stay.number,
                    cell,
                    secondary = secondary.cell,
                    index = secondary.index,
                    "secondary cell released"
                );
                self.remember_ue(&stay);
                self.report_secondary_cell(&stay, secondary, false);
            }
            NetworkEvent::PowerState(state) => {
                match state {
                    PowerState::FallingAsleep => info!(cell, "cell is off and has no UE: it falls asleep"),
                    PowerState::Asleep => info!(cell, "cell is asleep"),
                    PowerState::WakingUp => info!(cell, "cell wakes up"),
                    PowerState::On => info!(cell, "cell is on again"),
                }
                self.report_cell_change();
            }
            NetworkEvent::Locked => {
                info!(cell, "cell has shut down: it is locked");
                self.report_lock();
            }
        }
    }

    /// All names of a UE in its cell, for the log, as controllers know it.
    fn names(&self, stay: &UeEntry) -> UeIdentity {
        let ue = ue_of(stay);
        let mut names = UeName::all_of(&KpmSource::ue_id(self, ue));
        names.push(UeName::rnti(RntiValue(self.rnti_of(ue)), &KpmSource::cell(self)));
        let addresses = vec![address(stay.number as usize)];
        UeIdentity::of(&names, UeContext { addresses, ..UeContext::default() })
    }

    /// Logs how a UE has come to the cell, unless it is new.
    fn log_arrival(&self, stay: &UeEntry, from: Option<usize>, cause: ArrivalCause) {
        let (ue, cell) = (stay.number, self.cell_number());
        match cause {
            ArrivalCause::New => {}
            ArrivalCause::Handover => debug!(ue, from, cell, "UE handed over"),
            ArrivalCause::ConditionalHandover => debug!(ue, from, cell, "UE handed over by conditional handover"),
            ArrivalCause::Reestablishment => {
                info!(ue, from, cell, names = %self.names(stay), "UE has re-established its connection")
            }
            ArrivalCause::Setup => {
                info!(ue, cell, names = %self.names(stay), "UE has set up a new connection after RRC_IDLE");
            }
        }
    }

    /// Warns that the cell had no place for UEs: at the first one, and whenever their number has doubled.
    fn warn_turned_away(&mut self, turned_away: u64) {
        if turned_away >= self.mobility.turned_away.saturating_mul(2).max(1) {
            self.mobility.turned_away = turned_away;
            let max_ues = self.cell().config().max_ues.map_or(MAX_UES_PER_CELL, usize::from);
            warn!(
                cell = self.cell_number(),
                turned_away,
                max_ues,
                "cell full: UEs turned away; a cell has {MAX_UES_PER_CELL} places, and a place is free {} s after its UE has left; \
                 use fewer arrivals (arrivals_per_min), shorter stays (mean_stay_s), more cells, or a larger max_ues",
                INDEX_REUSE_DELAY.as_secs()
            );
        }
    }

    /// Hands a UE over to another cell of the RAN.
    pub fn hand_over(&mut self, ue: Ue, target: &Cgi) -> Result<(), HandoverError> {
        let place = self.place(ue).ok_or(HandoverError::UnknownUe)?;
        let to = self.mobility.find_cell(target).ok_or(HandoverError::UnknownCell)?;
        self.simulation.borrow_mut().hand_over(self.cell_number(), place, to)?;
        self.process_cell_events();
        Ok(())
    }

    /// Begins the handover that the configuration orders, if it is due: of the UE with the weakest signal to the next cell.
    fn begin_periodic_handover(&mut self, now: radio::Time) {
        let Some((period, next)) = self.mobility.period else { return };
        if now < next {
            return;
        }
        self.mobility.period = Some((period, if now.since(next) > period { now + period } else { next + period }));
        let Some(target) = self.mobility.other_nodes().next().map(|number| self.mobility.cell_of(number)) else {
            return;
        };
        let cell = self.cell();
        let weakest = cell
            .ues()
            .filter(|(place, _)| !self.awaits_handover_decision(ue_of(cell.ue_entry(*place))))
            .min_by(|(_, a), (_, b)| a.channel().rsrp_dbm().total_cmp(&b.channel().rsrp_dbm()));
        let Some(ue) = weakest.map(|(place, _)| ue_of(cell.ue_entry(place))) else { return };
        drop(cell);
        self.mobility.handover_reasons.insert(ue, "periodic");
        self.begin_handover(ue, target);
    }
}

/// Without the feature `control` no controller decides about handovers, and none is informed of anything.
#[cfg(not(feature = "control"))]
impl Node {
    fn receive_from_neighbours(&mut self) {}

    fn report_arrival(&mut self, _stay: &radio::UeEntry, _from: Option<(usize, radio::UeEntry)>) {}

    fn report_departure(&mut self, _stay: &radio::UeEntry) {}

    fn report_preparation(
        &mut self,
        _stay: &radio::UeEntry,
        _to: usize,
        _refusal: Option<HandoverError>,
        _is_conditional: bool,
        _stayed: Duration,
    ) {
    }

    fn report_cancellation(
        &mut self,
        _stay: &radio::UeEntry,
        _to: usize,
        _is_conditional: bool,
        _cause: radio::CancelCause,
    ) {
    }

    fn report_secondary_cell(&mut self, _stay: &radio::UeEntry, _secondary: radio::SecondaryCell, _is_added: bool) {}

    fn change_sessions(&mut self) {}

    fn report_lock(&mut self) {}

    fn report_cell_change(&mut self) {}

    fn report_inactivity(&mut self) {}

    fn report_measurements(&mut self) {}

    fn awaits_handover_decision(&self, _ue: Ue) -> bool {
        false
    }

    fn begin_handover(&mut self, ue: Ue, target: Cgi) {
        if let Err(reason) = self.hand_over(ue, &target) {
            tracing::debug!(cell = self.cell_number(), ?ue, "handover not performed: {reason}");
        }
    }

    pub fn has_pending_reports(&self) -> bool {
        false
    }
}
