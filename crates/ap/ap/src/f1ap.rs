//! F1AP, between a gNB-CU and a gNB-DU (TS 38.473).

use core::fmt;

use ids::{FiveGsTac, GnbDuId, NrCgi, NrPci, PlmnIdentity};
use per::{Bits, List, Octets, Per, Reader};

use crate::common::{NodeName, NrCgiIe, TransactionId, Unused, read_plmn, skip_extensions};
use crate::numeric_ie::table::{closed, int, list, open};
use crate::{Criticality, MessageKind, NumericIe, Pdu, PduView, Protocol, ProtocolIe};

// TS 38.473 9.4.7
/// F1 Setup.
pub const PROCEDURE_F1_SETUP: u8 = 1;
const IE_CELLS_TO_BE_ACTIVATED_LIST: u16 = 3;
const IE_CELLS_TO_BE_ACTIVATED_LIST_ITEM: u16 = 4;
const IE_GNB_DU_ID: u16 = 42;
const IE_GNB_DU_SERVED_CELLS_ITEM: u16 = 43;
const IE_GNB_DU_SERVED_CELLS_LIST: u16 = 44;
const IE_GNB_DU_NAME: u16 = 45;
const IE_TRANSACTION_ID: u16 = 78;
const IE_GNB_CU_NAME: u16 = 82;
const IE_GNB_CU_RRC_VERSION: u16 = 170;
const IE_GNB_DU_RRC_VERSION: u16 = 171;

/// A MeasurementTimingConfiguration that configures nothing (TS 38.331 11.2.2), in unaligned PER.
const NO_MEASUREMENT_TIMING: &[u8] = &[0];

/// F1 SETUP REQUEST (TS 38.473 9.2.1.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct F1SetupRequest<'a> {
    /// The transaction.
    pub transaction_id: u8,
    /// The gNB-DU.
    pub gnb_du_id: GnbDuId,
    /// Its name: 1 to 150 ASCII characters.
    pub gnb_du_name: &'a str,
    /// Its cells, 1 to 512.
    pub served_cells: &'a [ServedCell<'a>],
}

/// A cell of a gNB-DU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedCell<'a> {
    /// The cell.
    pub nr_cgi: NrCgi,
    /// Its physical identity.
    pub nr_pci: NrPci,
    /// Its tracking area.
    pub tac: FiveGsTac,
    /// The networks that it serves, 1 to 6.
    pub served_plmns: &'a [PlmnIdentity],
    /// Its carriers.
    pub mode: NrMode<'a>,
}

/// The duplex mode of a cell, and its carriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NrMode<'a> {
    /// A carrier for each direction.
    Fdd {
        /// The uplink carrier.
        uplink: NrCarrier<'a>,
        /// The downlink carrier.
        downlink: NrCarrier<'a>,
    },
    /// One carrier for both directions.
    Tdd(NrCarrier<'a>),
}

/// A carrier of NR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NrCarrier<'a> {
    /// The channel number of the carrier (TS 38.104 5.4.2.1).
    pub nr_arfcn: u32,
    /// The numbers of its bands, 1 to 32.
    pub bands: &'a [u16],
    /// Its bandwidth.
    pub bandwidth: TransmissionBandwidth,
}

impl F1SetupRequest<'_> {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let item = |cell: &ServedCell<'_>| {
            let item = ServedCellsItem {
                served_cell_information: cell.information(),
                gnb_du_system_information: None,
                ie_extensions: None,
            };
            ProtocolIe::new(IE_GNB_DU_SERVED_CELLS_ITEM, Criticality::Reject, &item)
        };
        let cells = CellList(self.served_cells.iter().map(item).collect::<Result<Vec<_>, _>>()?.into());
        let ies = vec![
            ProtocolIe::new(IE_TRANSACTION_ID, Criticality::Reject, &TransactionId(self.transaction_id))?,
            ProtocolIe::new(IE_GNB_DU_ID, Criticality::Reject, &self.gnb_du_id)?,
            ProtocolIe::new(IE_GNB_DU_NAME, Criticality::Ignore, &NodeName::new(self.gnb_du_name)?)?,
            ProtocolIe::new(IE_GNB_DU_SERVED_CELLS_LIST, Criticality::Reject, &cells)?,
            ProtocolIe::new(IE_GNB_DU_RRC_VERSION, Criticality::Reject, &RrcVersion::UNKNOWN)?,
        ];
        let kind = MessageKind::InitiatingMessage;
        Pdu::new(kind, PROCEDURE_F1_SETUP, Criticality::Reject, ies)?.encode(Protocol::F1ap)
    }
}

