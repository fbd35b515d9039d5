//! F1 Setup (TS 38.473 9.2.1.4 and 9.2.1.5): a DU and its CU-CP.

use per::{Bits, List, Octets, Per};
use radio::phy::{Duplex, Grid};

use super::super::messages::{
    Criticality, NoSuchThing, NrCgi, PlmnIdentity, ProtocolIeField, TAC, encoded, ie, nr_cgi,
};
use super::{F1Pdu, GnbPartId, MAX_FEW_NETWORKS, NodeName, ServedNetwork, TransactionId, message, name};
use crate::band::Spectrum;

// TS 38.473 9.4.7
const ID_F1_SETUP: u8 = 1;
const ID_CELLS_TO_BE_ACTIVATED_LIST: u16 = 3;
const ID_CELLS_TO_BE_ACTIVATED_LIST_ITEM: u16 = 4;
const ID_GNB_DU_ID: u16 = 42;
const ID_GNB_DU_SERVED_CELLS_ITEM: u16 = 43;
const ID_GNB_DU_SERVED_CELLS_LIST: u16 = 44;
const ID_GNB_DU_NAME: u16 = 45;
const ID_TRANSACTION_ID: u16 = 78;
const ID_GNB_CU_NAME: u16 = 82;
const ID_GNB_CU_RRC_VERSION: u16 = 170;
const ID_GNB_DU_RRC_VERSION: u16 = 171;

/// A MeasurementTimingConfiguration that configures nothing (TS 38.331 11.2.2), in unaligned PER.
const NO_MEASUREMENT_TIMING: &[u8] = &[0];

/// GNB-DU-Served-Cells-List.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(size = 1..=512)]
struct Cells<'a>(List<'a, ProtocolIeField<'a>>);

/// GNB-DU-Served-Cells-Item.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedCellsItem<'a> {
    served_cell_information: ServedCellInformation<'a>,
    gnb_du_system_information: Option<NoSuchThing>,
    ie_extensions: Option<NoSuchThing>,
}

/// Served-Cell-Information.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedCellInformation<'a> {
    nr_cgi: NrCgi,
    #[per(range = 0..=1007)]
    nr_pci: u16,
    five_gs_tac: Option<[u8; 3]>,
    configured_eps_tac: Option<[u8; 2]>,
    #[per(size = 1..=6)]
    served_plmns: List<'a, ServedPlmn>,
    nr_mode_info: NrModeInfo<'a>,
    measurement_timing_configuration: Octets<'a>,
    ie_extensions: Option<NoSuchThing>,
}

/// ServedPLMNs-Item.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct ServedPlmn {
    plmn_identity: PlmnIdentity,
    ie_extensions: Option<NoSuchThing>,
}

/// NR-Mode-Info.
#[derive(Clone, Debug, PartialEq, Per)]
enum NrModeInfo<'a> {
    Fdd(FddInfo<'a>),
    Tdd(TddInfo<'a>),
    Extensions(NoSuchThing),
}

/// FDD-Info.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct FddInfo<'a> {
    uplink: NrFreqInfo<'a>,
    downlink: NrFreqInfo<'a>,
    uplink_bandwidth: TransmissionBandwidth,
    downlink_bandwidth: TransmissionBandwidth,
    ie_extensions: Option<NoSuchThing>,
}

/// TDD-Info.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct TddInfo<'a> {
    both: NrFreqInfo<'a>,
    bandwidth: TransmissionBandwidth,
    ie_extensions: Option<NoSuchThing>,
}

/// NRFreqInfo.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct NrFreqInfo<'a> {
    #[per(range = 0..=3_279_165)]
    nr_arfcn: u32,
    sul_information: Option<NoSuchThing>,
    #[per(size = 1..=32)]
    bands: List<'a, FreqBandNrItem>,
    ie_extensions: Option<NoSuchThing>,
}

/// FreqBandNrItem.
#[derive(Clone, Debug, PartialEq, Per)]
#[per(extensible)]
struct FreqBandNrItem {
    #[per(range = 1..=1024, extensible)]
    freq_band_indicator_nr: u16,
    supported_sul_bands: NoBands,
    ie_extensions: Option<NoSuchThing>,
}

/// The length of an empty SupportedSULBandList, which has at most 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Per)]
#[per(range = 0..=32)]
struct NoBands(u8);

/// Transmission-Bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct TransmissionBandwidth {
    nr_scs: NrScs,
    nr_nrb: NrNrb,
    ie_extensions: Option<NoSuchThing>,
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
    ie_extensions: Option<NoSuchThing>,
}

