//! What can be asked, as a line of text and back: it goes to a worker.

use std::collections::BTreeMap;

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
    /// What its kernels do and how fast.
    Explain(Explain),
    /// Its kernels, each in a folder of this one.
    Kernels(String),
}

/// How a function is to be explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explain {
    /// Which step: the program that measures is made between them, by whoever asks.
    pub step: ExplainStep,
    /// Extents and other numbers of a call.
    pub dims: BTreeMap<String, i64>,
    /// The device that it is explained for, as a target's text names it; empty for the processor.
    pub device: String,
    /// The GPU that the device is taken for, by its name; empty for the largest one of a chip.
    pub gpu: String,
    /// The folder of the program, of what it has measured, and of the report.
    pub folder: String,
}

/// A step of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainStep {
    /// Writes the program; the answer is empty, or why the function cannot be called alone.
    Compile,
    /// Writes the report, from what the program has printed to the file `measured`, else with the reason in `unmeasured`.
    Report,
}

impl Explain {
    /// As words; the folder comes last, since its name may have spaces.
    fn text(&self) -> String {
        let step = match self.step {
            ExplainStep::Compile => "compile",
            ExplainStep::Report => "report",
        };
        let dims: String = self.dims.iter().map(|(name, n)| format!("{name}={n},")).collect();
        format!("{step} [{dims}] [{}] [{}] {}", self.device, self.gpu, self.folder)
    }

    fn from_text(text: &str) -> Option<Explain> {
        let (step, rest) = text.split_once(" [")?;
        let (dims, rest) = rest.split_once("] [")?;
        let (device, rest) = rest.split_once("] [")?;
        let (gpu, folder) = rest.split_once("] ")?;
        let step = match step {
            "compile" => ExplainStep::Compile,
            "report" => ExplainStep::Report,
            _ => return None,
        };
        let pair = |text: &str| text.split_once('=').and_then(|(name, n)| Some((name.to_string(), n.parse().ok()?)));
        let dims = dims.split_terminator(',').map(pair).collect::<Option<_>>()?;
        Some(Explain { step, dims, device: device.into(), gpu: gpu.into(), folder: folder.into() })
    }
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
            Ask::Explain(explain) => format!("explain {}", explain.text()),
            Ask::Kernels(folder) => format!("kernels {folder}"),
        }
    }

    /// From a line.
    pub fn from_text(text: &str) -> Option<Ask> {
        if let Some(rest) = text.strip_prefix("explain ") {
            return Explain::from_text(rest).map(Ask::Explain);
        }
        if let Some(folder) = text.strip_prefix("kernels ") {
            return Some(Ask::Kernels(folder.into()));
        }
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
            Ask::Explain(Explain {
                step: ExplainStep::Report,
                dims: [("B".to_string(), 4), ("T".to_string(), -1)].into(),
                device: "spirv -keys=gpu".into(),
                gpu: "rtx-4090".into(),
                folder: "/a folder/of] it".into(),
            }),
            Ask::Kernels("/a folder".into()),
        ];
        for ask in all {
            assert_eq!(Ask::from_text(&ask.text()), Some(ask));
        }
        assert_eq!(Ask::from_text("diff A"), None);
    }
}
