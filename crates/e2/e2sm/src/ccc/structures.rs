//! RAN configuration structures: what of a node or a cell can be read and written (E2SM-CCC 8.8).
//!
//! Attributes are those of TS 28.541, and O-RAN's. A message carries some of them: what a reader wants, what changed,
//! what is to be changed. So each is optional in the type.

use serde_json::{Map, Value};

use super::json::{Fields, Json, JsonError, JsonErrorKind, Path, object, symbols};
use crate::common::{PlmnIdentity, SNssai};

object! {
    /// O-GNBCUCPFunction: a gNB-CU-CP (node level).
    #[derive(Default)]
    pub struct GnbCuCpFunction {
        /// The gNB's identity.
        pub gnb_id: Option<u64> = "gNBId" in 0..=4_294_967_295,
        /// Bits of the gNB's identity.
        pub gnb_id_length: Option<u8> = "gNBIdLength" in 22..=32,
        /// The CU's name.
        pub gnb_cu_name: Option<String> = "gNBCUName",
        /// The network.
        pub plmn_id: Option<PlmnIdentity> = "pLMNId",
        /// eNBs with which there is to be no X2.
        pub x2_block_list: Option<Vec<String>> = "x2BlockList",
        /// gNBs with which there is to be no Xn.
        pub xn_block_list: Option<Vec<String>> = "xnBlockList",
        /// eNBs with which X2 may be set up.
        pub x2_allow_list: Option<Vec<String>> = "x2AllowList",
        /// gNBs with which Xn may be set up.
        pub xn_allow_list: Option<Vec<String>> = "xnAllowList",
        /// eNBs to which X2 hands nothing over.
        pub x2_ho_block_list: Option<Vec<String>> = "x2HOBlockList",
        /// gNBs to which Xn hands nothing over.
        pub xn_ho_block_list: Option<Vec<String>> = "xnHOBlockList",
    }

    /// O-GNBCUUPFunction: a gNB-CU-UP (node level).
    #[derive(Default)]
    pub struct GnbCuUpFunction {
        /// The gNB's identity.
        pub gnb_id: Option<u64> = "gNBId" in 0..=4_294_967_295,
        /// Bits of the gNB's identity.
        pub gnb_id_length: Option<u8> = "gNBIdLength" in 22..=32,
        /// The CU-UP's identity.
        pub gnb_cu_up_id: Option<u64> = "gNBCUUPId" in 0..=68_719_476_735,
        /// The networks and slices that it serves.
        pub plmn_info_list: Option<Vec<PlmnInfo>> = "pLMNInfoList",
    }

    /// O-GNBDUFunction: a gNB-DU (node level).
    #[derive(Default)]
    pub struct GnbDuFunction {
        /// The DU's identity.
        pub gnb_du_id: Option<u64> = "gNBDUId" in 0..=68_719_476_735,
        /// The DU's name.
        pub gnb_du_name: Option<String> = "gNBDUName",
        /// The gNB's identity.
        pub gnb_id: Option<u64> = "gNBId" in 0..=4_294_967_295,
        /// Bits of the gNB's identity.
        pub gnb_id_length: Option<u8> = "gNBIdLength" in 22..=32,
    }

    /// O-NRCellCU: a cell, as the CU knows it (cell level).
    #[derive(Default)]
    pub struct NrCellCu {
        /// The cell within its gNB.
        pub cell_local_id: Option<u16> = "cellLocalId" in 0..=16383,
        /// The networks and slices that it serves.
        pub plmn_info_list: Option<Vec<PlmnInfo>> = "pLMNInfoList",
    }

