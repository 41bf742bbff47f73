//! When a build script has to run again though nothing that cargo watches has changed.

use super::{Outcomes, Run};
use crate::worker::message::Answer;
use tenfold_syntax::Code;

/// Whether the same function may fare better in the next run.
pub(super) fn is_passing(code: Code) -> bool {
    matches!(code, Code::Environment | Code::CodeGeneratorDied | Code::TimeLimit | Code::Internal)
}

impl Run<'_> {
    /// Whether what is refused may be mended without a newer time of anything: a file that is refused becomes another one in
    /// the place of a link or of a folder, by `mv`, by `chmod`. A function on which the compiler dies is not tried in
    /// each build.
    pub(super) fn is_unsettled(&self, outcomes: &Outcomes) -> bool {
        self.items.iter().any(|item| match outcomes.get(&item.key).map(|outcome| &outcome.answer) {
            Some(Answer::Refused(errors)) => {
                let has = |code: fn(Code) -> bool| errors.iter().any(|error| code(error.code));
                let reads_files = !item.read.uses.files.is_empty();
                has(|code| code == Code::Environment) || reads_files && !has(is_passing)
            }
            Some(Answer::Compiled(_)) | None => false,
        })
    }
}
