//! Information elements.

mod actions;
mod cause;
mod component;
mod diagnostics;
mod functions;
mod identifiers;
mod identity;
mod tnl;

pub use actions::*;
pub use cause::*;
pub use component::*;
pub use diagnostics::*;
pub use functions::*;
pub use identifiers::*;
pub use identity::*;
pub use tnl::*;
