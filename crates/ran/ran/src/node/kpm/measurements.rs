//! The measurements of the model: names, scopes, object classes and definitions.

use std::borrow::Cow;

use e2sm::kpm::dictionary::Scope::{self, Cell as OfCell, CellAndUe, Ue as OfUe};
use ran_functions::kpm::SupportedMeasurement;

use super::mobility::{MobilityCount, Quality};
use crate::node_type::NodeType;
use crate::profile::KpmProfile;

/// A measurement of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kpi {
    Cqi,
    PacketDropRateDl,
    PacketLossRateUl,
    VolumeDl,
    VolumeUl,
    DelayDl,
    ThroughputDl,
    ThroughputUl,
    UnrestrictedVolumeDl,
    UnrestrictedVolumeUl,
    ActiveDl,
    ActiveUl,
    Sinr,
    Rsrp,
    Rsrq,
    UplinkRsrp,
    Connected,
    MaxConnected,
    Inactive,
    CuUpDelayDl,
    CuUpDropRateDl,
    PrbAvailableDl,
    PrbAvailableUl,
    PrbTotDl,
    PrbTotUl,
    PrbUsedDl,
    PrbUsedUl,
    PrbDistDl,
    PrbDistUl,
    CqiDist,
    McsDistDl,
    RlcVolumeDl,
    RlcVolumeUl,
    PdcpPduVolumeDl,
    BufferDl,
    AirInterfaceDelayDl,
    AirInterfaceDelayUl,
    RlcDelayUl,
    ContentionPreambles,
    DedicatedPreambles,
    ReorderingDelayUl,
    PacketSuccessRateUl,
    BlocksDl,
    InitialBlocksDl,
    /// Initial blocks of a modulation: QPSK, 16QAM, 64QAM, 256QAM.
    ModulationDl(usize),
    ErrorBlocksDl,
    InitialErrorBlocksDl,
    ResidualErrorBlocksDl,
    BlocksUl,
    InitialBlocksUl,
    ErrorBlocksUl,
    InitialErrorBlocksUl,
    ResidualErrorBlocksUl,
    /// A count of connections or handovers of the cell.
    Mobility(MobilityCount),
    /// What UEs measure of their serving cell at the end of the period.
    ServingCell(Quality),
    /// What UEs measure of their strongest neighbour at the end of the period.
    StrongestNeighbour(Quality),
    /// The timing advance of UEs at the end of the period.
    TimingAdvance,
    AveragePower,
    LeastPower,
    LargestPower,
    Energy,
}

/// The object class that a measurement belongs to (TS 28.552 5.1, E2SM-KPM 7.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// NRCellCU, at the CU-CP.
    CellCu,
    /// GNBCUUPFunction, at the CU-UP.
    CuUp,
    /// NRCellDU, at the DU.
    CellDu,
}

/// A row of the table of measurements.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    pub kpi: Kpi,
    pub name: &'static str,
    pub scope: Scope,
    /// The measurement id. New measurements have none, to keep the E2 setup request short.
    id: Option<u32>,
    /// Whether the definition lists it in every report style that has its scope: the most requested ones. The others are listed
    /// in styles 1 and 4 only, which keeps the E2 setup request below 16 kB; they are accepted in every style.
    pub is_listed_in_every_style: bool,
    pub class: Class,
    /// Whether it can be divided by PLMN, slice, 5QI and flow.
    pub is_divisible: bool,
    /// Where it is defined.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests write the documents from the table"))]
    pub source: &'static str,
    /// Its unit and definition.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests write the documents from the table"))]
    pub definition: &'static str,
}

impl Measurement {
    const fn with_id(self, id: u32) -> Self {
        Measurement { id: Some(id), ..self }
    }

    const fn in_every_style(self) -> Self {
        Measurement { is_listed_in_every_style: true, ..self }
    }

    /// The cell as a whole only: a share of it has no meaning.
    const fn whole(self) -> Self {
        Measurement { is_divisible: false, ..self }
    }

    /// Whether a node measures it.
    fn is_measured_by(&self, node_type: NodeType) -> bool {
        match self.class {
            // LTE has RRC_IDLE instead
            Class::CellCu => node_type.has_rrc() && (self.kpi != Kpi::Inactive || node_type != NodeType::Enb),
            Class::CuUp => node_type.has_pdcp(),
            Class::CellDu => node_type.has_mac(),
        }
    }

