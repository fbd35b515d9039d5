//! The functions of one service model that the parts of a base station have. A part that is lost keeps its place until the base station
//! is lost: the function that offers all of them stays as it is towards the controller.

use std::collections::BTreeMap;

use ferric::e2::topology::Part;
use ferric::e2::{NodeId, RanFunction};
use ferric::e2ap::RanFunctionId;

/// A part in the order in which parts are asked.
pub(super) type Ranked = (u8, Part);

pub(super) fn ranked(part: Part) -> Ranked {
    let rank = match part {
        Part::Control => 0,
        Part::CuUp(_) => 1,
        Part::Du(_) => 2,
    };
    (rank, part)
}

/// The function of a part.
#[derive(Debug)]
pub(super) struct Offer<C> {
    /// `None` while the part is lost.
    pub node: Option<NodeId>,
    pub function: RanFunctionId,
    pub definition: Vec<u8>,
    /// What the definition says.
    pub content: C,
}

/// The functions of the parts.
#[derive(Debug)]
pub(super) struct Offers<C>(BTreeMap<Ranked, Offer<C>>);

impl<C> Default for Offers<C> {
    fn default() -> Self {
        Offers(BTreeMap::new())
    }
}

impl<C> Offers<C> {
    /// Takes over the functions that the parts have now. Returns whether one is new or has changed.
    ///
    /// # Errors
    /// That of `read`, which reads a definition.
    pub fn update<E>(
        &mut self,
        present: BTreeMap<Ranked, (NodeId, &RanFunction)>,
        mut read: impl FnMut(Ranked, &RanFunction) -> Result<C, E>,
    ) -> Result<bool, E> {
        self.0.values_mut().for_each(|offer| offer.node = None);
        let mut is_new = false;
        for (part, (node, function)) in present {
            match self.0.get_mut(&part) {
                Some(known) if known.definition == *function.definition && known.function == function.id => {
                    known.node = Some(node);
                }
                _ => {
                    let content = read(part, function)?;
                    let definition = function.definition.to_vec();
                    self.0.insert(part, Offer { node: Some(node), function: function.id, definition, content });
                    is_new = true;
                }
            }
        }
        Ok(is_new)
    }

    pub fn get(&self, part: Ranked) -> Option<&Offer<C>> {
        self.0.get(&part)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Ranked, &Offer<C>)> {
        self.0.iter().map(|(part, offer)| (*part, offer))
    }

    /// Whether this is the function of a part.
    pub fn has(&self, part: Part, function: RanFunctionId) -> bool {
        self.get(ranked(part)).is_some_and(|offer| offer.function == function)
    }

    /// The node and the function of a part; `None` while it is lost.
    pub fn target(&self, part: Ranked) -> Option<(NodeId, RanFunctionId)> {
        let offer = self.get(part)?;
        Some((offer.node?, offer.function))
    }
}
