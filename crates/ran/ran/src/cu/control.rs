//! What controllers change and follow at a CU-CP of several DUs.

use std::borrow::Cow;

use e2sm::ccc::RanConfigurationStructure as Structure;
use e2sm::common::{Cgi, UeId};
use e2sm::rc::{ActionId, ControlAction, NeighborRelationInfo, RanParameterElementItem, RanParameterId};
use e2sm::rc::{RanParameterValue, RrcState};
use e2sm::rrc::{self, Notification};
use ferric::agent::{ControllerId, Ue};
use ferric::e2::Time;
use ferric::e2ap::{Cause, CauseRicRequest};
use ran_functions::association::{UeDirectory, find_ue};
use ran_functions::ccc::{CccSource, ConfigScope, Refusal as CccRefusal, SupportedStructure};
use ran_functions::kpm::KpmSource;
use ran_functions::ni::{Interface, Message, MessageDecision, MessageDirection, MessageId, NiSource};
use ran_functions::rc::{
    Event, EventKind, Origin, ProcedureId, RcSource, Refusal, SupportedBreakpoint, SupportedParameter, Verdict,
};
use ran_functions::rrc::RrcSource;

use super::{Cu, Stay};

impl Cu {
    /// A number of the node of a DU, such as that of a procedure, as one of the CU.
    fn own_number(&self, du: usize, number: u64) -> u64 {
        number * self.cells.len() as u64 + du as u64
    }

    /// The DU of a number of the CU, and the number of its node.
    fn number_at(&self, number: u64) -> (usize, u64) {
        let dus = self.cells.len() as u64;
        ((number % dus) as usize, number / dus)
    }

    /// An event of the node of a DU as one of the CU; `None` if its UE is unknown.
    fn own_event(&mut self, du: usize, event: Event) -> Option<Event> {
        let mut own = |ue| {
            let own = self.ue_of(Stay { du, ue })?;
            if self.present(own).is_none() {
                // it has arrived since
                self.update_stays();
            }
            Some(own)
        };
        Some(match event {
            Event::RrcState { ue, state } => Event::RrcState { ue: own(ue)?, state },
            Event::RrcMessage { ue, id, from_ue, octets } => Event::RrcMessage { ue: own(ue)?, id, from_ue, octets },
            Event::NiMessage { ue, interface, id, is_incoming, octets } => {
                Event::NiMessage { ue: own(ue)?, interface, id, is_incoming, octets }
            }
            Event::CellChanged { .. } => event,
            Event::Breakpoint { procedure, breakpoint, ue, wants } => {
                let ue = own(ue)?;
                let procedure = ProcedureId(self.own_number(du, procedure.0));
                Event::Breakpoint { procedure, breakpoint, ue, wants }
            }
        })
    }
}

impl RcSource for Cu {
    fn advance(&mut self, now: Time) {
        KpmSource::advance(self, now);
    }

    fn cells(&self) -> Vec<Cgi> {
        KpmSource::cells(self)
    }

    fn ues(&self, out: &mut Vec<Ue>) {
        self.append_ues(out);
    }

    fn ue_id(&self, ue: Ue) -> UeId<'static> {
        self.name_of(ue)
    }

    fn control_actions(&self) -> &[ActionId] {
        self.first().control_actions()
    }

    fn refused_parameters(&self, action: ActionId) -> &[RanParameterId] {
        self.first().refused_parameters(action)
    }

    fn control(
        &mut self,
        now: Time,
        origin: Origin,
        ue: Option<Ue>,
        action: &ControlAction,
    ) -> Result<Vec<RanParameterElementItem<'static>>, Refusal> {
        let Some(ue) = ue else { return self.cells[0].control(now, origin, None, action) };
        KpmSource::advance(self, now);
        let Some(stay) = self.present(ue) else {
            let cause = Cause::RicRequest(CauseRicRequest::ControlFailedToExecute);
            return Err(Refusal::new(cause, "the UE has left the cell"));
        };
        self.cells[stay.du].control(now, origin, Some(stay.ue), action)
    }

    fn policy_actions(&self) -> &[ActionId] {
        self.first().policy_actions()
    }

    fn breakpoints(&self) -> &[SupportedBreakpoint] {
        self.first().breakpoints()
    }

    fn resume(&mut self, now: Time, procedure: ProcedureId, verdict: Verdict<'_>) {
        let (du, number) = self.number_at(procedure.0);
        self.cells[du].resume(now, ProcedureId(number), verdict);
    }

    fn event_kinds(&self) -> &[EventKind] {
        self.first().event_kinds()
    }

    fn next_event(&mut self, now: Time) -> Option<Event> {
        for du in 0..self.cells.len() {
            while let Some(event) = self.cells[du].next_event(now) {
                if let Some(own) = self.own_event(du, event) {
                    return Some(own);
                }
            }
        }
        None
    }

    fn set_events_enabled(&mut self, is_enabled: bool) {
        self.cells.iter_mut().for_each(|node| node.set_events_enabled(is_enabled));
    }

    fn next_event_time(&self) -> Option<Time> {
        self.cells.iter().filter_map(RcSource::next_event_time).min()
    }

    fn ue_parameters(&self) -> &[SupportedParameter] {
        self.first().ue_parameters()
    }

    fn ue_parameter(&self, ue: Ue, id: RanParameterId) -> Option<RanParameterValue<'static>> {
        let (node, ue) = self.at(ue)?;
        node.ue_parameter(ue, id)
    }

    fn rrc_state(&self, ue: Ue) -> Option<RrcState> {
        let (node, ue) = self.at(ue)?;
        node.rrc_state(ue)
    }

    fn neighbor_relations(&self, cell: &Cgi) -> Option<NeighborRelationInfo<'static>> {
        self.cells[self.node_of(cell)?].neighbor_relations(cell)
    }
}

