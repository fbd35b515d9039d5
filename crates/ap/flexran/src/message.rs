//! A message: its direction, its transaction, and its body.

use crate::{
    DlMacConfig, EnbConfig, LogicalChannels, Statistics, StatisticsRequest, UeConfigs, UeStateChange, WireError,
};
use protobuf::{Codec, Field, Fields, Value, message, write_number, write_octets};

/// The field of the direction in flexran_message.
const DIRECTION: u32 = 100;
/// The field of the header in each body.
const HEADER: u32 = 1;

/// Which message of its procedure a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Absent, or of no known value.
    #[default]
    NotSet,
    /// It begins a procedure.
    Initiating,
    /// It ends a procedure with success.
    Successful,
    /// It ends a procedure without success.
    Unsuccessful,
}

/// The number of a body in flexran_message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind(pub u32);

impl Kind {
    /// flex_hello.
    pub const HELLO: Kind = Kind(1);
    /// flex_echo_request.
    pub const ECHO_REQUEST: Kind = Kind(2);
    /// flex_echo_reply.
    pub const ECHO_REPLY: Kind = Kind(3);
    /// flex_stats_request.
    pub const STATISTICS_REQUEST: Kind = Kind(4);
    /// flex_stats_reply.
    pub const STATISTICS: Kind = Kind(5);
    /// flex_enb_config_request.
    pub const ENB_CONFIG_REQUEST: Kind = Kind(8);
    /// flex_enb_config_reply.
    pub const ENB_CONFIG: Kind = Kind(9);
    /// flex_ue_config_request.
    pub const UE_CONFIG_REQUEST: Kind = Kind(10);
    /// flex_ue_config_reply.
    pub const UE_CONFIGS: Kind = Kind(11);
    /// flex_lc_config_request.
    pub const LOGICAL_CHANNEL_REQUEST: Kind = Kind(12);
    /// flex_lc_config_reply.
    pub const LOGICAL_CHANNELS: Kind = Kind(13);
    /// flex_dl_mac_config.
    pub const DL_MAC_CONFIG: Kind = Kind(14);
    /// flex_ue_state_change.
    pub const UE_STATE_CHANGE: Kind = Kind(15);
    /// flex_disconnect.
    pub const DISCONNECT: Kind = Kind(20);
    /// The highest number of the published messages.
    const LAST: u32 = 22;

    /// The value of the type in the header. Receivers distinguish messages by their fields.
    fn of_header(self) -> u64 {
        match self {
            Kind::DISCONNECT => 20,
            Kind(number) => u64::from(number).saturating_sub(1),
        }
    }
}

message! {
    /// The hello of an agent; that of a controller has no fields.
    Hello {
        /// The id of the base station.
        bs_id: Option<u64> = 2,
        /// The layers that it has: 0 lower PHY, 1 upper PHY, 2 lower MAC, 3 upper MAC, 4 RLC, 5 PDCP, 6 SDAP, 7 RRC, 8 S1AP.
        capabilities: Vec<u32> = 3,
        /// Its splits: 0 F1, 1 nFAPI, 2 IF4, 3 IF4.5, 4 IF5.
        splits: Vec<u32> = 4,
    }
}

message! {
    /// An echo request or reply.
    Echo {
        /// The latency that was measured, in ms: an extension of OpenAirInterface.
        latency_ms: Option<u32> = 100,
    }
}

