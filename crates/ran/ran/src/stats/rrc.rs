//! RRC: the UEs that are there, those that come, and those that go.

use e2sm::common::{PlmnIdentity, RntiValue};
use e2sm::rrc::{Event, Notification};
use ferric::agent::Ue;
use ran_functions::kpm::KpmSource;
use ran_functions::rrc::RrcSource;

use super::rnti;
use crate::node::{MCC, MNC, Node};

impl RrcSource for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn present(&self, ue: Ue) -> Notification<'static> {
        // also of one that has just left
        let facts = self.known(ue);
        Notification {
            event: Event::Present,
            ue_id: self.ue_id(ue),
            rnti: RntiValue(rnti(ue)),
            cell: KpmSource::cell(self),
            plmn: facts.map_or_else(|| PlmnIdentity::from_codes(MCC, MNC, 2), |facts| facts.plmn),
            s_nssais: facts.map(|facts| facts.slice[0]).into_iter().collect(),
        }
    }

    fn has_events(&self) -> bool {
        self.mobility.has_news()
    }

    fn take_events(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        out.extend(self.mobility.take_news());
    }
}
