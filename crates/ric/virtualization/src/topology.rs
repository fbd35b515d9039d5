//! Abstraction of topologies (FlexRIC paper, 6.2 and figure 14b): the parts of a disaggregated gNB, its CU-CP, CU-UPs and DUs, are one
//! base station towards another controller; or one CU with n DUs is n base stations.
//!
//! The app is an agent towards that controller. Each RAN function of a base station is one of a part, to which requests are passed on,
//! so a control goes to the part that has the function. KPM is one function with the measurements of all parts, and CCC
//! one with their configuration structures.
//!
//! | a base station with | has the functions of |
//! |---|---|
//! | all DUs of a gNB | all parts |
//! | no DUs, since the gNB is in one piece | the gNB |
//! | some DUs of a gNB | these DUs; of the CU those whose content is divided by UE: RRC, RC, KPM, PDCP, GTP |

mod actions;
mod app;
mod ccc;
mod controls;
mod exposed;
mod file;
mod function;
mod inserts;
mod kpm;
mod merged;
mod offers;
mod periods;
mod station;
mod ues;
mod view;

pub use app::add_to;
pub use file::{ExposedStation, Topology};
