//! RAN configuration structures of nodes and cells (E2SM-CCC 8.8).
//!
//! Attributes are those of TS 28.541 and O-RAN. A message contains a selection: those that were queried, that changed or
//! that are to be set. All fields are therefore optional.

use serde_json::{Map, Value};

use super::json::{Fields, Json, JsonError, JsonErrorKind, Path, object, symbols};
use crate::common::{PlmnIdentity, SNssai};

object! {
    /// O-GNBCUCPFunction: a gNB-CU-CP (node level).
    #[derive(Default)]
    pub struct GnbCuCpFunction {
        /// The gNB ID.
        pub gnb_id: Option<u64> = "gNBId" in 0..=4_294_967_295,
        /// The length of the gNB ID in bits.
        pub gnb_id_length: Option<u8> = "gNBIdLength" in 22..=32,
        /// The name of the CU.
        pub gnb_cu_name: Option<String> = "gNBCUName",
        /// The PLMN.
        pub plmn_id: Option<PlmnIdentity> = "pLMNId",
        /// eNBs to which X2 is blocked.
        pub x2_block_list: Option<Vec<String>> = "x2BlockList",
        /// gNBs to which Xn is blocked.
        pub xn_block_list: Option<Vec<String>> = "xnBlockList",
        /// eNBs to which X2 is allowed.
        pub x2_allow_list: Option<Vec<String>> = "x2AllowList",
        /// gNBs to which Xn is allowed.
        pub xn_allow_list: Option<Vec<String>> = "xnAllowList",
        /// eNBs to which handovers over X2 are blocked.
        pub x2_ho_block_list: Option<Vec<String>> = "x2HOBlockList",
        /// gNBs to which handovers over Xn are blocked.
        pub xn_ho_block_list: Option<Vec<String>> = "xnHOBlockList",
    }

    /// O-GNBCUUPFunction: a gNB-CU-UP (node level).
    #[derive(Default)]
    pub struct GnbCuUpFunction {
        /// The gNB ID.
        pub gnb_id: Option<u64> = "gNBId" in 0..=4_294_967_295,
        /// The length of the gNB ID in bits.
        pub gnb_id_length: Option<u8> = "gNBIdLength" in 22..=32,
        /// The gNB-CU-UP ID.
        pub gnb_cu_up_id: Option<u64> = "gNBCUUPId" in 0..=68_719_476_735,
        /// The PLMNs and slices that it serves.
        pub plmn_info_list: Option<Vec<PlmnInfo>> = "pLMNInfoList",
    }

    /// O-GNBDUFunction: a gNB-DU (node level).
    #[derive(Default)]
    pub struct GnbDuFunction {
        /// The gNB-DU ID.
        pub gnb_du_id: Option<u64> = "gNBDUId" in 0..=68_719_476_735,
        /// The name of the DU.
        pub gnb_du_name: Option<String> = "gNBDUName",
        /// The gNB ID.
        pub gnb_id: Option<u64> = "gNBId" in 0..=4_294_967_295,
        /// The length of the gNB ID in bits.
        pub gnb_id_length: Option<u8> = "gNBIdLength" in 22..=32,
    }

    /// O-NRCellCU: a cell of a CU (cell level).
    #[derive(Default)]
    pub struct NrCellCu {
        /// The cell within its gNB.
        pub cell_local_id: Option<u16> = "cellLocalId" in 0..=16383,
        /// The PLMNs and slices that it serves.
        pub plmn_info_list: Option<Vec<PlmnInfo>> = "pLMNInfoList",
    }