impl RrcSource for Cu {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.append_ues(out);
    }

    fn present(&self, ue: Ue) -> Notification<'static> {
        let stay = self.present_or_former(ue).unwrap_or(Stay { du: 0, ue });
        RrcSource::present(&self.cells[stay.du], stay.ue)
    }

    fn has_events(&self) -> bool {
        self.cells.iter().any(RrcSource::has_events)
    }

    /// The events of a UE end with that of the cell where it is, or with its departure: cells have their events in order, and a UE that
    /// moves fast has some in several.
    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        let (mut earlier, mut last, mut local) = (Vec::new(), Vec::new(), Vec::new());
        self.update_stays();
        for du in 0..self.cells.len() {
            self.cells[du].take_events(&mut local);
            for (ue, notification) in local.drain(..) {
                let Some(own) = self.ue_of(Stay { du, ue }) else { continue };
                let is_last = match self.present(own) {
                    Some(stay) => stay == Stay { du, ue },
                    None => notification.event == rrc::Event::Detached,
                };
                if is_last { &mut last } else { &mut earlier }.push((own, notification));
            }
        }
        out.append(&mut earlier);
        out.append(&mut last);
    }
}

impl UeDirectory for Cu {
    fn find(&self, name: &UeId<'_>) -> Option<Ue> {
        let mut ues = Vec::new();
        self.append_ues(&mut ues);
        find_ue(ues.into_iter().map(|ue| (ue, self.name_of(ue))), name)
    }

    fn ue_id(&self, ue: Ue) -> Option<UeId<'static>> {
        self.present(ue).map(|_| self.name_of(ue))
    }
}

impl CccSource for Cu {
    fn structures(&self) -> &[SupportedStructure] {
        self.first().structures()
    }

    fn cells(&self) -> Vec<Cgi> {
        KpmSource::cells(self)
    }

    fn change_count(&self) -> u64 {
        self.cells.iter().map(CccSource::change_count).sum()
    }

    fn read(&self, scope: ConfigScope, name: &str) -> Vec<Structure> {
        self.cells[self.du_of(scope)].read(scope, name)
    }

    fn write(
        &mut self,
        now: Time,
        origin: ControllerId,
        scope: ConfigScope,
        current: Option<&Structure>,
        wanted: &Structure,
    ) -> Result<(), CccRefusal> {
        let du = self.du_of(scope);
        self.cells[du].write(now, origin, scope, current, wanted)
    }

    fn controller_removed(&mut self, controller: ControllerId) {
        self.cells.iter_mut().for_each(|node| CccSource::controller_removed(node, controller));
    }
}

impl Cu {
    /// The DU whose node has a part of the configuration: the first one has what belongs to the CU.
    fn du_of(&self, scope: ConfigScope) -> usize {
        match scope {
            ConfigScope::Cell(cell) => self.node_of(&cell).unwrap_or(0),
            ConfigScope::Node => 0,
        }
    }
}

impl NiSource for Cu {
    fn interfaces(&self) -> &[Interface] {
        self.first().interfaces()
    }

    fn set_watched(&mut self, now: Time, is_watched: bool) {
        self.cells.iter_mut().for_each(|node| node.set_watched(now, is_watched));
    }

    fn next_message(&mut self, now: Time) -> Option<Message> {
        for du in 0..self.cells.len() {
            if let Some(message) = self.cells[du].next_message(now) {
                let id = MessageId(self.own_number(du, message.id.0));
                let ue = message.ue.and_then(|ue| self.ue_of(Stay { du, ue }));
                return Some(Message { id, ue, ..message });
            }
        }
        None
    }

    fn next_poll(&self) -> Option<Time> {
        self.cells.iter().filter_map(NiSource::next_poll).min()
    }

    fn decide(&mut self, now: Time, message: MessageId, decision: MessageDecision) {
        let (du, number) = self.number_at(message.0);
        self.cells[du].decide(now, MessageId(number), decision);
    }

    fn inject(
        &mut self,
        now: Time,
        origin: ControllerId,
        interface: usize,
        direction: MessageDirection,
        octets: &[u8],
    ) -> Result<(), Cow<'static, str>> {
        self.cells[0].inject(now, origin, interface, direction, octets)
    }
}
