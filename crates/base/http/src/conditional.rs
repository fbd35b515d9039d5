//! Conditions and negotiation: entity tags, `If-Match`, `If-None-Match` (RFC 9110 13), `Accept` (RFC 9110 12.5.1), and the age of answers.

use std::fmt;
use std::time::Duration;

use hyper::header::{ACCEPT, CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use ring::digest::{SHA256, digest};

use super::snapshots::MAX_ACCEPTED_AGE;

/// A strong entity tag: two representations with the same tag have the same octets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag(String);

impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

impl EntityTag {
    /// The tag of a representation: the first 128 bits of its SHA-256.
    #[must_use]
    pub fn of(octets: &[u8]) -> Self {
        let digest = digest(&SHA256, octets);
        EntityTag(data_encoding::HEXLOWER.encode(&digest.as_ref()[..16]))
    }

    /// The value of the header `ETag`.
    pub(super) fn header(&self) -> HeaderValue {
        // hexadecimal digits are visible ASCII
        HeaderValue::from_str(&self.to_string()).unwrap_or(HeaderValue::from_static("\"\""))
    }

    /// Whether a request may change the resource with this tag: it has no `If-Match`, or one that names the tag. Strong
    /// comparison: a weak tag does not match.
    pub(super) fn meets_if_match(&self, headers: &HeaderMap) -> bool {
        let own = self.to_string();
        listed(headers, &IF_MATCH).is_none_or(|tags| tags.iter().any(|tag| *tag == own || tag == "*"))
    }
}

/// Whether the client has the representation with this tag. Weak comparison.
pub(super) fn is_known(tag: &HeaderValue, headers: &HeaderMap) -> bool {
    let tags = listed(headers, &IF_NONE_MATCH).unwrap_or_default();
    tags.iter().any(|known| known == "*" || tag == known.strip_prefix("W/").unwrap_or(known))
}

/// Returns the members of a header that is a list; `None` without the header. Our tags contain no commas.
fn listed(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    headers.contains_key(name).then(|| {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        values.flat_map(|value| value.split(',').map(|tag| tag.trim().to_owned()).collect::<Vec<_>>()).collect()
    })
}

/// Whether a client accepts one of some media types. The most specific range decides about each.
pub(super) fn accepts(headers: &HeaderMap, produced: &[&str]) -> bool {
    let Some(ranges) = listed(headers, &ACCEPT) else { return true };
    let ranges: Vec<_> = ranges.iter().filter(|range| !range.is_empty()).map(|range| accepted(range)).collect();
    if ranges.is_empty() {
        return true;
    }
    let quality = |media_type: &str| {
        let group = media_type.split_once('/').map_or(media_type, |(group, _)| group);
        let matching = ranges.iter().filter_map(|(range, is_accepted)| {
            let specificity = match range.as_str() {
                "*/*" => 1,
                range if range.strip_suffix("/*") == Some(group) => 2,
                range if range == media_type => 3,
                _ => return None,
            };
            Some((specificity, *is_accepted))
        });
        matching.max().is_some_and(|(_, is_accepted)| is_accepted)
    };
    produced.iter().any(|media_type| quality(essence(media_type)))
}

/// Returns a media range without its parameters, and whether its weight is above zero.
fn accepted(range: &str) -> (String, bool) {
    let mut parts = range.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let is_zero = weight.is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0));
    (name, !is_zero)
}

/// A media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// The age up to which a read accepts an answer (`Cache-Control: max-age`, RFC 9111 5.2.1.1); `None` if it wants the present state.
pub(super) fn accepted_age(headers: &HeaderMap) -> Option<Duration> {
    let mut age_s = None;
    for directive in listed(headers, &CACHE_CONTROL)? {
        let (name, value) = directive.split_once('=').unwrap_or((&directive, ""));
        if name.eq_ignore_ascii_case("no-cache") {
            return None;
        }
        if name.eq_ignore_ascii_case("max-age") {
            age_s = value.parse::<u32>().ok().filter(|seconds| *seconds > 0);
        }
    }
    age_s.map(|seconds| Duration::from_secs(seconds.into()).min(MAX_ACCEPTED_AGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn tag_depends_on_the_octets() {
        let tag = EntityTag::of(b"a");
        assert_eq!(tag.to_string(), "\"ca978112ca1bbdcafac231b39a23dc4d\"");
        assert_eq!(tag, EntityTag::of(b"a"));
        assert_ne!(tag, EntityTag::of(b"b"));
    }

    #[test]
    fn if_match_needs_the_strong_tag_and_if_none_match_any() {
        let tag = EntityTag::of(b"a");
        const A: &str = "\"x\", \"ca978112ca1bbdcafac231b39a23dc4d\"";
        const WEAK: &str = "W/\"ca978112ca1bbdcafac231b39a23dc4d\"";
        assert!(tag.meets_if_match(&HeaderMap::new()) && !is_known(&tag.header(), &HeaderMap::new()));
        for (value, is_strong, known) in
            [(A, true, true), (WEAK, false, true), ("*", true, true), ("\"x\"", false, false), ("", false, false)]
        {
            assert_eq!(tag.meets_if_match(&headers(IF_MATCH, &[value])), is_strong, "{value}");
            assert_eq!(is_known(&tag.header(), &headers(IF_NONE_MATCH, &[value])), known, "{value}");
        }
        assert!(tag.meets_if_match(&headers(IF_MATCH, &["\"x\"", A])));
    }

    #[test]
    fn most_specific_media_range_decides() {
        let accepts = |values: &[&'static str], produced: &[&str]| super::accepts(&headers(ACCEPT, values), produced);
        let json = &["application/json"][..];
        for accepted in
            ["*/*", "application/*", "application/json", "text/html, APPLICATION/JSON;q=0.1", "", "text/html,*/*;q=0.8"]
        {
            assert!(accepts(&[accepted], json), "{accepted}");
        }
        for refused in ["text/html", "application/xml", "*/*, application/json;q=0", "*/*;q=0", "text/*", "application"]
        {
            assert!(!accepts(&[refused], json), "{refused}");
        }
        assert!(accepts(&[], json) && accepts(&["text/html", "application/json"], json));
        assert!(accepts(&["text/event-stream"], &["application/json", "text/event-stream"]));
        assert!(accepts(&["text/plain"], &["text/plain; version=0.0.4"]));
    }
}