    /// O-NRCellDU: a cell of a DU (cell level).
    #[derive(Default)]
    pub struct NrCellDu {
        /// The cell within its gNB.
        pub cell_local_id: Option<u16> = "cellLocalId" in 0..=16383,
        /// The operational state.
        pub operational_state: Option<OperationalState> = "operationalState",
        /// The administrative state.
        pub administrative_state: Option<AdministrativeState> = "administrativeState",
        /// The cell state.
        pub cell_state: Option<CellState> = "cellState",
        /// The PLMNs and slices that it serves.
        pub plmn_info_list: Option<Vec<PlmnInfo>> = "pLMNInfoList",
        /// The PCI.
        pub nr_pci: Option<u16> = "nRPCI" in 0..=1007,
        /// The tracking area code.
        pub nr_tac: Option<u32> = "nRTAC" in 0..=16_777_215,
        /// The downlink ARFCN.
        pub arfcn_dl: Option<u32> = "arfcnDL" in 0..=3_279_165,
        /// The uplink ARFCN.
        pub arfcn_ul: Option<u32> = "arfcnUL" in 0..=3_279_165,
        /// The SUL ARFCN.
        pub arfcn_sul: Option<u32> = "arfcnSUL" in 0..=3_279_165,
        /// The downlink channel bandwidth in MHz.
        pub bs_channel_bw_dl_mhz: Option<u16> = "bSChannelBwDL",
        /// The SSB frequency as an ARFCN.
        pub ssb_frequency: Option<u32> = "ssbFrequency" in 0..=3_279_165,
        /// The SSB periodicity in ms.
        pub ssb_periodicity_ms: Option<u16> = "ssbPeriodicity",
        /// The SSB subcarrier spacing in kHz.
        pub ssb_sub_carrier_spacing_khz: Option<u16> = "ssbSubCarrierSpacing",
        /// The SSB offset within its period in subframes.
        pub ssb_offset: Option<u8> = "ssbOffset" in 0..=159,
        /// The duration of the SSB measurement window in ms.
        pub ssb_duration_ms: Option<u8> = "ssbDuration" in 1..=5,
        /// The uplink channel bandwidth in MHz.
        pub bs_channel_bw_ul_mhz: Option<u16> = "bSChannelBwUL",
        /// The SUL channel bandwidth in MHz.
        pub bs_channel_bw_sul_mhz: Option<u16> = "bSChannelBwSUL",
        /// The bandwidth parts.
        pub bwp_list: Option<Vec<Bwp>> = "bWPList",
        /// The carrier partitions and the QoS flows of each.
        pub partition_list: Option<Vec<Partition>> = "partitionList",
    }

    /// O-RRMPolicyRatio: the shares of members in a resource (TS 28.541 4.3.36). A cell has one for each resource and member
    /// list.
    #[derive(Default)]
    pub struct RrmPolicyRatio {
        /// The resource.
        pub resource_type: Option<ResourceType> = "resourceType",
        /// The members.
        pub rrm_policy_member_list: Option<Vec<RrmPolicyMember>> = "rRMPolicyMemberList",
        /// The maximum share in percent.
        pub rrm_policy_max_ratio: Option<u8> = "rRMPolicyMaxRatio" in 0..=100,
        /// The minimum share when needed, in percent.
        pub rrm_policy_min_ratio: Option<u8> = "rRMPolicyMinRatio" in 0..=100,
        /// The dedicated share in percent.
        pub rrm_policy_dedicated_ratio: Option<u8> = "rRMPolicyDedicatedRatio" in 0..=100,
    }

    /// O-NRCellRelation: a neighbour of a cell (NRCellRelation of TS 28.541 4.3.32). A cell has one for each neighbour.
    #[derive(Default)]
    pub struct NrCellRelation {
        /// The NR Cell Identity of the neighbour.
        pub nr_tci: Option<u64> = "nRTCI" in 0..=68_719_476_735,
        /// The offsets of the neighbour in events.
        pub cell_individual_offset: Option<QOffsetRangeList> = "cellIndividualOffset",
        /// Whether handovers to the neighbour are allowed.
        pub is_ho_allowed: Option<bool> = "isHOAllowed",
    }

    /// QOffsetRangeList: offsets by quantity, in dB.
    #[derive(Default)]
    pub struct QOffsetRangeList {
        /// Of RSRP by SSB.
        pub rsrp_offset_ssb_db: Option<i8> = "rsrpOffsetSsb" in -24..=24,
        /// Of RSRQ by SSB.
        pub rsrq_offset_ssb_db: Option<i8> = "rsrqOffsetSsb" in -24..=24,
        /// Of SINR by SSB.
        pub sinr_offset_ssb_db: Option<i8> = "sinrOffsetSsb" in -24..=24,
    }

    /// O-BWP: a bandwidth part (cell level).
    #[derive(Default)]
    pub struct Bwp {
        /// The direction.
        pub bwp_context: Option<BwpContext> = "bwpContext",
        /// Whether it is the initial bandwidth part.
        pub is_initial_bwp: Option<InitialBwp> = "isInitialBwp",
        /// Its subcarrier spacing, in kHz.
        pub sub_carrier_spacing_khz: Option<u16> = "subCarrierSpacing",
        /// The cyclic prefix as sent: `NORMAL`, `EXTENDED`, or a subcarrier spacing.
        pub cyclic_prefix: Option<String> = "cyclicPrefix",
        /// Its first resource block.
        pub start_rb: Option<u16> = "startRB",
        /// Its resource blocks.
        pub number_of_rbs: Option<u16> = "numberOfRBs",
    }

