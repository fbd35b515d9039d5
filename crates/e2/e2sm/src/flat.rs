//! The FlatBuffers schemas of the models.
//!
//! Each message is a separate buffer whose root is the table of its name. As in PER, the buffer does not identify the
//! message.

use per::flat::schema::Header;
use per::flat::{Schema, Type};

/// The models and their messages.
macro_rules! models {
    ($($feature:literal $model:ident $what:literal $root:ident { $($message:ident),* $(,)? })*) => {
        /// Returns the name of each model that is built in and the text of its `.fbs` file.
        #[must_use]
        pub fn schemas() -> Vec<(&'static str, String)> {
            vec![$(
                #[cfg(feature = $feature)]
                (stringify!($model), {
                    let mut schema = Schema::default();
                    $(crate::$model::$message::declare(&mut schema);)*
                    text(&schema, stringify!($model), $what, stringify!($root))
                }),
            )*]
        }
    };
}

models! {
    "kpm" kpm "E2SM-KPM v02.01 to v04.00" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        ActionDefinition,
        IndicationHeader,
        IndicationMessage,
    }
    "rc" rc "E2SM-RC v01.03 to v05.00" IndicationMessage {
        RanFunctionDefinition,
        EventTrigger,
        ActionDefinition,
        IndicationHeader,
        IndicationMessage,
        CallProcessId,
        ControlHeader,
        ControlMessage,
        ControlOutcome,
        QueryHeader,
        QueryDefinition,
        QueryOutcome,
    }
    "llc" llc "E2SM-LLC v01.00" IndicationMessage {
        RanFunctionDefinition,
        EventTrigger,
        ActionDefinition,
        IndicationHeader,
        IndicationMessage,
        ControlHeader,
        ControlMessage,
        ControlOutcome,
    }
    "mac" mac "MAC statistics" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        IndicationHeader,
        IndicationMessage,
        ControlHeader,
        ControlMessage,
    }
    "rlc" rlc "RLC statistics" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        IndicationHeader,
        IndicationMessage,
        ControlHeader,
        ControlMessage,
    }
    "pdcp" pdcp "PDCP statistics" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        IndicationHeader,
        IndicationMessage,
        ControlHeader,
        ControlMessage,
    }
    "gtp" gtp "GTP statistics" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        IndicationHeader,
        IndicationMessage,
        ControlHeader,
        ControlMessage,
    }
    "slice" slice "Slices" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        IndicationHeader,
        IndicationMessage,
        ControlHeader,
        ControlMessage,
        ControlOutcome,
    }
    "tc" tc "Traffic control" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        IndicationHeader,
        IndicationMessage,
        ControlHeader,
        ControlMessage,
        ControlOutcome,
    }
    "rrc" rrc "RRC notifications" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        IndicationHeader,
        IndicationMessage,
    }
    "cpu" cpu "CPU state" IndicationMessage {
        RanFunctionDefinition,
        EventTriggerDefinition,
        IndicationHeader,
        IndicationMessage,
        ControlHeader,
        ControlMessage,
        ControlOutcome,
    }
    "hw" hw "The ping" Ping { RanFunctionDefinition, Ping }
}

fn text(schema: &Schema, model: &str, what: &str, root: &str) -> String {
    schema.text(Header {
        comment: &[
            &format!("{what} in FlatBuffers. Generated from the declarations in crates/e2/e2sm; do not edit."),
            "Each message is a separate buffer. Fields that a revision does not have are absent.",
        ],
        namespace: &format!("ferric.{model}"),
        root,
        identifier: None,
    })
}
