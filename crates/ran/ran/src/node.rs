//! An E2 node: its identities, and what its cell's counters say as measurements.

mod kpm;

use std::cell::{Ref, RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

use e2sm::common::{Cgi, FiveQi, Guami, PlmnIdentity, SNssai, Sd, Sst};
use ferric::agent::Ue;
use ferric::e2::Time;
use ferric::e2ap::GlobalE2NodeId;
use per::Bits;
use radio::{Cell, Stay, Subscription};
use ran_functions::kpm::SupportedMeasurement;

use crate::RanConfig;
use crate::configuration::Configuration;
use crate::interfaces::Taps;
use crate::interfaces::setup::ServedNetwork;
use crate::mobility::Mobility;
use crate::part::Part;
use crate::slices::Slices;
use crate::traffic_control::{Told, told};
use crate::world::{Bearers, World};
use kpm::{KPIS, Kpi};

#[cfg(test)]
pub use kpm::Mark;

/// The first gNB's id, and bits of an id.
pub const FIRST_GNB: u32 = 0xe00;
pub const GNB_ID_BITS: u8 = 22;
pub const NR_CELL_BITS: u8 = 36;
/// Test network 001.01.
pub const MCC: u16 = 1;
pub const MNC: u16 = 1;
/// The default bearer.
pub const DEFAULT_DRB: u8 = 1;
/// UEs that have left, of which it is still known who they were: more are forgotten, the longest gone first.
const MAX_FORMER: usize = 1024;
/// Bits of a UE's place in what functions call it.
const PLACE_BITS: u32 = 16;

/// What functions call a UE: its place in the cell, and how many had it before. The first part is given again when it has
/// rested, the whole is not.
pub fn called(stay: &Stay) -> Ue {
    Ue(u64::from(stay.turn) << PLACE_BITS | stay.place as u64)
}

/// The place of a UE, which it may have left.
pub fn place_of(ue: Ue) -> usize {
    (ue.0 & ((1 << PLACE_BITS) - 1)) as usize
}

/// The network that a UE has chosen.
pub fn chosen_network(subscription: &Subscription) -> PlmnIdentity {
    let mnc_digits = if subscription.has_long_mnc { 3 } else { 2 };
    PlmnIdentity::from_codes(subscription.mcc, subscription.mnc, mnc_digits)
}

/// The slice that a UE has chosen.
pub fn chosen_slice(subscription: &Subscription) -> SNssai {
    SNssai { sst: Sst([subscription.sst]), sd: subscription.sd.map(Sd) }
}

/// A base station with one cell, or a part of one. Its time goes on when somebody looks.
#[derive(Debug)]
pub struct Node {
    pub(crate) gnb: u32,
    pub(crate) part: Part,
    /// The measurements that are its own.
    kpis: Vec<Kpi>,
    offers: Vec<SupportedMeasurement>,
    pub(crate) world: Rc<RefCell<World>>,
    /// What is known of UEs besides the model, by their places in the cell.
    pub(crate) facts: Vec<Facts>,
    /// What was known of UEs whose places are others' now.
    former: VecDeque<Facts>,
    pub(crate) configuration: Configuration,
    pub(crate) taps: Taps,
    pub(crate) slices: Slices,
    pub(crate) traffic_control: ran_functions::tc::Configuration,
    pub(crate) mobility: Mobility,
    pub(crate) told: Told,
    looked_at: Time,
    /// Changes of bearers that it has heard of.
    bearer_changes: u64,
}

/// What is known of a UE besides the model.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What functions call it.
    pub ue: Ue,
    /// Its number in the RAN.
    pub number: u64,
    pub plmn: PlmnIdentity,
    pub slice: [SNssai; 1],
    pub five_qi: [FiveQi; 1],
    /// Its flow, whose identifier is the 5QI that it began with.
    pub qfi: u8,
    /// The bearer that its flow goes over.
    pub drb: u8,
}

impl Facts {
    /// Of a UE that has just come.
    fn new(stay: &Stay, bearers: &Bearers) -> Facts {
        let subscription = &stay.subscription;
        let mut facts = Facts {
            ue: called(stay),
            number: stay.number,
            plmn: chosen_network(subscription),
            slice: [chosen_slice(subscription)],
            five_qi: [FiveQi(subscription.five_qi)],
            qfi: subscription.five_qi,
            drb: DEFAULT_DRB,
        };
        facts.take_over(bearers);
        facts
    }

    /// Its bearer, where that was changed.
    fn take_over(&mut self, bearers: &Bearers) {
        if let Some(bearer) = bearers.of_ues.get(&self.number) {
            (self.five_qi, self.drb) = ([bearer.five_qi], bearer.drb);
        }
    }
}

