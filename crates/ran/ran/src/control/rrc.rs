//! RRC notifications: the UEs of the cell, their arrivals and departures; and the directory of UE ids.

use e2sm::common::{PlmnIdentity, RntiValue, UeId};
use e2sm::rrc::{Event, Ipv4Address, Notification};
use ferric::agent::Ue;
use per::List;
use ran_functions::association::{UeDirectory, find_ue};
use ran_functions::kpm::KpmSource;
use ran_functions::rrc::RrcSource;

use crate::node::{MCC, MNC, Node};
use crate::scenario::address;

impl RrcSource for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        KpmSource::ues(self, out);
    }

    fn present(&self, ue: Ue) -> Notification<'static> {
        // also for a UE that has just left
        let context = self.context_or_former(ue);
        let address = context.map(|context| Ipv4Address(address(context.number as usize).octets()));
        Notification {
            event: Event::Present,
            ue_id: KpmSource::ue_id(self, ue),
            rnti: RntiValue(self.rnti_of(ue)),
            cell: KpmSource::cell(self),
            plmn: context.map_or_else(|| PlmnIdentity::from_codes(MCC, MNC, 2), |context| context.plmn),
            s_nssais: context.map(|context| context.slice[0]).into_iter().collect(),
            addresses: address.map(|address| List::from(vec![address])),
        }
    }

    fn has_events(&self) -> bool {
        self.mobility.events.has_notifications()
    }

    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        out.extend(self.mobility.events.take_notifications());
    }
}

impl UeDirectory for Node {
    fn find(&self, name: &UeId<'_>) -> Option<Ue> {
        let mut ues = Vec::new();
        KpmSource::ues(self, &mut ues);
        find_ue(ues.into_iter().map(|ue| (ue, KpmSource::ue_id(self, ue))), name)
    }

    fn ue_id(&self, ue: Ue) -> Option<UeId<'static>> {
        let mut ues = Vec::new();
        KpmSource::ues(self, &mut ues);
        ues.contains(&ue).then(|| KpmSource::ue_id(self, ue))
    }
}
