//! The messages of the FlexRAN protocol that are used here, with the field numbers of its version 2.

use super::wire::{Field, Fields, MessageWriter, WireError};

/// The most UEs, cells and other items of a list that are read; further ones are ignored.
const MAX_ITEMS: usize = 4096;

/// Flags of the statistics of UEs: RRC measurements, GTP, PDCP and MAC statistics.
const UE_STATISTICS: u64 = 65536 | 2048 | 128;
/// The report frequency "periodical".
const PERIODICAL: u64 = 1;

/// A message of an agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    /// A hello; whether it asks for an answer.
    Hello { is_request: bool },
    /// A request to show that the peer is alive, with its transaction.
    EchoRequest { xid: u64 },
    /// The eNB and its cells.
    EnbConfig(EnbConfig),
    /// The configurations of all UEs.
    UeConfigs(Vec<UeConfig>),
    /// The logical channels of UEs.
    LogicalChannels(Vec<UeChannels>),
    /// Statistics of UEs.
    Statistics(Vec<UeStatistics>),
    /// The state of a UE has changed.
    UeStateChange { kind: u32, config: UeConfig },
    /// The agent ends the connection.
    Disconnect,
    /// Anything else.
    Other,
}

/// The configuration of an eNB.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EnbConfig {
    pub enb_id: u64,
    pub cells: Vec<CellConfig>,
}

/// The configuration of a cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CellConfig {
    pub pci: u32,
    pub carrier_index: u32,
    pub dl_prbs: u32,
    pub ul_prbs: u32,
    pub plmn: Option<PlmnId>,
}

/// A PLMN: codes, and the number of digits of the network code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlmnId {
    pub mcc: u32,
    pub mnc: u32,
    pub mnc_digits: u32,
}

/// The configuration of a UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UeConfig {
    pub rnti: u32,
    pub imsi: Option<u64>,
    pub primary_carrier: u32,
    pub secondary_carriers: Vec<u32>,
    /// The configured measurements: a bit for each field of flex_measurement_event, 1 to 6.
    pub events: u8,
}

/// The logical channels of a UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UeChannels {
    pub rnti: u32,
    pub channels: Vec<Channel>,
}

/// A logical channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Channel {
    pub lcid: u32,
    pub is_gbr: bool,
    /// One less than the QCI.
    pub qci: Option<u32>,
    /// Maximum downlink and uplink, guaranteed downlink and uplink bit rates, in bit/s.
    pub rates_bps: [u64; 4],
}

/// The statistics of a UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UeStatistics {
    pub rnti: u32,
    pub measurements: Option<RrcMeasurements>,
    pub mac: Option<MacStatistics>,
    pub tunnels: Vec<GtpStatistics>,
}

/// What a UE measures, in dBm and dB.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RrcMeasurements {
    pub meas_id: i32,
    pub rsrp: Option<i32>,
    pub rsrq: Option<i32>,
    pub neighbours: Vec<Neighbour>,
}

/// What a UE measures of a neighbour.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Neighbour {
    pub pci: Option<i32>,
    /// Its cell identity, and the digits of its PLMN.
    pub cell_id: Option<u32>,
    pub plmn: Option<String>,
    pub rsrp: Option<i32>,
    pub rsrq: Option<i32>,
}

/// Counters of MAC: they only grow, and wrap around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MacStatistics {
    pub sdu_octets_ul: u32,
    pub sdu_octets_dl: u32,
    pub prbs_dl: u32,
    pub prbs_ul: u32,
}

/// The tunnel of an E-RAB.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GtpStatistics {
    pub e_rab_id: u32,
    pub teid_enb: u32,
    pub address_enb: String,
    pub teid_sgw: u32,
    pub address_sgw: String,
}

