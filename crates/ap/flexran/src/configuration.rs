//! Configurations of eNBs, UEs and logical channels.

use crate::WireError;
use protobuf::{Field, Value, message, write_octets};

message! {
    /// The eNB and its cells.
    EnbConfig {
        /// The id of the eNB; newer agents state it in their hello.
        enb_id: Option<u32> = 2,
        /// Its cells.
        cells: Vec<CellConfig> = 3,
    }
}

message! {
    /// A cell.
    CellConfig {
        /// The physical cell identity.
        pci: u32 = 1,
        /// The bandwidth of the downlink in resource blocks.
        dl_prbs: u32 = 10,
        /// The bandwidth of the uplink in resource blocks.
        ul_prbs: u32 = 11,
        /// The number of antenna ports.
        antenna_ports: Option<u32> = 15,
        /// 0 TDD, 1 FDD.
        duplex_mode: Option<u32> = 16,
        /// The number of the carrier at its eNB.
        carrier_index: u32 = 34,
        /// The downlink frequency in MHz.
        dl_freq_mhz: Option<u32> = 35,
        /// The uplink frequency in MHz.
        ul_freq_mhz: Option<u32> = 36,
        /// The E-UTRA band.
        band: Option<u32> = 37,
        /// Its networks.
        plmns: Vec<PlmnId> = 40,
    }
}

message! {
    /// A PLMN: codes, and the number of digits of the network code.
    PlmnId {
        /// The mobile country code.
        mcc: u32 = 1,
        /// The mobile network code.
        mnc: u32 = 2,
        /// Digits of the network code: 2 or 3.
        mnc_digits: u32 = 3,
    }
}

message! {
    /// The configurations of all UEs.
    UeConfigs {
        /// The UEs.
        ues: Vec<UeConfig> = 2,
    }
}

message! {
    /// The configuration of a UE.
    UeConfig {
        /// The C-RNTI.
        rnti: u32 = 1,
        /// The transmission mode.
        transmission_mode: Option<u32> = 9,
        /// The aggregate maximum bit rate of its uplink bearers without guarantee, in bit/s.
        ambr_ul_bps: Option<u64> = 10,
        /// That of its downlink bearers.
        ambr_dl_bps: Option<u64> = 11,
        /// The carrier of its primary cell.
        primary_carrier: u32 = 27,
        /// Its secondary cells.
        secondary_cells: Vec<SecondaryCell> = 28,
        /// The IMSI as a number.
        imsi: Option<u64> = 30,
        /// Its slice in the downlink.
        dl_slice: Option<u32> = 31,
        /// Its slice in the uplink.
        ul_slice: Option<u32> = 32,
        /// Its RRC measurements.
        measurements: Option<MeasurementInfo> = 33,
    }
}

message! {
    /// A secondary cell of a UE.
    SecondaryCell {
        /// Its carrier.
        carrier_index: u32 = 1,
    }
}

message! {
    /// What a UE measures.
    MeasurementInfo {
        /// The events at which it reports.
        events: Option<MeasurementEvents> = 6,
    }
}

/// The events that are configured: a bit for each field of flex_measurement_event, 1 (periodical) to 6 (A5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasurementEvents(pub u8);

impl MeasurementEvents {
    const NUMBERS: std::ops::RangeInclusive<u32> = 1..=6;
}

impl Value for MeasurementEvents {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        for event in field.message()? {
            let number = event?.number;
            self.0 |= if Self::NUMBERS.contains(&number) { 1 << number } else { 0 };
        }
        Ok(())
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        let mut events = Vec::new();
        for event in Self::NUMBERS.filter(|event| self.0 >> event & 1 == 1) {
            // its thresholds are not read
            write_octets(event, &[], &mut events);
        }
        write_octets(number, &events, out);
    }
}

message! {
    /// The logical channels of UEs.
    LogicalChannels {
        /// The UEs.
        ues: Vec<UeChannels> = 2,
    }
}

message! {
    /// The logical channels of a UE.
    UeChannels {
        /// The C-RNTI.
        rnti: u32 = 1,
        /// The channels.
        channels: Vec<LogicalChannel> = 2,
    }
}

message! {
    /// A logical channel.
    LogicalChannel {
        /// Its number: 1 and 2 are those of signalling.
        lcid: u32 = 1,
        /// Its group, 0 to 3.
        group: Option<u32> = 2,
        /// 0 uplink, 1 downlink, 2 both.
        direction: Option<u32> = 3,
        /// 1 if its bearer has a guaranteed bit rate.
        bearer_type: Option<u32> = 4,
        /// One less than the QCI.
        qci: Option<u32> = 5,
        /// The maximum bit rate of the uplink in bit/s; as the others, of bearers with a guaranteed bit rate.
        max_ul_bps: Option<u64> = 6,
        /// That of the downlink.
        max_dl_bps: Option<u64> = 7,
        /// The guaranteed bit rate of the uplink in bit/s.
        guaranteed_ul_bps: Option<u64> = 8,
        /// That of the downlink.
        guaranteed_dl_bps: Option<u64> = 9,
    }
}

message! {
    /// The state of a UE has changed.
    UeStateChange {
        /// How.
        kind: UeStateChangeKind = 2,
        /// The UE.
        config: UeConfig = 3,
    }
}

/// How the state of a UE has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UeStateChangeKind(pub u32);

impl UeStateChangeKind {
    /// Its configuration is another one.
    pub const UPDATED: UeStateChangeKind = UeStateChangeKind(0);
    /// It is connected.
    pub const ACTIVATED: UeStateChangeKind = UeStateChangeKind(1);
    /// It is released.
    pub const DEACTIVATED: UeStateChangeKind = UeStateChangeKind(2);
    /// It has moved to another eNB.
    pub const MOVED: UeStateChangeKind = UeStateChangeKind(3);
}

impl Value for UeStateChangeKind {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        self.0.read(field)
    }

    fn write(&self, number: u32, out: &mut Vec<u8>) {
        self.0.write(number, out);
    }
}
