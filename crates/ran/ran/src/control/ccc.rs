//! E2SM-CCC: the configuration of a node and its cell, and its effect on the model.
//!
//! A locked cell serves no UE: its UEs are handed over or released. So are those of a cell that saves energy. RRM policies reserve resource blocks for slices, or limit them: the reservations add up to
//! 100 % at most, and only the controller that created a policy changes it.

use std::borrow::Cow;

use e2sm::ccc::{
    AdministrativeState, Bwp, BwpContext, Cause, CellState, GnbCuCpFunction, GnbDuFunction, InitialBwp, NrCellCu,
    NrCellDu, OperationalState, PlmnInfo, RanConfigurationStructure as Structure, ResourceType, RrmPolicyMember,
    RrmPolicyRatio,
};
use e2sm::common::{Cgi, PlmnIdentity};
use e2sm::rc::SlicePrbQuota;
use ferric::agent::ControllerId;
use ferric::e2::Time;
use radio::mac::Quota;
use radio::phy;
use ran_functions::ccc::{CccSource, ConfigLevel, ConfigScope, Refusal, SupportedAttribute, SupportedStructure};
use ran_functions::kpm::KpmSource;
use ran_functions::slice::Direction;
use tracing::info;

use super::slices::QuotaGroups;
use crate::gnb_cells::GnbCell;
use crate::interfaces::du_name;
use crate::node::{GNB_ID_BITS, MCC, MNC, Node};
use crate::node_type::NodeType;
use crate::profile::CccProfile;
use ap::ServedPlmn;

/// RRM policies of a cell. Further ones are refused.
const MAX_POLICIES: usize = 64;

/// Characters of a name (TS 28.541 4.4.1).
const MAX_NAME: usize = 150;

/// The configuration of a node that controllers can change.
#[derive(Debug)]
pub struct NodeConfiguration {
    /// The number of changes so far.
    changes: u64,
    cu_name: String,
    du_name: String,
    policies: Vec<Policy>,
    /// Whether all attributes are announced.
    announces_all: bool,
}

/// An RRM policy and the controller that created it.
#[derive(Clone, Debug)]
struct Policy {
    owner: ControllerId,
    ratio: RrmPolicyRatio,
}

impl NodeConfiguration {
    pub fn new(gnb: u32, place: GnbCell, announces_all: bool) -> Self {
        NodeConfiguration {
            changes: 0,
            cu_name: format!("gnb-{gnb:x}-cu"),
            du_name: du_name(gnb, place),
            policies: Vec::new(),
            announces_all,
        }
    }

    /// The quotas of a direction. The dedicated ratio is part of the minimum ratio.
    pub fn groups(&self, direction: Direction) -> QuotaGroups {
        let resource = match direction {
            Direction::Downlink => ResourceType::PrbDl,
            Direction::Uplink => ResourceType::PrbUl,
        };
        let of_direction = || self.policies.iter().filter(|policy| policy.ratio.resource_type == Some(resource));
        let quota = |policy: &Policy| Quota {
            dedicated_percent: policy.ratio.rrm_policy_dedicated_ratio.unwrap_or(0).into(),
            min_percent: policy.ratio.rrm_policy_min_ratio.unwrap_or(0).into(),
            max_percent: policy.ratio.rrm_policy_max_ratio.unwrap_or(100).into(),
        };
        let members = |policy: &Policy| policy.ratio.rrm_policy_member_list.clone().unwrap_or_default();
        QuotaGroups { members: of_direction().map(members).collect(), quotas: of_direction().map(quota).collect() }
    }
}

const GNB_ID: SupportedAttribute = SupportedAttribute::read_only("gNBId");
const GNB_ID_LENGTH: SupportedAttribute = SupportedAttribute::read_only("gNBIdLength");
const CELL_LOCAL_ID: SupportedAttribute = SupportedAttribute::read_only("cellLocalId");
const PLMN_INFO_LIST: SupportedAttribute = SupportedAttribute::read_only("pLMNInfoList");