/// F1 SETUP RESPONSE (TS 38.473 9.2.1.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct F1SetupResponse<'a> {
    /// The transaction.
    pub transaction_id: u8,
    /// The gNB-CU's name: 1 to 150 ASCII characters.
    pub gnb_cu_name: &'a str,
    /// The cells that the gNB-DU is to activate, 1 to 512.
    pub cells_to_be_activated: &'a [NrCgi],
}

impl F1SetupResponse<'_> {
    /// Returns the octets of the message.
    ///
    /// # Errors
    /// A value outside its constraints.
    pub fn encode(&self) -> Result<Vec<u8>, per::Error> {
        let item = |cell: &NrCgi| {
            let item = CellToBeActivated { nr_cgi: (*cell).into(), nr_pci: None, ie_extensions: None };
            ProtocolIe::new(IE_CELLS_TO_BE_ACTIVATED_LIST_ITEM, Criticality::Reject, &item)
        };
        let cells = CellList(self.cells_to_be_activated.iter().map(item).collect::<Result<Vec<_>, _>>()?.into());
        let ies = vec![
            ProtocolIe::new(IE_TRANSACTION_ID, Criticality::Reject, &TransactionId(self.transaction_id))?,
            ProtocolIe::new(IE_GNB_CU_NAME, Criticality::Ignore, &NodeName::new(self.gnb_cu_name)?)?,
            ProtocolIe::new(IE_CELLS_TO_BE_ACTIVATED_LIST, Criticality::Reject, &cells)?,
            ProtocolIe::new(IE_GNB_CU_RRC_VERSION, Criticality::Reject, &RrcVersion::UNKNOWN)?,
        ];
        let kind = MessageKind::SuccessfulOutcome;
        Pdu::new(kind, PROCEDURE_F1_SETUP, Criticality::Reject, ies)?.encode(Protocol::F1ap)
    }
}

/// The downlink carrier of a served cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedCarrier {
    /// Whether both directions share it (TDD).
    pub is_tdd: bool,
    /// The subcarrier spacing in kHz.
    pub subcarrier_spacing_khz: u16,
    /// The bandwidth in resource blocks.
    pub prbs: u16,
}

impl ServedCarrier {
    /// Returns the channel bandwidth in MHz (TS 38.101-1 and TS 38.101-2, tables 5.3.2-1), if the number of resource blocks is
    /// that of a channel bandwidth.
    #[must_use]
    pub fn bandwidth_mhz(&self) -> Option<u16> {
        #[rustfmt::skip]
        let channels: &[(u16, u16)] = match self.subcarrier_spacing_khz {
            15 => &[
                (25, 5), (52, 10), (79, 15), (106, 20), (133, 25), (160, 30), (188, 35), (216, 40), (242, 45), (270, 50),
            ],
            30 => &[
                (11, 5), (24, 10), (38, 15), (51, 20), (65, 25), (78, 30), (92, 35), (106, 40), (119, 45), (133, 50),
                (162, 60), (189, 70), (217, 80), (245, 90), (273, 100),
            ],
            60 => &[
                (11, 10), (18, 15), (24, 20), (31, 25), (38, 30), (44, 35), (51, 40), (58, 45), (65, 50), (66, 50),
                (79, 60), (93, 70), (107, 80), (121, 90), (132, 100), (135, 100), (264, 200),
            ],
            120 => &[(32, 50), (66, 100), (132, 200), (264, 400)],
            _ => &[],
        };
        channels.iter().find(|(prbs, _)| *prbs == self.prbs).map(|(_, mhz)| *mhz)
    }
}

