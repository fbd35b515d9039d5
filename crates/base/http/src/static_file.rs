//! Files of a page that are part of the program.

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderName, HeaderValue};

use super::operation::Operation;
use super::request::Response;
use super::route::Route;

/// What a page may load: files, data and streams of its own server, and nothing inline.
const PAGE: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
     manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
const CROSS_ORIGIN_OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

impl Route {
    /// The route of a file at a path: everybody may read it, and a browser asks whether it has changed before it uses a copy. It
    /// is not in the OpenAPI document.
    #[must_use]
    pub fn file(path: &'static str, media_type: &'static str, octets: &'static [u8]) -> Route {
        let operation = Operation::get(path, "", "").public().returns_media(media_type, "The file.").undocumented();
        Route::new(operation, move |_| {
            let mut response = Response::text(media_type, octets).tagged();
            response.headers.insert(CONTENT_SECURITY_POLICY, PAGE);
            response.headers.insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
            Ok(response)
        })
    }
}
