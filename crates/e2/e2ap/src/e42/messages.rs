//! The five messages. Their IEs are encoded in the order that FlexRIC expects: it decodes them by position.

use per::{Decode, Encode, List, Octets, Reader, Store, Writer};

use super::{E42Version, XappId};
use crate::container::Container;
use crate::items::Items;
use crate::message::{IeRow, Presence, encode_ie};
use crate::{
    Criticality, Deviations, E2NodeComponentConfigAdditionItem, Error, GlobalE2NodeId, ProtocolIeId, RanFunctionId,
    RanFunctionItem, RicControlAckRequest, RicRequestId, RicSubscriptionDetails,
};

const fn row(name: &'static str, id: u16, presence: Presence) -> IeRow {
    IeRow { name, id: ProtocolIeId(id), criticality: Criticality::Reject, presence: [presence; 4] }
}

const NODE_ID: IeRow = row("global_e2_node_id", 3, Presence::Mandatory);
const RAN_FUNCTION_ID: IeRow = row("ran_function_id", 5, Presence::Mandatory);
const RAN_FUNCTIONS: IeRow = row("ran_functions", 10, Presence::Mandatory);
const CALL_PROCESS_ID: IeRow = row("call_process_id", 20, Presence::Optional);
const ACK_REQUEST: IeRow = row("ack_request", 21, Presence::Optional);
const HEADER: IeRow = row("header", 22, Presence::Mandatory);
const MESSAGE: IeRow = row("message", 23, Presence::Mandatory);
const REQUEST_ID: IeRow = row("request_id", 29, Presence::Mandatory);
const DETAILS: IeRow = row("details", 30, Presence::Mandatory);
/// Presence from v2 on.
const COMPONENTS: IeRow = row("components", 50, Presence::Mandatory);

impl E42Version {
    const fn xapp_id(self) -> IeRow {
        row("xapp_id", self.first_ie(), Presence::Mandatory)
    }

    const fn node(self) -> IeRow {
        row("nodes", self.first_ie() + 1, Presence::Optional)
    }
}

/// Decodes the IEs of a container into their variables and checks the mandatory ones.
macro_rules! read_ies {
    ($container:ident { $($row:expr => $place:ident),* $(,)? }) => {
        while let Some((id, criticality)) = $container.next_ie()? {
            match id {
                $( id if id == $row.id.0 => $container.value(&$row, criticality, &mut $place)?, )*
                _ => $container.unknown(id, criticality)?,
            }
        }
    };
}

/// Unwraps a mandatory IE.
macro_rules! must {
    ($container:ident, $row:expr, $place:ident) => {
        match $place {
            Some(value) => value,
            None => return Err($container.missing_ie_error(&$row)),
        }
    };
}

/// Encodes IEs in this order.
macro_rules! write_ies {
    ($writer:ident { $($row:expr => $value:expr),* $(,)? }) => {{
        let count = 0u16 $( + u16::from($value.is_some()) )*;
        count.encode($writer)?;
        let deviations = Deviations::default();
        $( encode_ie($writer, &deviations, &$row, $value)?; )*
        Ok(())
    }};
}

macro_rules! describe {
    ($name:ident $(<$lt:lifetime>)? { $($must:ident $field:ident),* $(,)? }) => {
        impl $(<$lt>)? per::Describe for $name $(<$lt>)? {
            fn describe(&self, visitor: &mut dyn per::Visitor) {
                visitor.begin_record();
                $( if let Some(value) = describe!(@option $must self.$field) {
                    visitor.field(stringify!($field));
                    per::Describe::describe(value, visitor);
                } )*
                visitor.end_record();
            }
        }
    };
    (@option must $value:expr) => { Some(&$value) };
    (@option may $value:expr) => { $value.as_ref() };
}

