//! Answers to requests over RMR that another RIC has received: they go to the endpoint of the xApp.

use std::net::IpAddr;
use std::time::Instant;

use ferric::link::Class;
use log_lines::escaped;
use rmr::Header;
use tracing::warn;

use super::records::RmrRequest;
use crate::messaging::Messaging;
use crate::messaging::links::{ConnectionId, EndpointId, Purpose, UNREACHABLE};
use crate::messaging::pdus::Answer;
use crate::messaging::rights::Sender;

/// Answers that may wait until their endpoints are connected, and those of a host.
const MAX_UNSENT: usize = 1024;
const MAX_UNSENT_OF_HOST: usize = MAX_UNSENT / 4;

/// A message that waits until its endpoint is connected.
pub(super) struct Unsent {
    host: IpAddr,
    endpoint: EndpointId,
    message: Vec<u8>,
    since: Instant,
    /// The connection that has it in its outbox. It may not be established.
    on: Option<ConnectionId>,
}

/// Refuses an answer that would wait beyond the bounds.
fn check_unsent(unsent: &[Unsent], host: IpAddr) -> Result<(), String> {
    let of_host = unsent.iter().filter(|of| of.host == host).count();
    if unsent.len() < MAX_UNSENT && of_host < MAX_UNSENT_OF_HOST {
        return Ok(());
    }
    Err(format!(
        "{} answers wait for their endpoints, {of_host} of this host; {MAX_UNSENT} and {MAX_UNSENT_OF_HOST} are allowed",
        unsent.len()
    ))
}

impl Messaging {
    /// Answers a request over RMR: on its connection, if that is one with this RIC, or to the endpoint of the xApp.
    pub(super) fn answer_shared(
        &mut self,
        id: &str,
        request: &RmrRequest,
        subscription_id: i32,
        answer: Option<Answer>,
    ) {
        let reply = self.subscriptions().and_then(|all| all.replies.remove(id));
        let Some(answer) = answer else { return };
        if let Some(reply) = reply {
            return self.answer(&reply, subscription_id, &answer);
        }
        // what another RIC has written may be no endpoint
        let Some(host) = Sender::named(&request.endpoint).map(|sender| sender.host) else { return };
        let unsent = self.subscriptions().map_or(&[][..], |all| &all.unsent);
        let checked = check_unsent(unsent, host).and_then(|()| self.links.check_room(&request.endpoint));
        if let Err(why) = checked {
            if self.links.log().allow(host.into()) {
                warn!(
                    "an answer to the subscription request {id} of the xApp at {} is dropped: {why}; let it ask again",
                    escaped(&request.endpoint)
                );
            }
            return;
        }
        let (kind, payload) = answer;
        let source = self.links.source();
        let mut message = Vec::new();
        Header {
            kind,
            subscription_id,
            transaction: &request.transaction,
            data: &request.data,
            meid: &request.meid,
            source: &source,
            source_address: &source,
            ..Header::default()
        }
        .write(payload.len(), &mut message);
        message.extend_from_slice(&payload);
        let endpoint = self.links.hold(&request.endpoint, Purpose::Indications);
        if let Some(all) = self.subscriptions() {
            all.unsent.push(Unsent { host, endpoint, message, since: Instant::now(), on: None });
        }
        self.send_answers();
    }

    /// Sends the answers whose endpoints are connected. They are in the outbox of a connection before the indications that follow.
    pub(in crate::messaging) fn send_answers(&mut self) {
        let Some(subscriptions) = self.sharing.as_mut().map(|sharing| &mut sharing.subscriptions) else { return };
        let links = &mut self.links;
        subscriptions.unsent.retain_mut(|unsent| {
            let connection = links.linked(unsent.endpoint);
            if connection != unsent.on {
                unsent.on = connection.filter(|connection| links.send(*connection, &[&unsent.message], Class::Keep));
            }
            let is_done = unsent.on.is_some() && links.established(unsent.endpoint) == unsent.on;
            let is_over = is_done || unsent.since.elapsed() >= UNREACHABLE;
            if is_over {
                links.release(unsent.endpoint, Purpose::Indications);
            }
            !is_over
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_wait_are_bounded_of_a_host_and_in_all() {
        let mut unsent = Vec::new();
        let mut fill = |host: u8| {
            let host = IpAddr::from([10, 0, 0, host]);
            let before = unsent.len();
            while check_unsent(&unsent, host).is_ok() {
                let endpoint = EndpointId(unsent.len() as u32);
                unsent.push(Unsent { host, endpoint, message: Vec::new(), since: Instant::now(), on: None });
            }
            unsent.len() - before
        };
        assert_eq!([1, 2, 3, 4, 5].map(&mut fill), [256, 256, 256, 256, 0]);
    }
}