/// `NR 40 MHz TDD`
impl fmt::Display for ServedCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bandwidth_mhz() {
            Some(mhz) => write!(f, "NR {mhz} MHz ")?,
            None => write!(f, "NR {} PRBs of {} kHz ", self.prbs, self.subcarrier_spacing_khz)?,
        }
        f.write_str(if self.is_tdd { "TDD" } else { "FDD" })
    }
}

/// Calls `visit` with each served cell of an F1 SETUP REQUEST, and with its carrier if that can be read: extensions of the
/// carrier's description are not. Octets that are something else have no cells; of a damaged message, the cells before the
/// damage are visited.
pub fn visit_served_cells(octets: &[u8], mut visit: impl FnMut(NrCgi, Option<ServedCarrier>)) {
    visit_cells(octets, &mut visit, &mut |_| ());
}

/// Calls `visit` with the networks that the cells of an F1 SETUP REQUEST serve, perhaps several times with one. Octets that are something
/// else have none; of a damaged message, those before the damage are visited.
pub fn visit_served_plmns(octets: &[u8], mut visit: impl FnMut(PlmnIdentity)) {
    visit_cells(octets, &mut |_, _| (), &mut visit);
}

fn visit_cells(
    octets: &[u8],
    visit: &mut dyn FnMut(NrCgi, Option<ServedCarrier>),
    visit_plmn: &mut dyn FnMut(PlmnIdentity),
) {
    let Some(request) = PduView::read(Protocol::F1ap, octets) else { return };
    if (request.kind, request.procedure_code) != (MessageKind::InitiatingMessage, PROCEDURE_F1_SETUP) {
        return;
    }
    if let Some(list) = request.ie(IE_GNB_DU_SERVED_CELLS_LIST) {
        // nodes put other things in this place too: damage is not an error
        let _ = read_cells(&mut Reader::new(list, 0), visit, visit_plmn);
    }
}

fn read_cells(
    list: &mut Reader<'_>,
    visit: &mut dyn FnMut(NrCgi, Option<ServedCarrier>),
    visit_plmn: &mut dyn FnMut(PlmnIdentity),
) -> Result<(), per::Error> {
    for _ in 0..list.constrained(1, 512)? {
        list.constrained(0, 65_535)?; // GNB-DU-Served-Cells-Item
        list.bits(2)?;
        let mut item = list.open_type_reader()?;
        // extension and options of the item, of the cell's information, and of its NR CGI
        let options = item.bits(3 + 4 + 2)?;
        let plmn_identity = read_plmn(&mut item)?;
        item.align();
        let cell = NrCgi::new(plmn_identity, item.bits(36)?);
        visit(cell, read_carrier(&mut item, options, visit_plmn).ok());
    }
    Ok(())
}

/// Reads what follows the identity in an NR CGI of Served-Cell-Information, up to the downlink carrier. `options` are the bits
/// before the NR CGI.
fn read_carrier(
    item: &mut Reader<'_>,
    options: u64,
    visit_plmn: &mut dyn FnMut(PlmnIdentity),
) -> Result<ServedCarrier, per::Error> {
    let has = |bit: u64| options >> bit & 1 == 1;
    if has(0) {
        skip_extensions(item)?;
    }
    item.constrained(0, 1007)?; // NR PCI
    if has(4) {
        item.align();
        item.octets(3)?; // 5GS-TAC
    }
    if has(3) {
        item.bits(16)?; // Configured-EPS-TAC
    }
    for _ in 0..item.constrained(1, 6)? {
        let has_extensions = item.bits(2)? & 1 == 1;
        visit_plmn(read_plmn(item)?);
        if has_extensions {
            skip_extensions(item)?;
        }
    }
    let (is_tdd, bandwidth) = match <NrModeInfo<'_> as per::Decode<'_, _>>::decode(item)? {
        NrModeInfo::Fdd(fdd) => (false, fdd.downlink_transmission_bandwidth),
        NrModeInfo::Tdd(tdd) => (true, tdd.transmission_bandwidth),
        NrModeInfo::Extensions(_) => return Err(item.error(per::ErrorKind::OutOfRange)),
    };
    let subcarrier_spacing_khz = bandwidth.nr_scs.khz();
    Ok(ServedCarrier { is_tdd, subcarrier_spacing_khz, prbs: bandwidth.nr_nrb.prbs() })
}

