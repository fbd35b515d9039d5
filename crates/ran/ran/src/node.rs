//! An E2 node: a base station with one cell, or a part of one. The cells of a base station that aggregates carriers have a node
//! each.

mod kpm;

#[cfg(any(feature = "control", feature = "llc", feature = "tc"))]
use std::cell::RefMut;
use std::cell::{Ref, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use e2sm::common::{FiveQi, Guami, PlmnIdentity, SNssai, Sd, Sst};
use ferric::agent::Ue;
use ferric::e2::Time;
use ferric::e2ap::GlobalE2NodeId;
use per::Bits;
use radio::phy::{Duplex, Rat};
use radio::{Cell, Subscription, UeEntry};
use ran_functions::kpm::SupportedMeasurement;

use crate::RanConfig;
#[cfg(feature = "control")]
use crate::control::{NodeConfiguration, SliceState, Taps};
use crate::mobility::Mobility;
use crate::node_type::{NodeType, UeNumbers};
use crate::profile::NodeProfile;
use crate::simulation::{BearerChanges, RanSimulation};
use crate::traffic_control::TrafficControlWarnings;
use ap::ServedPlmn;
use kpm::{GrowthCache, Measurement};

pub use kpm::CounterSnapshot;

/// The id of the first gNB, and the number of bits of a gNB id.
pub const FIRST_GNB: u32 = 0xe00;
pub const GNB_ID_BITS: u8 = 22;
pub const NR_CELL_BITS: u8 = 36;
/// The test network 001.01.
pub const MCC: u16 = 1;
pub const MNC: u16 = 1;
/// The default bearer.
pub const DEFAULT_DRB: u8 = 1;
/// Contexts that are kept of UEs that have left. Beyond that the oldest are dropped.
const MAX_FORMER_CONTEXTS: usize = 1024;
/// Bits of a UE's place in its id.
const PLACE_BITS: u32 = 16;
/// The C-RNTI of the UE at the first place.
const FIRST_RNTI: u16 = 0x4601;
/// The distance of the first C-RNTIs of the DUs of a CU, so that those of small cells differ; and how many fit below 0xfff2 (TS 38.321
/// 7.1).
const RNTIS_OF_DU: u16 = 1024;
const RNTI_BLOCKS: u16 = 40;

/// The id that RAN functions use for a UE: its place in the cell, and the number of UEs that had the place before. A place
/// is reused some time after its UE has left; an id never is.
pub fn ue_of(stay: &UeEntry) -> Ue {
    Ue(u64::from(stay.generation) << PLACE_BITS | stay.index as u64)
}

/// The place of a UE, which it may have left.
pub fn place_of(ue: Ue) -> usize {
    (ue.0 & ((1 << PLACE_BITS) - 1)) as usize
}

/// The C-RNTI of a UE of a cell, by its place: a cell has at most [`radio::MAX_UES_PER_CELL`], and reuses them only after
/// [`radio::INDEX_REUSE_DELAY`]. `local` is the number of the cell in its base station: the DUs of a CU begin at different ones.
fn rnti_at(ue: Ue, local: u16) -> u16 {
    FIRST_RNTI + (local - 1) % RNTI_BLOCKS * RNTIS_OF_DU + place_of(ue) as u16
}

/// The AMF UE NGAP ID of a UE, by its number in the RAN.
fn core_id(number: u64) -> u64 {
    (u64::from(FIRST_GNB) << 16) + number
}

/// The network that a UE has selected.
pub fn selected_network(subscription: &Subscription) -> PlmnIdentity {
    let mnc_digits = if subscription.has_long_mnc { 3 } else { 2 };
    PlmnIdentity::from_codes(subscription.mcc, subscription.mnc, mnc_digits)
}

/// The slice that a UE has selected.
pub fn selected_slice(subscription: &Subscription) -> SNssai {
    SNssai { sst: Sst([subscription.sst]), sd: subscription.sd.map(Sd) }
}

/// A base station with one cell, or a part of one. Its time advances when it is read.
#[derive(Debug)]
pub struct Node {
    pub(crate) gnb: u32,
    pub(crate) node_type: NodeType,
    pub(crate) profile: &'static NodeProfile,
    /// The measurements that it offers, and how they are computed.
    offers: Vec<SupportedMeasurement>,
    measurements: Vec<Measurement>,
    growth: RefCell<GrowthCache>,
    pub(crate) simulation: Rc<RefCell<RanSimulation>>,
    /// UE contexts by place in the cell.
    pub(crate) contexts: Vec<UeContext>,
    /// The contexts of UEs whose places have been reused.
    former_contexts: VecDeque<UeContext>,
    pub(crate) mobility: Mobility,
    last_read: Time,
    /// The version of [`BearerChanges`] that the contexts contain.
    bearer_version: u64,
    #[cfg(feature = "control")]
    pub(crate) configuration: NodeConfiguration,
    #[cfg(feature = "control")]
    pub(crate) slices: SliceState,
    #[cfg(feature = "control")]
    pub(crate) taps: Taps,
    pub(crate) traffic_control_warnings: TrafficControlWarnings,
    /// What controllers have configured.
    #[cfg(feature = "tc")]
    pub(crate) traffic_control: ran_functions::tc::Configuration,
}

/// What a node knows of a UE besides the state of the model.
#[derive(Clone, Debug)]
pub struct UeContext {
    pub ue: Ue,
    /// The UE's number in the RAN.
    pub number: u64,
    pub plmn: PlmnIdentity,
    pub slice: [SNssai; 1],
    pub five_qi: [FiveQi; 1],
    /// The identifier of its QoS flow, which is the flow's first 5QI.
    pub qfi: u8,
    /// The bearer of its QoS flow.
    pub drb: u8,
    /// Whether it has its PDU session, which the core may release.
    pub has_session: bool,
}

impl UeContext {
    fn new(stay: &UeEntry, bearers: &BearerChanges) -> UeContext {
        let subscription = &stay.subscription;
        let mut context = UeContext {
            ue: ue_of(stay),
            number: stay.number,
            plmn: selected_network(subscription),
            slice: [selected_slice(subscription)],
            five_qi: [FiveQi(subscription.five_qi)],
            qfi: subscription.five_qi,
            drb: DEFAULT_DRB,
            has_session: true,
        };
        context.update_bearer(bearers);
        context
    }

    fn update_bearer(&mut self, bearers: &BearerChanges) {
        if let Some(bearer) = bearers.by_ue.get(&self.number) {
            (self.five_qi, self.drb, self.has_session) = ([bearer.five_qi], bearer.drb, bearer.has_session);
        }
    }
}

impl Node {
    pub fn new(config: &RanConfig, number: u16, node_type: NodeType, simulation: Rc<RefCell<RanSimulation>>) -> Self {
        let mobility = {
            let simulation = simulation.borrow();
            Mobility::new(number, config, Rc::clone(&simulation.cells), Rc::clone(&simulation.places))
        };
        // only nodes of the profile are created
        let profile = config.profile.node(node_type).unwrap_or_else(|| panic!("{node_type:?} has no E2 agent"));
        let (measurements, offers) = kpm::offered(node_type, &profile.kpm);
        #[cfg(any(feature = "control", feature = "tc"))]
        let scenario = &config.scenario.cells[usize::from(number)];
        let place = mobility.place();
        let gnb = FIRST_GNB + u32::from(place.first);
        #[cfg_attr(not(feature = "control"), expect(unused_mut))]
        let mut node = Node {
            gnb,
            node_type,
            profile,
            offers,
            measurements,
            growth: RefCell::default(),
            contexts: Vec::new(),
            former_contexts: VecDeque::new(),
            last_read: Time::default(),
            bearer_version: 0,
            #[cfg(feature = "control")]
            configuration: NodeConfiguration::new(gnb, place, config.all_ccc_attributes),
            #[cfg(feature = "control")]
            slices: SliceState::new(&scenario.slicing),
            #[cfg(feature = "control")]
            taps: Taps::of_node(node_type, &mobility),
            traffic_control_warnings: TrafficControlWarnings::default(),
            #[cfg(feature = "tc")]
            traffic_control: crate::traffic_control::from_model(&scenario.radio.tc),
            mobility,
            simulation,
        };
        #[cfg(feature = "control")]
        if node_type.has_mac() {
            node.apply_slicing();
        }
        node
    }

    /// Advances to `now` without being read by a RAN function.
    pub(crate) fn advance_unread(&mut self, now: Time) {
        self.simulation.borrow_mut().advance(now);
        self.admit_new_ues();
        self.update_bearers();
        if self.node_type.has_pdcp() {
            self.warn_plugin_faults();
        }
        self.process_cell_events();
    }

    /// The networks that its cell serves.
    pub(crate) fn networks(&self) -> Rc<[ServedPlmn]> {
        Rc::clone(&self.simulation.borrow().networks)
    }

    /// The physical cell identity of its cell.
    pub(crate) fn nr_pci(&self) -> u16 {
        self.simulation.borrow().pcis[self.cell_number()]
    }

    /// The number of its cell in the model.
    pub(crate) fn cell_number(&self) -> usize {
        self.mobility.number().into()
    }

    /// Its cell in the model.
    pub(crate) fn cell(&self) -> Ref<'_, Cell> {
        Ref::map(self.simulation.borrow(), |simulation| simulation.model.network.cell(self.cell_number()))
    }

    /// What it is, for the log, with so many UEs: `NR 40 MHz TDD, 3 UEs`.
    pub(crate) fn about(&self, ues: usize) -> String {
        let cell = self.cell();
        let carrier = cell.grid().carrier();
        let rat = match carrier.rat {
            Rat::Nr => "NR",
            Rat::Lte => "LTE",
        };
        let duplex = if carrier.duplex == Duplex::Fdd { "FDD" } else { "TDD" };
        let ues = match ues {
            1 => "1 UE".to_owned(),
            ues => format!("{ues} UEs"),
        };
        format!("{rat} {} MHz {duplex}, {ues}", carrier.bandwidth_mhz)
    }

    /// Its cell in the model, for changes.
    #[cfg(any(feature = "control", feature = "llc", feature = "tc"))]
    pub(crate) fn cell_mut(&self) -> RefMut<'_, Cell> {
        RefMut::map(self.simulation.borrow_mut(), |simulation| simulation.model.network.cell_mut(self.cell_number()))
    }

    /// The AMF UE NGAP ID of a UE. It stays the same in handovers.
    pub(crate) fn amf_ue_ngap_id(&self, ue: Ue) -> u64 {
        self.number_of(ue).map_or(0, core_id)
    }

    /// The number of a UE in the RAN; `None` if it is unknown here.
    pub(crate) fn number_of(&self, ue: Ue) -> Option<u64> {
        // another part of the gNB may have advanced the cell to the arrival of a UE that has no context here yet
        self.context_or_former(ue).map(|context| context.number).or_else(|| self.number_in_cell(ue))
    }

    /// The numbers of a UE on NG, E1 and F1.
    pub(crate) fn ue_numbers(&self, ue: Ue) -> UeNumbers {
        let place = self.mobility.place();
        match self.number_of(ue) {
            Some(number) if place.has_siblings() => UeNumbers::of_number(number, place.local),
            _ => UeNumbers::of_place(ue),
        }
    }

    /// The C-RNTI of a UE.
    pub(crate) fn rnti_of(&self, ue: Ue) -> u16 {
        rnti_at(ue, self.mobility.place().local)
    }

    /// The TEIDs of a UE's tunnel: each end numbers its own, the gNB by place, the UPF by UE. So does the CU-UP of several DUs, among which
    /// the UE keeps its tunnel.
    #[cfg(any(feature = "control", feature = "statistics"))]
    pub(crate) fn teids(&self, ue: Ue) -> (u32, u32) {
        let number = self.context_or_former(ue).map_or(0, |context| context.number as u32);
        let own = if self.mobility.place().has_siblings() { 1 + number } else { self.gnb << 16 | place_of(ue) as u32 };
        (own, 1 + number)
    }

    /// The number of a UE of the cell in the scenario.
    fn number_in_cell(&self, ue: Ue) -> Option<u64> {
        let simulation = self.simulation.borrow();
        let cell = simulation.model.network.cell(self.cell_number());
        let place = place_of(ue);
        let entry = (place < cell.ue_indices()).then(|| cell.ue_entry(place))?;
        (ue_of(entry) == ue).then_some(entry.number)
    }

    /// The node's identity.
    pub fn id(&self) -> GlobalE2NodeId {
        self.node_type.id(self.gnb, self.mobility.place().local)
    }

    /// The time of the last read by a RAN function.
    pub(crate) fn last_read(&self) -> Time {
        self.last_read
    }

    /// The context of a UE of the cell.
    pub(crate) fn context(&self, ue: Ue) -> Option<&UeContext> {
        self.place(ue)?;
        self.context_or_former(ue)
    }

    /// The place of a UE of the cell.
    pub(crate) fn place(&self, ue: Ue) -> Option<usize> {
        let (cell, place) = (self.cell(), place_of(ue));
        cell.ue(place)?;
        (ue_of(cell.ue_entry(place)) == ue).then_some(place)
    }

    /// The context of a UE, which may have left.
    pub(crate) fn context_or_former(&self, ue: Ue) -> Option<&UeContext> {
        let present = self.contexts.get(place_of(ue)).filter(|context| context.ue == ue);
        present.or_else(|| self.former_contexts.iter().rev().find(|context| context.ue == ue))
    }

    /// Keeps the context of a UE that arrived and left, and whose place was reused, between two reads.
    pub(crate) fn remember_ue(&mut self, stay: &UeEntry) {
        if self.context_or_former(ue_of(stay)).is_none() {
            let context = UeContext::new(stay, &self.simulation.borrow().bearers);
            self.keep_former(context);
        }
    }

    fn keep_former(&mut self, context: UeContext) {
        if self.former_contexts.len() >= MAX_FORMER_CONTEXTS {
            self.former_contexts.pop_front();
        }
        self.former_contexts.push_back(context);
    }

    /// Takes over the bearers that another part of the gNB has changed, or that were changed before a handover.
    fn update_bearers(&mut self) {
        let simulation = self.simulation.borrow();
        if simulation.bearers.version == self.bearer_version {
            return;
        }
        self.bearer_version = simulation.bearers.version;
        for context in &mut self.contexts {
            context.update_bearer(&simulation.bearers);
        }
    }

    /// Creates the contexts of UEs that have arrived.
    fn admit_new_ues(&mut self) {
        let arrived: Vec<UeContext> = {
            let simulation = self.simulation.borrow();
            let cell = simulation.model.network.cell(self.cell_number());
            let is_new =
                |stay: &&UeEntry| self.contexts.get(stay.index).is_none_or(|context| context.ue != ue_of(stay));
            let stays = (0..cell.ue_indices()).map(|place| cell.ue_entry(place)).filter(is_new);
            stays.map(|stay| UeContext::new(stay, &simulation.bearers)).collect()
        };
        for context in arrived {
            let place = place_of(context.ue);
            if place < self.contexts.len() {
                let former = std::mem::replace(&mut self.contexts[place], context);
                self.keep_former(former);
            } else {
                self.contexts.push(context);
            }
            #[cfg(feature = "control")]
            if self.node_type.has_mac() {
                self.assign_initial_slices(place);
                self.assign_scheduler_group(place);
            }
            if self.node_type.has_pdcp() {
                self.warn_queue_mismatch(place);
            }
        }
        #[cfg(feature = "control")]
        if self.node_type.has_mac() {
            self.assign_secondary_ues();
        }
    }
}

/// The AMF of all nodes.
pub fn guami() -> Guami {
    Guami {
        plmn_identity: PlmnIdentity::from_codes(MCC, MNC, 2),
        amf_region_id: Bits::new(1, 8),
        amf_set_id: Bits::new(1, 10),
        amf_pointer: Bits::new(1, 6),
    }
}
