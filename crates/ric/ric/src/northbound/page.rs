//! `/`: the live page. Its sources and its built files are in `crates/ric/ric/page`; `scripts/page` builds them.

use rest::Route;

/// The files of the page: path, media type and content.
const FILES: [(&str, &str, &[u8]); 4] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../page/dist/index.html")),
    ("/page/page.js", "text/javascript; charset=utf-8", include_bytes!("../../page/dist/page.js")),
    ("/page/page.css", "text/css; charset=utf-8", include_bytes!("../../page/dist/page.css")),
    ("/page/icon.svg", "image/svg+xml", include_bytes!("../../page/dist/icon.svg")),
];

/// Returns the routes.
pub(super) fn routes() -> impl Iterator<Item = Route> {
    FILES.into_iter().map(|(path, media_type, octets)| Route::file(path, media_type, octets))
}
