//! Unit, scope and value type of common measurements, by name.
//!
//! Names and units are those of E2SM-KPM, which takes them from TS 28.552 except for values that would round to 0: volumes
//! are in kbit instead of Mbit, and session times in ms instead of s (KPM v03.00 7.9.1; nodes of older revisions may use
//! the unit of TS 28.552). Measurements in neither document are as the base stations that offer them define them. A node
//! may offer other measurements and need not offer any of these: its RAN function definition is authoritative.
//!
//! ```
//! use e2sm::kpm::dictionary::{self, Scope};
//!
//! let throughput = dictionary::find("DRB.UEThpDl").unwrap();
//! assert_eq!((throughput.unit, throughput.scope), ("kbit/s", Scope::CellAndUe));
//! assert!(dictionary::find("DRB.Unknown").is_none());
//! ```

/// The unit, scope and value type of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: &'static str,
    /// Its unit; empty for a count.
    pub unit: &'static str,
    /// The entity that is measured.
    pub scope: Scope,
    /// The type of its values.
    pub kind: Kind,
    /// Where the name comes from.
    pub source: Source,
}

/// The document or the base station that defines a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// TS 28.552; a subcounter is named as its clause e) says.
    Ts28552,
    /// E2SM-KPM v03.00 7.10.
    E2smKpm,
    /// ns-O-RAN: `mmwave-indication-message-helper.cc`, without its suffix `.UEID`.
    NsOran,
    /// srsRAN Project and others that use the bare name.
    SrsRan,
    /// The emulated RAN of this project: no document defines it.
    Ferric,
}

/// The entity that a measurement is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A cell, or the node.
    Cell,
    /// A UE.
    Ue,
    /// Either.
    CellAndUe,
}

/// The type of the values of a measurement. Nodes may send integers in place of real numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers.
    Integer,
    /// Real numbers.
    Real,
}

/// Returns the entry of that name, in logarithmic time.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.binary_search_by(|entry| entry.name.cmp(name)).ok().map(|i| &ENTRIES[i])
}

/// Returns all entries, sorted by name.
#[must_use]
pub fn entries() -> &'static [Entry] {
    ENTRIES
}

const fn entry(name: &'static str, unit: &'static str, scope: Scope, kind: Kind) -> Entry {
    Entry { name, unit, scope, kind, source: Source::Ts28552 }
}

impl Entry {
    const fn from(self, source: Source) -> Entry {
        Entry { source, ..self }
    }
}

use Kind::{Integer, Real};
use Scope::{Cell, CellAndUe, Ue};
use Source::{E2smKpm, Ferric, NsOran, SrsRan};

