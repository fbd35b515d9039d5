//! RRC: the UEs that are there, those that leave for another cell of the RAN, and those that come from one.

use e2sm::common::{PlmnIdentity, RntiValue};
use e2sm::rrc::{Event, Notification};
use ferric::agent::Ue;
use functions::kpm::KpmSource;
use functions::rrc::RrcSource;

use super::rnti;
use crate::node::{MCC, MNC, Node};

impl RrcSource for Node {
    fn ues(&self, out: &mut Vec<Ue>) {
        self.all_ues(out);
    }

    fn present(&self, ue: Ue) -> Notification<'static> {
        Notification {
            event: Event::Present,
            ue_id: self.ue_id(ue),
            rnti: RntiValue(rnti(ue)),
            cell: self.cell(),
            plmn: PlmnIdentity::from_codes(MCC, MNC, 2),
            s_nssais: KpmSource::slices(self, ue).to_vec().into(),
        }
    }

    fn has_news(&self) -> bool {
        self.mobility.has_news()
    }

    fn take_news(&mut self, out: &mut Vec<(Ue, Notification<'static>)>) {
        out.extend(self.mobility.take_news());
    }
}
