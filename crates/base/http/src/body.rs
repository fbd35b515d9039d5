//! Request bodies: JSON without unknown fields.

use std::fmt;
use std::marker::PhantomData;

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use super::Problem;

/// Reads a body. Its content type must be JSON, which a browser does not send to another origin without a preflight request:
/// no web page can use a service on its visitor's host.
pub(super) fn read<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Problem> {
    let media_type = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let essence = media_type.as_deref().unwrap_or("").split(';').next().unwrap_or("").trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let received = if essence.is_empty() { "none".to_owned() } else { format!("`{essence}`") };
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("the content type is {received}, not `application/json` (curl: --json)"),
        ));
    }
    // serde would accept a list of values as an object
    let first = body.iter().find(|octet| !octet.is_ascii_whitespace());
    if matches!(first, Some(b'[' | b'"' | b'0'..=b'9' | b'-' | b't' | b'f' | b'n')) {
        return Err(Problem::unprocessable("the body is not a JSON object"));
    }
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        explain(Some(path).filter(|path| path != "."), error.inner())
    })?;
    reader.end().map_err(|error| explain(None, &error))?;
    Ok(value)
}

fn explain(path: Option<String>, error: &serde_json::Error) -> Problem {
    let mut detail = match &path {
        Some(path) => format!("{path}: {error}"),
        None => error.to_string(),
    };
    if let Some(nearest) = nearest_name(&error.to_string()) {
        detail = format!("{detail}; did you mean `{nearest}`?");
    }
    let problem = match error.classify() {
        Category::Data => Problem::unprocessable(detail),
        Category::Syntax | Category::Eof | Category::Io => Problem::bad_request(format!("not JSON: {detail}")),
    };
    match path {
        Some(path) => problem.with("at", path),
        None => problem,
    }
}

/// Returns the known name that is nearest to an unknown one, from serde's message: unknown field `a`, expected one of `b`, `c`.
fn nearest_name(message: &str) -> Option<&str> {
    let names = message.strip_prefix("unknown field `").or_else(|| message.strip_prefix("unknown variant `"))?;
    let (unknown, names) = names.split_once('`')?;
    // the known names are between backticks
    let known = names.split('`').skip(1).step_by(2);
    let near = known.map(|name| (strsim::damerau_levenshtein(unknown, name), name)).min();
    near.filter(|(distance, _)| *distance <= 3).map(|(_, name)| name)
}

/// Reads an optional field that must not be null, whose meaning would be unclear: for `deserialize_with`.
///
/// # Errors
/// If the value is null, or not of the type.
pub fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads a field that is an object, and no list of its values, which serde accepts as well: for `deserialize_with`.
///
/// # Errors
/// If the value is no object, or not of the type.
pub fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Members<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(members))
        }
    }

    deserializer.deserialize_map(Members(PhantomData))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        slices: Vec<Inner>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        share_percent: f32,
        label: Option<String>,
    }

    fn read(media_type: &'static str, body: &str) -> Result<Outer, Problem> {
        let headers = [(CONTENT_TYPE, HeaderValue::from_static(media_type))].into_iter().collect();
        super::read(&headers, body.as_bytes())
    }

    #[track_caller]
    fn is_refused(body: &str, status: u16, pieces: &[&str]) {
        let problem = read("application/json", body).unwrap_err();
        assert_eq!(problem.status(), status, "{problem:?}");
        let detail = problem.document()["detail"].as_str().unwrap().to_owned();
        pieces.iter().for_each(|piece| assert!(detail.contains(piece), "{detail}"));
    }

    #[test]
    fn known_fields_are_read_with_any_charset() {
        let body = r#"{"slices": [{"share_percent": 50, "label": "reserved"}]}"#;
        let inner = Inner { share_percent: 50.0, label: Some("reserved".into()) };
        assert_eq!(read("application/JSON; charset=utf-8", body), Ok(Outer { slices: vec![inner] }));
    }

    #[test]
    fn unknown_field_is_refused_with_its_path_and_the_nearest_name() {
        let body = r#"{"slices": [{"shre_percent": 50}]}"#;
        is_refused(
            body,
            422,
            &["slices[0].shre_percent: unknown field `shre_percent`", "did you mean `share_percent`?"],
        );
        assert_eq!(read("application/json", body).unwrap_err().document()["at"], "slices[0].shre_percent");
        // no name is near: the message lists all
        is_refused(r#"{"quantum": 1}"#, 422, &["unknown field `quantum`, expected `slices`"]);
        is_refused(
            r#"{"slices": [{"share_percent": "half"}]}"#,
            422,
            &["slices[0].share_percent: invalid type: string"],
        );
        is_refused(r#"{"slices": [{}]}"#, 422, &["slices[0]: missing field `share_percent`"]);
        is_refused("{}", 422, &["missing field `slices`"]);
        for other in ["[[{\"share_percent\": 50}]]", "7", "-7", "\"half\"", "true", "null"] {
            is_refused(other, 422, &["not a JSON object"]);
        }
    }

    #[test]
    fn optional_field_is_not_null() {
        #[derive(Debug, Deserialize)]
        struct Optional {
            #[serde(default, deserialize_with = "not_null")]
            dl: Option<u32>,
        }
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
        let read = |body: &str| super::read::<Optional>(&headers, body.as_bytes()).map(|read| read.dl);
        assert_eq!(read("{}"), Ok(None));
        assert_eq!(read("{\"dl\": 1}"), Ok(Some(1)));
        let problem = read("{\"dl\": null}").unwrap_err();
        assert_eq!((problem.status().as_u16(), &problem.document()["at"]), (422, &"dl".into()));
    }

    #[test]
    fn object_is_no_list() {
        #[derive(Debug, Default, Deserialize, PartialEq)]
        #[serde(default, deny_unknown_fields)]
        struct Bounds {
            dl: u32,
        }
        #[derive(Debug, Deserialize)]
        struct Outer {
            #[serde(deserialize_with = "object")]
            bounds: Bounds,
        }
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
        let read = |body: &str| super::read::<Outer>(&headers, body.as_bytes()).map(|read| read.bounds);
        assert_eq!(read("{\"bounds\": {\"dl\": 1}}"), Ok(Bounds { dl: 1 }));
        for (body, at) in [
            ("{\"bounds\": []}", "bounds"),
            ("{\"bounds\": 1}", "bounds"),
            ("{\"bounds\": {\"dl\": \"x\"}}", "bounds.dl"),
            ("{\"bounds\": {\"ul\": 1}}", "bounds.ul"),
        ] {
            let problem = read(body).unwrap_err();
            assert_eq!((problem.status().as_u16(), &problem.document()["at"]), (422, &at.into()), "{body}");
        }
    }

    #[test]
    fn malformed_json_is_refused_with_its_line() {
        is_refused("", 400, &["not JSON", "line 1 column 0"]);
        is_refused("{\"slices\": [\n}", 400, &["not JSON", "line 2"]);
        is_refused("{\"slices\": []} {}", 400, &["not JSON", "trailing characters"]);
        is_refused(&"[".repeat(100_000), 422, &["not a JSON object"]);
        is_refused(&format!("{{\"slices\": {}", "[".repeat(100_000)), 422, &["slices[0]"]);
        is_refused("\u{0}\u{1}", 400, &["not JSON"]);
    }

    #[test]
    fn other_content_types_are_refused() {
        for other in ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"] {
            assert_eq!(read(other, "{\"slices\": []}").unwrap_err().status(), 415, "{other}");
        }
    }
}