const ENTRIES: &[Entry] = &[
    entry("CARR.AverageLayersDl", "layers", Cell, Real),
    entry("CARR.AverageLayersUl", "layers", Cell, Real),
    entry("CARR.MaxTxPwr", "dBm", Cell, Real),
    entry("CARR.MeanTxPwr", "dBm", Cell, Real),
    entry("CARR.PDSCHMCSDist", "", CellAndUe, Integer),
    entry("CARR.PUSCHMCSDist", "", CellAndUe, Integer),
    entry("CARR.WBCQIDist", "", CellAndUe, Integer),
    entry("CQI", "", Ue, Integer).from(SrsRan),
    entry("DRB.AirIfDelayDist", "", Cell, Integer),
    entry("DRB.AirIfDelayDl", "0.1 ms", CellAndUe, Real),
    entry("DRB.AirIfDelayUl", "0.1 ms", CellAndUe, Real),
    entry("DRB.BufferSize.Qos", "octets", CellAndUe, Integer).from(NsOran),
    entry("DRB.DelayDlNgranUeDist", "", Cell, Integer),
    entry("DRB.DelayUlNgranUeDist", "", Cell, Integer),
    entry("DRB.EstabAtt", "", Cell, Integer),
    entry("DRB.EstabSucc", "", Cell, Integer),
    entry("DRB.F1UpacketLossRateDl", "1e-6", CellAndUe, Integer),
    entry("DRB.F1UpacketLossRateUl", "1e-6", CellAndUe, Integer),
    entry("DRB.F1uPdcpSduVolumeDL", "kbit", Cell, Integer),
    entry("DRB.F1uPdcpSduVolumeUL", "kbit", Cell, Integer),
    entry("DRB.GtpF1DelayDlDist", "", Cell, Integer),
    entry("DRB.InitialEstabAtt", "", Cell, Integer),
    entry("DRB.InitialEstabSucc", "", Cell, Integer),
    entry("DRB.MaxActiveUeDl", "UEs", Cell, Integer),
    entry("DRB.MaxActiveUeUl", "UEs", Cell, Integer),
    entry("DRB.MeanActiveUeDl", "UEs", Cell, Real),
    entry("DRB.MeanActiveUeUl", "UEs", Cell, Real),
    entry("DRB.PacketLossRateULDist", "", Ue, Integer).from(E2smKpm),
    entry("DRB.PacketLossRateUl", "1e-6", CellAndUe, Integer),
    entry("DRB.PacketLossRateUu", "1e-6", CellAndUe, Integer),
    entry("DRB.PacketSuccessRateUlgNBUu", "%", CellAndUe, Integer),
    entry("DRB.PdcpF1DelayDl", "0.1 ms", CellAndUe, Real),
    entry("DRB.PdcpPacketDropRateDl", "1e-6", CellAndUe, Integer),
    entry("DRB.PdcpReordDelayUl", "0.1 ms", CellAndUe, Real),
    entry("DRB.PdcpSduDelayDl", "0.1 ms", CellAndUe, Real),
    entry("DRB.PdcpSduDelayDlDist", "", Cell, Integer),
    entry("DRB.PdcpSduVolumeDL", "kbit", CellAndUe, Integer),
    entry("DRB.PdcpSduVolumeUL", "kbit", CellAndUe, Integer),
    entry("DRB.PdcpSduVolumeX2DL", "kbit", Cell, Integer),
    entry("DRB.PdcpSduVolumeX2UL", "kbit", Cell, Integer),
    entry("DRB.PdcpSduVolumeXnDL", "kbit", Cell, Integer),
    entry("DRB.PdcpSduVolumeXnUL", "kbit", Cell, Integer),
    entry("DRB.PerDataVolumeDLDist", "", Ue, Integer).from(E2smKpm),
    entry("DRB.PerDataVolumeULDist", "", Ue, Integer).from(E2smKpm),
    entry("DRB.RelActNbr", "", Cell, Integer),
    entry("DRB.ResumeAtt", "", Cell, Integer),
    entry("DRB.ResumeSucc", "", Cell, Integer),
    entry("DRB.RlcDelayUl", "0.1 ms", CellAndUe, Real),
    entry("DRB.RlcPacketDropRateDLDist", "", Ue, Integer).from(E2smKpm),
    entry("DRB.RlcPacketDropRateDl", "1e-6", CellAndUe, Integer),
    entry("DRB.RlcSduDelayDl", "0.1 ms", CellAndUe, Real),
    entry("DRB.RlcSduDelayDlDist", "", Cell, Integer),
    entry("DRB.RlcSduLatencyDl", "0.1 ms", CellAndUe, Real),
    entry("DRB.RlcSduLatencyDlDist", "", Cell, Integer),
    entry("DRB.RlcSduTransmittedVolumeDL", "kbit", CellAndUe, Integer).from(E2smKpm),
    entry("DRB.RlcSduTransmittedVolumeUL", "kbit", CellAndUe, Integer).from(E2smKpm),
    entry("DRB.SessionTime", "ms", Cell, Integer),
    entry("DRB.UEThpDl", "kbit/s", CellAndUe, Real),
    entry("DRB.UEThpDlDist", "", Cell, Integer),
    entry("DRB.UEThpUl", "kbit/s", CellAndUe, Real),
    entry("DRB.UEThpUlDist", "", Cell, Integer),
    entry("DRB.UEUnresVolDl", "%", CellAndUe, Real),
    entry("DRB.UEUnresVolUl", "%", CellAndUe, Real),
    entry("HO.IntraSys.PingPong", "", Cell, Integer).from(Ferric),
    entry("HO.IntraSys.ToWrongCell", "", Cell, Integer),
    entry("HO.IntraSys.TooEarly", "", Cell, Integer),
    entry("HO.IntraSys.TooLate", "", Cell, Integer),
    entry("HO.SrcCellQual.RS-RSRP", "dBm", Ue, Real).from(NsOran),
    entry("HO.SrcCellQual.RS-RSRQ", "dB", Ue, Real).from(NsOran),
    entry("HO.SrcCellQual.RS-SINR", "dB", Ue, Real).from(NsOran),
    entry("HO.TrgtCellQual.RS-RSRP", "dBm", Ue, Real).from(NsOran),
    entry("HO.TrgtCellQual.RS-RSRQ", "dB", Ue, Real).from(NsOran),
    entry("HO.TrgtCellQual.RS-SINR", "dB", Ue, Real).from(NsOran),
    entry("L1M.ATADist", "", Cell, Integer),
    entry("L1M.DL-SS-RSRP", "dBm", Ue, Real).from(E2smKpm),
    entry("L1M.DL-SS-SINR", "dB", Ue, Real).from(E2smKpm),
    entry("L1M.PHR1", "", Cell, Integer),
    entry("L1M.SS-RSRP", "", Cell, Integer),
    entry("L1M.UL-SRS-RSRP", "dBm", Ue, Real).from(E2smKpm),
    entry("MM.ChoExeInterSucc", "", Cell, Integer),
    entry("MM.ChoPrepInterReq", "", Cell, Integer),
    entry("MM.ChoPrepInterSucc", "", Cell, Integer),
    entry("MM.ConfigInterReqChoUes", "", Cell, Integer),
    entry("MM.HoExeInterFail", "", Cell, Integer),
    entry("MM.HoExeInterReq", "", Cell, Integer),
    entry("MM.HoExeInterSucc", "", Cell, Integer),
    entry("MM.HoExeIntraReq", "", Cell, Integer),
    entry("MM.HoExeIntraSucc", "", Cell, Integer),
    entry("MM.HoPrepInterFail", "", Cell, Integer),
    entry("MM.HoPrepInterReq", "", Cell, Integer),
    entry("MM.HoPrepInterSucc", "", Cell, Integer),
    entry("MM.HoPrepIntraReq", "", Cell, Integer),
    entry("MM.HoPrepIntraSucc", "", Cell, Integer),
    entry("MM.HoResAlloInterFail", "", Cell, Integer),
    entry("MM.HoResAlloInterReq", "", Cell, Integer),
    entry("MM.HoResAlloInterSucc", "", Cell, Integer),
    entry("MR.NRScSSRSRQ", "", Cell, Integer),
    entry("MR.NRScSSSINR", "", Cell, Integer),
    entry("PAG.DiscardedNbr", "", Cell, Integer),
    entry("PAG.ReceivedNbr", "", Cell, Integer),
    entry("PEE.AvgPower", "W", Cell, Real),
    entry("PEE.AvgTemperature", "°C", Cell, Real),
    entry("PEE.Energy", "kWh", Cell, Real),
    entry("PEE.MaxPower", "W", Cell, Real),
    entry("PEE.MinPower", "W", Cell, Real),
    entry("QosFlow.PdcpPduVolumeDL", "kbit", CellAndUe, Integer),
    entry("QosFlow.PdcpPduVolumeDL_Filter", "kbit", CellAndUe, Integer).from(NsOran),
    entry("QosFlow.PdcpPduVolumeUL", "kbit", CellAndUe, Integer),
    entry("RACH.AccessDelayDist", "", Cell, Integer),
    entry("RACH.PreambleA", "", Cell, Integer),
    entry("RACH.PreambleACell", "", Cell, Integer),
    entry("RACH.PreambleB", "", Cell, Integer),
    entry("RACH.PreambleBCell", "", Cell, Integer),
    entry("RACH.PreambleDed", "", Cell, Integer),
    entry("RACH.PreambleDedCell", "", Cell, Integer),
    entry("RACH.PreambleDist", "", Cell, Integer),
    entry("RRC.ConnEstabAtt", "", Cell, Integer),
    entry("RRC.ConnEstabFailCause.NetworkReject", "", Cell, Integer),
    entry("RRC.ConnEstabFailCause.NoReply", "", Cell, Integer),
    entry("RRC.ConnEstabSucc", "", Cell, Integer),
    entry("RRC.ConnMax", "UEs", Cell, Integer),
    entry("RRC.ConnMean", "UEs", Cell, Real),
    entry("RRC.InactiveConnMax", "UEs", Cell, Integer),
    entry("RRC.InactiveConnMean", "UEs", Cell, Real),
    entry("RRC.ReEstabAtt", "", Cell, Integer),
    entry("RRC.ReEstabFallbackToSetupAtt", "", Cell, Integer),
    entry("RRC.ReEstabSuccWithUeContext", "", Cell, Integer),
    entry("RRC.ReEstabSuccWithoutUeContext", "", Cell, Integer),
    entry("RRC.ResumeAtt", "", Cell, Integer),
    entry("RRC.ResumeSucc", "", Cell, Integer),
    entry("RRU.MaxLayerDlMimo", "layers", Cell, Real),
    entry("RRU.MaxLayerUlMimo", "layers", Cell, Real),
    entry("RRU.MaxPrbUsedDl", "PRBs", Cell, Integer),
    entry("RRU.MaxPrbUsedUl", "PRBs", Cell, Integer),
    entry("RRU.PrbAvailDl", "PRBs", Cell, Integer),
    entry("RRU.PrbAvailUl", "PRBs", Cell, Integer),
    entry("RRU.PrbTotDl", "%", CellAndUe, Integer),
    entry("RRU.PrbTotDlDist", "", Cell, Integer),
    entry("RRU.PrbTotDlMimo", "%", Cell, Real),
    entry("RRU.PrbTotSdmDl", "%", Cell, Real),
    entry("RRU.PrbTotSdmUl", "%", Cell, Real),
    entry("RRU.PrbTotUl", "%", CellAndUe, Integer),
    entry("RRU.PrbTotUlDist", "", Cell, Integer),
    entry("RRU.PrbTotUlMimo", "%", Cell, Real),
    entry("RRU.PrbUsedDl", "PRBs", CellAndUe, Integer),
    entry("RRU.PrbUsedUl", "PRBs", CellAndUe, Integer),
    entry("RSRP", "dBm", Ue, Real).from(SrsRan),
    entry("RSRQ", "dB", Ue, Real).from(SrsRan),
    entry("SINR", "dB", Ue, Real).from(SrsRan),
    entry("SM.PDUSessionSetupFail", "", Cell, Integer),
    entry("SM.PDUSessionSetupReq", "", Cell, Integer),
    entry("SM.PDUSessionSetupSucc", "", Cell, Integer),
    entry("TB.ErrNbrUlInitial", "", Cell, Integer),
    entry("TB.ErrTotNbrDl", "", CellAndUe, Integer),
    entry("TB.ErrTotNbrUl", "", CellAndUe, Integer),
    entry("TB.ErrTotalNbrDl.1", "", CellAndUe, Integer),
    entry("TB.ErrTotalNbrUl.1", "", Cell, Integer),
    entry("TB.IntialErrNbrDl", "", Cell, Integer),
    entry("TB.ResidualErrNbrDl", "", Cell, Integer),
    entry("TB.ResidualErrNbrUl", "", Cell, Integer),
    entry("TB.TotNbrDl", "", CellAndUe, Integer),
    entry("TB.TotNbrDl.1", "", CellAndUe, Integer),
    entry("TB.TotNbrDlInitial", "", CellAndUe, Integer),
    entry("TB.TotNbrDlInitial.16Qam", "", CellAndUe, Integer),
    entry("TB.TotNbrDlInitial.256Qam", "", CellAndUe, Integer),
    entry("TB.TotNbrDlInitial.64Qam", "", CellAndUe, Integer),
    entry("TB.TotNbrDlInitial.Qpsk", "", CellAndUe, Integer),
    entry("TB.TotNbrUl", "", CellAndUe, Integer),
    entry("TB.TotNbrUl.1", "", Cell, Integer),
    entry("TB.TotNbrUlInit", "", Cell, Integer),
    entry("UE.TimingAdvance", "16 T_s", Ue, Integer).from(Ferric),
    entry("UECNTX.ConnEstabAtt", "", Cell, Integer),
    entry("UECNTX.ConnEstabSucc", "", Cell, Integer),
    entry("UECNTX.RelReq", "", Cell, Integer),
    entry("VR.VCpuUsageMean", "%", Cell, Real),
    entry("VR.VDiskUsageMean", "%", Cell, Real),
    entry("VR.VMemoryUsageMean", "%", Cell, Real),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample of each unit as published: TS 28.552 5.1, and KPM 7.9.1 if it differs.
    #[test]
    fn units_are_as_published() {
        for (names, unit) in [
            (&["DRB.UEThpDl", "DRB.UEThpUl"][..], "kbit/s"),
            (&["DRB.PdcpSduVolumeDL", "DRB.PdcpSduVolumeXnUL", "QosFlow.PdcpPduVolumeUL"], "kbit"),
            (&["DRB.RlcSduTransmittedVolumeDL"], "kbit"),
            (&["DRB.SessionTime"], "ms"),
            (&["DRB.RlcSduDelayDl", "DRB.AirIfDelayUl", "DRB.PdcpSduDelayDl", "DRB.PdcpF1DelayDl"], "0.1 ms"),
            (&["DRB.PacketLossRateUl", "DRB.RlcPacketDropRateDl", "DRB.F1UpacketLossRateDl"], "1e-6"),
            (&["RRU.PrbTotDl", "RRU.PrbTotUl", "DRB.UEUnresVolDl", "VR.VCpuUsageMean"], "%"),
            (&["RRU.PrbUsedDl", "RRU.PrbAvailUl"], "PRBs"),
            (&["L1M.DL-SS-RSRP", "CARR.MeanTxPwr"], "dBm"),
            (&["PEE.Energy"], "kWh"),
            (&["RRC.ConnEstabAtt", "CARR.WBCQIDist", "RACH.PreambleDist"], ""),
        ] {
            for name in names {
                assert_eq!(find(name).map(|entry| entry.unit), Some(unit), "{name}");
            }
        }
    }

    #[test]
    fn every_entry_is_found() {
        assert!(ENTRIES.is_sorted_by(|a, b| a.name < b.name));
        for entry in ENTRIES {
            assert_eq!(find(entry.name), Some(entry));
            assert!((1..=150).contains(&entry.name.len()), "a MeasurementTypeName");
            // names of families are those of TS 28.552
            assert!(entry.source != Source::SrsRan || !entry.name.contains('.'), "{}", entry.name);
        }
    }
}
