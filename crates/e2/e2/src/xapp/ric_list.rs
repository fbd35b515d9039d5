//! The service that tells xApps the RICs that share E2 nodes: its messages and their content (`docs/xapp-protocol.md`).

/// The most addresses in a list.
const MAX_RICS: usize = 64;
/// The longest address, in octets.
const MAX_ADDRESS_OCTETS: usize = 512;

/// The addresses at which RICs that share E2 nodes take xApps, as URLs: `tcp://10.0.0.1:36422`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RicList {
    /// That of the RIC that sends the list; `None` if it knows none that others can use.
    pub own: Option<String>,
    /// Those of the others, at most 63.
    pub others: Vec<String>,
}

impl RicList {
    /// The kind of the message that asks for the list. From then on the RIC sends each new one.
    pub const QUERY: u32 = 30001;
    /// The kind of the message with the list.
    pub const ANSWER: u32 = 30002;

    /// Returns the content of the message: a line for each address, that of the RIC itself first, which may be empty. Addresses
    /// beyond the bounds are left out.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let is_valid = |address: &&str| address.len() <= MAX_ADDRESS_OCTETS && !address.contains('\n');
        let own = self.own.as_deref().filter(is_valid).unwrap_or_default();
        let others = self.others.iter().map(String::as_str).filter(|address| !address.is_empty() && is_valid(address));
        [own].into_iter().chain(others.take(MAX_RICS - 1)).collect::<Vec<_>>().join("\n").into_bytes()
    }

    /// Reads the content of the message; `None` if it is none, or exceeds the bounds.
    #[must_use]
    pub fn decode(document: &[u8]) -> Option<RicList> {
        if document.len() > MAX_RICS * (MAX_ADDRESS_OCTETS + 1) {
            return None;
        }
        let lines: Vec<_> = std::str::from_utf8(document).ok()?.split('\n').collect();
        let (own, others) = lines.split_first()?;
        let is_valid = |address: &&str| (1..=MAX_ADDRESS_OCTETS).contains(&address.len());
        if others.len() >= MAX_RICS || own.len() > MAX_ADDRESS_OCTETS || !others.iter().all(is_valid) {
            return None;
        }
        let own = (!own.is_empty()).then(|| (*own).to_owned());
        Some(RicList { own, others: others.iter().map(|address| (*address).to_owned()).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_lines() {
        let list = |own: Option<&str>, others: &[&str]| RicList {
            own: own.map(str::to_owned),
            others: others.iter().map(|other| (*other).to_owned()).collect(),
        };
        for (list, text) in [
            (list(None, &[]), ""),
            (list(Some("tcp://a:1"), &[]), "tcp://a:1"),
            (list(None, &["tcp://b:1"]), "\ntcp://b:1"),
            (list(Some("tcp://a:1"), &["tcp://b:1", "tls://c:2"]), "tcp://a:1\ntcp://b:1\ntls://c:2"),
        ] {
            assert_eq!(list.encode(), text.as_bytes());
            assert_eq!(RicList::decode(text.as_bytes()), Some(list));
        }
    }

    #[test]
    fn list_is_bounded() {
        let long = "x".repeat(MAX_ADDRESS_OCTETS);
        let most = RicList { own: Some(long.clone()), others: vec![long.clone(); MAX_RICS - 1] };
        assert_eq!(RicList::decode(&most.encode()), Some(most.clone()));
        let more = RicList { others: vec![long.clone(); MAX_RICS], ..most.clone() };
        assert_eq!(more.encode(), most.encode());
        let bad =
            RicList { own: Some(long.clone() + "x"), others: vec![String::new(), long.clone() + "x", "a\nb".into()] };
        assert_eq!(bad.encode(), b"");
        for text in ["a\n", "a\n\nb", &format!("{long}x"), &format!("a\n{long}x"), &"a\n".repeat(MAX_RICS)] {
            assert_eq!(RicList::decode(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(RicList::decode(b"a\n\xff"), None);
    }
}