/// Registers an xApp. FlexRIC's xApps list all service models that they are built with.
#[derive(Clone, Debug, PartialEq)]
pub struct E42SetupRequest<'a> {
    /// The service models.
    pub ran_functions: Items<'a, RanFunctionItem<'a>>,
}
describe!(E42SetupRequest<'a> { must ran_functions });

impl<'a> E42SetupRequest<'a> {
    pub(super) fn read(container: &mut Container<'a>) -> Result<Self, Error> {
        let mut ran_functions = None;
        read_ies!(container { RAN_FUNCTIONS => ran_functions });
        Ok(E42SetupRequest { ran_functions: must!(container, RAN_FUNCTIONS, ran_functions) })
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) -> Result<(), per::Error> {
        write_ies!(writer { RAN_FUNCTIONS => Some(&self.ran_functions) })
    }
}

/// Assigns an id to the xApp and lists the connected nodes, each in an IE.
#[derive(Clone, Debug, PartialEq)]
pub struct E42SetupResponse<'a> {
    /// The xApp's id.
    pub xapp_id: XappId,
    /// The nodes.
    pub nodes: List<'a, ConnectedNode<'a>>,
}
describe!(E42SetupResponse<'a> { must xapp_id, must nodes });

impl<'a> E42SetupResponse<'a> {
    pub(super) fn read(version: E42Version, container: &mut Container<'a>) -> Result<Self, Error> {
        let (mut xapp_id, mut nodes) = (None, Vec::new());
        while let Some((id, criticality)) = container.next_ie()? {
            if id == version.xapp_id().id.0 {
                container.value(&version.xapp_id(), criticality, &mut xapp_id)?;
            } else if id == version.node().id.0 {
                let mut node = None;
                container.value(&version.node(), criticality, &mut node)?;
                nodes.extend(node);
            } else {
                container.unknown(id, criticality)?;
            }
        }
        Ok(E42SetupResponse { xapp_id: must!(container, version.xapp_id(), xapp_id), nodes: nodes.into() })
    }

    pub(super) fn write(&self, version: E42Version, writer: &mut Writer<'_>) -> Result<(), per::Error> {
        let too_many = |_| writer.error(per::ErrorKind::OutOfRange).within("nodes");
        let count = u16::try_from(1 + self.nodes.len()).map_err(too_many)?;
        count.encode(writer)?;
        let deviations = Deviations::default();
        encode_ie(writer, &deviations, &version.xapp_id(), Some(&self.xapp_id))?;
        self.nodes.iter().try_for_each(|node| encode_ie(writer, &deviations, &version.node(), Some(node)))
    }
}

/// A connected node.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectedNode<'a> {
    /// The node.
    pub global_e2_node_id: GlobalE2NodeId,
    /// Its components, from v2 on: xApps derive the kind of base station from them and need at least one.
    pub components: Option<Items<'a, E2NodeComponentConfigAdditionItem<'a>>>,
    /// Its RAN functions.
    pub ran_functions: Items<'a, RanFunctionItem<'a>>,
}
describe!(ConnectedNode<'a> { must global_e2_node_id, may components, must ran_functions });

/// The first revision in which a node has components.
const COMPONENTS_SINCE: u8 = E42Version::V2.e2ap().revision();

impl<'a, S: Store<'a>> Decode<'a, S> for ConnectedNode<'a> {
    fn decode_after(reader: &mut Reader<'a, S>, _: Option<&Self>) -> Result<Self, per::Error> {
        let (mut node_id, mut components, mut ran_functions) = (None, None, None);
        // a container without an extension marker
        for _ in 0..u16::decode(reader)? {
            let at = reader.position();
            let id = ProtocolIeId::decode(reader)?;
            let criticality = Criticality::decode(reader)?;
            let twice = match id {
                id if id == NODE_ID.id => node_id.replace(reader.open_type(GlobalE2NodeId::decode)?).is_some(),
                id if id == COMPONENTS.id && reader.revision() >= COMPONENTS_SINCE => {
                    components.replace(reader.open_type(Items::decode)?).is_some()
                }
                id if id == RAN_FUNCTIONS.id => ran_functions.replace(reader.open_type(Items::decode)?).is_some(),
                _ => {
                    reader.open_type_reader()?;
                    criticality == Criticality::Reject
                }
            };
            if twice {
                return Err(per::Error::new(per::ErrorKind::UnknownIndex, at));
            }
        }
        let missing = |name| reader.error(per::ErrorKind::Missing).within(name);
        if components.is_none() && reader.revision() >= COMPONENTS_SINCE {
            return Err(missing(COMPONENTS.name));
        }
        Ok(ConnectedNode {
            global_e2_node_id: node_id.ok_or_else(|| missing(NODE_ID.name))?,
            components,
            ran_functions: ran_functions.ok_or_else(|| missing(RAN_FUNCTIONS.name))?,
        })
    }
}

impl Encode for ConnectedNode<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), per::Error> {
        if self.components.is_some() != (writer.revision() >= COMPONENTS_SINCE) {
            let kind = if self.components.is_some() { per::ErrorKind::NotInRevision } else { per::ErrorKind::Missing };
            return Err(writer.error(kind).within(COMPONENTS.name));
        }
        let components = self.components.as_ref();
        let node_id = Some(&self.global_e2_node_id);
        if components.is_some() {
            write_ies!(writer { NODE_ID => node_id, COMPONENTS => components, RAN_FUNCTIONS => Some(&self.ran_functions) })
        } else {
            write_ies!(writer { NODE_ID => node_id, RAN_FUNCTIONS => Some(&self.ran_functions) })
        }
    }

    fn size_hint(&self) -> usize {
        32 + self.components.as_ref().map_or(0, Encode::size_hint) + self.ran_functions.size_hint()
    }
}

