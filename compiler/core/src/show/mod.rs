//! A function for people: its text at every pass, what passes change and how long they take, its numbers, its picture.
//!
//! Nothing here changes what is compiled; it runs the pipeline with watchers and keeps what they saw.

mod ask;
mod graph;
mod page;
mod stats;
mod svg;
mod trace;

pub use ask::Ask;
pub use stats::Stats;

use tenfold_ir::Module;

use crate::pass::{self, PassContext, Timing, unified};
use crate::{CompileError, PIPELINE};

/// What is asked of a module as the front end made it. Stages are a back end's to show.
pub fn answer(ask: &Ask, module: Module, context: &PassContext) -> Result<String, CompileError> {
    match ask {
        Ask::Stage(stage) => Err(pass::wrong(format!("the stage `{}` is a back end's", stage.name()), None)),
        Ask::Before(pass) => Ok(trace::run(module, context)?.find(pass)?.before.clone()),
        Ask::After(pass) => Ok(trace::run(module, context)?.find(pass)?.after.clone()),
        Ask::Passes => Ok(trace::run(module, context)?.list()),
        Ask::Diff(a, b) => {
            let trace = trace::run(module, context)?;
            let titles = (format!("after {a}"), format!("after {b}"));
            let diff = unified(&trace.find(a)?.after, &trace.find(b)?.after, &titles.0, &titles.1);
            Ok(if diff.is_empty() { format!("nothing differs between {a} and {b}\n") } else { diff })
        }
        Ask::Timing => timing(module, context),
        Ask::Stats => Ok(stats::Stats::of(&planned(module, context)?).json()),
        Ask::Graph => page::page(&planned(module, context)?, &context.target),
    }
}

fn timing(mut module: Module, context: &PassContext) -> Result<String, CompileError> {
    let (timing, table) = Timing::new();
    // The context's own watchers would be timed with the passes.
    let mut quiet = context.clone();
    quiet.verify = false;
    quiet.alone();
    quiet.watch(Box::new(timing));
    pass::run(PIPELINE, &mut module, &quiet)?;
    Ok(table.text())
}

/// What the pipeline has made of a function where every value has a place, and where it is one loop nest per kernel.
pub(crate) struct Planned {
    /// With the planned graph as the entry.
    pub(crate) module: Module,
    /// Behind `FuseOps`, if there is such a pass: the groups are relax functions.
    pub(crate) groups: Option<Module>,
}

fn planned(mut module: Module, context: &PassContext) -> Result<Planned, CompileError> {
    let mut groups = None;
    for pass in PIPELINE.iter().take_while(|pass| pass.info.name != "LowerEntry") {
        pass::run(std::slice::from_ref(pass), &mut module, context)?;
        if pass.info.name == "FuseOps" {
            groups = Some(module.clone());
        }
    }
    Ok(Planned { module, groups })
}
