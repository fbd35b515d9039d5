//! The names of a node's UEs.

use e2sm::common::UeId;
use ferric::agent::Ue;
use ran_functions::association::UeDirectory;
use ran_functions::kpm::KpmSource;

use crate::node::Node;

impl UeDirectory for Node {
    fn find(&self, name: &UeId<'_>) -> Option<Ue> {
        let mut ues = Vec::new();
        self.ues(&mut ues);
        ues.into_iter().find(|ue| self.ue_id(*ue) == *name)
    }

    fn name(&self, ue: Ue) -> Option<UeId<'static>> {
        let mut ues = Vec::new();
        self.ues(&mut ues);
        ues.contains(&ue).then(|| self.ue_id(ue))
    }
}