    fn supported(&self) -> SupportedMeasurement {
        SupportedMeasurement { name: Cow::Borrowed(self.name), id: self.id, scope: self.scope }
    }
}

const fn row(
    kpi: Kpi,
    name: &'static str,
    scope: Scope,
    class: Class,
    source: &'static str,
    definition: &'static str,
) -> Measurement {
    Measurement {
        kpi,
        name,
        scope,
        id: None,
        is_listed_in_every_style: false,
        class,
        is_divisible: true,
        source,
        definition,
    }
}

use Class::{CellCu, CellDu, CuUp};

/// All measurements. `TS` is TS 28.552, `KPM` E2SM-KPM v03.00; others are named as the base stations that report them name them.
#[rustfmt::skip]
pub const MEASUREMENTS: &[Measurement] = &[
    row(Kpi::ThroughputDl, "DRB.UEThpDl", CellAndUe, CellDu, "TS 5.1.1.3.1", "kbit/s of bursts that take several slots, without the slot that empties the buffer; 0 without such a burst").with_id(1).in_every_style(),
    row(Kpi::ThroughputUl, "DRB.UEThpUl", CellAndUe, CellDu, "TS 5.1.1.3.3", "the same of the uplink").with_id(2).in_every_style(),
    row(Kpi::DelayDl, "DRB.RlcSduDelayDl", CellAndUe, CellDu, "TS 5.1.3.3.3", "0.1 ms from the arrival of an SDU in RLC until its last part is sent").with_id(3).in_every_style(),
    row(Kpi::VolumeDl, "DRB.PdcpSduVolumeDL", CellAndUe, CuUp, "TS 5.1.2.1.1.1", "kbit forwarded by traffic control to PDCP").with_id(4).in_every_style(),
    row(Kpi::VolumeUl, "DRB.PdcpSduVolumeUL", CellAndUe, CuUp, "TS 5.1.2.1.2.1", "kbit delivered to the core").with_id(5).in_every_style(),
    row(Kpi::PrbTotDl, "RRU.PrbTotDl", CellAndUe, CellDu, "TS 5.1.1.2.1", "resource blocks in percent of the available ones").with_id(6).in_every_style(),
    row(Kpi::PrbTotUl, "RRU.PrbTotUl", CellAndUe, CellDu, "TS 5.1.1.2.2", "the same of the uplink").with_id(7).in_every_style(),
    row(Kpi::PrbUsedDl, "RRU.PrbUsedDl", CellAndUe, CellDu, "TS 5.1.1.2.5", "the mean number of resource blocks used in a slot").with_id(8),
    row(Kpi::PrbUsedUl, "RRU.PrbUsedUl", CellAndUe, CellDu, "TS 5.1.1.2.7", "the same of the uplink").with_id(9),
    row(Kpi::PrbAvailableDl, "RRU.PrbAvailDl", OfCell, CellDu, "TS 5.1.1.2.6", "resource blocks of the carrier").with_id(10).whole(),
    row(Kpi::PrbAvailableUl, "RRU.PrbAvailUl", OfCell, CellDu, "TS 5.1.1.2.8", "resource blocks of the carrier, without PUCCH").with_id(11).whole(),
    row(Kpi::PacketDropRateDl, "DRB.RlcPacketDropRateDl", CellAndUe, CellDu, "TS 5.1.3.2.2", "SDUs dropped by RLC before any part was sent, in millionths of those that arrived").with_id(12),
    row(Kpi::PacketLossRateUl, "DRB.PacketLossRateUl", CellAndUe, CuUp, "TS 5.1.3.1.1", "SDUs lost on the air, in millionths of those lost or delivered").with_id(13),
    row(Kpi::ActiveDl, "DRB.MeanActiveUeDl", OfCell, CellDu, "TS 5.1.1.23.1", "the mean number of UEs with data to send, over slots").with_id(14),
    row(Kpi::ActiveUl, "DRB.MeanActiveUeUl", OfCell, CellDu, "TS 5.1.1.23.3", "the same of the uplink").with_id(15),
    row(Kpi::Connected, "RRC.ConnMean", OfCell, CellCu, "TS 5.1.1.4.1", "the mean number of UEs in RRC_CONNECTED; a UE without data for 2 s is inactive").with_id(16).whole(),
    row(Kpi::Cqi, "CQI", OfUe, CellDu, "srsRAN", "the mean of the reported CQIs").with_id(17).in_every_style(),
    row(Kpi::Sinr, "L1M.DL-SS-SINR", OfUe, CellDu, "KPM 7.10.8", "the mean SINR at the UE's reports, in dB").with_id(18),
    row(Kpi::Rsrp, "L1M.DL-SS-RSRP", OfUe, CellDu, "KPM 7.10.7", "the mean RSRP at the UE's reports, in dBm").with_id(19),
    row(Kpi::PrbDistDl, "RRU.PrbTotDlDist", OfCell, CellDu, "TS 5.1.1.2.3", "slots by tenths of usage").with_id(20).whole(),
    row(Kpi::PrbDistUl, "RRU.PrbTotUlDist", OfCell, CellDu, "TS 5.1.1.2.4", "the same of the uplink").with_id(21).whole(),
    row(Kpi::CqiDist, "CARR.WBCQIDist", CellAndUe, CellDu, "TS 5.1.1.11.1", "reports by CQI, rank and CQI table").with_id(22),
    row(Kpi::CuUpDelayDl, "DRB.PdcpSduDelayDl", CellAndUe, CuUp, "TS 5.1.3.3.1", "0.1 ms from the core to F1: the queueing time in traffic control, the only delay in the CU-UP").with_id(23),
    row(Kpi::CuUpDropRateDl, "DRB.PdcpPacketDropRateDl", CellAndUe, CuUp, "TS 5.1.3.2.1", "packets dropped by traffic control, in millionths of those that arrived").with_id(24),
    row(Kpi::Inactive, "RRC.InactiveConnMean", OfCell, CellCu, "TS 5.1.1.4.3", "the mean number of UEs in RRC_INACTIVE").with_id(25).whole(),
    row(Kpi::UnrestrictedVolumeDl, "DRB.UEUnresVolDl", CellAndUe, CellDu, "TS 5.1.1.3.5", "volume of bursts that take one slot, in percent of it and the volume of the throughput"),
    row(Kpi::UnrestrictedVolumeUl, "DRB.UEUnresVolUl", CellAndUe, CellDu, "TS 5.1.1.3.6", "the same of the uplink"),
    row(Kpi::AirInterfaceDelayDl, "DRB.AirIfDelayDl", CellAndUe, CellDu, "TS 5.1.1.1.1", "0.1 ms from sending the last part of an RLC SDU until the feedback that all of it was received"),
    row(Kpi::AirInterfaceDelayUl, "DRB.AirIfDelayUl", CellAndUe, CellDu, "TS 5.1.1.1.3", "0.1 ms from the first transmission of a MAC SDU until it is decoded"),
    row(Kpi::RlcDelayUl, "DRB.RlcDelayUl", CellAndUe, CellDu, "TS 5.1.1.1.4", "0.1 ms from the first part of an RLC SDU received until the last one"),
    row(Kpi::RlcVolumeDl, "DRB.RlcSduTransmittedVolumeDL", CellAndUe, CellDu, "KPM 7.10.1", "kbit of RLC SDUs that the UE received"),
    row(Kpi::RlcVolumeUl, "DRB.RlcSduTransmittedVolumeUL", CellAndUe, CellDu, "KPM 7.10.2", "kbit of RLC SDUs that the base station received"),
    row(Kpi::BufferDl, "DRB.BufferSize.Qos", CellAndUe, CellDu, "ns-O-RAN", "octets in the RLC buffer at the end of the period"),
    row(Kpi::Rsrp, "RSRP", OfUe, CellDu, "srsRAN", "as L1M.DL-SS-RSRP"),
    row(Kpi::Rsrq, "RSRQ", OfUe, CellDu, "srsRAN, TS 38.215 5.1.3", "the mean RSRQ at the UE's reports, in dB"),
    row(Kpi::UplinkRsrp, "L1M.UL-SRS-RSRP", OfUe, CellDu, "KPM 7.10.9", "the mean power of the UE's reference signals at the base station, in dBm"),
    row(Kpi::McsDistDl, "CARR.PDSCHMCSDist", CellAndUe, CellDu, "TS 5.1.1.12.1", "resource blocks by rank, MCS table and MCS"),
    row(Kpi::BlocksDl, "TB.TotNbrDl.1", CellAndUe, CellDu, "TS 5.1.1.7.3", "transmissions of transport blocks, retransmissions included; one UE for each block (no MU-MIMO)"),
    row(Kpi::InitialBlocksDl, "TB.TotNbrDlInitial", CellAndUe, CellDu, "TS 5.1.1.7.1", "new transport blocks"),
    row(Kpi::ModulationDl(0), "TB.TotNbrDlInitial.Qpsk", CellAndUe, CellDu, "TS 5.1.1.7.1", "the ones with QPSK"),
    row(Kpi::ModulationDl(1), "TB.TotNbrDlInitial.16Qam", CellAndUe, CellDu, "TS 5.1.1.7.1", "with 16QAM"),
    row(Kpi::ModulationDl(2), "TB.TotNbrDlInitial.64Qam", CellAndUe, CellDu, "TS 5.1.1.7.1", "with 64QAM"),
    row(Kpi::ModulationDl(3), "TB.TotNbrDlInitial.256Qam", CellAndUe, CellDu, "TS 5.1.1.7.1", "with 256QAM"),
    row(Kpi::ErrorBlocksDl, "TB.ErrTotalNbrDl.1", CellAndUe, CellDu, "TS 5.1.1.7.4", "transmissions that were not decoded"),
    row(Kpi::InitialErrorBlocksDl, "TB.IntialErrNbrDl", OfCell, CellDu, "TS 5.1.1.7.2", "first transmissions that were not decoded (the name is that of TS 28.552)"),
    row(Kpi::ResidualErrorBlocksDl, "TB.ResidualErrNbrDl", OfCell, CellDu, "TS 5.1.1.7.5", "transport blocks dropped after the last transmission"),
    row(Kpi::BlocksUl, "TB.TotNbrUl.1", OfCell, CellDu, "TS 5.1.1.7.8", "as TB.TotNbrDl.1"),
    row(Kpi::InitialBlocksUl, "TB.TotNbrUlInit", OfCell, CellDu, "TS 5.1.1.7.6", "as TB.TotNbrDlInitial"),
    row(Kpi::ErrorBlocksUl, "TB.ErrTotalNbrUl.1", OfCell, CellDu, "TS 5.1.1.7.9", "as TB.ErrTotalNbrDl.1"),
    row(Kpi::InitialErrorBlocksUl, "TB.ErrNbrUlInitial", OfCell, CellDu, "TS 5.1.1.7.7", "as TB.IntialErrNbrDl"),
    row(Kpi::ResidualErrorBlocksUl, "TB.ResidualErrNbrUl", OfCell, CellDu, "TS 5.1.1.7.10", "as TB.ResidualErrNbrDl"),
    row(Kpi::PacketSuccessRateUl, "DRB.PacketSuccessRateUlgNBUu", CellAndUe, CuUp, "TS 5.1.2.2.1", "SDUs delivered, in percent of those delivered or lost"),
    row(Kpi::ReorderingDelayUl, "DRB.PdcpReordDelayUl", CellAndUe, CuUp, "TS 5.1.1.1.5", "0.1 ms from the reception of an SDU until its delivery in order"),
    row(Kpi::PdcpPduVolumeDl, "QosFlow.PdcpPduVolumeDL_Filter", CellAndUe, CuUp, "TS 5.1.3.6.1.1, ns-O-RAN", "kbit of PDCP PDUs for the DU"),
    row(Kpi::AveragePower, "PEE.AvgPower", OfCell, CellDu, "TS 5.1.1.19.2.1", "the mean power of the cell's hardware").whole(),
    row(Kpi::LeastPower, "PEE.MinPower", OfCell, CellDu, "TS 5.1.1.19.2.2", "the smallest power, as means over 10 ms, in steps of a thousandth of the full load").whole(),
    row(Kpi::LargestPower, "PEE.MaxPower", OfCell, CellDu, "TS 5.1.1.19.2.3", "the largest one").whole(),
    row(Kpi::Energy, "PEE.Energy", OfCell, CellDu, "TS 5.1.1.19.3", "the energy of the period").whole(),
    row(Kpi::MaxConnected, "RRC.ConnMax", OfCell, CellCu, "TS 5.1.1.4.2", "the largest number of UEs in RRC_CONNECTED").whole(),
    row(Kpi::Mobility(MobilityCount::Setups), "RRC.ConnEstabAtt", OfCell, CellCu, "TS 5.1.1.15.1", "RRC connection establishments that UEs attempted").whole(),
    row(Kpi::Mobility(MobilityCount::SetupsSucceeded), "RRC.ConnEstabSucc", OfCell, CellCu, "TS 5.1.1.15.2", "those that were completed").whole(),
    row(Kpi::Mobility(MobilityCount::SetupsRejected), "RRC.ConnEstabFailCause.NetworkReject", OfCell, CellCu, "TS 5.1.1.15.3", "those refused: the cell is locked, shutting down or full").whole(),
    row(Kpi::Mobility(MobilityCount::SetupsWithoutReply), "RRC.ConnEstabFailCause.NoReply", OfCell, CellCu, "TS 5.1.1.15.3", "those whose random access did not succeed until T300 expired").whole(),
    row(Kpi::Mobility(MobilityCount::Reestablishments), "RRC.ReEstabAtt", OfCell, CellCu, "TS 5.1.1.17.1", "RRC re-establishments that UEs attempted after a failure").whole(),
    row(Kpi::Mobility(MobilityCount::ReestablishmentsSucceeded), "RRC.ReEstabSuccWithUeContext", OfCell, CellCu, "TS 5.1.1.17.2", "those that were completed; the context of the UE is always found").whole(),
    row(Kpi::Mobility(MobilityCount::Preparations), "MM.HoPrepInterReq", OfCell, CellCu, "TS 5.1.1.6.1.1", "handovers that the cell as source asked a target to prepare; each cell is a gNB of its own").whole(),
    row(Kpi::Mobility(MobilityCount::PreparationsSucceeded), "MM.HoPrepInterSucc", OfCell, CellCu, "TS 5.1.1.6.1.2", "those that the target accepted").whole(),
    row(Kpi::Mobility(MobilityCount::PreparationsFailed), "MM.HoPrepInterFail", OfCell, CellCu, "TS 5.1.1.6.1.3", "those that the target refused: it is locked, shutting down or full").whole(),
    row(Kpi::Mobility(MobilityCount::Allocations), "MM.HoResAlloInterReq", OfCell, CellCu, "TS 5.1.1.6.1.4", "handovers that the cell as target was asked to admit").whole(),
    row(Kpi::Mobility(MobilityCount::AllocationsSucceeded), "MM.HoResAlloInterSucc", OfCell, CellCu, "TS 5.1.1.6.1.5", "those that it admitted").whole(),
    row(Kpi::Mobility(MobilityCount::AllocationsFailed), "MM.HoResAlloInterFail", OfCell, CellCu, "TS 5.1.1.6.1.6", "those that it refused").whole(),
    row(Kpi::Mobility(MobilityCount::Executions), "MM.HoExeInterReq", OfCell, CellCu, "TS 5.1.1.6.1.7", "handovers whose command a UE of the cell has received, without conditional ones").whole(),
    row(Kpi::Mobility(MobilityCount::ExecutionsSucceeded), "MM.HoExeInterSucc", OfCell, CellCu, "TS 5.1.1.6.1.8", "those that were completed, counted by the source").whole(),
    row(Kpi::Mobility(MobilityCount::ExecutionsFailed), "MM.HoExeInterFail", OfCell, CellCu, "TS 5.1.1.6.1.9", "those that failed: T304 expired").whole(),
    row(Kpi::Mobility(MobilityCount::ConditionalPreparations), "MM.ChoPrepInterReq", OfCell, CellCu, "TS 5.1.1.6.6.1", "conditional handovers that the cell asked a target to prepare").whole(),
    row(Kpi::Mobility(MobilityCount::ConditionalPreparationsSucceeded), "MM.ChoPrepInterSucc", OfCell, CellCu, "TS 5.1.1.6.6.2", "those that the target accepted").whole(),
    row(Kpi::Mobility(MobilityCount::ConditionalUes), "MM.ConfigInterReqChoUes", OfCell, CellCu, "TS 5.1.1.6.6.8", "UEs that were configured with conditional handover").whole(),
    row(Kpi::Mobility(MobilityCount::ConditionalExecutionsSucceeded), "MM.ChoExeInterSucc", OfCell, CellCu, "TS 5.1.1.6.6.9", "conditional handovers that were completed").whole(),
    row(Kpi::Mobility(MobilityCount::TooEarly), "HO.IntraSys.TooEarly", OfCell, CellCu, "TS 5.1.1.25.1", "handovers from the cell that were too early (TS 38.300 15.5.2)").whole(),
    row(Kpi::Mobility(MobilityCount::TooLate), "HO.IntraSys.TooLate", OfCell, CellCu, "TS 5.1.1.25.1", "radio link failures in the cell that a handover would have avoided").whole(),
    row(Kpi::Mobility(MobilityCount::ToWrongCell), "HO.IntraSys.ToWrongCell", OfCell, CellCu, "TS 5.1.1.25.1", "handovers from the cell to a wrong cell").whole(),
    row(Kpi::Mobility(MobilityCount::PingPongs), "HO.IntraSys.PingPong", OfCell, CellCu, "ferric", "UEs that came back to the cell by handover within `ping_pong_window_s`").whole(),
    row(Kpi::ContentionPreambles, "RACH.PreambleACell", OfCell, CellDu, "TS 5.1.1.20.1", "contention-based preambles received in a second").whole(),
    row(Kpi::DedicatedPreambles, "RACH.PreambleDedCell", OfCell, CellDu, "TS 5.1.1.20.1", "dedicated preambles received in a second").whole(),
    row(Kpi::ServingCell(Quality::Rsrp), "HO.SrcCellQual.RS-RSRP", OfUe, CellCu, "ns-O-RAN", "RSRP of the serving cell after the layer 3 filter, in dBm, at the end of the period"),
    row(Kpi::ServingCell(Quality::Rsrq), "HO.SrcCellQual.RS-RSRQ", OfUe, CellCu, "ns-O-RAN", "its RSRQ, in dB"),
    row(Kpi::ServingCell(Quality::Sinr), "HO.SrcCellQual.RS-SINR", OfUe, CellCu, "ns-O-RAN", "its SINR, in dB"),
    row(Kpi::StrongestNeighbour(Quality::Rsrp), "HO.TrgtCellQual.RS-RSRP", OfUe, CellCu, "ns-O-RAN", "RSRP of the strongest neighbour after the layer 3 filter, in dBm, at the end of the period"),
    row(Kpi::StrongestNeighbour(Quality::Rsrq), "HO.TrgtCellQual.RS-RSRQ", OfUe, CellCu, "ns-O-RAN", "its RSRQ, in dB"),
    row(Kpi::StrongestNeighbour(Quality::Sinr), "HO.TrgtCellQual.RS-SINR", OfUe, CellCu, "ns-O-RAN", "its SINR, in dB"),
    row(Kpi::TimingAdvance, "UE.TimingAdvance", OfUe, CellDu, "ferric", "the timing advance by the distance to the serving site, in units of 16 T_s, at the end of the period"),
];

/// Measurements that only profiles announce, under the names of their base stations.
const OF_PROFILES: [Measurement; 3] = [
    row(Kpi::Connected, "RRC.Conn.Avg", OfCell, CellCu, "ONOS", "").whole(),
    row(Kpi::PrbUsedDl, "PrbUsedDL", OfCell, CellDu, "ONOS", ""),
    row(Kpi::PrbUsedUl, "PrbUsedUL", OfCell, CellDu, "ONOS", ""),
];

/// The measurements that a node announces.
pub fn offered(node_type: NodeType, profile: &KpmProfile) -> (Vec<Measurement>, Vec<SupportedMeasurement>) {
    let Some(names) = profile.measurements else {
        let measured = MEASUREMENTS.iter().filter(|measurement| measurement.is_measured_by(node_type));
        return measured.map(|measurement| (*measurement, measurement.supported())).unzip();
    };
    let named = |(name, scope): &(&'static str, Scope)| {
        let known = MEASUREMENTS.iter().chain(&OF_PROFILES).find(|known| known.name == *name);
        let known = known.unwrap_or_else(|| panic!("the model has no measurement {name}"));
        let known = Measurement { scope: *scope, id: None, ..*known };
        (known, known.supported())
    };
    names.iter().map(named).unzip()
}