impl ServedCell<'_> {
    fn information(&self) -> ServedCellInformation<'static> {
        let plmn = |plmn_identity: &PlmnIdentity| ServedPlmnItem { plmn_identity: *plmn_identity, ie_extensions: None };
        ServedCellInformation {
            nr_cgi: self.nr_cgi.into(),
            nr_pci: self.nr_pci,
            five_gs_tac: Some(self.tac.0),
            configured_eps_tac: None,
            served_plmns: self.served_plmns.iter().map(plmn).collect::<Vec<_>>().into(),
            nr_mode_info: match self.mode {
                NrMode::Fdd { uplink, downlink } => NrModeInfo::Fdd(FddInfo {
                    uplink_freq_info: uplink.into(),
                    downlink_freq_info: downlink.into(),
                    uplink_transmission_bandwidth: uplink.bandwidth,
                    downlink_transmission_bandwidth: downlink.bandwidth,
                    ie_extensions: None,
                }),
                NrMode::Tdd(carrier) => NrModeInfo::Tdd(TddInfo {
                    freq_info: carrier.into(),
                    transmission_bandwidth: carrier.bandwidth,
                    ie_extensions: None,
                }),
            },
            measurement_timing_configuration: NO_MEASUREMENT_TIMING.into(),
            ie_extensions: None,
        }
    }
}

impl From<NrCarrier<'_>> for NrFreqInfo<'static> {
    fn from(carrier: NrCarrier<'_>) -> Self {
        let band = |band: &u16| FreqBandNrItem {
            freq_band_indicator_nr: *band,
            supported_sul_bands: NoBands(0),
            ie_extensions: None,
        };
        NrFreqInfo {
            nr_arfcn: carrier.nr_arfcn,
            sul_information: None,
            freq_band_list_nr: carrier.bands.iter().map(band).collect::<Vec<_>>().into(),
            ie_extensions: None,
        }
    }
}

/// GNB-DU-Served-Cells-List and Cells-to-be-Activated-List, which have one form.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=512)]
struct CellList<'a>(List<'a, ProtocolIe<'a>>);

/// GNB-DU-Served-Cells-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedCellsItem<'a> {
    served_cell_information: ServedCellInformation<'a>,
    gnb_du_system_information: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// Served-Cell-Information.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedCellInformation<'a> {
    nr_cgi: NrCgiIe,
    nr_pci: NrPci,
    five_gs_tac: Option<[u8; 3]>,
    configured_eps_tac: Option<[u8; 2]>,
    #[per(size = 1..=6)]
    served_plmns: List<'a, ServedPlmnItem>,
    nr_mode_info: NrModeInfo<'a>,
    measurement_timing_configuration: Octets<'a>,
    ie_extensions: Option<Unused>,
}

/// ServedPLMNs-Item.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedPlmnItem {
    plmn_identity: PlmnIdentity,
    ie_extensions: Option<Unused>,
}

/// NR-Mode-Info.
#[derive(Clone, Debug, PartialEq, Per)]
enum NrModeInfo<'a> {
    Fdd(FddInfo<'a>),
    Tdd(TddInfo<'a>),
    Extensions(Unused),
}

/// FDD-Info.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct FddInfo<'a> {
    uplink_freq_info: NrFreqInfo<'a>,
    downlink_freq_info: NrFreqInfo<'a>,
    uplink_transmission_bandwidth: TransmissionBandwidth,
    downlink_transmission_bandwidth: TransmissionBandwidth,
    ie_extensions: Option<Unused>,
}