    /// O-CESManagementFunction: energy saving of a cell (cell level).
    #[derive(Default)]
    pub struct CesManagementFunction {
        /// Whether energy saving is enabled.
        pub ces_switch: Option<bool> = "cesSwitch",
        /// The energy saving state.
        pub energy_saving_state: Option<EnergySavingState> = "energySavingState",
        /// The energy saving control.
        pub energy_saving_control: Option<EnergySavingControl> = "energySavingControl",
    }

    /// O-NESPolicy: energy saving of the radio unit of a cell, by muted transceivers or by sleep of symbols (cell level; E2SM-CCC
    /// v06.00 8.8.2.6, without its objectives).
    #[derive(Default)]
    pub struct NesPolicy {
        /// The kind of policy.
        pub policy_type: Option<NesPolicyType> = "policyType",
        /// The name of an antenna mask that the radio unit knows.
        pub antenna_mask_name: Option<String> = "antennaMaskName",
        /// The antenna mask.
        pub antenna_mask: Option<String> = "antennaMask",
        /// The sleep mode of the radio unit.
        pub sleep_mode: Option<SleepMode> = "sleepMode",
        /// The direction.
        pub data_dir: Option<DataDirection> = "dataDir",
        /// The symbols of a slot to which it applies, a bit each.
        pub symbol_mask: Option<u16> = "symbolMask" in 0..=16383,
        /// The slots of a frame to which it applies.
        pub slot_mask: Option<String> = "slotMask",
        /// How long it applies, in 10 ms; without it, until the policy is removed.
        pub valid_duration_10ms: Option<u64> = "validDuration" in 0..=4_294_967_295,
    }

    /// PlmnInfo: a PLMN or a slice of a PLMN.
    #[derive(Default)]
    pub struct PlmnInfo {
        /// The PLMN.
        pub plmn_id: Option<PlmnIdentity> = "plmnId",
        /// The slice.
        pub snssai: Option<SNssai> = "snssai",
    }

    /// RrmPolicyMember: a PLMN or a slice of a PLMN.
    #[derive(Default, Eq, Hash)]
    pub struct RrmPolicyMember {
        /// The PLMN.
        pub plmn_id: Option<PlmnIdentity> = "plmnId",
        /// The slice.
        pub snssai: Option<SNssai> = "snssai",
    }

    /// A partition of the carrier.
    #[derive(Default)]
    pub struct Partition {
        /// Its first resource block, from point A of the carrier.
        pub offset_to_point_a: Option<u32> = "pOffsetToPointA",
        /// Its resource blocks.
        pub number_of_rbs: Option<u32> = "pNumberOfRBs",
        /// The QoS flows that use it.
        pub partition_flow_list: Option<Vec<PartitionFlow>> = "partitionFlowList",
    }

    /// QoS flows of a slice.
    #[derive(Default)]
    pub struct PartitionFlow {
        /// The PLMN.
        pub plmn_id: Option<PlmnIdentity> = "plmnId",
        /// The slice.
        pub snssai: Option<SNssai> = "snssai",
        /// The 5QIs of the flows.
        pub five_qi_list: Option<Vec<u8>> = "5QIList",
    }
}

