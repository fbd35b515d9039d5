//! The MEC platform (MEC 011): what the service registers at, and a small platform of its own where there is none.

mod availability;
mod embedded;
mod registration;
mod service_info;

pub use embedded::EmbeddedPlatform;
pub use registration::{PlatformConfig, PlatformError, PlatformEvent, Registration, TerminationReports};
pub use service_info::{
    CategoryRef, EndPointInfo, LinkType, Locality, OAuth2Info, SecurityInfo, Serializer, ServiceInfo, ServiceLinks,
    ServiceState, TransportInfo, TransportType, rnis_services,
};

/// The root of MEC 011's service management interface.
const SERVICE_MANAGEMENT: &str = "/mec_service_mgmt/v1";
/// The root of MEC 011's application support interface.
const APPLICATION_SUPPORT: &str = "/mec_app_support/v1";