/// The body of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The first message of an agent, and its answer.
    Hello(Hello),
    /// A request for a sign of life.
    EchoRequest(Echo),
    /// Its answer.
    EchoReply(Echo),
    /// A request for statistics.
    StatisticsRequest(StatisticsRequest),
    /// Statistics of UEs and cells.
    Statistics(Statistics),
    /// A request for the eNB's configuration.
    EnbConfigRequest,
    /// The eNB and its cells.
    EnbConfig(EnbConfig),
    /// A request for the configurations of all UEs.
    UeConfigRequest,
    /// The configurations of all UEs.
    UeConfigs(UeConfigs),
    /// A request for the logical channels of all UEs.
    LogicalChannelRequest,
    /// The logical channels of UEs.
    LogicalChannels(LogicalChannels),
    /// What the MAC of a cell shall schedule in a subframe.
    DlMacConfig(DlMacConfig),
    /// The state of a UE has changed.
    UeStateChange(UeStateChange),
    /// The agent ends the connection.
    Disconnect,
    /// Another message, without its content; 0 if there is none.
    Other(Kind),
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which message of its procedure it is.
    pub direction: Direction,
    /// The transaction: a reply has that of its request.
    pub xid: u32,
    /// What it says.
    pub body: Body,
}

/// The header of a body.
#[derive(Clone, Copy, Debug, Default)]
struct Header {
    xid: u32,
}

impl Header {
    fn read(&mut self, field: Field<'_>) -> Result<(), WireError> {
        for field in field.message()? {
            let field = field?;
            if field.number == 4 {
                self.xid.read(field)?;
            }
        }
        Ok(())
    }
}

/// Reads a body and its header.
fn body<T: Codec>(fields: Fields<'_>) -> Result<(Header, T), WireError> {
    let (mut header, mut value) = (Header::default(), T::default());
    for field in fields {
        let field = field?;
        match field.number {
            HEADER => header.read(field)?,
            _ => value.read_field(field)?,
        }
    }
    Ok((header, value))
}

/// A body that has a header only.
#[derive(Default)]
struct Empty;

impl Codec for Empty {
    fn read_field(&mut self, _: Field<'_>) -> Result<(), WireError> {
        Ok(())
    }

    fn write_fields(&self, _: &mut Vec<u8>) {}
}

impl Message {
    /// A request.
    #[must_use]
    pub fn request(xid: u32, body: Body) -> Self {
        Message { direction: Direction::Initiating, xid, body }
    }

    /// The successful answer to the request with a transaction.
    #[must_use]
    pub fn reply(xid: u32, body: Body) -> Self {
        Message { direction: Direction::Successful, xid, body }
    }

    /// Reads a message, without its length.
    ///
    /// # Errors
    /// If the octets are not a protocol buffer, or a known field has another type than is declared.
    pub fn decode(octets: &[u8]) -> Result<Self, WireError> {
        let (mut direction, mut found) = (0_u32, None);
        for field in Fields(octets) {
            let field = field?;
            match field.number {
                DIRECTION => direction.read(field)?,
                1..=Kind::LAST => found = Some(field),
                _ => {}
            }
        }
        let direction = match direction {
            1 => Direction::Initiating,
            2 => Direction::Successful,
            3 => Direction::Unsuccessful,
            _ => Direction::NotSet,
        };
        let Some(found) = found else { return Ok(Message { direction, xid: 0, body: Body::Other(Kind(0)) }) };
        let (kind, fields) = (Kind(found.number), found.message()?);
        let empty = |value: Body| body::<Empty>(fields).map(|(header, _)| (header, value));
        fn of<T: Codec>(fields: Fields<'_>, value: fn(T) -> Body) -> Result<(Header, Body), WireError> {
            body(fields).map(|(header, content)| (header, value(content)))
        }
        let (header, body) = match kind {
            Kind::HELLO => of(fields, Body::Hello),
            Kind::ECHO_REQUEST => of(fields, Body::EchoRequest),
            Kind::ECHO_REPLY => of(fields, Body::EchoReply),
            Kind::STATISTICS_REQUEST => of(fields, Body::StatisticsRequest),
            Kind::STATISTICS => of(fields, Body::Statistics),
            Kind::ENB_CONFIG_REQUEST => empty(Body::EnbConfigRequest),
            Kind::ENB_CONFIG => of(fields, Body::EnbConfig),
            Kind::UE_CONFIG_REQUEST => empty(Body::UeConfigRequest),
            Kind::UE_CONFIGS => of(fields, Body::UeConfigs),
            Kind::LOGICAL_CHANNEL_REQUEST => empty(Body::LogicalChannelRequest),
            Kind::LOGICAL_CHANNELS => of(fields, Body::LogicalChannels),
            Kind::DL_MAC_CONFIG => of(fields, Body::DlMacConfig),
            Kind::UE_STATE_CHANGE => of(fields, Body::UeStateChange),
            Kind::DISCONNECT => empty(Body::Disconnect),
            kind => empty(Body::Other(kind)),
        }?;
        Ok(Message { direction, xid: header.xid, body })
    }

