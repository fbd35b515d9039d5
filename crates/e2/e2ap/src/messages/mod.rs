//! The messages, one file per elementary procedure. Each is declared by its wire table: one row per IE, one column per version.
//!
//! The columns are v01.00, v01.01, v02.03 and v03.01; `M` is mandatory, `O` optional, `_` not in that version.

mod configuration_update;
mod connection_update;
mod control;
mod error_indication;
mod indication;
mod query;
mod removal;
mod reset;
mod service_query;
mod service_update;
mod setup;
mod subscription;
mod subscription_delete;
mod subscription_modification;
mod subscription_modification_required;

pub use configuration_update::*;
pub use connection_update::*;
pub use control::*;
pub use error_indication::*;
pub use indication::*;
pub use query::*;
pub use removal::*;
pub use reset::*;
pub use service_query::*;
pub use service_update::*;
pub use setup::*;
pub use subscription::*;
pub use subscription_delete::*;
pub use subscription_modification::*;
pub use subscription_modification_required::*;
