//! The document that tells what REST offers: OpenAPI 3.1.

use hyper::Method;

use crate::rest::{Response, Route};

/// The document.
const DOCUMENT: &str = include_str!("../openapi.json");

pub(crate) fn route() -> Route {
    Route::new(Method::GET, "/v1/openapi.json", |_| Ok(Response::text("application/json", DOCUMENT)))
}