/// TDD-Info.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct TddInfo<'a> {
    freq_info: NrFreqInfo<'a>,
    transmission_bandwidth: TransmissionBandwidth,
    ie_extensions: Option<Unused>,
}

/// NRFreqInfo.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct NrFreqInfo<'a> {
    #[per(range = 0..=3_279_165)]
    nr_arfcn: u32,
    sul_information: Option<Unused>,
    #[per(size = 1..=32)]
    freq_band_list_nr: List<'a, FreqBandNrItem>,
    ie_extensions: Option<Unused>,
}

/// FreqBandNrItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct FreqBandNrItem {
    #[per(range = 1..=1024, extensible)]
    freq_band_indicator_nr: u16,
    supported_sul_bands: NoBands,
    ie_extensions: Option<Unused>,
}

/// The length of an empty SupportedSULBandList, which has at most 32 items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = 0..=32)]
struct NoBands(u8);

/// Transmission Bandwidth (TS 38.473 9.3.1.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
pub struct TransmissionBandwidth {
    nr_scs: NrScs,
    nr_nrb: NrNrb,
    ie_extensions: Option<Unused>,
}

impl TransmissionBandwidth {
    /// The bandwidth of `prbs` resource blocks with that subcarrier spacing in kHz; `None` where F1AP has no value for one of
    /// the two.
    #[must_use]
    pub fn new(subcarrier_spacing_khz: u16, prbs: u16) -> Option<Self> {
        let nr_scs = match subcarrier_spacing_khz {
            15 => NrScs::Scs15,
            30 => NrScs::Scs30,
            60 => NrScs::Scs60,
            120 => NrScs::Scs120,
            _ => return None,
        };
        Some(TransmissionBandwidth { nr_scs, nr_nrb: NrNrb::of(prbs)?, ie_extensions: None })
    }
}

/// NRSCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(extensible)]
enum NrScs {
    Scs15,
    Scs30,
    Scs60,
    Scs120,
}

impl NrScs {
    fn khz(self) -> u16 {
        match self {
            NrScs::Scs15 => 15,
            NrScs::Scs30 => 30,
            NrScs::Scs60 => 60,
            NrScs::Scs120 => 120,
        }
    }
}