/// Subscribes an xApp to a RAN function of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct E42SubscriptionRequest<'a> {
    /// The xApp.
    pub xapp_id: XappId,
    /// The node.
    pub global_e2_node_id: GlobalE2NodeId,
    /// The xApp's request id, repeated in the response and in indications.
    pub request_id: RicRequestId,
    /// The RAN function.
    pub ran_function_id: RanFunctionId,
    /// The event trigger and the actions.
    pub details: RicSubscriptionDetails<'a>,
}
describe!(E42SubscriptionRequest<'a> { must xapp_id, must global_e2_node_id, must request_id, must ran_function_id, must details });

impl<'a> E42SubscriptionRequest<'a> {
    pub(super) fn read(version: E42Version, container: &mut Container<'a>) -> Result<Self, Error> {
        let (mut xapp_id, mut node_id, mut request_id, mut function_id, mut details) = (None, None, None, None, None);
        read_ies!(container {
            version.xapp_id() => xapp_id,
            NODE_ID => node_id,
            REQUEST_ID => request_id,
            RAN_FUNCTION_ID => function_id,
            DETAILS => details,
        });
        Ok(E42SubscriptionRequest {
            xapp_id: must!(container, version.xapp_id(), xapp_id),
            global_e2_node_id: must!(container, NODE_ID, node_id),
            request_id: must!(container, REQUEST_ID, request_id),
            ran_function_id: must!(container, RAN_FUNCTION_ID, function_id),
            details: must!(container, DETAILS, details),
        })
    }

    pub(super) fn write(&self, version: E42Version, writer: &mut Writer<'_>) -> Result<(), per::Error> {
        write_ies!(writer {
            version.xapp_id() => Some(&self.xapp_id),
            NODE_ID => Some(&self.global_e2_node_id),
            REQUEST_ID => Some(&self.request_id),
            RAN_FUNCTION_ID => Some(&self.ran_function_id),
            DETAILS => Some(&self.details),
        })
    }
}

/// Deletes a subscription of an xApp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct E42SubscriptionDeleteRequest {
    /// The xApp.
    pub xapp_id: XappId,
    /// The xApp's request id of the subscription.
    pub request_id: RicRequestId,
    /// The RAN function.
    pub ran_function_id: RanFunctionId,
}
describe!(E42SubscriptionDeleteRequest { must xapp_id, must request_id, must ran_function_id });

