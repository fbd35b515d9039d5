//! Messages as short lines: `sub-response id=1021/0 fn=2 admit=1`.

use std::collections::{BTreeMap, HashMap};

use e2ap::*;

pub use super::notation_format::format_pdu;
pub use super::notation_parse::{gnb, parse_pdu};

/// The arguments of a line after the message's name: `key=value`, or a `flag` without a value.
pub struct Args<'l>(HashMap<&'l str, &'l str>);

impl<'l> Args<'l> {
    pub fn new(words: &[&'l str]) -> Self {
        Args(words.iter().map(|word| word.split_once('=').unwrap_or((word, ""))).collect())
    }

    pub fn get(&self, key: &str) -> Option<&'l str> {
        self.0.get(key).copied()
    }

    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key).map(|text| text.parse().unwrap_or_else(|_| panic!("{key}={text} is not a number")))
    }

    pub fn numbers<T: std::str::FromStr>(&self, key: &str) -> Vec<T> {
        let numbers = self.get(key).unwrap_or_default().split(',').filter(|n| !n.is_empty());
        numbers.map(|text| text.parse().unwrap_or_else(|_| panic!("{key}: {text} is not a number"))).collect()
    }

    pub fn tx(&self) -> Option<TransactionId> {
        self.number("tx").map(TransactionId)
    }

    pub fn id(&self) -> RicRequestId {
        self.maybe_id().expect("id=requestor/instance")
    }

    pub fn maybe_id(&self) -> Option<RicRequestId> {
        let (requestor, instance) = self.get("id")?.split_once('/').expect("id=requestor/instance");
        Some(RicRequestId { requestor: requestor.parse().unwrap(), instance: instance.parse().unwrap() })
    }

    pub fn function(&self) -> RanFunctionId {
        RanFunctionId(self.number("fn").expect("fn="))
    }

    pub fn octets(&self, key: &str) -> Vec<u8> {
        self.get(key).map(hex).unwrap_or_default()
    }

    pub fn cause(&self) -> Cause {
        cause(self.get("cause").unwrap_or("unspecified"))
    }

    pub fn wait(&self) -> Option<TimeToWait> {
        use TimeToWait::*;
        let seconds: u32 = self.number("wait")?;
        [V1s, V2s, V5s, V10s, V20s, V60s].into_iter().find(|w| w.seconds() == seconds)
    }
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    assert!(digits.len().is_multiple_of(2), "{text}: half an octet");
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

pub fn cause(name: &str) -> Cause {
    match name {
        "unspecified" => Cause::RicRequest(CauseRicRequest::Unspecified),
        "no-room" => Cause::RicRequest(CauseRicRequest::FunctionResourceLimit),
        "unknown-id" => Cause::RicRequest(CauseRicRequest::RequestIdUnknown),
        "not-ready" => Cause::RicRequest(CauseRicRequest::SystemNotReady),
        "not-supported" => Cause::RicRequest(CauseRicRequest::ActionNotSupported),
        "overload" => Cause::Misc(CauseMisc::ControlProcessingOverload),
        "om" => Cause::Misc(CauseMisc::OmIntervention),
        "no-function" => Cause::RicRequest(CauseRicRequest::RanFunctionIdInvalid),
        "ric-full" => Cause::RicService(CauseRicService::RicResourceLimit),
        "transport" => Cause::Transport(CauseTransport::TransportResourceUnavailable),
        "notify" => Cause::Protocol(CauseProtocol::AbstractSyntaxErrorIgnoreAndNotify),
        "reject" => Cause::Protocol(CauseProtocol::AbstractSyntaxErrorReject),
        other => panic!("unknown cause {other}"),
    }
}

/// Adapts a message to `version`: v01.00 has no OIDs, and v1 has a status in acknowledgements.
fn carried(mut pdu: Pdu<'static>, version: Version) -> Pdu<'static> {
    if let Pdu::RicControlAcknowledge(ack) = &mut pdu
        && version < Version::V2_03
    {
        ack.status.get_or_insert(RicControlStatus::Success);
    }
    let items = match &mut pdu {
        Pdu::E2SetupRequest(m) => [m.ran_functions_added.as_mut(), None],
        Pdu::RicServiceUpdate(m) => [m.ran_functions_added.as_mut(), m.ran_functions_modified.as_mut()],
        _ => [None, None],
    };
    if version == Version::V1_00 {
        for items in items.into_iter().flatten() {
            *items = items.iter().map(|item| RanFunctionItem { oid: None, ..item.clone() }).collect();
        }
    }
    pdu
}

/// Returns the octets of a line: a message in `version`; `hex` and octets; or a tampered message: `cut=5`
/// removes octets from its end, `plus=200` adds an IE with that id and criticality reject (`plusi` with ignore, `plusn` with notify), and
/// `minus` drops its last IE, if that has one octet. `ies=1,49` gives its IEs this order; an id that occurs twice doubles its IE.
pub fn encode_line(words: &[&str], version: Version) -> Vec<u8> {
    if words[0] == "hex" {
        return hex(&words[1..].concat());
    }
    let args = Args::new(&words[1..]);
    let version = args.get("v").map_or(version, |text| text.parse().unwrap());
    let mut out = Vec::new();
    carried(parse_pdu(words[0], &args), version).encode(version, &mut out).unwrap_or_else(|e| panic!("{words:?}: {e}"));
    for (key, criticality) in [("plus", 0), ("plusi", 0x40), ("plusn", 0x80)] {
        if let Some(id) = args.number::<u16>(key) {
            // a short message: its length has one octet, and its number of IEs follows three octets later
            assert!(out[3] < 0x80 - 5, "too long for this change");
            out[3] += 5;
            out[6] += 1;
            out.extend(id.to_be_bytes());
            out.extend([criticality, 1, 0]);
        }
    }
    if args.has("minus") {
        let ie = out.split_off(out.len() - 5);
        assert_eq!(ie[3], 1, "the last IE has one octet");
        out[3] -= 5;
        out[6] -= 1;
    }
    if args.has("ies") {
        let ids: Vec<u16> = args.numbers("ies");
        out = in_order(&out, &ids);
    }
    if let Some(cut) = args.number::<usize>("cut") {
        out.truncate(out.len() - cut);
    }
    out
}

/// Returns a message with the IEs `ids`, in this order; it and its IEs are short.
fn in_order(pdu: &[u8], ids: &[u16]) -> Vec<u8> {
    let mut ies = BTreeMap::new();
    let mut rest = &pdu[7..];
    while let [high, low, _, length, ..] = *rest {
        let (ie, more) = rest.split_at(4 + usize::from(length));
        ies.insert(u16::from_be_bytes([high, low]), ie);
        rest = more;
    }
    assert!(ies.keys().all(|id| ids.contains(id)), "{:?}", ies.keys());
    let ies = ids.iter().map(|id| ies[id]).collect::<Vec<_>>().concat();
    assert!(ies.len() < 0x80 - 3, "too long for this change");
    [&pdu[..3], &[ies.len() as u8 + 3, pdu[4], 0, ids.len() as u8], &ies].concat()
}
