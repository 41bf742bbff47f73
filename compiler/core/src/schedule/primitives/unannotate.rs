//! `unannotate(place, "key")`: takes back what `annotate` asked.

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "unannotate",
    params: &[required("place", Kind::Place), required("key", Kind::Text)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Takes back what a loop or a block asks of a later pass.
    pub fn unannotate(&mut self, place: impl Into<Arg>, key: &str) -> Result<(), ScheduleError> {
        self.step("unannotate", vec![place.into(), key.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let key = args.text(1);
    let all = super::annotations_of(state, args)?;
    if !all.iter().any(|a| super::annotation_key(a) == key) {
        let keys: Vec<String> = all.iter().map(|a| format!("`{}`", super::annotation_key(a))).collect();
        let keys =
            if keys.is_empty() { "there are none".to_string() } else { format!("there are {}", keys.join(", ")) };
        return Refusal::err(format!("there is no annotation `{key}`"), keys);
    }
    super::edit_annotations(state, args, |all| all.retain(|a| super::annotation_key(a) != key));
    Ok(Vec::new())
}
