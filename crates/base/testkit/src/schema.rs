//! JSON Schema, as far as OpenAPI documents of the REST kit use it.

use serde_json::Value;

/// Returns the reason why `value`, at the place `at`, does not conform to `schema`; `None` if it does. References are resolved in
/// `document`.
///
/// # Panics
/// If the schema has something that is not supported, or a reference without a target.
#[must_use]
pub fn fault(value: &Value, schema: &Value, document: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return fault(value, document.pointer(&reference[1..]).unwrap(), document, at);
    }
    let is_of = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the document has the type {other}"),
    };
    let choices = |name: &str| schema[name].as_array().into_iter().flatten();
    if let Some(fault) = choices("allOf").find_map(|part| fault(value, part, document, at)) {
        return Some(fault);
    }
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is_of),
        name => is_of(name),
    };
    if !fits {
        return Some(format!("{at}: {value} is no {}", schema["type"]));
    }
    if let Some(known) = schema["enum"].as_array()
        && !known.contains(value)
    {
        return Some(format!("{at}: {value} is none of {known:?}"));
    }
    if schema.get("const").is_some_and(|constant| constant != value) {
        return Some(format!("{at}: {value} is not {}", schema["const"]));
    }
    let fitting = |name: &str| choices(name).filter(|choice| fault(value, choice, document, at).is_none()).count();
    if schema["oneOf"].is_array() && fitting("oneOf") != 1 || schema["anyOf"].is_array() && fitting("anyOf") == 0 {
        return Some(format!("{at}: {value} does not fit into the choices of {schema}"));
    }
    if let Some(items) = value.as_array() {
        let mut items = items.iter().enumerate();
        return items.find_map(|(n, item)| fault(item, &schema["items"], document, &format!("{at}[{n}]")));
    }
    let members = value.as_object()?;
    let mut required = schema["required"].as_array().into_iter().flatten();
    if let Some(missing) = required.find(|name| !members.contains_key(name.as_str().unwrap())) {
        return Some(format!("{at}: {missing} is missing"));
    }
    members.iter().find_map(|(name, member)| match schema["properties"].get(name) {
        Some(schema) => fault(member, schema, document, &format!("{at}.{name}")),
        None if schema["additionalProperties"] == false => Some(format!("{at}.{name} is not in the schema")),
        // answers have the members that their types declare, and no others
        None if schema["properties"].is_object() && schema["additionalProperties"].is_null() && at.is_empty() => {
            Some(format!("{name} is not in the schema"))
        }
        None => None,
    })
}
