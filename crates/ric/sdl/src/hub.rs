//! Subscriptions to channels.

use std::collections::{BTreeMap, BTreeSet};

use crate::glob::{self, Budget};
use crate::resp::{Replies, Version};

/// The longest pattern of channels.
pub(crate) const MAX_PATTERN_OCTETS: usize = 128;
/// Patterns of all clients, as a multiple of those that one may have.
const PATTERN_CLIENTS: usize = 16;
/// Steps of comparing a channel with all patterns: more than the bounds of their number and lengths allow to need.
const STEPS: u64 = 1 << 32;

/// Who has subscribed to which channels. Clients are numbers.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    channels: BTreeMap<Vec<u8>, BTreeSet<u64>>,
    patterns: BTreeMap<Vec<u8>, BTreeSet<u64>>,
}

impl Hub {
    /// Whether one more pattern fits.
    pub fn has_room(&self, max_patterns: usize) -> bool {
        self.patterns.values().map(BTreeSet::len).sum::<usize>() < max_patterns * PATTERN_CLIENTS
    }

    fn of(&mut self, is_pattern: bool) -> &mut BTreeMap<Vec<u8>, BTreeSet<u64>> {
        if is_pattern { &mut self.patterns } else { &mut self.channels }
    }

    pub fn subscribe(&mut self, client: u64, name: &[u8], is_pattern: bool) {
        self.of(is_pattern).entry(name.to_vec()).or_default().insert(client);
    }

    pub fn unsubscribe(&mut self, client: u64, name: &[u8], is_pattern: bool) {
        let of = self.of(is_pattern);
        if let Some(clients) = of.get_mut(name) {
            clients.remove(&client);
            if clients.is_empty() {
                of.remove(name);
            }
        }
    }

    /// Returns the channels with subscribers.
    pub fn channels(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.channels.iter().map(|(channel, clients)| (channel.as_slice(), clients.len()))
    }

    /// The number of subscribers of a channel, without those by pattern.
    pub fn subscribers(&self, channel: &[u8]) -> usize {
        self.channels.get(channel).map_or(0, BTreeSet::len)
    }

    /// The number of patterns.
    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }

    fn matching(&self, channel: &[u8]) -> impl Iterator<Item = (&Vec<u8>, &BTreeSet<u64>)> {
        let mut budget = Budget(STEPS);
        self.patterns.iter().filter(move |(pattern, _)| glob::matches(pattern, channel, &mut budget) == Ok(true))
    }

    /// The number of clients that get a message.
    pub fn count(&self, channel: &[u8]) -> usize {
        self.subscribers(channel) + self.matching(channel).map(|(_, clients)| clients.len()).sum::<usize>()
    }

    /// Writes a message in version 2, and has it sent to all clients that get it. In version 3 its first octet is `>`.
    pub fn deliver(&self, channel: &[u8], message: &[u8], send: &mut dyn FnMut(u64, &[u8])) {
        let mut send_to = |clients: &BTreeSet<u64>, pattern: Option<&[u8]>| {
            let mut replies = Replies::new(Version::V2, usize::MAX);
            replies.push(3 + usize::from(pattern.is_some()));
            replies.bulk(if pattern.is_some() { b"pmessage" } else { b"message" });
            if let Some(pattern) = pattern {
                replies.bulk(pattern);
            }
            replies.bulk(channel);
            replies.bulk(message);
            let (octets, _) = replies.into_octets();
            clients.iter().for_each(|client| send(*client, &octets));
        };
        if let Some(clients) = self.channels.get(channel) {
            send_to(clients, None);
        }
        for (pattern, clients) in self.matching(channel) {
            send_to(clients, Some(pattern));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_reaches_subscribers_and_matching_patterns() {
        let mut hub = Hub::default();
        hub.subscribe(1, b"{ns},a", false);
        hub.subscribe(2, b"{ns},*", true);
        hub.subscribe(3, b"{ns},b", false);
        assert_eq!((hub.count(b"{ns},a"), hub.count(b"{ns},c"), hub.count(b"other")), (2, 1, 0));
        let mut deliveries = Vec::new();
        hub.deliver(b"{ns},a", b"text", &mut |client, octets| deliveries.push((client, octets.to_vec())));
        let to = |client: u64, octets: &[u8]| (client, octets.to_vec());
        let expected = [
            to(1, b"*3\r\n$7\r\nmessage\r\n$6\r\n{ns},a\r\n$4\r\ntext\r\n"),
            to(2, b"*4\r\n$8\r\npmessage\r\n$6\r\n{ns},*\r\n$6\r\n{ns},a\r\n$4\r\ntext\r\n"),
        ];
        assert_eq!(deliveries, expected);
        hub.unsubscribe(1, b"{ns},a", false);
        hub.unsubscribe(2, b"{ns},*", true);
        assert_eq!((hub.count(b"{ns},a"), hub.patterns(), hub.channels().count()), (0, 0, 1));
    }
}
