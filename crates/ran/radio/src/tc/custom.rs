//! Custom parts of traffic control.

use std::fmt;
use std::sync::Arc;

use super::configuration::{ClassifierChoice, DisciplineChoice, PacerChoice, SchedulerChoice};
use super::{Classifier, Discipline, Pacer, Scheduler};

/// A factory of a custom part; each bearer has its own instance. Two factories are equal when one is a clone of the other.
pub struct Custom<P: ?Sized> {
    name: Arc<str>,
    make: Arc<dyn Fn() -> Box<P> + Send + Sync>,
}

impl<P: ?Sized> Custom<P> {
    /// The name of the part.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn make(&self) -> Box<P> {
        (self.make)()
    }
}

impl<P: ?Sized> Clone for Custom<P> {
    fn clone(&self) -> Self {
        Custom { name: self.name.clone(), make: self.make.clone() }
    }
}

impl<P: ?Sized> PartialEq for Custom<P> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl<P: ?Sized> fmt::Debug for Custom<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name).finish()
    }
}

impl ClassifierChoice {
    /// A custom part with a name; `make` creates an instance per bearer.
    pub fn custom<T: Classifier + 'static>(name: &str, make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let make = move || -> Box<dyn Classifier> { Box::new(make()) };
        ClassifierChoice::Custom(Custom { name: name.into(), make: Arc::new(make) })
    }
}

impl DisciplineChoice {
    /// A custom part with a name; `make` creates an instance per bearer.
    pub fn custom<T: Discipline + 'static>(name: &str, make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let make = move || -> Box<dyn Discipline> { Box::new(make()) };
        DisciplineChoice::Custom(Custom { name: name.into(), make: Arc::new(make) })
    }
}

impl SchedulerChoice {
    /// A custom part with a name; `make` creates an instance per bearer.
    pub fn custom<T: Scheduler + 'static>(name: &str, make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let make = move || -> Box<dyn Scheduler> { Box::new(make()) };
        SchedulerChoice::Custom(Custom { name: name.into(), make: Arc::new(make) })
    }
}

impl PacerChoice {
    /// A custom part with a name; `make` creates an instance per bearer.
    pub fn custom<T: Pacer + 'static>(name: &str, make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let make = move || -> Box<dyn Pacer> { Box::new(make()) };
        PacerChoice::Custom(Custom { name: name.into(), make: Arc::new(make) })
    }
}
