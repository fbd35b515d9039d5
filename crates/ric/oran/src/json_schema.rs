//! JSON Schemas of documents that others write, and what conforms to them.

use std::collections::{HashMap, HashSet};

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

/// The most parts of a schema, with each reference replaced by what it refers to.
pub const MAX_SCHEMA_NODES: u64 = 10_000;
/// The most mistakes of a document that are named.
const MAX_MISTAKES: usize = 8;
/// The longest description of a mistake: it may repeat the value.
const MAX_MISTAKE_CHARACTERS: usize = 200;

/// A schema that was checked.
pub(crate) struct Schema(Validator);

impl Schema {
    /// Compiles a schema: draft 7, unless it names another.
    ///
    /// # Errors
    /// Why it is none, or could take too long.
    pub fn new(schema: &Value) -> Result<Self, String> {
        Expansion { root: schema, sizes: HashMap::new(), open: HashSet::new() }.check()?;
        let mut options = jsonschema::options().with_pattern_options(PatternOptions::regex());
        if schema.get("$schema").is_none() {
            options = options.with_draft(Draft::Draft7);
        }
        let mut schema = schema.clone();
        remove_names(&mut schema);
        options
            .build(&schema)
            .map(Schema)
            .map_err(|error| shortened(&format!("{}: {error}", place(error.schema_path()))))
    }

    /// Returns what is wrong with a document: the member and why, nothing if it conforms.
    pub fn mistakes(&self, document: &Value) -> Vec<(String, String)> {
        let mistakes = self.0.iter_errors(document).take(MAX_MISTAKES);
        mistakes.map(|error| (place(error.instance_path()), shortened(&error.to_string()))).collect()
    }
}

/// Removes the names that generators of schemas give to each part, `"$id": "#/properties/name"`: nothing refers to them.
fn remove_names(part: &mut Value) {
    match part {
        Value::Array(items) => items.iter_mut().for_each(remove_names),
        Value::Object(members) => {
            if is_name(members.get("$id")) {
                members.remove("$id");
            }
            let values = ["const", "default", "enum", "examples"];
            members
                .iter_mut()
                .filter(|(name, _)| !values.contains(&name.as_str()))
                .for_each(|(_, of)| remove_names(of));
        }
        _ => {}
    }
}

fn is_name(id: Option<&Value>) -> bool {
    id.and_then(Value::as_str).is_some_and(|id| id.starts_with('#'))
}

