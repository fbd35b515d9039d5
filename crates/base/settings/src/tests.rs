use std::net::Ipv4Addr;

use super::*;

const ROOT: TableKeys = TableKeys {
    name: "the file",
    keys: &["seed", "speed", "enabled", "name", "mode", "address", "nodes", "functions", "limits", "worker"],
};
const LIMITS: TableKeys = TableKeys { name: "[limits]", keys: &["octets", "entry"] };
const ENTRY: TableKeys = TableKeys { name: "[[limits.entry]]", keys: &["id"] };
const WORKER: TableKeys = TableKeys { name: "[[worker]]", keys: &["id", "limits"] };

/// Reads every key that [`ROOT`] has.
fn read_all(text: &str) -> Result<(), Error> {
    let document = Document::parse(text)?;
    let root = document.root(&ROOT)?;
    root.integer::<u32>("seed", 0..=100)?;
    root.number("speed", 0.5..=2.0)?;
    root.boolean("enabled")?;
    root.text("name", "a name")?;
    root.choice("mode", &[("am", 1), ("um", 2)])?;
    root.parsed::<Ipv4Addr>("address", "an IPv4 address")?;
    root.parsed_texts::<Ipv4Addr>("nodes", 2, "an IPv4 address")?;
    root.elements("functions", 3, "an OID or an id")?;
    if let Some(limits) = root.table("limits", &LIMITS)? {
        limits.integer::<u64>("octets", 1..=i64::MAX)?.ok_or_else(|| limits.missing("octets", "a number of octets"))?;
        limits.tables("entry", &ENTRY, 2)?;
    }
    for worker in root.tables("worker", &WORKER, 2)? {
        if worker.table("limits", &LIMITS)?.is_some() && !worker.contains("id") {
            return Err(worker.invalid_table("limits require an id"));
        }
    }
    Ok(())
}

fn error(text: &str) -> String {
    read_all(text).unwrap_err().to_string()
}

#[test]
fn values_are_read_with_their_types() {
    let text = "seed = 0x1_0\nspeed = 1\nenabled = true\nname = \"a\"\nmode = \"um\"\naddress = \"10.0.0.1\"\n\
                nodes = [\"10.0.0.2\"]\nfunctions = [\"*\", 7]\n[limits]\noctets = 1_000\n[[worker]]\n[[worker]]\nid = 2\n";
    read_all(text).unwrap();
    let document = Document::parse(text).unwrap();
    let root = document.root(&ROOT).unwrap();
    assert_eq!(root.integer("seed", 0..=100), Ok(Some(16_u8)));
    assert_eq!(root.number("speed", 0.5..=2.0), Ok(Some(1.0)));
    assert_eq!(root.boolean("enabled"), Ok(Some(true)));
    assert_eq!(root.text("name", ""), Ok(Some("a")));
    assert_eq!(root.choice("mode", &[("am", 1), ("um", 2)]), Ok(Some(2)));
    assert_eq!(root.parsed("address", ""), Ok(Some(Ipv4Addr::new(10, 0, 0, 1))));
    assert_eq!(root.parsed_texts("nodes", 9, ""), Ok(Some(vec![Ipv4Addr::new(10, 0, 0, 2)])));
    assert_eq!(root.elements("functions", 9, ""), Ok(Some(vec![Element::Text("*"), Element::Integer(7)])));
    let workers = root.tables("worker", &WORKER, 2).unwrap();
    let paths: Vec<&str> = workers.iter().map(Table::path).collect();
    assert_eq!(paths, ["worker[0]", "worker[1]"]);
    assert_eq!(workers[1].present_keys().collect::<Vec<_>>(), ["id"]);
}

#[test]
fn absent_keys_are_none() {
    read_all("").unwrap();
    let document = Document::parse("").unwrap();
    let root = document.root(&ROOT).unwrap();
    assert_eq!(root.integer::<u8>("seed", 0..=1), Ok(None));
    assert_eq!(root.texts("nodes", 1, ""), Ok(None));
    assert!(root.table("limits", &LIMITS).unwrap().is_none());
    assert!(root.tables("worker", &WORKER, 1).unwrap().is_empty());
}