/// Cells-to-be-Activated-List-Item.
#[derive(Clone, Copy, Debug, PartialEq, Per)]
#[per(extensible)]
struct CellToBeActivated {
    nr_cgi: NrCgi,
    nr_pci: Option<NoSuchThing>,
    ie_extensions: Option<NoSuchThing>,
}

/// Where a carrier is, and how wide; none where no band has room for it.
fn mode(grid: &Grid) -> Option<NrModeInfo<'static>> {
    let spectrum = Spectrum::of(grid.carrier())?;
    let frequency = |nr_arfcn| {
        let item = |band: &u16| FreqBandNrItem {
            freq_band_indicator_nr: *band,
            supported_sul_bands: NoBands(0),
            ie_extensions: None,
        };
        let bands = spectrum.bands.iter().map(item).collect::<Vec<_>>().into();
        NrFreqInfo { nr_arfcn, sul_information: None, bands, ie_extensions: None }
    };
    let nr_scs = [NrScs::Scs15, NrScs::Scs30, NrScs::Scs60][usize::from(grid.carrier().numerology)];
    let bandwidth = TransmissionBandwidth { nr_scs, nr_nrb: NrNrb::of(grid.prbs())?, ie_extensions: None };
    Some(match grid.carrier().duplex {
        Duplex::Fdd => NrModeInfo::Fdd(FddInfo {
            uplink: frequency(spectrum.uplink_arfcn),
            downlink: frequency(spectrum.downlink_arfcn),
            uplink_bandwidth: bandwidth,
            downlink_bandwidth: bandwidth,
            ie_extensions: None,
        }),
        _ => NrModeInfo::Tdd(TddInfo { both: frequency(spectrum.downlink_arfcn), bandwidth, ie_extensions: None }),
    })
}

/// An F1 SETUP REQUEST of a DU with one cell, and its RESPONSE, which has that cell activated. None where the carrier is in no
/// band.
pub fn setup(gnb: u32, nr_pci: u16, networks: &[ServedNetwork], grid: &Grid) -> Option<[Octets<'static>; 2]> {
    let nr_cgi = nr_cgi(gnb);
    let plmn = |network: &ServedNetwork| ServedPlmn { plmn_identity: network.plmn, ie_extensions: None };
    let cell = ServedCellsItem {
        served_cell_information: ServedCellInformation {
            nr_cgi,
            nr_pci,
            five_gs_tac: Some(TAC),
            configured_eps_tac: None,
            served_plmns: networks.iter().take(MAX_FEW_NETWORKS).map(plmn).collect::<Vec<_>>().into(),
            nr_mode_info: mode(grid)?,
            measurement_timing_configuration: NO_MEASUREMENT_TIMING.into(),
            ie_extensions: None,
        },
        gnb_du_system_information: None,
        ie_extensions: None,
    };
    let activated = CellToBeActivated { nr_cgi, nr_pci: None, ie_extensions: None };
    let cells = |id, octets| encoded(&Cells(List::from(vec![ie(id, Criticality::Reject, octets)])));
    let transaction = || ie(ID_TRANSACTION_ID, Criticality::Reject, encoded(&TransactionId(0)));
    let version = encoded(&RrcVersion { latest_rrc_version: Bits::new(0, 3), ie_extensions: None });
    let request = vec![
        transaction(),
        ie(ID_GNB_DU_ID, Criticality::Reject, encoded(&GnbPartId::ONLY)),
        ie(ID_GNB_DU_NAME, Criticality::Ignore, encoded(&NodeName(name(format!("gnb-{gnb:x}-du"))))),
        ie(ID_GNB_DU_SERVED_CELLS_LIST, Criticality::Reject, cells(ID_GNB_DU_SERVED_CELLS_ITEM, encoded(&cell))),
        ie(ID_GNB_DU_RRC_VERSION, Criticality::Reject, version.clone()),
    ];
    let activated = cells(ID_CELLS_TO_BE_ACTIVATED_LIST_ITEM, encoded(&activated));
    let response = vec![
        transaction(),
        ie(ID_GNB_CU_NAME, Criticality::Ignore, encoded(&NodeName(name(format!("gnb-{gnb:x}-cu"))))),
        ie(ID_CELLS_TO_BE_ACTIVATED_LIST, Criticality::Reject, activated),
        ie(ID_GNB_CU_RRC_VERSION, Criticality::Reject, version),
    ];
    let [request, response] = [request, response].map(|ies| message(ID_F1_SETUP, ies));
    Some([encoded(&F1Pdu::InitiatingMessage(request)), encoded(&F1Pdu::SuccessfulOutcome(response))])
}
