//! Statistics: requests, and reports of UEs and cells.

use crate::WireError;
use protobuf::{Codec, Field, Value, message, write_number};

/// Flags of what is reported of a UE (flex_ue_stats_type).
pub mod ue_flags {
    /// Buffer status reports.
    pub const BSR: u32 = 1;
    /// Power headroom.
    pub const PHR: u32 = 2;
    /// Buffers of RLC.
    pub const RLC_BUFFERS: u32 = 4;
    /// Pending MAC control elements.
    pub const MAC_CES: u32 = 8;
    /// Channel quality of the downlink.
    pub const DL_CQI: u32 = 16;
    /// Counters of MAC.
    pub const MAC: u32 = 128;
    /// Counters of PDCP.
    pub const PDCP: u32 = 1024;
    /// Tunnels.
    pub const GTP: u32 = 2048;
    /// RRC measurements.
    pub const RRC_MEASUREMENTS: u32 = 65536;
}

/// Flags of what is reported of a cell (flex_cell_stats_type).
pub mod cell_flags {
    /// Noise and interference in the uplink.
    pub const NOISE_INTERFERENCE: u32 = 1;
}

/// How often statistics are reported (flex_stats_report_freq).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportFrequency(pub u32);

impl ReportFrequency {
    /// Once.
    pub const ONCE: ReportFrequency = ReportFrequency(0);
    /// With a period.
    pub const PERIODICAL: ReportFrequency = ReportFrequency(1);
    /// In each subframe.
    pub const CONTINUOUS: ReportFrequency = ReportFrequency(2);
    /// No more.
    pub const OFF: ReportFrequency = ReportFrequency(3);
}

impl Value for ReportFrequency {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        self.0.read(field)
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        self.0.write(number, out);
    }
}

message! {
    /// A request for statistics of all cells and UEs; requests for some of them are not read.
    StatisticsRequest {
        /// 0: complete statistics.
        kind: u32 = 2,
        /// What is requested.
        complete: Option<CompleteStatisticsRequest> = 3,
    }
}

impl StatisticsRequest {
    /// A request for statistics of all UEs with a period in subframes of 1 ms.
    #[must_use]
    pub fn periodical(subframes: u32, ue_flags: u32) -> Self {
        let frequency = ReportFrequency::PERIODICAL;
        let complete =
            CompleteStatisticsRequest { frequency, subframes, ue_flags: Some(ue_flags), ..Default::default() };
        StatisticsRequest { kind: 0, complete: Some(complete) }
    }
}

message! {
    /// What is requested of all cells and UEs.
    CompleteStatisticsRequest {
        /// How often.
        frequency: ReportFrequency = 1,
        /// The period in subframes of 1 ms.
        subframes: u32 = 2,
        /// What of each cell ([`cell_flags`]).
        cell_flags: Option<u32> = 3,
        /// What of each UE ([`ue_flags`]).
        ue_flags: Option<u32> = 4,
    }
}

message! {
    /// Statistics of UEs and cells.
    Statistics {
        /// The UEs.
        ues: Vec<UeStatistics> = 2,
        /// The cells.
        cells: Vec<CellStatistics> = 3,
    }
}

impl Statistics {
    /// The octets of its fields, for [`Message::write`](crate::Message::write): a report that is sent often is encoded once.
    #[must_use]
    pub fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        self.write_fields(&mut fields);
        fields
    }
}

message! {
    /// Statistics of a cell.
    CellStatistics {
        /// Its carrier.
        carrier_index: u32 = 1,
        /// What is reported ([`cell_flags`]).
        flags: Option<u32> = 2,
        /// Noise and interference in the uplink.
        noise_interference: Option<NoiseInterference> = 3,
    }
}

message! {
    /// Noise and interference in the uplink.
    NoiseInterference {
        /// System frame and subframe number.
        sfn_sf: Option<u32> = 1,
        /// Received interference power.
        interference: Option<u32> = 2,
        /// Thermal noise power.
        noise: Option<u32> = 3,
        /// The nominal power of PUCCH in dBm.
        p0_nominal_pucch_dbm: Option<i32> = 4,
    }
}

message! {
    /// Statistics of a UE.
    UeStatistics {
        /// The C-RNTI.
        rnti: u32 = 1,
        /// What is reported ([`ue_flags`]).
        flags: Option<u32> = 2,
        /// The buffer status index of each logical channel group.
        bsr: Vec<u32> = 3,
        /// The power headroom.
        phr: Option<u32> = 4,
        /// The buffers of RLC.
        rlc: Vec<RlcBuffer> = 5,
        /// The MAC control elements that wait.
        mac_ces: Option<u32> = 6,
        /// The channel quality of the downlink.
        dl_cqi: Option<DlCqiReport> = 7,
        /// RRC measurements.
        measurements: Option<RrcMeasurements> = 10,
        /// Counters of PDCP.
        pdcp: Option<PdcpStatistics> = 11,
        /// Counters of MAC.
        mac: Option<MacStatistics> = 12,
        /// The tunnels of E-RABs.
        tunnels: Vec<GtpStatistics> = 13,
    }
}

message! {
    /// The buffer of a logical channel.
    RlcBuffer {
        /// The channel.
        lcid: u32 = 1,
        /// Octets that wait.
        octets: Option<u32> = 2,
        /// The delay of the first packet in ms.
        head_of_line_delay_ms: Option<u32> = 3,
        /// Octets to be sent again.
        retransmission_octets: Option<u32> = 4,
        /// The delay of the first of them in ms.
        retransmission_delay_ms: Option<u32> = 5,
        /// Octets of the status PDU.
        status_octets: Option<u32> = 6,
    }
}

