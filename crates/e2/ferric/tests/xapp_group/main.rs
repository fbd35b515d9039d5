//! xApps of several RICs that share nodes: a node is used at one RIC at a time and is followed to another one, no report comes twice.

#[path = "../common/mod.rs"]
mod common;
mod learned;
mod nodes;
mod services;
mod sessions;
mod support;
