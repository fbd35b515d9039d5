//! The REST interface over real HTTP, with real callbacks.

mod conformance;
mod directory;
mod live;
mod openapi;
mod openapi_tools;
mod queries;
mod statuses;
mod subscriptions;
mod support;
mod tenancy;
mod tenants;
mod tokens;
mod v1;