macro_rules! nrb {
    ($($prbs:literal $name:ident $(#[$addition:meta])*,)*) => {
        /// NRNRB.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
        #[per(extensible)]
        enum NrNrb {
            $($(#[$addition])* $name,)*
        }

        impl NrNrb {
            fn of(prbs: u16) -> Option<NrNrb> {
                match prbs {
                    $($prbs => Some(NrNrb::$name),)*
                    _ => None,
                }
            }

            fn prbs(self) -> u16 {
                match self {
                    $(NrNrb::$name => $prbs,)*
                }
            }
        }
    };
}

nrb! {
    11 Nrb11, 18 Nrb18, 24 Nrb24, 25 Nrb25, 31 Nrb31, 32 Nrb32, 38 Nrb38, 51 Nrb51, 52 Nrb52, 65 Nrb65, 66 Nrb66,
    78 Nrb78, 79 Nrb79, 93 Nrb93, 106 Nrb106, 107 Nrb107, 121 Nrb121, 132 Nrb132, 133 Nrb133, 135 Nrb135, 160 Nrb160,
    162 Nrb162, 189 Nrb189, 216 Nrb216, 217 Nrb217, 245 Nrb245, 264 Nrb264, 270 Nrb270, 273 Nrb273,
    33 Nrb33 #[per(addition)], 62 Nrb62 #[per(addition)], 124 Nrb124 #[per(addition)], 148 Nrb148 #[per(addition)],
    248 Nrb248 #[per(addition)], 44 Nrb44 #[per(addition)], 58 Nrb58 #[per(addition)], 92 Nrb92 #[per(addition)],
    119 Nrb119 #[per(addition)], 188 Nrb188 #[per(addition)], 242 Nrb242 #[per(addition)],
}

/// RRC-Version.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
struct RrcVersion {
    #[per(size = 3..=3)]
    latest_rrc_version: Bits,
    ie_extensions: Option<Unused>,
}

impl RrcVersion {
    /// Receivers ignore the bits (TS 38.473 9.3.1.70).
    const UNKNOWN: RrcVersion = RrcVersion { latest_rrc_version: Bits::new(0, 3), ie_extensions: None };
}

/// Cells-to-be-Activated-List-Item.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct CellToBeActivated {
    nr_cgi: NrCgiIe,
    nr_pci: Option<Unused>,
    ie_extensions: Option<Unused>,
}

/// The IEs whose values are numbers, in Release 17, by id.
#[rustfmt::skip]
pub const NUMERIC_IES: &[NumericIe] = &[
    int(40, 0, 4_294_967_295), int(41, 0, 4_294_967_295), int(42, 0, 68_719_476_735), int(47, 0, 4_294_967_295),
    open(64, 0, 3), list(77, 6), open(78, 0, 255), list(79, 1), list(87, 1), list(94, 1), open(95, 0, 65_535),
    list(96, 4), list(97, 1), list(98, 1), list(106, 2), open(107, 0, 31), list(109, 1), list(114, 4), list(115, 8),
    open(141, 0, 131_071), int(142, 0, 65_535), int(156, 0, 4_294_967_295), list(157, 1),
    open(158, 0, 4_000_000_000_000), list(159, 1), list(162, 1), closed(172, 2), list(178, 1), open(182, 1, 64),
    list(184, 1), list(213, 1), list(215, 1), list(216, 1), int(217, 0, 4_294_967_295), int(219, 0, 4_294_967_295),
    list(222, 1), list(253, 2), open(340, 0, 4_000_000_000_000), open(345, 0, 4095), open(346, 0, 4095), list(347, 3),
    list(352, 5), list(379, 2), list(393, 2), list(399, 8), open(402, 1, 65_536), list(408, 2), list(409, 12),
    open(411, 1, 65_536), open(412, 1, 256), open(413, 1, 256), list(416, 12), open(418, 0, 4095), int(420, 0, 1023),
    int(421, 0, 79), list(423, 1), list(424, 2), list(432, 1), list(434, 5), list(438, 9), int(451, 0, 4_294_967_295),
    int(452, 0, 4_294_967_295), list(510, 1), int(512, 0, 16_777_215), list(516, 2), list(536, 2), list(541, 12),
    list(545, 2), open(546, 1, 16), list(547, 2), list(548, 2), list(571, 2), list(573, 2), list(576, 1),
    list(578, 1), list(580, 4), list(581, 4), int(584, 0, 7690), list(586, 1), list(588, 1),
    open(596, 0, 4_000_000_000_000), int(597, 1, 32), open(618, 0, 255), list(620, 1), closed(634, 8), list(635, 2),
    list(649, 2), int(661, 0, 319), int(662, 0, 639), list(672, 14), list(675, 1), list(683, 1), list(689, 1),
    list(708, 1), list(712, 2), open(716, 1, 192_000), list(749, 2), list(760, 2), list(768, 1), list(770, 2),
    list(783, 1), list(794, 1), int(806, 0, 3_940_097), int(807, 0, 7_880_193), int(808, 0, 32_701),
    int(809, 0, 65_401), list(813, 2), int(821, 0, 15_760_385), int(822, 0, 31_520_769), int(823, 0, 63_041_537),
    int(824, 0, 126_083_073), int(825, 0, 130_801), int(826, 0, 261_601), int(827, 0, 523_201),
    int(828, 0, 1_046_401), list(844, 1), list(846, 1), int(861, 1, 12),
];