    /// O-NRCellDU: a cell, as the DU knows it (cell level).
    #[derive(Default)]
    pub struct NrCellDu {
        /// The cell within its gNB.
        pub cell_local_id: Option<u16> = "cellLocalId" in 0..=16383,
        /// Whether it can work.
        pub operational_state: Option<OperationalState> = "operationalState",
        /// Whether it may work.
        pub administrative_state: Option<AdministrativeState> = "administrativeState",
        /// Whether it is used.
        pub cell_state: Option<CellState> = "cellState",
        /// The networks and slices that it serves.
        pub plmn_info_list: Option<Vec<PlmnInfo>> = "pLMNInfoList",
        /// The physical cell identity.
        pub nr_pci: Option<u16> = "nRPCI" in 0..=1007,
        /// The tracking area code.
        pub nr_tac: Option<u32> = "nRTAC" in 0..=16_777_215,
        /// The downlink's channel number.
        pub arfcn_dl: Option<u32> = "arfcnDL" in 0..=3_279_165,
        /// The uplink's channel number.
        pub arfcn_ul: Option<u32> = "arfcnUL" in 0..=3_279_165,
        /// The supplementary uplink's channel number.
        pub arfcn_sul: Option<u32> = "arfcnSUL" in 0..=3_279_165,
        /// The downlink's width, in MHz.
        pub bs_channel_bw_dl_mhz: Option<u16> = "bSChannelBwDL",
        /// Where the SSB is, as a channel number.
        pub ssb_frequency: Option<u32> = "ssbFrequency" in 0..=3_279_165,
        /// The SSB's period, in ms.
        pub ssb_periodicity_ms: Option<u16> = "ssbPeriodicity",
        /// The SSB's subcarrier spacing, in kHz.
        pub ssb_sub_carrier_spacing_khz: Option<u16> = "ssbSubCarrierSpacing",
        /// The SSB's offset within its period, in subframes.
        pub ssb_offset: Option<u8> = "ssbOffset" in 0..=159,
        /// How long the SSB's measurement window is, in ms.
        pub ssb_duration_ms: Option<u8> = "ssbDuration" in 1..=5,
        /// The uplink's width, in MHz.
        pub bs_channel_bw_ul_mhz: Option<u16> = "bSChannelBwUL",
        /// The supplementary uplink's width, in MHz.
        pub bs_channel_bw_sul_mhz: Option<u16> = "bSChannelBwSUL",
        /// The bandwidth parts.
        pub bwp_list: Option<Vec<Bwp>> = "bWPList",
        /// The parts of the carrier and the flows that each is for.
        pub partition_list: Option<Vec<Partition>> = "partitionList",
    }

    /// O-RRMPolicyRatio: what share of a resource the members may have (TS 28.541 4.3.36). A cell has one for each
    /// resource and member list.
    #[derive(Default)]
    pub struct RrmPolicyRatio {
        /// Which resource.
        pub resource_type: Option<ResourceType> = "resourceType",
        /// Whose share.
        pub rrm_policy_member_list: Option<Vec<RrmPolicyMember>> = "rRMPolicyMemberList",
        /// The most that they get, in percent.
        pub rrm_policy_max_ratio: Option<u8> = "rRMPolicyMaxRatio" in 0..=100,
        /// What they get if they want it, in percent.
        pub rrm_policy_min_ratio: Option<u8> = "rRMPolicyMinRatio" in 0..=100,
        /// What nobody else gets, in percent.
        pub rrm_policy_dedicated_ratio: Option<u8> = "rRMPolicyDedicatedRatio" in 0..=100,
    }

    /// O-BWP: a bandwidth part (cell level).
    #[derive(Default)]
    pub struct Bwp {
        /// The direction.
        pub bwp_context: Option<BwpContext> = "bwpContext",
        /// Whether UEs begin there.
        pub is_initial_bwp: Option<InitialBwp> = "isInitialBwp",
        /// Its subcarrier spacing, in kHz.
        pub sub_carrier_spacing_khz: Option<u16> = "subCarrierSpacing",
        /// The cyclic prefix, as the peer spells it: `NORMAL`, `EXTENDED`, or a subcarrier spacing.
        pub cyclic_prefix: Option<String> = "cyclicPrefix",
        /// Its first resource block.
        pub start_rb: Option<u16> = "startRB",
        /// Its resource blocks.
        pub number_of_rbs: Option<u16> = "numberOfRBs",
    }

    /// O-CESManagementFunction: energy saving of a cell (cell level).
    #[derive(Default)]
    pub struct CesManagementFunction {
        /// Whether energy may be saved.
        pub ces_switch: Option<bool> = "cesSwitch",
        /// Whether it is being saved.
        pub energy_saving_state: Option<EnergySavingState> = "energySavingState",
        /// Whether it is to be saved.
        pub energy_saving_control: Option<EnergySavingControl> = "energySavingControl",
    }

    /// PlmnInfo: a network, or a slice of it.
    #[derive(Default)]
    pub struct PlmnInfo {
        /// The network.
        pub plmn_id: Option<PlmnIdentity> = "plmnId",
        /// The slice.
        pub snssai: Option<SNssai> = "snssai",
    }

