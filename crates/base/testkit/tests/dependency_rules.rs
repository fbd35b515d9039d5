//! Which crate may depend on which: the rules of ARCHITECTURE.md, checked against `cargo metadata`.
//!
//! The layer of a crate is its folder below `crates/`. Dependencies of tests count like all others, so that each
//! product builds and tests alone.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Layers that every product may use.
const FOUNDATION: [&str; 3] = ["base", "ap", "e2"];
/// Products: none depends on another.
const PRODUCTS: [&str; 5] = ["ran", "ric", "edge", "core", "host"];
/// Layers that compose products.
const COMPOSERS: [&str; 3] = ["bench", "bin", "examples"];

/// A crate of the workspace.
struct Package {
    layer: String,
    /// Crates of the workspace that it depends on, and whether only its tests do.
    dependencies: Vec<(String, bool)>,
}

type Workspace = BTreeMap<String, Package>;

/// The layers that a crate in `layer` may depend on; `None` when there is no such layer.
fn allowed_layers(layer: &str) -> Option<Vec<&str>> {
    match layer {
        "base" => Some(vec!["base"]),
        "ap" => Some(vec!["base", "ap"]),
        "e2" => Some(FOUNDATION.to_vec()),
        _ if PRODUCTS.contains(&layer) => Some([&FOUNDATION[..], &[layer]].concat()),
        _ if COMPOSERS.contains(&layer) => Some([&FOUNDATION[..], &PRODUCTS, &COMPOSERS].concat()),
        _ => None,
    }
}

/// Everything that breaks a rule, one sentence each.
fn violations(workspace: &Workspace) -> Vec<String> {
    let mut found = Vec::new();
    for (name, package) in workspace {
        let layer = &*package.layer;
        let Some(allowed) = allowed_layers(layer) else {
            found.push(format!("{name} lies in crates/{layer}, which is no layer of ARCHITECTURE.md"));
            continue;
        };
        for (dependency, _) in &package.dependencies {
            let other = &*workspace[dependency].layer;
            if !allowed.contains(&other) {
                found.push(format!(
                    "{name} ({layer}) depends on {dependency} ({other}); {layer} may depend on {allowed:?}"
                ));
            }
        }
        let linked = linked(workspace, name);
        if layer == "ric" {
            for other in linked.iter().filter(|other| workspace[**other].layer == "ran") {
                found.push(format!("{name}, a part of the controller, links {other}, a part of the emulated RAN"));
            }
        }
        if !COMPOSERS.contains(&layer) && linked.contains("ferric-testkit") {
            found.push(format!("{name} links ferric-testkit, which is for tests"));
        }
    }
    found
}

/// All crates of the workspace that a crate's library or program links.
fn linked<'a>(workspace: &'a Workspace, name: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut queue = vec![name];
    while let Some(name) = queue.pop() {
        for (dependency, is_for_tests) in &workspace[name].dependencies {
            if !is_for_tests && found.insert(&**dependency) {
                queue.push(dependency);
            }
        }
    }
    found
}

/// The workspace as Cargo has it.
fn metadata() -> Workspace {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let root = metadata["workspace_root"].as_str().unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let package = |package: &Value| {
        let folder = package["manifest_path"].as_str().unwrap().strip_prefix(root).unwrap();
        let folder = folder.trim_start_matches('/');
        let layer = folder.strip_prefix("crates/").unwrap_or(folder).split('/').next().unwrap().to_owned();
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let own = dependencies.filter(|dependency| names.contains(dependency["name"].as_str().unwrap()));
        // a crate whose tests use it with more features is one of its own dependencies
        let others = own.filter(|dependency| dependency["name"] != package["name"]);
        let dependencies =
            others.map(|dependency| (dependency["name"].as_str().unwrap().to_owned(), dependency["kind"] == "dev"));
        (package["name"].as_str().unwrap().to_owned(), Package { layer, dependencies: dependencies.collect() })
    };
    packages.iter().map(package).collect()
}

#[test]
fn workspace_keeps_dependency_rules() {
    let workspace = metadata();
    assert!(workspace.len() > 15, "only {} crates found", workspace.len());
    let found = violations(&workspace);
    assert!(found.is_empty(), "\n{}\nThe rules stand in ARCHITECTURE.md, \"Layers\".", found.join("\n"));
}

/// A workspace of `name: layer -> dependencies`; a dependency with `?` in front is one of tests.
fn workspace(crates: &[(&str, &str, &[&str])]) -> Workspace {
    let package = |(name, layer, dependencies): &(&str, &str, &[&str])| {
        let dependency = |name: &&str| (name.trim_start_matches('?').to_owned(), name.starts_with('?'));
        let dependencies = dependencies.iter().map(dependency).collect();
        (name.to_string(), Package { layer: layer.to_string(), dependencies })
    };
    crates.iter().map(package).collect()
}

#[test]
fn allowed_dependencies_are_accepted() {
    let good = workspace(&[
        ("ferric-testkit", "base", &[]),
        ("per", "base", &["?ferric-testkit"]),
        ("ngap", "ap", &["per"]),
        ("e2ap", "e2", &["ngap", "per"]),
        ("ran", "ran", &["e2ap", "?ferric-testkit"]),
        ("ric", "ric", &["e2ap"]),
        ("bench", "bench", &["ran", "ric", "ferric-testkit"]),
        ("program", "bin", &["ran", "ric"]),
    ]);
    assert_eq!(violations(&good), [""; 0]);
}

#[test]
fn each_broken_rule_is_reported() {
    let bad = workspace(&[
        ("ferric-testkit", "base", &[]),
        ("per", "base", &["e2ap"]),
        ("ngap", "ap", &[]),
        ("e2ap", "e2", &["ngap", "?ran"]),
        ("ran", "ran", &["ferric-testkit"]),
        ("plugin", "e2", &["ran"]),
        ("ric", "ric", &["plugin"]),
        ("upf", "core", &["?ric"]),
        ("odd", "misc", &[]),
    ]);
    let found = violations(&bad).join("\n");
    for expected in [
        "per (base) depends on e2ap (e2)",
        "e2ap (e2) depends on ran (ran)",
        "plugin (e2) depends on ran (ran)",
        "ric, a part of the controller, links ran, a part of the emulated RAN",
        "upf (core) depends on ric (ric)",
        "ran links ferric-testkit, which is for tests",
        "odd lies in crates/misc",
    ] {
        assert!(found.contains(expected), "not reported: {expected}\n{found}");
    }
}