message! {
    /// The channel quality of the downlink.
    DlCqiReport {
        /// System frame and subframe number.
        sfn_sf: Option<u32> = 1,
        /// A report for each serving cell.
        cells: Vec<CsiReport> = 2,
    }
}

message! {
    /// Channel state information of a serving cell; types other than P10 are not read.
    CsiReport {
        /// The serving cell.
        serving_cell: u32 = 1,
        /// The rank indicator.
        rank: Option<u32> = 2,
        /// The type: 0 P10.
        kind: u32 = 3,
        /// Wideband quality.
        p10: Option<WidebandCqi> = 4,
    }
}

message! {
    /// Wideband quality.
    WidebandCqi {
        /// The CQI, 0 to 15.
        cqi: u32 = 1,
    }
}

message! {
    /// What a UE measures, in dBm and dB.
    RrcMeasurements {
        /// The measurement identity.
        meas_id: i32 = 1,
        /// RSRP of the primary cell.
        rsrp: Option<i32> = 2,
        /// RSRQ of the primary cell.
        rsrq: Option<i32> = 3,
        /// The neighbours.
        neighbours: Option<NeighbourMeasurements> = 4,
    }
}

message! {
    /// What a UE measures of neighbours.
    NeighbourMeasurements {
        /// Those of E-UTRA.
        eutra: Vec<Neighbour> = 1,
    }
}

message! {
    /// What a UE measures of a neighbour.
    Neighbour {
        /// Its physical identity.
        pci: Option<i32> = 1,
        /// Its global identity.
        cgi: Option<CgiMeasurement> = 2,
        /// Its signal.
        signal: Option<ReferenceSignal> = 3,
    }
}

message! {
    /// The global identity that a neighbour broadcasts.
    CgiMeasurement {
        /// Network and cell.
        cell: Option<CellGlobalId> = 1,
    }
}

message! {
    /// Network and cell.
    CellGlobalId {
        /// The network.
        plmn: Option<PlmnDigits> = 1,
        /// The cell identity, 28 bits.
        cell_id: Option<u32> = 2,
    }
}

message! {
    /// RSRP in dBm and RSRQ in dB.
    ReferenceSignal {
        /// RSRP.
        rsrp: Option<i32> = 1,
        /// RSRQ.
        rsrq: Option<i32> = 2,
    }
}

/// A PLMN of which the protocol has a field for each digit: those of the country, then those of the network. Others are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlmnDigits(pub String);

impl Value for PlmnDigits {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        let (mut mcc, mut mnc) = (String::new(), String::new());
        for field in field.message()? {
            let field = field?;
            let digits = match field.number {
                1 => &mut mnc,
                2 => &mut mcc,
                _ => continue,
            };
            if let (Some(digit), true) = (char::from_digit(field.number()? as u32, 10), digits.len() < 3) {
                digits.push(digit);
            }
        }
        self.0 = mcc + &mnc;
        Ok(())
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        let digits: Vec<u64> = self.0.chars().filter_map(|digit| digit.to_digit(10)).map(u64::from).collect();
        let (mcc, mnc) = digits.split_at(digits.len().min(3));
        let mut fields = Vec::new();
        mnc.iter().for_each(|digit| write_number(1, *digit, &mut fields));
        mcc.iter().for_each(|digit| write_number(2, *digit, &mut fields));
        protobuf::write_octets(number, &fields, out);
    }
}

message! {
    /// Counters of PDCP: they only grow, and wrap around.
    PdcpStatistics {
        /// Packets sent.
        sent_packets: Option<u32> = 1,
        /// Octets sent.
        sent_octets: Option<u32> = 2,
        /// The sequence number of the last packet sent.
        sent_sn: Option<u32> = 3,
        /// Packets received.
        received_packets: Option<u32> = 9,
        /// Octets received.
        received_octets: Option<u32> = 10,
        /// The sequence number of the last packet received.
        received_sn: Option<u32> = 11,
        /// Packets that were received out of order.
        out_of_order: Option<u32> = 16,
        /// The system frame number.
        sfn: Option<u64> = 17,
    }
}

message! {
    /// Counters of MAC. Totals only grow, and wrap around.
    MacStatistics {
        /// The size of the last transport block of the downlink.
        tbs_dl: Option<u32> = 1,
        /// That of the uplink.
        tbs_ul: Option<u32> = 2,
        /// Resource blocks of the last downlink transmission.
        last_prbs_dl: Option<u32> = 5,
        /// Those of the uplink.
        last_prbs_ul: Option<u32> = 6,
        /// Octets of SDUs received, in total.
        sdu_octets_ul: u32 = 11,
        /// Octets of SDUs sent, in total.
        sdu_octets_dl: u32 = 12,
        /// Resource blocks of the downlink, in total.
        prbs_dl: u32 = 15,
        /// Those of the uplink.
        prbs_ul: u32 = 16,
    }
}

message! {
    /// The tunnel of an E-RAB.
    GtpStatistics {
        /// The E-RAB.
        e_rab_id: u32 = 1,
        /// The tunnel endpoint at the eNB.
        teid_enb: u32 = 2,
        /// Its address.
        address_enb: String = 3,
        /// The tunnel endpoint at the serving gateway.
        teid_sgw: u32 = 4,
        /// Its address.
        address_sgw: String = 5,
    }
}