    /// RrmPolicyMember: a network, or a slice of it.
    #[derive(Default, Eq, Hash)]
    pub struct RrmPolicyMember {
        /// The network.
        pub plmn_id: Option<PlmnIdentity> = "plmnId",
        /// The slice.
        pub snssai: Option<SNssai> = "snssai",
    }

    /// A part of the carrier.
    #[derive(Default)]
    pub struct Partition {
        /// Its first resource block, from the carrier's point A.
        pub offset_to_point_a: Option<u32> = "pOffsetToPointA",
        /// Its resource blocks.
        pub number_of_rbs: Option<u32> = "pNumberOfRBs",
        /// The flows that it is for.
        pub partition_flow_list: Option<Vec<PartitionFlow>> = "partitionFlowList",
    }

    /// Flows of a slice.
    #[derive(Default)]
    pub struct PartitionFlow {
        /// The network.
        pub plmn_id: Option<PlmnIdentity> = "plmnId",
        /// The slice.
        pub snssai: Option<SNssai> = "snssai",
        /// The flows' 5QIs.
        pub five_qi_list: Option<Vec<u8>> = "5QIList",
    }
}

symbols! {
    /// Whether a cell can work (ITU-T X.731).
    pub enum OperationalState {
        /// It can.
        Enabled = "ENABLED",
        /// It cannot.
        Disabled = "DISABLED",
    }

    /// Whether a cell may work (ITU-T X.731).
    pub enum AdministrativeState {
        /// It may not.
        Locked = "LOCKED",
        /// It may for those that are there, and nobody comes in.
        ShuttingDown = "SHUTTINGDOWN",
        /// It may.
        Unlocked = "UNLOCKED",
    }

    /// Whether a cell is used.
    pub enum CellState {
        /// It does not transmit.
        Idle = "IDLE",
        /// It is not active.
        Inactive = "INACTIVE",
        /// It serves UEs.
        Active = "ACTIVE",
    }

    /// What a policy shares out.
    pub enum ResourceType {
        /// Resource blocks, downlink.
        PrbDl = "PRB_DL",
        /// Resource blocks, uplink.
        PrbUl = "PRB_UL",
        /// Data radio bearers.
        Drb = "DRB",
        /// RRC connections.
        Rrc = "RRC",
    }

    /// A bandwidth part's direction.
    pub enum BwpContext {
        /// Downlink.
        Dl = "DL",
        /// Uplink.
        Ul = "UL",
        /// Supplementary uplink.
        Sul = "SUL",
    }

    /// Whether UEs begin in a bandwidth part.
    pub enum InitialBwp {
        /// They do.
        Initial = "INITIAL",
        /// They do not.
        Other = "OTHER",
        /// It is the supplementary uplink's.
        Sul = "SUL",
    }

    /// Whether energy is being saved.
    pub enum EnergySavingState {
        /// It is not.
        IsNotEnergySaving = "isNotEnergySaving",
        /// It is.
        IsEnergySaving = "isEnergySaving",
    }

    /// Whether energy is to be saved.
    pub enum EnergySavingControl {
        /// It is.
        ToBeEnergySaving = "toBeEnergySaving",
        /// It is not.
        ToBeNotEnergySaving = "toBeNotEnergySaving",
    }
}

/// Declares the structures by name.
macro_rules! structures {
    ($($way:ident($type:ty) = $name:literal,)*) => {
        /// A RAN configuration structure.
        #[derive(Clone, Debug, PartialEq)]
        pub enum RanConfigurationStructure {
            $(
                #[doc = $name]
                $way($type),
            )*
            /// A structure that the vendor or a later revision has: its name and attributes as they came.
            Other {
                /// The name.
                name: String,
                /// Its attributes.
                attributes: Map<String, Value>,
            },
        }

        impl RanConfigurationStructure {
            /// The names of the structures that are known here.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(RanConfigurationStructure::$way(_) => $name,)*
                    RanConfigurationStructure::Other { name, .. } => name,
                }
            }

            /// The attributes that it holds, as JSON.
            #[must_use]
            pub fn attributes(&self) -> Map<String, Value> {
                match self {
                    $(RanConfigurationStructure::$way(structure) => match structure.write() {
                        Value::Object(map) => map,
                        other => panic!("a structure is written as an object, not {other}"),
                    },)*
                    RanConfigurationStructure::Other { attributes, .. } => attributes.clone(),
                }
            }

            /// The structure of that name with these attributes.
            pub(super) fn read(name: &str, value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
                match name {
                    $($name => <$type>::read(value, at).map(RanConfigurationStructure::$way),)*
                    _ => match value {
                        Value::Object(attributes) => {
                            let (name, attributes) = (name.to_owned(), attributes.clone());
                            Ok(RanConfigurationStructure::Other { name, attributes })
                        }
                        _ => Err(at.error(JsonErrorKind::Expected("an object"))),
                    },
                }
            }
        }
    };
}

