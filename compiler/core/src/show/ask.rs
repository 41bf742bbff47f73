//! What can be asked, as a line of text and back: it goes to a worker.

use crate::Stage;

/// What is asked of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Its text at a stage.
    Stage(Stage),
    /// Its text before a pass, by name or by number in [`Ask::Passes`].
    Before(String),
    /// Its text after a pass.
    After(String),
    /// The passes that run, and what each changes.
    Passes,
    /// What is different between the texts after two passes.
    Diff(String, String),
    /// How long each pass takes.
    Timing,
    /// What passes did to loops, and why they left others alone.
    Remarks,
    /// The executions of passes that can be left out, in order: what bisection counts.
    Executions,
    /// Its numbers, as JSON.
    Stats,
    /// Its picture, as a page.
    Graph,
}

impl Ask {
    /// As a line.
    pub fn text(&self) -> String {
        match self {
            Ask::Stage(stage) => format!("stage {}", stage.name()),
            Ask::Before(pass) => format!("before {pass}"),
            Ask::After(pass) => format!("after {pass}"),
            Ask::Passes => "passes".into(),
            Ask::Diff(a, b) => format!("diff {a} {b}"),
            Ask::Timing => "timing".into(),
            Ask::Remarks => "remarks".into(),
            Ask::Executions => "executions".into(),
            Ask::Stats => "stats".into(),
            Ask::Graph => "graph".into(),
        }
    }

    /// From a line.
    pub fn from_text(text: &str) -> Option<Ask> {
        let words: Vec<&str> = text.split(' ').collect();
        Some(match words.as_slice() {
            ["stage", name] => Ask::Stage(Stage::from_name(name)?),
            ["before", pass] => Ask::Before(pass.to_string()),
            ["after", pass] => Ask::After(pass.to_string()),
            ["passes"] => Ask::Passes,
            ["diff", a, b] => Ask::Diff(a.to_string(), b.to_string()),
            ["timing"] => Ask::Timing,
            ["remarks"] => Ask::Remarks,
            ["executions"] => Ask::Executions,
            ["stats"] => Ask::Stats,
            ["graph"] => Ask::Graph,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let all = [
            Ask::Stage(Stage::Asm),
            Ask::Before("2".into()),
            Ask::After("PadConv".into()),
            Ask::Passes,
            Ask::Diff("A".into(), "B".into()),
            Ask::Timing,
            Ask::Remarks,
            Ask::Executions,
            Ask::Stats,
            Ask::Graph,
        ];
        for ask in all {
            assert_eq!(Ask::from_text(&ask.text()), Some(ask));
        }
        assert_eq!(Ask::from_text("diff A"), None);
    }
}
