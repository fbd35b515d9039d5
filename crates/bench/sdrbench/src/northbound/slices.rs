//! Tenants, each with a slice that it creates, changes and deletes in turn.

use e2sm::Wire;
use e2sm::slice::{
    ControlMessage, DeleteSlices, DirectionSlices, NvsParameters, Parameters, Share, Slice, SliceConfiguration,
};
use per::PrintableString;

/// What a tenant requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SliceStep {
    Create,
    Change,
    Delete,
}

/// A tenant of an application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tenant<N> {
    number: u32,
    /// The node with its slice, and what was requested last.
    slice: Option<(N, SliceStep)>,
}

impl<N: Copy> Tenant<N> {
    /// A tenant without a slice. Its number, from 1 on, is the slice's id, so that tenants of all applications have slices of their own.
    pub fn new(number: u32) -> Self {
        Tenant { number, slice: None }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    /// The node with its slice.
    pub fn node(&self) -> Option<N> {
        self.slice.map(|(node, _)| node)
    }

    /// The next request, for the slice at `node`, or for a new one at `other`.
    pub fn next(&mut self, node: Option<N>, other: N) -> (N, SliceStep) {
        let request = match (node, self.slice) {
            (Some(node), Some((_, SliceStep::Create))) => (node, SliceStep::Change),
            (Some(node), Some((_, SliceStep::Change))) => (node, SliceStep::Delete),
            _ => (other, SliceStep::Create),
        };
        self.slice = Some(request).filter(|(_, step)| *step != SliceStep::Delete);
        request
    }
}

/// A control of FlexRIC's slice function: an NVS slice with a share of the cell.
pub(super) fn slice_request(tenant: u32, step: SliceStep) -> anyhow::Result<Vec<u8>> {
    let label = format!("tenant-{tenant}");
    let message = match step {
        SliceStep::Delete => ControlMessage::Delete(DeleteSlices { dl: vec![tenant].into(), ul: per::List::default() }),
        SliceStep::Create | SliceStep::Change => {
            let reserved = if step == SliceStep::Create { 0.05 } else { 0.1 };
            let slice = Slice {
                id: tenant,
                label: PrintableString::try_from(label.as_str())?,
                ue_scheduler: PrintableString::literal("PF"),
                parameters: Parameters::Nvs(NvsParameters::Capacity(Share { reserved })),
            };
            let dl = DirectionSlices { scheduler: PrintableString::literal("PF"), slices: vec![slice].into() };
            ControlMessage::AddOrModify(SliceConfiguration { dl, ul: DirectionSlices::default() })
        }
    };
    let mut octets = Vec::new();
    message.encode(Wire::Plain, &mut octets)?;
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use e2sm::Arena;

    use super::*;

    #[test]
    fn slice_is_created_changed_and_deleted_at_one_node() {
        let mut tenant = Tenant::new(7);
        let mut requests = Vec::new();
        for other in 1..=4 {
            let node = tenant.node();
            requests.push(tenant.next(node, other));
        }
        let expected = [(1, SliceStep::Create), (1, SliceStep::Change), (1, SliceStep::Delete), (4, SliceStep::Create)];
        assert_eq!(requests, expected);
        // the node is lost
        assert_eq!(tenant.next(None, 5), (5, SliceStep::Create));
    }

    #[test]
    fn request_names_the_slice_of_its_tenant() {
        for (step, reserved) in [(SliceStep::Create, 0.05), (SliceStep::Change, 0.1)] {
            let (octets, arena) = (slice_request(300, step).unwrap(), Arena::new());
            let message = ControlMessage::decode(&octets, Wire::Plain, &arena).unwrap();
            let ControlMessage::AddOrModify(SliceConfiguration { dl, .. }) = message else { panic!("{message:?}") };
            let slice = dl.slices.iter().next().unwrap();
            assert_eq!((slice.id, slice.label.as_str()), (300, "tenant-300"));
            assert_eq!(slice.parameters, Parameters::Nvs(NvsParameters::Capacity(Share { reserved })));
        }
        let (octets, arena) = (slice_request(300, SliceStep::Delete).unwrap(), Arena::new());
        let message = ControlMessage::decode(&octets, Wire::Plain, &arena).unwrap();
        assert!(matches!(message, ControlMessage::Delete(delete) if delete.dl.iter().copied().eq([300])));
    }
}
