//! Parameters of paths and queries, as routes declare them.

use std::borrow::Cow;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::Problem;

/// A parameter of a path or of a query, by its name.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: fn(&mut SchemaGenerator) -> schemars::Schema,
    pub(super) choices: &'static [&'static str],
    pub(super) is_required: bool,
}

impl Parameter {
    /// A parameter whose values have the schema of a type.
    #[must_use]
    pub const fn of<T: JsonSchema>(name: &'static str, description: &'static str) -> Self {
        Parameter { name, description, schema: SchemaGenerator::subschema_for::<T>, choices: &[], is_required: false }
    }

    /// A parameter that is any text.
    #[must_use]
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Parameter::of::<String>(name, description)
    }

    /// A parameter that is one of some words.
    #[must_use]
    pub const fn choice(name: &'static str, description: &'static str, choices: &'static [&'static str]) -> Self {
        Parameter { choices, ..Parameter::text(name, description) }
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Requires it in a query. Parameters of paths always are.
    #[must_use]
    pub const fn required(self) -> Self {
        Parameter { is_required: true, ..self }
    }
}

/// The query of a request: its parameters, decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(&'static str, String)>);

/// The most parameters of a query.
const MAX_PARAMETERS: usize = 64;

impl Query {
    /// Reads a query with the parameters that a route declares. Each may occur once. Others are an error, or with `ignores_others`
    /// skipped.
    pub fn parse(text: &str, declared: &[Parameter], ignores_others: bool) -> Result<Self, Problem> {
        let mut given: Vec<(&'static str, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()).take(MAX_PARAMETERS) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let malformed = || Problem::bad_request(format!("the query `{pair}` is not percent-encoded UTF-8"));
            let name = decoded(name, true).ok_or_else(malformed)?;
            let value = decoded(value, true).ok_or_else(malformed)?;
            let Some(parameter) = declared.iter().find(|parameter| parameter.name == name) else {
                if ignores_others {
                    continue;
                }
                return Err(unknown(&name, declared));
            };
            let refused = |why: String| Problem::bad_request(format!("{name}: {why}")).with("at", &*name);
            if given.iter().any(|(known, _)| *known == name) {
                return Err(refused("the parameter is repeated".into()));
            }
            if !parameter.choices.is_empty() && !parameter.choices.contains(&&*value) {
                return Err(refused(format!("`{value}` is none of {}", parameter.choices.join(", "))));
            }
            given.push((parameter.name, value.into_owned()));
        }
        if text.split('&').nth(MAX_PARAMETERS).is_some() {
            return Err(Problem::bad_request(format!("more than {MAX_PARAMETERS} query parameters")));
        }
        let missing = |parameter: &&Parameter| {
            parameter.is_required && given.iter().all(|(name, value)| *name != parameter.name || value.is_empty())
        };
        if let Some(missing) = declared.iter().find(missing) {
            let Parameter { name, description, .. } = missing;
            return Err(Problem::bad_request(format!("{name}: missing: {description}")).with("at", *name));
        }
        Ok(Query(given))
    }

    /// Returns the value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }
}

fn unknown(name: &str, declared: &[Parameter]) -> Problem {
    let problem = |detail: String| Problem::bad_request(detail).with("at", Value::from(name));
    if declared.is_empty() {
        return problem(format!("the resource has no query parameters: `{name}`"));
    }
    let near = declared.iter().map(|known| (strsim::damerau_levenshtein(name, known.name), known.name)).min();
    let names: Vec<_> = declared.iter().map(|parameter| parameter.name).collect();
    problem(match near.filter(|(distance, _)| *distance <= 3) {
        Some((_, near)) => format!("unknown query parameter `{name}`; did you mean `{near}`?"),
        None => format!("unknown query parameter `{name}`; there are {}", names.join(", ")),
    })
}

/// Removes the percent encoding (RFC 3986 2.1), and in a query also `+` for a space; `None` if the result is not UTF-8.
pub(super) fn decoded(part: &str, is_query: bool) -> Option<Cow<'_, str>> {
    if !part.contains(['%', '+']) {
        return Some(Cow::Borrowed(part));
    }
    let mut octets = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                // two hexadecimal digits are at most 255
                (digit()? * 16 + digit()?) as u8
            }
            b'+' if is_query => b' ',
            octet => octet,
        });
    }
    String::from_utf8(octets).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: [Parameter; 3] = [
        Parameter::text("cell", "the cell").required(),
        Parameter::of::<u32>("period_ms", "the period"),
        Parameter::choice("form", "the form", &["short", "long"]),
    ];

    #[track_caller]
    fn is_refused(text: &str, pieces: &[&str]) {
        let problem = Query::parse(text, &DECLARED, false).unwrap_err();
        assert_eq!(problem.status(), 400);
        pieces.iter().for_each(|piece| assert!(problem.detail().contains(piece), "{problem:?}"));
    }

    #[test]
    fn declared_parameters_are_read() {
        let query = Query::parse("cell=nr-1%2b+x&&period_ms=10&form=long", &DECLARED, false).unwrap();
        assert_eq!(query.get("cell"), Some("nr-1+ x"));
        assert_eq!((query.get("period_ms"), query.get("form"), query.get("other")), (Some("10"), Some("long"), None));
        assert_eq!(decoded("a+b", false).as_deref(), Some("a+b"));
    }

    #[test]
    fn unknown_repeated_malformed_and_missing_parameters_are_refused() {
        is_refused("cell=a&perod_ms=1", &["unknown query parameter `perod_ms`", "did you mean `period_ms`?"]);
        is_refused("cell=a&something=1", &["there are cell, period_ms, form"]);
        is_refused("cell=a&cell=a", &["cell: the parameter is repeated"]);
        is_refused("cell=a&form=wide", &["form: `wide` is none of short, long"]);
        is_refused("cell=%f", &["not percent-encoded"]);
        is_refused("cell=%ff", &["not percent-encoded"]);
        is_refused("", &["cell: missing: the cell"]);
        is_refused("cell=", &["cell: missing"]);
        is_refused(&format!("cell=a&{}", "x&".repeat(100)), &["unknown query parameter `x`"]);
        let many = Query::parse(&format!("cell=a&{}", "x&".repeat(100)), &DECLARED, true).unwrap_err();
        assert!(many.detail().contains("more than 64"), "{many:?}");
        let query = Query::parse("cell=a&x=1", &DECLARED, true).unwrap();
        assert_eq!(query.get("x"), None);
        let none = Query::parse("x=1", &[], false).unwrap_err();
        assert!(none.detail().contains("has no query parameters: `x`"), "{none:?}");
    }
}
