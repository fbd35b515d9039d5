//! RAN functions around other ones.

use e2::{ChangeResult, ControlRequest, Function, QueryRequest, SubscriptionChange, SubscriptionRequest, Time};
use e2ap::{Cause, RanFunctionId};

use super::{Admission, ChangeAnswer, ControlFailure, ControllerId, FunctionContext, RanFunction, RequestKey, Views};

/// Declares [`Wrapper`] from one list of the methods of [`RanFunction`]: those of a shared, then those of an exclusive reference.
macro_rules! wrapper {
    (
        $(#[$attribute:meta])*
        $(fn $get:ident(&self) -> $got:ty;)*
        mut
        $(fn $name:ident(&mut self $(, $argument:ident: $of:ty)*) $(-> $result:ty)?;)*
    ) => {
        $(#[$attribute])*
        pub trait Wrapper {
            /// The function inside.
            type Inner: RanFunction + ?Sized;

            /// Returns the function inside.
            fn inner(&self) -> &Self::Inner;

            /// Returns the function inside.
            fn inner_mut(&mut self) -> &mut Self::Inner;

            $(
                #[doc = concat!("As [`RanFunction::", stringify!($get), "`]: by default that of the function inside.")]
                fn $get(&self) -> $got {
                    self.inner().$get()
                }
            )*

            $(
                #[doc = concat!("As [`RanFunction::", stringify!($name), "`]: by default that of the function inside.")]
                #[allow(clippy::missing_errors_doc, reason = "they are those of the other trait")]
                fn $name(&mut self $(, $argument: $of)*) $(-> $result)? {
                    self.inner_mut().$name($($argument),*)
                }
            )*
        }

        impl<W: Wrapper> RanFunction for W {
            $(
                fn $get(&self) -> $got {
                    Wrapper::$get(self)
                }
            )*

            $(
                fn $name(&mut self $(, $argument: $of)*) $(-> $result)? {
                    Wrapper::$name(self $(, $argument)*)
                }
            )*
        }
    };
}

wrapper! {
    /// A RAN function around another one, which does all that the wrapper does not do itself. A wrapper is a [`RanFunction`]; it
    /// cannot lose a method that has a default there.
    ///
    /// ```
    /// use ferric::agent::{FunctionContext, RanFunction, Wrapper};
    /// use ferric::e2::Time;
    ///
    /// /// Counts the calls for reports.
    /// struct Counted<F> {
    ///     inner: F,
    ///     calls: u64,
    /// }
    ///
    /// impl<F: RanFunction> Wrapper for Counted<F> {
    ///     type Inner = F;
    ///
    ///     fn inner(&self) -> &F {
    ///         &self.inner
    ///     }
    ///
    ///     fn inner_mut(&mut self) -> &mut F {
    ///         &mut self.inner
    ///     }
    ///
    ///     fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>) {
    ///         self.calls += 1;
    ///         self.inner.report(now, reports);
    ///     }
    /// }
    /// ```
    fn id(&self) -> RanFunctionId;
    fn definition(&self) -> Function;
    fn next_report(&self) -> Option<Time>;
    mut
    fn subscribe(&mut self, now: Time, controller: ControllerId, request: &SubscriptionRequest, views: &Views) -> Result<Admission, Cause>;
    fn modify(&mut self, now: Time, key: RequestKey, change: &SubscriptionChange, views: &Views) -> Result<ChangeResult, Cause>;
    fn change_answered(&mut self, key: RequestKey, answer: &ChangeAnswer);
    fn unsubscribe(&mut self, key: RequestKey);
    fn control(&mut self, now: Time, controller: ControllerId, request: &ControlRequest, reports: &mut FunctionContext<'_>) -> Result<Option<Vec<u8>>, ControlFailure>;
    fn query(&mut self, now: Time, controller: ControllerId, request: &QueryRequest, views: &Views) -> Result<Vec<u8>, Cause>;
    fn report(&mut self, now: Time, reports: &mut FunctionContext<'_>);
    fn controller_removed(&mut self, controller: ControllerId);
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use e2::AgentMisuse;
    use e2ap::{GlobalRicId, RanFunctionRevision, RicActionId, RicRequestId};

    use super::super::FunctionTransport;
    use super::*;

    /// Records the names of the methods that are called, and answers otherwise than the defaults do.
    #[derive(Default)]
    struct Recorder(RefCell<Vec<&'static str>>);

    impl Recorder {
        fn record(&self, name: &'static str) {
            self.0.borrow_mut().push(name);
        }
    }

    impl RanFunction for Recorder {
        fn id(&self) -> RanFunctionId {
            self.record("id");
            RanFunctionId(7)
        }

        fn definition(&self) -> Function {
            self.record("definition");
            Function {
                id: RanFunctionId(7),
                revision: RanFunctionRevision(1),
                definition: Default::default(),
                oid: Default::default(),
            }
        }

        fn next_report(&self) -> Option<Time> {
            self.record("next_report");
            Some(Time::default())
        }

        fn subscribe(
            &mut self,
            _: Time,
            _: ControllerId,
            _: &SubscriptionRequest,
            _: &Views,
        ) -> Result<Admission, Cause> {
            self.record("subscribe");
            Ok(Admission { admitted: Vec::new(), not_admitted: Vec::new() })
        }

        fn modify(&mut self, _: Time, _: RequestKey, _: &SubscriptionChange, _: &Views) -> Result<ChangeResult, Cause> {
            self.record("modify");
            Ok(ChangeResult::default())
        }

        fn change_answered(&mut self, _: RequestKey, _: &ChangeAnswer) {
            self.record("change_answered");
        }

        fn unsubscribe(&mut self, _: RequestKey) {
            self.record("unsubscribe");
        }

        fn control(
            &mut self,
            _: Time,
            _: ControllerId,
            _: &ControlRequest,
            _: &mut FunctionContext<'_>,
        ) -> Result<Option<Vec<u8>>, ControlFailure> {
            self.record("control");
            Ok(None)
        }

        fn query(&mut self, _: Time, _: ControllerId, _: &QueryRequest, _: &Views) -> Result<Vec<u8>, Cause> {
            self.record("query");
            Ok(Vec::new())
        }

        fn report(&mut self, _: Time, _: &mut FunctionContext<'_>) {
            self.record("report");
        }

        fn controller_removed(&mut self, _: ControllerId) {
            self.record("controller_removed");
        }
    }

    struct Plain(Recorder);

    impl Wrapper for Plain {
        type Inner = Recorder;

        fn inner(&self) -> &Recorder {
            &self.0
        }

        fn inner_mut(&mut self) -> &mut Recorder {
            &mut self.0
        }
    }

    struct NoTransport;

    impl FunctionTransport for NoTransport {
        fn send(
            &mut self,
            _: RequestKey,
            _: RicActionId,
            _: Option<&[u8]>,
            _: &[u8],
            _: &[u8],
        ) -> Result<(), AgentMisuse> {
            Err(AgentMisuse::UnknownRequest)
        }

        fn controllers(&self) -> Vec<(ControllerId, Option<GlobalRicId>)> {
            Vec::new()
        }
    }

    /// The names of the methods in the source of the trait.
    fn methods_of_trait() -> Vec<&'static str> {
        let (_, body) = include_str!("function.rs").split_once("pub trait RanFunction {\n").unwrap();
        let (body, _) = body.split_once("\n}\n").unwrap();
        let signatures = body.lines().filter_map(|line| line.strip_prefix("    fn "));
        signatures.map(|signature| signature.split_once('(').unwrap().0).collect()
    }

    #[test]
    fn every_method_of_a_ran_function_reaches_the_function_inside() {
        let (now, first) = (Time::default(), ControllerId(1));
        let mut views = Views::with_first(first);
        let request_id = RicRequestId { requestor: 1, instance: 1 };
        let (key, ran_function_id) = (RequestKey { controller: first, id: request_id }, RanFunctionId(7));
        let subscription = SubscriptionRequest {
            request_id,
            ran_function_id,
            event_trigger: Vec::new(),
            actions: Vec::new(),
            times: Default::default(),
        };
        let control = ControlRequest {
            request_id,
            ran_function_id,
            call_process_id: None,
            header: Vec::new(),
            message: Vec::new(),
        };
        let query = QueryRequest { request_id, ran_function_id, header: Vec::new(), definition: Vec::new() };

        let mut wrapper = Plain(Recorder::default());
        let function: &mut dyn RanFunction = &mut wrapper;
        assert_eq!((function.id(), function.definition().id), (ran_function_id, ran_function_id));
        assert!(function.subscribe(now, first, &subscription, &views).is_ok());
        assert!(function.modify(now, key, &SubscriptionChange::default(), &views).is_ok(), "the default refuses");
        function.change_answered(key, &ChangeAnswer::Refused(None));
        function.unsubscribe(key);
        assert!(function.query(now, first, &query, &views).is_ok(), "the default refuses");
        assert_eq!(function.next_report(), Some(now));
        let mut transport = NoTransport;
        let mut context = FunctionContext::new(&mut views, &mut transport);
        assert!(function.control(now, first, &control, &mut context).is_ok(), "the default refuses");
        function.report(now, &mut context);
        function.controller_removed(first);

        let mut called = wrapper.0.0.take();
        let mut methods = methods_of_trait();
        assert!(methods.len() > 8, "{methods:?}");
        called.sort_unstable();
        methods.sort_unstable();
        assert_eq!(called, methods);
    }
}