#[test]
fn mistakes_are_located() {
    for (text, expected) in [
        ("seed = [", "line 1: "),
        ("\n\nsede = 1", "line 3: unknown key `sede`; did you mean `seed`?"),
        ("\"sede\\n\" = 1", "line 1: unknown key `sede\\n`; did you mean `seed`?"),
        ("quantum = 1", "line 1: unknown key `quantum`; the keys of the file are seed, speed, "),
        ("\"\" = 1", "line 1: unknown key ``; the keys of the file are seed, "),
        ("[limits]\nentry = [{ id = 1 }, { di = 1 }]\noctets = 1", "line 2: limits.entry[1]: unknown key `di`"),
        ("seed = 101", "line 1: seed: 101 is out of range 0 to 100"),
        ("seed = 0.5", "line 1: seed: expected an integer from 0 to 100"),
        ("seed = 9223372036854775808", "line 1: seed: expected an integer from 0 to 100"),
        ("speed = 3.0", "line 1: speed: 3 is out of range 0.5 to 2"),
        ("speed = nan", "line 1: speed: NaN is out of range 0.5 to 2"),
        ("speed = \"1\"", "line 1: speed: expected a number from 0.5 to 2"),
        ("enabled = 1", "line 1: enabled: expected true or false"),
        ("name = 1", "line 1: name: expected a string: a name"),
        ("mode = \"tm\"", "line 1: mode: \"tm\" is not one of \"am\", \"um\""),
        ("mode = 1", "line 1: mode: expected a string: \"am\", \"um\""),
        ("address = \"x\"", "line 1: address: invalid IPv4 address syntax"),
        ("nodes = \"10.0.0.1\"", "line 1: nodes: expected an array: an IPv4 address"),
        ("nodes = [\"10.0.0.1\", \"x\"]", "line 1: nodes[1]: invalid IPv4 address syntax"),
        ("nodes = [1]", "line 1: nodes[0]: expected a string: an IPv4 address"),
        ("nodes = [\"\", \"\", \"\"]", "line 1: nodes: 3 elements; at most 2 are allowed"),
        ("functions = [1, 0.5]", "line 1: functions[1]: expected an OID or an id"),
        ("limits = 1", "line 1: limits: expected a table, as in [limits]"),
        ("\n[limits]", "line 2: limits: missing key `octets`: a number of octets"),
        ("worker = 1", "line 1: worker: expected tables, as in [[worker]]"),
        ("worker = [1]", "line 1: worker: expected tables, as in [[worker]]"),
        ("[[worker]]\n[[worker]]\n[[worker]]", "line 1: worker: 3 tables; at most 2 are allowed"),
        ("[[worker]]\nlimits = 1", "line 2: worker[0]: limits: expected a table, as in [worker.limits]"),
        ("[[worker]]\n[worker.limits]", "line 1: worker[0]: limits require an id"),
    ] {
        let found = error(text);
        assert!(found.starts_with(expected), "{text:?}: {found}\n    expected {expected}");
    }
}

#[test]
#[should_panic = "speeed is not a key of this table"]
fn undeclared_key_is_a_bug() {
    let document = Document::parse("").unwrap();
    drop(document.root(&ROOT).unwrap().number("speeed", 0.0..=1.0));
}

#[test]
fn changed_keys_are_those_with_another_value() {
    let before = "a = 1\nb = [1, 2]\n[c]\nx = 1\n[[d]]\ny = 1\n";
    assert_eq!(
        changed_keys(before, "# other order\nb = [ 1,2 ]\na = 1\n[[d]]\ny = 1\n[c]\nx = 1\n"),
        Vec::<String>::new()
    );
    assert_eq!(changed_keys(before, "b = [2, 1]\ne = 1\n[c]\nx = 2\n[[d]]\ny = 1\n"), ["a", "b", "c", "e"]);
}