fn place(pointer: &impl ToString) -> String {
    match pointer.to_string() {
        root if root.is_empty() => "/".to_owned(),
        pointer => pointer,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_MISTAKE_CHARACTERS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Counts the parts of a schema with its references replaced, and refuses those that cannot be.
struct Expansion<'s> {
    root: &'s Value,
    /// Of parts that were counted, by their address.
    sizes: HashMap<*const Value, u64>,
    /// References that are being replaced.
    open: HashSet<&'s str>,
}

impl<'s> Expansion<'s> {
    fn check(mut self) -> Result<(), String> {
        let size = self.size(self.root)?;
        if size > MAX_SCHEMA_NODES {
            return Err(format!("with its references replaced it has more than {MAX_SCHEMA_NODES} parts"));
        }
        Ok(())
    }

    fn size(&mut self, part: &'s Value) -> Result<u64, String> {
        let known = std::ptr::from_ref(part);
        if let Some(size) = self.sizes.get(&known) {
            return Ok(*size);
        }
        let mut size = 1_u64;
        match part {
            Value::Array(items) => {
                for item in items {
                    size = size.saturating_add(self.size(item)?);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let of_member = match (name.as_str(), member) {
                        ("$ref", Value::String(reference)) => self.referred(reference)?,
                        ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                            return Err(format!("`{name}` is not supported"));
                        }
                        // another base would give references another meaning
                        ("$id" | "id", Value::String(_))
                            if !std::ptr::eq(part, self.root) && !is_name(members.get("$id")) =>
                        {
                            return Err(format!("`{name}` is supported at the top only"));
                        }
                        _ => self.size(member)?,
                    };
                    size = size.saturating_add(of_member);
                }
            }
            _ => {}
        }
        self.sizes.insert(known, size);
        Ok(size)
    }

    fn referred(&mut self, reference: &'s str) -> Result<u64, String> {
        let pointer = reference.strip_prefix('#').filter(|pointer| pointer.starts_with('/'));
        let target = pointer.filter(|pointer| !pointer.contains('%')).and_then(|pointer| self.root.pointer(pointer));
        let target = target.ok_or_else(|| {
            format!("`$ref`: `{}` is not a part of the schema, written as `#/definitions/NAME`", shortened(reference))
        })?;
        if !self.open.insert(reference) {
            return Err(format!("`$ref`: `{}` refers to itself", shortened(reference)));
        }
        let size = self.size(target);
        self.open.remove(reference);
        size
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(schema: &Value) -> String {
        Schema::new(schema).err().unwrap_or_else(|| panic!("accepted: {schema}"))
    }

    #[test]
    fn mistakes_name_the_member() {
        let schema = json!({
            "type": "object",
            "properties": {
                "threshold": { "type": "integer", "minimum": 0 },
                "cells": { "type": "array", "items": { "$ref": "#/definitions/cell" } },
            },
            "required": ["threshold"],
            "additionalProperties": false,
            "definitions": { "cell": { "type": "string", "pattern": "^[0-9a-f]+$" } },
        });
        let schema = Schema::new(&schema).unwrap();
        assert_eq!(schema.mistakes(&json!({ "threshold": 5, "cells": ["0a"] })), []);
        let places = |policy: Value| schema.mistakes(&policy).into_iter().map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!(places(json!({ "threshold": -1 })), ["/threshold"]);
        assert_eq!(places(json!({ "threshold": 1, "cells": ["0a", "x"] })), ["/cells/1"]);
        assert_eq!(places(json!({})), ["/"]);
        assert!(schema.mistakes(&json!({ "threshold": 1, "other": 1 }))[0].1.contains("other"));
        assert!(schema.mistakes(&json!({ "threshold": "x".repeat(5000) }))[0].1.chars().count() <= 201);
    }

    #[test]
    fn schema_that_could_take_long_or_leave_the_document_is_refused() {
        assert!(
            refusal(&json!({ "$ref": "#/definitions/a", "definitions": { "a": { "$ref": "#/definitions/a" } } }))
                .contains("itself")
        );
        let mutual = json!({
            "properties": { "x": { "$ref": "#/definitions/a" } },
            "definitions": { "a": { "items": { "$ref": "#/definitions/b" } }, "b": { "items": { "$ref": "#/definitions/a" } } },
        });
        assert!(refusal(&mutual).contains("itself"));
        assert!(refusal(&json!({ "allOf": [{ "$ref": "#" }] })).contains("not a part"));
        assert!(refusal(&json!({ "$ref": "https://other.example/schema" })).contains("not a part"));
        assert!(refusal(&json!({ "$ref": "#/definitions/none" })).contains("not a part"));
        assert!(refusal(&json!({ "properties": { "a": { "$id": "x" } } })).contains("at the top only"));
        let named =
            json!({ "$id": "#/controls", "properties": { "a": { "$id": "#/properties/a", "type": "string" } } });
        assert_eq!(Schema::new(&named).unwrap().mistakes(&json!({ "a": 1 })).len(), 1, "names of parts have no effect");
        assert!(refusal(&json!({ "$dynamicRef": "#x" })).contains("not supported"));
        // each part doubles the one before
        let mut definitions = serde_json::Map::new();
        definitions.insert("d0".to_owned(), json!({ "type": "string" }));
        for at in 1..40 {
            let before = json!({ "$ref": format!("#/definitions/d{}", at - 1) });
            definitions.insert(format!("d{at}"), json!({ "anyOf": [before.clone(), before] }));
        }
        let schema = json!({ "$ref": "#/definitions/d39", "definitions": definitions });
        assert!(refusal(&schema).contains("more than 10000 parts"));
    }

    #[test]
    fn what_is_no_schema_is_refused_with_its_place() {
        let text = refusal(&json!({ "properties": { "a": { "type": "nonsense" } } }));
        assert!(text.starts_with('/'), "{text}");
        assert!(!refusal(&json!({ "properties": { "a": { "pattern": "(" } } })).is_empty());
        assert!(
            Schema::new(&json!({ "properties": { "id": { "type": "string" } } })).is_ok(),
            "a member that is named id"
        );
    }
}