    /// The octets of the message, without its length.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        match &self.body {
            Body::Hello(body) => body.write_fields(&mut fields),
            Body::EchoRequest(body) | Body::EchoReply(body) => body.write_fields(&mut fields),
            Body::StatisticsRequest(body) => body.write_fields(&mut fields),
            Body::Statistics(body) => body.write_fields(&mut fields),
            Body::EnbConfig(body) => body.write_fields(&mut fields),
            Body::UeConfigs(body) => body.write_fields(&mut fields),
            Body::LogicalChannels(body) => body.write_fields(&mut fields),
            Body::DlMacConfig(body) => body.write_fields(&mut fields),
            Body::UeStateChange(body) => body.write_fields(&mut fields),
            Body::EnbConfigRequest
            | Body::UeConfigRequest
            | Body::LogicalChannelRequest
            | Body::Disconnect
            | Body::Other(_) => {}
        }
        let mut out = Vec::with_capacity(fields.len() + 24);
        Message::write(self.kind(), self.direction, self.xid, &fields, &mut out);
        out
    }

    /// Appends a message whose body has these fields, as [`Statistics::fields`] returns them. [`Kind`] 0 writes no body.
    pub fn write(kind: Kind, direction: Direction, xid: u32, fields: &[u8], out: &mut Vec<u8>) {
        if kind != Kind(0) {
            // version 0, the type, and the transaction
            let mut header = Vec::with_capacity(16);
            write_number(1, 0, &mut header);
            write_number(2, kind.of_header(), &mut header);
            write_number(4, xid.into(), &mut header);
            let mut body = Vec::with_capacity(header.len() + 2 + fields.len());
            write_octets(HEADER, &header, &mut body);
            body.extend_from_slice(fields);
            write_octets(kind.0, &body, out);
        }
        let direction = match direction {
            Direction::NotSet => return,
            Direction::Initiating => 1,
            Direction::Successful => 2,
            Direction::Unsuccessful => 3,
        };
        write_number(DIRECTION, direction, out);
    }

    /// The number of the body.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.body {
            Body::Hello(_) => Kind::HELLO,
            Body::EchoRequest(_) => Kind::ECHO_REQUEST,
            Body::EchoReply(_) => Kind::ECHO_REPLY,
            Body::StatisticsRequest(_) => Kind::STATISTICS_REQUEST,
            Body::Statistics(_) => Kind::STATISTICS,
            Body::EnbConfigRequest => Kind::ENB_CONFIG_REQUEST,
            Body::EnbConfig(_) => Kind::ENB_CONFIG,
            Body::UeConfigRequest => Kind::UE_CONFIG_REQUEST,
            Body::UeConfigs(_) => Kind::UE_CONFIGS,
            Body::LogicalChannelRequest => Kind::LOGICAL_CHANNEL_REQUEST,
            Body::LogicalChannels(_) => Kind::LOGICAL_CHANNELS,
            Body::DlMacConfig(_) => Kind::DL_MAC_CONFIG,
            Body::UeStateChange(_) => Kind::UE_STATE_CHANGE,
            Body::Disconnect => Kind::DISCONNECT,
            Body::Other(kind) => *kind,
        }
    }
}