impl E42SubscriptionDeleteRequest {
    pub(super) fn read(version: E42Version, container: &mut Container<'_>) -> Result<Self, Error> {
        let (mut xapp_id, mut request_id, mut function_id) = (None, None, None);
        read_ies!(container {
            version.xapp_id() => xapp_id,
            REQUEST_ID => request_id,
            RAN_FUNCTION_ID => function_id,
        });
        Ok(E42SubscriptionDeleteRequest {
            xapp_id: must!(container, version.xapp_id(), xapp_id),
            request_id: must!(container, REQUEST_ID, request_id),
            ran_function_id: must!(container, RAN_FUNCTION_ID, function_id),
        })
    }

    pub(super) fn write(&self, version: E42Version, writer: &mut Writer<'_>) -> Result<(), per::Error> {
        write_ies!(writer {
            version.xapp_id() => Some(&self.xapp_id),
            REQUEST_ID => Some(&self.request_id),
            RAN_FUNCTION_ID => Some(&self.ran_function_id),
        })
    }
}

/// Sends a control of an xApp to a RAN function of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct E42ControlRequest<'a> {
    /// The xApp.
    pub xapp_id: XappId,
    /// The node.
    pub global_e2_node_id: GlobalE2NodeId,
    /// The xApp's request id, repeated in the response.
    pub request_id: RicRequestId,
    /// The RAN function.
    pub ran_function_id: RanFunctionId,
    /// The call process that waits for this control.
    pub call_process_id: Option<Octets<'a>>,
    /// The service model's header.
    pub header: Octets<'a>,
    /// The service model's message.
    pub message: Octets<'a>,
    /// Whether an acknowledgement is requested.
    pub ack_request: Option<RicControlAckRequest>,
}
describe!(E42ControlRequest<'a> { must xapp_id, must global_e2_node_id, must request_id, must ran_function_id, may call_process_id, must header, must message, may ack_request });

impl<'a> E42ControlRequest<'a> {
    pub(super) fn read(version: E42Version, container: &mut Container<'a>) -> Result<Self, Error> {
        let (mut xapp_id, mut node_id, mut request_id, mut function_id) = (None, None, None, None);
        let (mut call_process_id, mut header, mut message, mut ack_request) = (None, None, None, None);
        read_ies!(container {
            version.xapp_id() => xapp_id,
            NODE_ID => node_id,
            REQUEST_ID => request_id,
            RAN_FUNCTION_ID => function_id,
            CALL_PROCESS_ID => call_process_id,
            HEADER => header,
            MESSAGE => message,
            ACK_REQUEST => ack_request,
        });
        Ok(E42ControlRequest {
            xapp_id: must!(container, version.xapp_id(), xapp_id),
            global_e2_node_id: must!(container, NODE_ID, node_id),
            request_id: must!(container, REQUEST_ID, request_id),
            ran_function_id: must!(container, RAN_FUNCTION_ID, function_id),
            call_process_id,
            header: must!(container, HEADER, header),
            message: must!(container, MESSAGE, message),
            ack_request,
        })
    }

    pub(super) fn write(&self, version: E42Version, writer: &mut Writer<'_>) -> Result<(), per::Error> {
        write_ies!(writer {
            version.xapp_id() => Some(&self.xapp_id),
            NODE_ID => Some(&self.global_e2_node_id),
            REQUEST_ID => Some(&self.request_id),
            RAN_FUNCTION_ID => Some(&self.ran_function_id),
            CALL_PROCESS_ID => self.call_process_id.as_ref(),
            HEADER => Some(&self.header),
            MESSAGE => Some(&self.message),
            ACK_REQUEST => self.ack_request.as_ref(),
        })
    }
}
