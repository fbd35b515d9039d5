//! The indications of a session's subscriptions: each is read for its stream, or updates what is known of UEs and slices.

use std::sync::Arc;

use e2::topology::UeReference;
use e2sm::slice;
use per::Gather;

use super::super::configuration;
use super::super::decision::{self, HandoverRequest, Process};
use super::super::kpm::Report;
use super::super::raw::{Commands, Indication};
use super::super::ric::Handle;
use super::super::rrc::{self, RrcMessage};
use super::{Core, Purpose, Reader, Subscribed};

impl Core {
    pub(super) fn handle_indication(&mut self, indication: &Indication<'_>, commands: &mut Commands<'_>) {
        let Core { subscriptions, streams, directory, arena, nodes, .. } = self;
        let Some(subscribed) = subscriptions.get_mut(&indication.subscription) else {
            // one that was left while its node was lost
            return commands.unsubscribe(indication.subscription);
        };
        let gather = Gather::new();
        let full; // holds the parts of a fragmented indication
        let (header, message) = match indication.peek() {
            Some(peeked) => (peeked.header, peeked.message),
            None => match indication.decode(&gather) {
                Ok(decoded) => {
                    full = (decoded.header.to_cow().into_owned(), decoded.message.to_cow().into_owned());
                    (&full.0[..], &full.1[..])
                }
                Err(error) => return tracing::warn!(%error, "cannot decode an indication"),
            },
        };
        match subscribed {
            Subscribed::Stream { stream, reader, node } => {
                let Some(stream) = streams.get_mut(stream) else { return };
                match (&mut stream.purpose, reader) {
                    (Purpose::Records { sink, .. }, Reader::Records(source)) => {
                        source.read(&Report { node: *node, header, message }, arena, sink, directory);
                    }
                    (Purpose::Configuration { buffer, .. }, Reader::Configuration) => {
                        let Some(node) = nodes.get(node) else { return };
                        match configuration::read(&node.name, message) {
                            Ok(cells) => cells.into_iter().for_each(|cell| buffer.push(cell)),
                            Err(error) => {
                                tracing::warn!(node = %node.name, %error, "cannot read a report of configuration")
                            }
                        }
                    }
                    (Purpose::RrcMessages { buffer, .. }, Reader::RrcMessages(detection)) => {
                        let Some(node) = nodes.get(node) else { return };
                        match rrc::read(*detection, message) {
                            Ok(Some((ue_id, octets))) => {
                                directory.learn(node.id, &ue_id);
                                let ue = directory.place(node.id, &ue_id).ue;
                                let ue = ue.unwrap_or_else(|| UeReference::of(&ue_id));
                                buffer.push(RrcMessage { node: Arc::clone(&node.name), ue, octets });
                            }
                            Ok(None) => {}
                            Err(error) => {
                                tracing::warn!(node = %node.name, %error, "cannot read a copy of an RRC message: it is skipped");
                            }
                        }
                    }
                    (Purpose::Cpus { buffer, .. }, Reader::Cpus(reader)) => {
                        let Some(node) = nodes.get(node) else { return };
                        match reader.read(&node.name, header, message) {
                            Ok(report) => report.into_iter().for_each(|report| buffer.push(report)),
                            Err(error) => {
                                tracing::warn!(node = %node.name, %error, "cannot read a report of CPUs: it is skipped")
                            }
                        }
                    }
                    (Purpose::Handovers { buffer, session, deadline }, Reader::Handovers(Some(detection))) => {
                        let process = indication.peek().and_then(|peeked| peeked.call_process_id);
                        let (Some(node), Some(process), Some(session)) = (nodes.get(node), process, session.upgrade())
                        else {
                            return;
                        };
                        match decision::read_request(*detection, header, message) {
                            Ok(Some((ue_id, target))) => {
                                let ue = directory.place(node.id, &ue_id).ue;
                                let ue = ue.unwrap_or_else(|| UeReference::of(&ue_id));
                                let handle = Handle { session, deadline: *deadline, verify: None };
                                let process = Process { node: node.id, ue_id, id: process.to_vec(), handle };
                                buffer.push(HandoverRequest::new(Arc::clone(&node.name), ue, target, process));
                            }
                            Ok(None) => {}
                            Err(error) => tracing::warn!(node = %node.name, %error, "cannot read a request"),
                        }
                    }
                    _ => {}
                }
            }
            Subscribed::Slices { node, wire } => {
                arena.reset();
                match slice::IndicationMessage::decode_owned(message, *wire) {
                    Ok(message) => {
                        self.slices.insert(*node, message);
                        self.has_changed = true;
                    }
                    Err(error) => tracing::warn!(node = node.0, %error, "cannot read a report of slices"),
                }
            }
            Subscribed::Ues { node, source } => {
                arena.reset();
                match source.read(message, arena) {
                    Ok(changes) => {
                        directory.apply(*node, &changes);
                        self.has_changed = true;
                    }
                    Err(error) => {
                        tracing::warn!(source = source.model().name(), %error, "cannot decode a report of UEs")
                    }
                }
            }
        }
    }
}