impl Node {
    pub fn new(config: &RanConfig, number: u16, part: Part, world: Rc<RefCell<World>>) -> Self {
        let gnb = FIRST_GNB + u32::from(number);
        let mobility = Mobility::new(number, config, Rc::clone(&world.borrow().cells));
        let is_enb = part == Part::Enb;
        let is_alike = |number: &u16| matches!(mobility.cell(*number), Cgi::EutraCgi(_)) == is_enb;
        let neighbours = mobility.others().filter(is_alike);
        let taps = if part.has_rrc() { Taps::new(number, is_enb, neighbours) } else { Taps::default() };
        let (kpis, offers) = KPIS.into_iter().filter(|(kpi, _)| kpi.is_of(part)).unzip();
        let scenario = &config.scenario.cells[usize::from(number)];
        let mut node = Node {
            gnb,
            configuration: Configuration::new(gnb),
            part,
            kpis,
            offers,
            taps,
            mobility,
            told: Told::default(),
            slices: Slices::new(&scenario.slicing),
            traffic_control: told(&scenario.radio.tc),
            facts: Vec::new(),
            former: VecDeque::new(),
            world,
            looked_at: Time::default(),
            bearer_changes: 0,
        };
        if part.has_mac() {
            node.apply_slicing();
        }
        node
    }

    /// Its time has come to that, though nobody looks.
    pub(crate) fn go_on(&mut self, until: Time) {
        self.world.borrow_mut().advance(self.at(), until);
        self.meet();
        self.hear_of_bearers();
        if self.part.has_pdcp() {
            self.notice_faults();
        }
        self.take_news_of_cell();
    }

    /// The networks that its cell serves.
    pub(crate) fn networks(&self) -> Rc<[ServedNetwork]> {
        Rc::clone(&self.world.borrow().networks)
    }

    /// The number of its cell in the model.
    pub(crate) fn at(&self) -> usize {
        self.mobility.number().into()
    }

    /// Its cell.
    pub(crate) fn cell(&self) -> Ref<'_, Cell> {
        Ref::map(self.world.borrow(), |world| world.model.network.cell(self.at()))
    }

    /// Its cell, to be changed.
    pub(crate) fn cell_mut(&self) -> RefMut<'_, Cell> {
        RefMut::map(self.world.borrow_mut(), |world| world.model.network.cell_mut(self.at()))
    }

    /// What the AMF calls a UE: it has its name from where it was first, and keeps it wherever it goes.
    pub(crate) fn amf_ue_ngap_id(&self, ue: Ue) -> u64 {
        self.known(ue).map_or(0, |facts| (u64::from(FIRST_GNB) << 16) + facts.number)
    }

    /// The node's key.
    pub fn id(&self) -> GlobalE2NodeId {
        self.part.id(self.gnb)
    }

    /// When somebody looked last.
    pub(crate) fn looked_at(&self) -> Time {
        self.looked_at
    }

    /// What is known of a UE that is there.
    pub(crate) fn facts(&self, ue: Ue) -> Option<&Facts> {
        self.place(ue)?;
        self.known(ue)
    }

    /// The place of a UE that is there.
    pub(crate) fn place(&self, ue: Ue) -> Option<usize> {
        let (cell, place) = (self.cell(), place_of(ue));
        cell.ue(place)?;
        (called(cell.stay(place)) == ue).then_some(place)
    }

    /// What is known of a UE, also after it has left.
    pub(crate) fn known(&self, ue: Ue) -> Option<&Facts> {
        let there = self.facts.get(place_of(ue)).filter(|facts| facts.ue == ue);
        there.or_else(|| self.former.iter().rev().find(|facts| facts.ue == ue))
    }

    /// A UE was there: what is known of it is kept, though nobody looked before another one had its place.
    pub(crate) fn remember(&mut self, stay: &Stay) {
        if self.known(called(stay)).is_none() {
            let facts = Facts::new(stay, &self.world.borrow().bearers);
            self.keep(facts);
        }
    }

    fn keep(&mut self, former: Facts) {
        if self.former.len() >= MAX_FORMER {
            self.former.pop_front();
        }
        self.former.push_back(former);
    }

    /// Takes over what another part of the gNB has changed of bearers, and what UEs bring along.
    fn hear_of_bearers(&mut self) {
        let world = self.world.borrow();
        if world.bearers.changes == self.bearer_changes {
            return;
        }
        self.bearer_changes = world.bearers.changes;
        for facts in &mut self.facts {
            facts.take_over(&world.bearers);
        }
    }

    /// Takes down what is known of UEs that have come.
    fn meet(&mut self) {
        let newcomers: Vec<Facts> = {
            let world = self.world.borrow();
            let cell = world.model.network.cell(self.at());
            let is_new = |stay: &&Stay| self.facts.get(stay.place).is_none_or(|facts| facts.ue != called(stay));
            let stays = (0..cell.places()).map(|place| cell.stay(place)).filter(is_new);
            stays.map(|stay| Facts::new(stay, &world.bearers)).collect()
        };
        for facts in newcomers {
            let place = place_of(facts.ue);
            if place < self.facts.len() {
                let before = std::mem::replace(&mut self.facts[place], facts);
                self.keep(before);
            } else {
                self.facts.push(facts);
            }
            if self.part.has_mac() {
                self.begin_in_slices(place);
                self.join_groups(place);
            }
            if self.part.has_pdcp() {
                self.notice_misfit(place);
            }
        }
    }
}

/// The AMF that all nodes have.
pub fn guami() -> Guami {
    Guami {
        plmn_identity: PlmnIdentity::from_codes(MCC, MNC, 2),
        amf_region_id: Bits::new(1, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    }
}