/// Reads the fields of a message into a value.
fn read<T: Default>(
    fields: Fields<'_>,
    mut set: impl FnMut(&mut T, Field<'_>) -> Result<(), WireError>,
) -> Result<T, WireError> {
    let mut value = T::default();
    for field in fields {
        set(&mut value, field?)?;
    }
    Ok(value)
}

/// Appends an item of a list, up to the limit.
fn push<T>(list: &mut Vec<T>, item: Result<T, WireError>) -> Result<(), WireError> {
    let item = item?;
    if list.len() < MAX_ITEMS {
        list.push(item);
    }
    Ok(())
}

impl Message {
    /// Reads a flexran_message.
    pub fn decode(octets: &[u8]) -> Result<Self, WireError> {
        let (mut direction, mut body) = (0, None);
        for field in Fields(octets) {
            let field = field?;
            match field.number {
                100 => direction = field.u32()?,
                1..=21 => body = Some(field),
                _ => {}
            }
        }
        let Some(body) = body else { return Ok(Message::Other) };
        let mut fields = body.message()?;
        Ok(match body.number {
            1 => {
                // it is read to its end, so that garbage is no hello
                fields.try_for_each(|field| field.map(drop))?;
                Message::Hello { is_request: direction == 1 }
            }
            2 => Message::EchoRequest { xid: xid(fields)? },
            5 => Message::Statistics(read(fields, |ues: &mut Vec<_>, field| match field.number {
                2 => push(ues, ue_statistics(field.message()?)),
                _ => Ok(()),
            })?),
            9 => Message::EnbConfig(read(fields, |enb: &mut EnbConfig, field| {
                match field.number {
                    2 => enb.enb_id = field.number()?,
                    3 => push(&mut enb.cells, cell_config(field.message()?))?,
                    _ => {}
                }
                Ok(())
            })?),
            11 => Message::UeConfigs(read(fields, |ues: &mut Vec<_>, field| match field.number {
                2 => push(ues, ue_config(field.message()?)),
                _ => Ok(()),
            })?),
            13 => Message::LogicalChannels(read(fields, |ues: &mut Vec<_>, field| match field.number {
                2 => push(ues, ue_channels(field.message()?)),
                _ => Ok(()),
            })?),
            15 => {
                let (mut kind, mut config) = (0, UeConfig::default());
                for field in fields {
                    let field = field?;
                    match field.number {
                        2 => kind = field.u32()?,
                        3 => config = ue_config(field.message()?)?,
                        _ => {}
                    }
                }
                Message::UeStateChange { kind, config }
            }
            20 => Message::Disconnect,
            _ => Message::Other,
        })
    }
}

/// The transaction of a message whose first field is its header.
fn xid(fields: Fields<'_>) -> Result<u64, WireError> {
    read(fields, |xid: &mut u64, field| {
        if field.number == 1 {
            for field in field.message()? {
                let field = field?;
                if field.number == 4 {
                    *xid = field.number()?;
                }
            }
        }
        Ok(())
    })
}

fn cell_config(fields: Fields<'_>) -> Result<CellConfig, WireError> {
    read(fields, |cell: &mut CellConfig, field| {
        match field.number {
            1 => cell.pci = field.u32()?,
            10 => cell.dl_prbs = field.u32()?,
            11 => cell.ul_prbs = field.u32()?,
            34 => cell.carrier_index = field.u32()?,
            // the first one
            40 if cell.plmn.is_none() => {
                cell.plmn = Some(read(field.message()?, |plmn: &mut PlmnId, field| {
                    match field.number {
                        1 => plmn.mcc = field.u32()?,
                        2 => plmn.mnc = field.u32()?,
                        3 => plmn.mnc_digits = field.u32()?,
                        _ => {}
                    }
                    Ok(())
                })?);
            }
            _ => {}
        }
        Ok(())
    })
}

fn ue_config(fields: Fields<'_>) -> Result<UeConfig, WireError> {
    read(fields, |ue: &mut UeConfig, field| {
        match field.number {
            1 => ue.rnti = field.u32()?,
            27 => ue.primary_carrier = field.u32()?,
            28 => {
                let carrier = read(field.message()?, |carrier: &mut u32, field| {
                    if field.number == 1 {
                        *carrier = field.u32()?;
                    }
                    Ok(())
                });
                push(&mut ue.secondary_carriers, carrier)?;
            }
            30 => ue.imsi = Some(field.number()?).filter(|imsi| *imsi > 0),
            33 => {
                for field in field.message()? {
                    let field = field?;
                    if field.number == 6 {
                        for event in field.message()? {
                            let number = event?.number;
                            ue.events |= if number <= 6 { 1 << number } else { 0 };
                        }
                    }
                }
            }
            _ => {}
        }
        Ok(())
    })
}

fn ue_channels(fields: Fields<'_>) -> Result<UeChannels, WireError> {
    read(fields, |ue: &mut UeChannels, field| {
        match field.number {
            1 => ue.rnti = field.u32()?,
            2 => {
                let channel = read(field.message()?, |channel: &mut Channel, field| {
                    match field.number {
                        1 => channel.lcid = field.u32()?,
                        4 => channel.is_gbr = field.u32()? == 1,
                        5 => channel.qci = Some(field.u32()?),
                        6 => channel.rates_bps[1] = field.number()?,
                        7 => channel.rates_bps[0] = field.number()?,
                        8 => channel.rates_bps[3] = field.number()?,
                        9 => channel.rates_bps[2] = field.number()?,
                        _ => {}
                    }
                    Ok(())
                });
                push(&mut ue.channels, channel)?;
            }
            _ => {}
        }
        Ok(())
    })
}

fn ue_statistics(fields: Fields<'_>) -> Result<UeStatistics, WireError> {
    read(fields, |ue: &mut UeStatistics, field| {
        match field.number {
            1 => ue.rnti = field.u32()?,
            10 => ue.measurements = Some(rrc_measurements(field.message()?)?),
            12 => {
                ue.mac = Some(read(field.message()?, |mac: &mut MacStatistics, field| {
                    match field.number {
                        11 => mac.sdu_octets_ul = field.u32()?,
                        12 => mac.sdu_octets_dl = field.u32()?,
                        15 => mac.prbs_dl = field.u32()?,
                        16 => mac.prbs_ul = field.u32()?,
                        _ => {}
                    }
                    Ok(())
                })?);
            }
            13 => {
                let tunnel = read(field.message()?, |gtp: &mut GtpStatistics, field| {
                    match field.number {
                        1 => gtp.e_rab_id = field.u32()?,
                        2 => gtp.teid_enb = field.u32()?,
                        3 => gtp.address_enb = field.text()?,
                        4 => gtp.teid_sgw = field.u32()?,
                        5 => gtp.address_sgw = field.text()?,
                        _ => {}
                    }
                    Ok(())
                });
                push(&mut ue.tunnels, tunnel)?;
            }
            _ => {}
        }
        Ok(())
    })
}

fn rrc_measurements(fields: Fields<'_>) -> Result<RrcMeasurements, WireError> {
    read(fields, |measured: &mut RrcMeasurements, field| {
        match field.number {
            1 => measured.meas_id = field.i32()?,
            2 => measured.rsrp = Some(field.i32()?),
            3 => measured.rsrq = Some(field.i32()?),
            4 => {
                for field in field.message()? {
                    let field = field?;
                    if field.number == 1 {
                        push(&mut measured.neighbours, neighbour(field.message()?))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    })
}

fn neighbour(fields: Fields<'_>) -> Result<Neighbour, WireError> {
    read(fields, |neighbour: &mut Neighbour, field| {
        match field.number {
            1 => neighbour.pci = Some(field.i32()?),
            2 => {
                for field in field.message()? {
                    let field = field?;
                    if field.number != 1 {
                        continue;
                    }
                    for field in field.message()? {
                        let field = field?;
                        match field.number {
                            1 => neighbour.plmn = Some(plmn_digits(field.message()?)?),
                            2 => neighbour.cell_id = Some(field.u32()?),
                            _ => {}
                        }
                    }
                }
            }
            3 => {
                for field in field.message()? {
                    let field = field?;
                    match field.number {
                        1 => neighbour.rsrp = Some(field.i32()?),
                        2 => neighbour.rsrq = Some(field.i32()?),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    })
}

/// The digits of a flex_plmn_identity, which has a field for each digit: those of the country, then those of the network.
fn plmn_digits(fields: Fields<'_>) -> Result<String, WireError> {
    let (mut mcc, mut mnc) = (String::new(), String::new());
    for field in fields {
        let field = field?;
        let digits = match field.number {
            1 => &mut mnc,
            2 => &mut mcc,
            _ => continue,
        };
        if let (Some(digit), true) = (char::from_digit(field.u32()?, 10), digits.len() < 3) {
            digits.push(digit);
        }
    }
    Ok(mcc + &mnc)
}

/// A request of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "the names are those of the protocol")]
pub(super) enum Request {
    Hello,
    /// The answer to an agent's hello.
    HelloReply,
    EchoRequest,
    EchoReply,
    EnbConfig,
    UeConfigs,
    LogicalChannels,
    /// Statistics, at this period in subframes of 1 ms.
    Statistics(u32),
}

impl Request {
    /// The octets of a flexran_message with a transaction.
    pub fn encode(self, xid: u64) -> Vec<u8> {
        // the number of the body in flexran_message, and the type in flex_header
        let (field, kind) = match self {
            Request::Hello | Request::HelloReply => (1, 0),
            Request::EchoRequest => (2, 1),
            Request::EchoReply => (3, 2),
            Request::Statistics(_) => (4, 3),
            Request::EnbConfig => (8, 7),
            Request::UeConfigs => (10, 9),
            Request::LogicalChannels => (12, 11),
        };
        let header = MessageWriter::default().number(1, 0).number(2, kind).number(4, xid);
        let mut body = MessageWriter::default().message(1, header);
        if let Request::Statistics(subframes) = self {
            let complete =
                MessageWriter::default().number(1, PERIODICAL).number(2, subframes.into()).number(4, UE_STATISTICS);
            // complete statistics
            body = body.number(2, 0).message(3, complete);
        }
        let is_answer = matches!(self, Request::HelloReply | Request::EchoReply);
        MessageWriter::default().message(field, body).number(100, if is_answer { 2 } else { 1 }).0
    }
}