/// The attributes of the structures.
static OF_CU_CP: [SupportedAttribute; 4] =
    [GNB_ID, GNB_ID_LENGTH, SupportedAttribute::writable("gNBCUName"), SupportedAttribute::read_only("pLMNId")];
static OF_CELL_OF_CU: [SupportedAttribute; 2] = [CELL_LOCAL_ID, PLMN_INFO_LIST];
static OF_DU: [SupportedAttribute; 3] = [SupportedAttribute::writable("gNBDUName"), GNB_ID, GNB_ID_LENGTH];
static OF_CELL_OF_DU: [SupportedAttribute; 9] = [
    CELL_LOCAL_ID,
    SupportedAttribute::read_only("operationalState"),
    SupportedAttribute::writable("administrativeState"),
    SupportedAttribute::read_only("cellState"),
    PLMN_INFO_LIST,
    SupportedAttribute::writable("nRPCI"),
    SupportedAttribute::read_only("bSChannelBwDL"),
    SupportedAttribute::read_only("bSChannelBwUL"),
    SupportedAttribute::read_only("bWPList"),
];
static OF_RATIO: [SupportedAttribute; 5] = [
    SupportedAttribute::writable("resourceType"),
    SupportedAttribute::writable("rRMPolicyMemberList"),
    SupportedAttribute::writable("rRMPolicyMaxRatio"),
    SupportedAttribute::writable("rRMPolicyMinRatio"),
    SupportedAttribute::writable("rRMPolicyDedicatedRatio"),
];
/// The attributes of a neighbour of a cell.
static OF_RELATION: [SupportedAttribute; 3] = [
    SupportedAttribute::read_only("nRTCI"),
    SupportedAttribute::writable("cellIndividualOffset"),
    SupportedAttribute::writable("isHOAllowed"),
];
static SET_RELATION: [SupportedAttribute; 3] = [
    SupportedAttribute::set_only("nRTCI"),
    SupportedAttribute::set_only("cellIndividualOffset"),
    SupportedAttribute::set_only("isHOAllowed"),
];
static KEY_OF_RELATION: [Cow<'static, str>; 1] = [Cow::Borrowed("nRTCI")];
/// The attributes of a cell of a DU that controllers set or follow.
static SHORT_CELL_OF_DU: [SupportedAttribute; 3] = [
    SupportedAttribute::writable("administrativeState").shortened(),
    SupportedAttribute::read_only("cellState").shortened(),
    SupportedAttribute::writable("nRPCI").shortened(),
];
/// The attributes of a cell's energy saving.
static OF_ENERGY_SAVING: [SupportedAttribute; 3] = [
    SupportedAttribute::read_only("cesSwitch"),
    SupportedAttribute::read_only("energySavingState"),
    SupportedAttribute::writable("energySavingControl"),
];
static SHORT_ENERGY_SAVING: [SupportedAttribute; 2] = [
    SupportedAttribute::read_only("energySavingState").shortened(),
    SupportedAttribute::set_only("energySavingControl"),
];
/// The attributes of the only policy for muted transceivers.
static OF_TRANSCEIVERS: [SupportedAttribute; 3] = [
    SupportedAttribute::writable("policyType"),
    SupportedAttribute::writable("dataDir"),
    SupportedAttribute::writable("antennaMask"),
];
static SET_TRANSCEIVERS: [SupportedAttribute; 3] = [
    SupportedAttribute::set_only("policyType"),
    SupportedAttribute::set_only("dataDir"),
    SupportedAttribute::set_only("antennaMask"),
];
/// Reports contain the key of a policy in any case. The dedicated ratio is set only, which keeps the definition short.
static SHORT_RATIO: [SupportedAttribute; 5] = [
    SupportedAttribute::set_only("resourceType"),
    SupportedAttribute::set_only("rRMPolicyMemberList"),
    SupportedAttribute::writable("rRMPolicyMaxRatio").shortened(),
    SupportedAttribute::writable("rRMPolicyMinRatio").shortened(),
    SupportedAttribute::set_only("rRMPolicyDedicatedRatio"),
];
static SET_RATIO: [SupportedAttribute; 5] = [
    SupportedAttribute::set_only("resourceType"),
    SupportedAttribute::set_only("rRMPolicyMemberList"),
    SupportedAttribute::set_only("rRMPolicyMaxRatio"),
    SupportedAttribute::set_only("rRMPolicyMinRatio"),
    SupportedAttribute::set_only("rRMPolicyDedicatedRatio"),
];
static KEY_OF_RATIO: [Cow<'static, str>; 2] = [Cow::Borrowed("resourceType"), Cow::Borrowed("rRMPolicyMemberList")];

const fn offer(
    level: ConfigLevel,
    name: &'static str,
    attributes: &'static [SupportedAttribute],
    key: &'static [Cow<'static, str>],
) -> SupportedStructure {
    SupportedStructure {
        level,
        name: Cow::Borrowed(name),
        attributes: Cow::Borrowed(attributes),
        key: Cow::Borrowed(key),
        is_listed: true,
    }
}

/// The structure without a place in the RAN function definition, whose size is limited.
const fn unlisted(mut structure: SupportedStructure) -> SupportedStructure {
    structure.is_listed = false;
    structure
}

/// The number of structures of a CU-CP, which come first.
const CU_OFFERS: usize = 3;
static OFFERS: [SupportedStructure; 8] = [
    offer(ConfigLevel::Node, "O-GNBCUCPFunction", &OF_CU_CP, &[]),
    offer(ConfigLevel::Cell, "O-NRCellCU", &OF_CELL_OF_CU, &[]),
    offer(ConfigLevel::Cell, "O-NRCellRelation", &OF_RELATION, &KEY_OF_RELATION),
    offer(ConfigLevel::Node, "O-GNBDUFunction", &OF_DU, &[]),
    offer(ConfigLevel::Cell, "O-NRCellDU", &OF_CELL_OF_DU, &[]),
    offer(ConfigLevel::Cell, "O-RRMPolicyRatio", &OF_RATIO, &KEY_OF_RATIO),
    offer(ConfigLevel::Cell, "O-CESManagementFunction", &OF_ENERGY_SAVING, &[]),
    offer(ConfigLevel::Cell, "O-NESPolicy", &OF_TRANSCEIVERS, &[]),
];

/// What a DU announces by default, without the last; a gNB omits the first, which is its only structure of the node.
static SHORT_OFFERS: [SupportedStructure; 6] = [
    offer(ConfigLevel::Node, "O-GNBDUFunction", &OF_DU, &[]),
    offer(ConfigLevel::Cell, "O-NRCellDU", &SHORT_CELL_OF_DU, &[]),
    offer(ConfigLevel::Cell, "O-RRMPolicyRatio", &SHORT_RATIO, &KEY_OF_RATIO),
    offer(ConfigLevel::Cell, "O-CESManagementFunction", &SHORT_ENERGY_SAVING, &[]),
    unlisted(offer(ConfigLevel::Cell, "O-NESPolicy", &SET_TRANSCEIVERS, &[])),
    offer(ConfigLevel::Cell, "O-NRCellRelation", &SET_RELATION, &KEY_OF_RELATION),
];
static RRM_POLICY_CONTROL: [SupportedStructure; 1] =
    [offer(ConfigLevel::Cell, "O-RRMPolicyRatio", &SET_RATIO, &KEY_OF_RATIO)];

fn plmn() -> PlmnIdentity {
    PlmnIdentity::from_codes(MCC, MNC, 2)
}

/// The slices of the served networks, which are those of the model's UEs.
fn plmn_info_list(networks: &[ServedPlmn]) -> Vec<PlmnInfo> {
    let of = |network: &ServedPlmn| {
        let plmn_id = Some(network.plmn_identity);
        network.s_nssais.clone().into_iter().map(move |slice| PlmnInfo { plmn_id, snssai: Some(slice) })
    };
    networks.iter().flat_map(of).collect()
}

/// The administrative state of a cell of the model.
fn administrative_state(state: radio::AdministrativeState) -> AdministrativeState {
    match state {
        radio::AdministrativeState::Unlocked => AdministrativeState::Unlocked,
        radio::AdministrativeState::ShuttingDown => AdministrativeState::ShuttingDown,
        radio::AdministrativeState::Locked => AdministrativeState::Locked,
    }
}

/// The state of the model's cell for an administrative state.
fn state_of_cell(state: AdministrativeState) -> radio::AdministrativeState {
    match state {
        AdministrativeState::Unlocked => radio::AdministrativeState::Unlocked,
        AdministrativeState::ShuttingDown => radio::AdministrativeState::ShuttingDown,
        AdministrativeState::Locked => radio::AdministrativeState::Locked,
    }
}

fn refuse<T>(cause: Cause, attributes: &[&str], reason: impl Into<Cow<'static, str>>) -> Result<T, Refusal> {
    let attributes = attributes.iter().map(|name| (*name).to_owned()).collect();
    Err(Refusal { cause, attributes, reason: reason.into() })
}

impl CccSource for Node {
    fn structures(&self) -> &[SupportedStructure] {
        match (self.node_type, self.profile.ccc) {
            (_, CccProfile::RrmPolicyControl) => &RRM_POLICY_CONTROL,
            (NodeType::CuCp, _) => &OFFERS[..CU_OFFERS],
            (NodeType::Du, _) if self.configuration.announces_all => &OFFERS[CU_OFFERS..],
            (_, _) if self.configuration.announces_all => &OFFERS,
            (NodeType::Du, _) => &SHORT_OFFERS[..SHORT_OFFERS.len() - 1],
            (NodeType::Gnb | NodeType::CuUp | NodeType::Enb, _) => &SHORT_OFFERS[1..],
        }
    }

    fn cells(&self) -> Vec<Cgi> {
        vec![KpmSource::cell(self)]
    }

    fn change_count(&self) -> u64 {
        let model = &self.simulation.borrow().model;
        let cell = self.cell_number();
        self.configuration.changes + model.locks(cell) + model.network.cell(cell).power_state_changes()
    }

    fn read(&self, _scope: ConfigScope, name: &str) -> Vec<Structure> {
        let configuration = &self.configuration;
        let (gnb_id, gnb_id_length) = (Some(u64::from(self.gnb)), Some(GNB_ID_BITS));
        let one = match name {
            "O-GNBCUCPFunction" => Structure::GnbCuCpFunction(GnbCuCpFunction {
                gnb_id,
                gnb_id_length,
                gnb_cu_name: Some(configuration.cu_name.clone()),
                plmn_id: Some(plmn()),
                ..GnbCuCpFunction::default()
            }),
            "O-GNBDUFunction" => Structure::GnbDuFunction(GnbDuFunction {
                gnb_du_name: Some(configuration.du_name.clone()),
                gnb_id,
                gnb_id_length,
                ..GnbDuFunction::default()
            }),
            "O-NRCellCU" => {
                let plmn_info_list = Some(plmn_info_list(&self.networks()));
                Structure::NrCellCu(NrCellCu { cell_local_id: Some(self.mobility.place().local), plmn_info_list })
            }
            "O-NRCellDU" => {
                let cell = self.cell();
                let (state, grid) = (cell.administrative_state(), cell.grid());
                let bandwidth_mhz = Some(grid.carrier().bandwidth_mhz.round() as u16);
                let bwp = |context| Bwp {
                    bwp_context: Some(context),
                    is_initial_bwp: Some(InitialBwp::Initial),
                    sub_carrier_spacing_khz: Some((grid.subcarrier_hz() / 1000) as u16),
                    start_rb: Some(0),
                    number_of_rbs: Some(cell.prbs(phy::Direction::Downlink) as u16),
                    ..Bwp::default()
                };
                Structure::NrCellDu(NrCellDu {
                    cell_local_id: Some(self.mobility.place().local),
                    operational_state: Some(OperationalState::Enabled),
                    administrative_state: Some(administrative_state(state)),
                    cell_state: Some(if cell.is_on_air() { CellState::Active } else { CellState::Idle }),
                    plmn_info_list: Some(plmn_info_list(&self.networks())),
                    nr_pci: Some(self.nr_pci()),
                    bs_channel_bw_dl_mhz: bandwidth_mhz,
                    bs_channel_bw_ul_mhz: bandwidth_mhz,
                    bwp_list: Some([BwpContext::Dl, BwpContext::Ul].map(bwp).into()),
                    ..NrCellDu::default()
                })
            }
            "O-CESManagementFunction" => Structure::CesManagementFunction(self.energy_saving()),
            "O-NESPolicy" => Structure::NesPolicy(self.transceiver_policy()),
            "O-NRCellRelation" => return self.cell_relations(),
            "O-RRMPolicyRatio" => {
                return configuration.policies.iter().map(|p| Structure::RrmPolicyRatio(p.ratio.clone())).collect();
            }
            other => panic!("{other} is not offered"),
        };
        // attributes that are not announced are not reported
        let announced = self.structures().iter().find(|structure| structure.name == name);
        let is_announced = |name: &str| {
            announced.is_none_or(|structure| structure.attributes.iter().any(|attribute| attribute.name == name))
        };
        vec![one.only(is_announced)]
    }

    fn write(
        &mut self,
        now: Time,
        origin: ControllerId,
        _scope: ConfigScope,
        current: Option<&Structure>,
        wanted: &Structure,
    ) -> Result<(), Refusal> {
        // the change takes effect from now on
        self.advance(now);
        match (wanted, current) {
            (Structure::GnbCuCpFunction(wanted), _) => {
                if let Some(name) = &wanted.gnb_cu_name {
                    check_name("gNBCUName", name)?;
                    self.configuration.cu_name.clone_from(name);
                }
            }
            (Structure::GnbDuFunction(wanted), _) => {
                if let Some(name) = &wanted.gnb_du_name {
                    check_name("gNBDUName", name)?;
                    self.configuration.du_name.clone_from(name);
                }
            }
            (Structure::NrCellDu(wanted), _) => {
                let before = administrative_state(self.cell().administrative_state());
                let state = wanted.administrative_state.unwrap_or(before);
                // X.731 8.6: a locked cell serves no UE that could leave it
                if (before, state) == (AdministrativeState::Locked, AdministrativeState::ShuttingDown) {
                    let why = "the cell is locked: it cannot shut down; unlock it first";
                    return refuse(Cause::IncompatibleState, &["administrativeState"], why);
                }
                let pci = wanted.nr_pci.unwrap_or(self.nr_pci());
                if (state, pci) != (before, self.nr_pci()) {
                    self.report_cell_change();
                }
                let cell = self.cell_number();
                self.simulation.borrow_mut().pcis[cell] = pci;
                if state != before {
                    info!(cell, "administrative state set to {state:?} by controller {}", origin.0);
                    self.cell_mut().set_administrative_state(state_of_cell(state));
                }
            }
            (Structure::CesManagementFunction(wanted), _) => self.set_energy_saving(origin, wanted),
            (Structure::NesPolicy(wanted), _) => self.set_transceivers(origin, wanted)?,
            (Structure::NrCellRelation(wanted), current) => {
                let neighbour = match current {
                    Some(Structure::NrCellRelation(current)) => self.neighbour_of(current.nr_tci),
                    _ => self.neighbour_of(wanted.nr_tci),
                };
                self.set_cell_relation(origin, neighbour, wanted)?;
            }
            (Structure::RrmPolicyRatio(wanted), current) => {
                let current = match current {
                    Some(Structure::RrmPolicyRatio(current)) => Some(current),
                    _ => None,
                };
                self.set_policy(origin, current, wanted)?;
            }
            (other, _) => panic!("{} is not offered as writable", other.name()),
        }
        self.configuration.changes += 1;
        Ok(())
    }

    /// Deletes the controller's policies.
    fn controller_removed(&mut self, controller: ControllerId) {
        let policies = &mut self.configuration.policies;
        let before = policies.len();
        policies.retain(|policy| policy.owner != controller);
        if policies.len() != before {
            self.configuration.changes += 1;
            self.apply_slicing();
        }
    }
}

impl Node {
    /// Reports that the cell has been locked after shutting down.
    pub fn report_lock(&mut self) {
        self.configuration.changes += 1;
        self.report_cell_change();
    }

    /// Applies a slice-level PRB quota of E2SM-RC: policies for both directions, all or none.
    pub fn set_quota(&mut self, origin: ControllerId, quota: &SlicePrbQuota) -> Result<(), Refusal> {
        let before = self.configuration.policies.clone();
        for wanted in &quota.policies {
            let members = wanted
                .members
                .iter()
                .map(|member| RrmPolicyMember { plmn_id: Some(member.plmn_identity), snssai: Some(member.slice) });
            let members: Option<Vec<_>> = Some(members.collect());
            for resource in [ResourceType::PrbDl, ResourceType::PrbUl] {
                let is_current = |policy: &&Policy| {
                    policy.ratio.resource_type == Some(resource) && policy.ratio.rrm_policy_member_list == members
                };
                let current = self.configuration.policies.iter().find(is_current).map(|policy| policy.ratio.clone());
                let ratio = RrmPolicyRatio {
                    resource_type: Some(resource),
                    rrm_policy_member_list: members.clone(),
                    rrm_policy_max_ratio: wanted.max_percent,
                    rrm_policy_min_ratio: wanted.min_percent,
                    rrm_policy_dedicated_ratio: wanted.dedicated_percent,
                };
                if let Err(refusal) = self.set_policy(origin, current.as_ref(), &ratio) {
                    self.configuration.policies = before;
                    self.apply_slicing();
                    return Err(refusal);
                }
            }
        }
        self.configuration.changes += 1;
        Ok(())
    }

    /// Changes or adds a policy.
    fn set_policy(
        &mut self,
        origin: ControllerId,
        current: Option<&RrmPolicyRatio>,
        wanted: &RrmPolicyRatio,
    ) -> Result<(), Refusal> {
        if self.is_sliced() {
            let why = "slices of the SLICE model divide the cell: delete them first";
            return refuse(Cause::IncompatibleState, &[], why);
        }
        let networks = self.networks();
        let policies = &mut self.configuration.policies;
        let at = current.and_then(|current| policies.iter().position(|policy| policy.ratio == *current));
        if let Some(other) = at.map(|at| policies[at].owner).filter(|owner| *owner != origin) {
            return refuse(Cause::IncompatibleState, &[], format!("policy belongs to controller {}", other.0));
        }
        let before = at.map_or_else(RrmPolicyRatio::default, |at| policies[at].ratio.clone());
        let ratio = RrmPolicyRatio {
            resource_type: wanted.resource_type.or(before.resource_type),
            rrm_policy_member_list: wanted.rrm_policy_member_list.clone().or(before.rrm_policy_member_list),
            rrm_policy_max_ratio: wanted.rrm_policy_max_ratio.or(before.rrm_policy_max_ratio).or(Some(100)),
            rrm_policy_min_ratio: wanted.rrm_policy_min_ratio.or(before.rrm_policy_min_ratio).or(Some(0)),
            rrm_policy_dedicated_ratio: wanted
                .rrm_policy_dedicated_ratio
                .or(before.rrm_policy_dedicated_ratio)
                .or(Some(0)),
        };
        check(&ratio, &networks)?;
        let is_other = |policy: &(usize, &Policy)| Some(policy.0) != at;
        let others = policies.iter().enumerate().filter(is_other);
        let mut same_resource = others.filter(|(_, policy)| policy.ratio.resource_type == ratio.resource_type);
        if same_resource.clone().any(|(_, policy)| policy.ratio.rrm_policy_member_list == ratio.rrm_policy_member_list)
        {
            let why = "these members already have a policy for this resource";
            return refuse(Cause::IncompatibleState, &["rRMPolicyMemberList"], why);
        }
        let reserved: u32 =
            same_resource.clone().map(|(_, policy)| u32::from(policy.ratio.rrm_policy_min_ratio.unwrap_or(0))).sum();
        let min = u32::from(ratio.rrm_policy_min_ratio.unwrap_or(0));
        if reserved + min > 100 {
            let owners: Vec<String> = same_resource
                .by_ref()
                .filter(|(_, policy)| policy.ratio.rrm_policy_min_ratio.unwrap_or(0) > 0)
                .map(|(_, policy)| {
                    format!(
                        "{} % reserved by controller {}",
                        policy.ratio.rrm_policy_min_ratio.unwrap_or(0),
                        policy.owner.0
                    )
                })
                .collect();
            let why =
                format!("minimum ratio {min} % exceeds the {} % that are left: {}", 100 - reserved, owners.join(", "));
            return refuse(Cause::IncompatibleState, &["rRMPolicyMinRatio"], why);
        }
        match at {
            Some(at) => policies[at].ratio = ratio,
            None if policies.len() >= MAX_POLICIES => {
                return refuse(
                    Cause::NotAvailable,
                    &[],
                    format!("cell has {MAX_POLICIES} policies, which is the limit"),
                );
            }
            None => policies.push(Policy { owner: origin, ratio }),
        }
        self.apply_slicing();
        Ok(())
    }
}

/// Checks the length of a name.
fn check_name(attribute: &str, name: &str) -> Result<(), Refusal> {
    match name.chars().count() {
        1..=MAX_NAME => Ok(()),
        count => refuse(
            Cause::SemanticError,
            &[attribute],
            format!("name has {count} characters, 1 to {MAX_NAME} are allowed"),
        ),
    }
}

/// Checks a policy without regard to the others.
fn check(ratio: &RrmPolicyRatio, networks: &[ServedPlmn]) -> Result<(), Refusal> {
    match ratio.resource_type {
        None => return refuse(Cause::SemanticError, &["resourceType"], "resource type is missing"),
        Some(ResourceType::PrbDl | ResourceType::PrbUl) => {}
        Some(ResourceType::Drb | ResourceType::Rrc) => {
            return refuse(Cause::NotSupported, &["resourceType"], "only PRB_DL and PRB_UL are supported");
        }
    }
    let Some(members) = &ratio.rrm_policy_member_list else {
        return refuse(Cause::SemanticError, &["rRMPolicyMemberList"], "member list is missing");
    };
    let is_served = |wanted| networks.iter().any(|network| network.plmn_identity == wanted);
    if members.iter().any(|member| member.plmn_id.is_some_and(|network| !is_served(network))) {
        return refuse(Cause::NotAvailable, &["rRMPolicyMemberList"], "cell does not serve the network of a member");
    }
    if members.iter().any(|member| member.snssai.is_none()) && members.len() > 1 {
        let why = "a member without a slice matches every UE of its network: it must be the only member";
        return refuse(Cause::SemanticError, &["rRMPolicyMemberList"], why);
    }
    // TS 28.541 4.3.36: the dedicated ratio is part of the minimum, which is part of the maximum
    if ratio.rrm_policy_min_ratio > ratio.rrm_policy_max_ratio {
        return refuse(Cause::SemanticError, &["rRMPolicyMinRatio"], "minimum ratio exceeds the maximum ratio");
    }
    if ratio.rrm_policy_dedicated_ratio > ratio.rrm_policy_min_ratio {
        return refuse(Cause::SemanticError, &["rRMPolicyDedicatedRatio"], "dedicated ratio exceeds the minimum ratio");
    }
    Ok(())
}

mod energy;
mod relations;
#[cfg(test)]
mod tests;