structures! {
    GnbCuCpFunction(GnbCuCpFunction) = "O-GNBCUCPFunction",
    GnbCuUpFunction(GnbCuUpFunction) = "O-GNBCUUPFunction",
    GnbDuFunction(GnbDuFunction) = "O-GNBDUFunction",
    NrCellCu(NrCellCu) = "O-NRCellCU",
    NrCellDu(NrCellDu) = "O-NRCellDU",
    RrmPolicyRatio(RrmPolicyRatio) = "O-RRMPolicyRatio",
    Bwp(Bwp) = "O-BWP",
    CesManagementFunction(CesManagementFunction) = "O-CESManagementFunction",
}

impl RanConfigurationStructure {
    /// The structure of that name with these attributes; `Other` where the name is not among [`Self::NAMES`].
    ///
    /// # Errors
    /// An attribute that the structure has not, or a value of another type: told with its name.
    pub fn new(name: &str, attributes: Map<String, Value>) -> Result<Self, JsonError> {
        Self::read(name, &Value::Object(attributes), &Path::Root)
    }

    /// The same with those attributes only that `wanted` says.
    #[must_use]
    pub fn only(&self, mut wanted: impl FnMut(&str) -> bool) -> Self {
        let mut attributes = self.attributes();
        attributes.retain(|name, _| wanted(name));
        self.with(attributes)
    }

    /// The same with the attributes of `over` in place of its own.
    ///
    /// # Panics
    /// Where `over` is another structure.
    #[must_use]
    pub fn merged(&self, over: &Self) -> Self {
        assert_eq!(self.name(), over.name(), "structures of one name are merged");
        let mut attributes = self.attributes();
        attributes.extend(over.attributes());
        self.with(attributes)
    }

    /// Whether all that `part` says is so here.
    #[must_use]
    pub fn agrees_with(&self, part: &Self) -> bool {
        let mine = self.attributes();
        self.name() == part.name() && part.attributes().iter().all(|(name, value)| mine.get(name) == Some(value))
    }

    /// Itself with other attributes, each of which was its own before or of another of its kind.
    fn with(&self, attributes: Map<String, Value>) -> Self {
        match RanConfigurationStructure::new(self.name(), attributes) {
            Ok(structure) => structure,
            Err(error) => panic!("attributes that were read once can be read again: {error}"),
        }
    }
}

/// A name and the values in two records of a message: as they go together in most of them.
pub(super) fn named(
    fields: &Fields<'_, '_>,
    name: &str,
    key: &'static str,
    at: &Path<'_>,
) -> Result<RanConfigurationStructure, JsonError> {
    let values: Values = fields.field(key)?;
    let at = at.key(key);
    RanConfigurationStructure::read(name, &values.0, &at.key(STRUCTURE))
}

const STRUCTURE: &str = "ranConfigurationStructure";

/// ValuesOfAttributes: a structure whose name stands beside it.
pub(super) struct Values(pub Value);

impl Json for Values {
    fn read(value: &Value, at: &Path<'_>) -> Result<Self, JsonError> {
        let fields = Fields::of(value, at, &[STRUCTURE])?;
        fields.field::<Raw>(STRUCTURE).map(|raw| Values(raw.0))
    }

    fn write(&self) -> Value {
        Value::Object([(STRUCTURE.to_owned(), self.0.clone())].into_iter().collect())
    }
}

/// Any value.
struct Raw(Value);

impl Json for Raw {
    fn read(value: &Value, _at: &Path<'_>) -> Result<Self, JsonError> {
        Ok(Raw(value.clone()))
    }

    fn write(&self) -> Value {
        self.0.clone()
    }
}

/// A structure's attributes as they stand in a message.
pub(super) fn values(structure: &RanConfigurationStructure) -> Values {
    Values(Value::Object(structure.attributes()))
}
