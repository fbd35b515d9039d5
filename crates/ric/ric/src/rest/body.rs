//! Bodies of requests: JSON, of which nothing is unknown.

use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;

use super::Problem;

/// Reads a body. A type that a browser sends without asking first is refused, so that no page that somebody looks at can
/// speak to a RIC on their host.
pub(super) fn read<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Problem> {
    let media_type = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let essence = media_type.as_deref().unwrap_or("").split(';').next().unwrap_or("").trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let came = if essence.is_empty() { "none".to_owned() } else { format!("`{essence}`") };
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("the content type is {came}, not `application/json` (curl: --json)"),
        ));
    }
    // serde would take a list of values for an object, too
    let first = body.iter().find(|octet| !octet.is_ascii_whitespace());
    if matches!(first, Some(b'[' | b'"' | b'0'..=b'9' | b'-' | b't' | b'f' | b'n')) {
        return Err(Problem::unprocessable("the body is no JSON object"));
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
    if let Some(nearest) = nearest(&error.to_string()) {
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

/// The known name that comes nearest to one that is not, from serde's words: unknown field `a`, expected one of `b`, `c`.
fn nearest(told: &str) -> Option<&str> {
    let names = told.strip_prefix("unknown field `").or_else(|| told.strip_prefix("unknown variant `"))?;
    let (unknown, names) = names.split_once('`')?;
    // what stands between backticks
    let known = names.split('`').skip(1).step_by(2);
    let near = known.map(|name| (strsim::damerau_levenshtein(unknown, name), name)).min();
    near.filter(|(distance, _)| *distance <= 3).map(|(_, name)| name)
}

/// A field that may be left out, and is not null: for `deserialize_with`. What null means where nobody says it is anybody's
/// guess.
pub(crate) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
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
    fn says(body: &str, status: u16, pieces: &[&str]) {
        let problem = read("application/json", body).unwrap_err();
        assert_eq!(problem.status, status, "{problem:?}");
        let detail = problem.document()["detail"].as_str().unwrap().to_owned();
        pieces.iter().for_each(|piece| assert!(detail.contains(piece), "{detail}"));
    }

    #[test]
    fn what_is_known_is_read_whatever_the_charset() {
        let body = r#"{"slices": [{"share_percent": 50, "label": "white"}]}"#;
        let inner = Inner { share_percent: 50.0, label: Some("white".into()) };
        assert_eq!(read("application/JSON; charset=utf-8", body), Ok(Outer { slices: vec![inner] }));
    }

    #[test]
    fn what_is_not_known_is_told_with_its_place_and_the_nearest_name() {
        let body = r#"{"slices": [{"shre_percent": 50}]}"#;
        says(body, 422, &["slices[0].shre_percent: unknown field `shre_percent`", "did you mean `share_percent`?"]);
        assert_eq!(read("application/json", body).unwrap_err().document()["at"], "slices[0].shre_percent");
        // nothing comes near: all are told
        says(r#"{"quantum": 1}"#, 422, &["unknown field `quantum`, expected `slices`"]);
        says(r#"{"slices": [{"share_percent": "half"}]}"#, 422, &["slices[0].share_percent: invalid type: string"]);
        says(r#"{"slices": [{}]}"#, 422, &["slices[0]: missing field `share_percent`"]);
        says("{}", 422, &["missing field `slices`"]);
        for other in ["[[{\"share_percent\": 50}]]", "7", "-7", "\"half\"", "true", "null"] {
            says(other, 422, &["no JSON object"]);
        }
    }

    #[test]
    fn what_may_be_left_out_is_not_null() {
        #[derive(Debug, Deserialize)]
        struct Optional {
            #[serde(default, deserialize_with = "given")]
            dl: Option<u32>,
        }
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))].into_iter().collect();
        let read = |body: &str| super::read::<Optional>(&headers, body.as_bytes()).map(|read| read.dl);
        assert_eq!(read("{}"), Ok(None));
        assert_eq!(read("{\"dl\": 1}"), Ok(Some(1)));
        let problem = read("{\"dl\": null}").unwrap_err();
        assert_eq!((problem.status.as_u16(), &problem.document()["at"]), (422, &"dl".into()));
    }

    #[test]
    fn what_is_not_json_is_told_with_its_line() {
        says("", 400, &["not JSON", "line 1 column 0"]);
        says("{\"slices\": [\n}", 400, &["not JSON", "line 2"]);
        says("{\"slices\": []} {}", 400, &["not JSON", "trailing characters"]);
        says(&"[".repeat(100_000), 422, &["no JSON object"]);
        says(&format!("{{\"slices\": {}", "[".repeat(100_000)), 422, &["slices[0]"]);
        says("\u{0}\u{1}", 400, &["not JSON"]);
    }

    #[test]
    fn another_type_is_refused() {
        for other in ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"] {
            assert_eq!(read(other, "{\"slices\": []}").unwrap_err().status, 415, "{other}");
        }
    }
}