symbols! {
    /// The operational state of a cell (ITU-T X.731).
    pub enum OperationalState {
        /// Enabled.
        Enabled = "ENABLED",
        /// Disabled.
        Disabled = "DISABLED",
    }

    /// The administrative state of a cell (ITU-T X.731).
    pub enum AdministrativeState {
        /// Locked.
        Locked = "LOCKED",
        /// Shutting down: present UEs are served, and no others are admitted.
        ShuttingDown = "SHUTTINGDOWN",
        /// Unlocked.
        Unlocked = "UNLOCKED",
    }

    /// The state of a cell.
    pub enum CellState {
        /// The cell does not transmit.
        Idle = "IDLE",
        /// The cell is inactive.
        Inactive = "INACTIVE",
        /// The cell serves UEs.
        Active = "ACTIVE",
    }

    /// The resource of a policy.
    pub enum ResourceType {
        /// Downlink PRBs.
        PrbDl = "PRB_DL",
        /// Uplink PRBs.
        PrbUl = "PRB_UL",
        /// Data radio bearers.
        Drb = "DRB",
        /// RRC connections.
        Rrc = "RRC",
    }

    /// The direction of a bandwidth part.
    pub enum BwpContext {
        /// Downlink.
        Dl = "DL",
        /// Uplink.
        Ul = "UL",
        /// Supplementary uplink.
        Sul = "SUL",
    }

    /// Whether a bandwidth part is the initial one.
    pub enum InitialBwp {
        /// Initial.
        Initial = "INITIAL",
        /// Other.
        Other = "OTHER",
        /// Of the SUL.
        Sul = "SUL",
    }

    /// The kind of a policy for energy saving.
    pub enum NesPolicyType {
        /// Advanced sleep mode.
        Asm = "ASM",
        /// Transceiver control.
        TrxControl = "TRX_CONTROL",
    }

    /// A sleep mode of a radio unit.
    pub enum SleepMode {
        /// Mode 0.
        Mode0 = "SLEEP_MODE0",
        /// Mode 1.
        Mode1 = "SLEEP_MODE1",
        /// Mode 2.
        Mode2 = "SLEEP_MODE2",
        /// Mode 3.
        Mode3 = "SLEEP_MODE3",
    }

    /// The direction of data.
    pub enum DataDirection {
        /// Downlink.
        Dl = "DL",
        /// Uplink.
        Ul = "UL",
    }

    /// The energy saving state of a cell.
    pub enum EnergySavingState {
        /// It is not.
        IsNotEnergySaving = "isNotEnergySaving",
        /// It is.
        IsEnergySaving = "isEnergySaving",
    }

    /// The energy saving control of a cell.
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
            /// A structure of a vendor or a later revision: name and attributes as sent.
            Other {
                /// Returns the name.
                name: String,
                /// Its attributes.
                attributes: Map<String, Value>,
            },
        }

        impl RanConfigurationStructure {
            /// The names of the known structures.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Returns the name.
            #[must_use]
            pub fn name(&self) -> &str {
                match self {
                    $(RanConfigurationStructure::$way(_) => $name,)*
                    RanConfigurationStructure::Other { name, .. } => name,
                }
            }

            /// Returns the attributes as JSON.
            #[must_use]
            pub fn attributes(&self) -> Map<String, Value> {
                match self {
                    $(RanConfigurationStructure::$way(structure) => match structure.write() {
                        Value::Object(map) => map,
                        other => panic!("a structure encodes as an object, not {other}"),
                    },)*
                    RanConfigurationStructure::Other { attributes, .. } => attributes.clone(),
                }
            }

            /// Builds the structure of that name with these attributes.
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
    NrCellRelation(NrCellRelation) = "O-NRCellRelation",
    Bwp(Bwp) = "O-BWP",
    CesManagementFunction(CesManagementFunction) = "O-CESManagementFunction",
    NesPolicy(NesPolicy) = "O-NESPolicy",
}

impl RanConfigurationStructure {
    /// Builds the structure of that name with these attributes; `Other` if the name is not among [`Self::NAMES`].
    ///
    /// # Errors
    /// An unknown attribute or a value of the wrong type, with the name of the attribute.
    pub fn new(name: &str, attributes: Map<String, Value>) -> Result<Self, JsonError> {
        Self::read(name, &Value::Object(attributes), &Path::Root)
    }

    /// Returns the structure with only the attributes for which `wanted` is true.
    #[must_use]
    pub fn only(&self, mut wanted: impl FnMut(&str) -> bool) -> Self {
        let mut attributes = self.attributes();
        attributes.retain(|name, _| wanted(name));
        self.with(attributes)
    }

    /// Returns the structure with its attributes replaced by those of `over`.
    ///
    /// # Panics
    /// If `over` is another structure.
    #[must_use]
    pub fn merged(&self, over: &Self) -> Self {
        assert_eq!(self.name(), over.name(), "only structures of the same name can be merged");
        let mut attributes = self.attributes();
        attributes.extend(over.attributes());
        self.with(attributes)
    }

    /// Whether this structure has all attributes of `part` with the same values.
    #[must_use]
    pub fn agrees_with(&self, part: &Self) -> bool {
        let mine = self.attributes();
        self.name() == part.name() && part.attributes().iter().all(|(name, value)| mine.get(name) == Some(value))
    }

    /// Rebuilds the structure from attributes of this or another structure of its type.
    fn with(&self, attributes: Map<String, Value>) -> Self {
        match RanConfigurationStructure::new(self.name(), attributes) {
            Ok(structure) => structure,
            Err(error) => panic!("decoded attributes decode again: {error}"),
        }
    }
}

/// The name and the values of a structure, which most messages keep in two objects.
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

/// ValuesOfAttributes: a structure whose name is a neighbouring key.
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

/// The attributes of a structure in a message.
pub(super) fn values(structure: &RanConfigurationStructure) -> Values {
    Values(Value::Object(structure.attributes()))
}
