//! A filter as requests describe it: its destination may be a UE, by any of its names.

use std::net::Ipv4Addr;

use e2sm::tc::{ClassifierControl, ControlMessage, ModifyFilter, NewFilter, NewOsiFilter, OsiFilter};
use ferric::e2::topology::{RanDatabase, UeReference, UeReferenceError};
use iapp_rest::resolve_ue;
use rest::{Problem, not_null};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::resource::{FilterBody, Protocol};

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object: a filter")]
#[schemars(rename = "NewTcFilter")]
pub(super) struct NewFilterBody {
    queue_id: u32,
    protocol: Option<Protocol>,
    source_address: Option<Ipv4Addr>,
    source_port: Option<u16>,
    destination_address: Option<Ipv4Addr>,
    destination_port: Option<u16>,
    /// Instead of `destination_address`: a UE by any of its names, as at `/v1/ues/{ue}`. Its address is entered when the request
    /// is executed.
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(with = "String")]
    ue: Option<String>,
}

/// A control, and the UE whose address is still to be entered as the destination of its filter.
pub(super) struct PlannedControl {
    pub control: ControlMessage<'static>,
    pub ue: Option<UeReference>,
}

impl From<ControlMessage<'static>> for PlannedControl {
    fn from(control: ControlMessage<'static>) -> Self {
        PlannedControl { control, ue: None }
    }
}

impl NewFilterBody {
    /// The filter, and the UE that is its destination.
    pub fn parts(self) -> Result<(FilterBody, Option<UeReference>), Problem> {
        let NewFilterBody {
            queue_id,
            protocol,
            source_address,
            source_port,
            destination_address,
            destination_port,
            ue,
        } = self;
        let invalid = |detail: String| Problem::unprocessable(detail).with("at", "ue");
        if ue.is_some() && destination_address.is_some() {
            return Err(invalid("ue: a filter has one destination, but `destination_address` is given too".to_owned()));
        }
        let reference =
            |text: &str| text.parse().map_err(|error: UeReferenceError| invalid(format!("ue: `{text}`: {error}")));
        let ue = ue.as_deref().map(reference).transpose()?;
        let filter =
            FilterBody { queue_id, protocol, source_address, source_port, destination_address, destination_port };
        Ok((filter, ue))
    }
}

impl PlannedControl {
    /// The control with the address of its UE.
    pub fn resolved(self, ran: &RanDatabase) -> Result<ControlMessage<'static>, Problem> {
        let PlannedControl { mut control, ue } = self;
        let Some(reference) = ue else { return Ok(control) };
        let found = resolve_ue(ran, &reference)?;
        let unknown = || Problem::not_found(format!("no node reports the address of {}", ran.describe(found)));
        let address = u32::from(*found.context().addresses.first().ok_or_else(unknown)?);
        if let ControlMessage::Classifier(
            ClassifierControl::Add(NewFilter::Osi(NewOsiFilter { flow, .. }))
            | ClassifierControl::Modify(ModifyFilter::Osi(OsiFilter { flow, .. })),
        ) = &mut control
        {
            flow.destination_address = Some(address);
        }
        Ok(control)
    }
}
