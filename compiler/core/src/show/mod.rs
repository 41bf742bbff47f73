//! A function for people: its text at every pass, what passes change and how long they take, its numbers, its picture.
//!
//! Nothing here changes what is compiled; it runs the pipeline with watchers and keeps what they saw.

mod ask;
pub mod explain;
mod graph;
mod layout;
mod page;
mod stats;
mod svg;
mod trace;

pub use ask::{Ask, Explain, ExplainStep};
pub use stats::Stats;

use tenfold_ir::Module;

use crate::compile::gaining;
use crate::pass::{self, BisectLimit, Pass, PassContext, Remarks, Timing, unified};
use crate::{CompileError, Options, pipeline};

/// What is asked of a module as the front end made it, for the context's target. Of the options, the user's passes, the
/// layout and, where executions are counted, the variants matter. Stages are a back end's to show.
pub fn answer(ask: &Ask, module: Module, context: &PassContext, options: &Options) -> Result<String, CompileError> {
    let run = Run { passes: pipeline::with(&options.passes), context, options };
    match ask {
        Ask::Stage(stage) => Err(pass::wrong(format!("the stage `{}` is a back end's", stage.name()), None)),
        Ask::Before(pass) => Ok(trace::run(module, &run)?.find(pass)?.before.clone()),
        Ask::After(pass) => Ok(trace::run(module, &run)?.find(pass)?.after.clone()),
        Ask::Passes => Ok(trace::run(module, &run)?.list()),
        Ask::Diff(a, b) => {
            let trace = trace::run(module, &run)?;
            let titles = (format!("after {a}"), format!("after {b}"));
            let diff = unified(&trace.find(a)?.after, &trace.find(b)?.after, &titles.0, &titles.1);
            Ok(if diff.is_empty() { format!("nothing differs between {a} and {b}\n") } else { diff })
        }
        Ask::Timing => run.timing(module),
        Ask::Remarks => run.remarks(module),
        Ask::Executions => run.executions(module),
        Ask::Stats => Ok(stats::Stats::of(&run.planned(module)?).json()),
        Ask::Graph => Ok(page::page(&run.planned(module)?, &context.target)),
        Ask::Explain(_) => Err(pass::wrong("a function is explained by `explain`", None)),
        Ask::Kernels(_) => Err(pass::wrong("kernels are looked for by `tune`", None)),
    }
}

/// A pipeline and what watches it.
struct Run<'a> {
    passes: Vec<Pass>,
    context: &'a PassContext,
    options: &'a Options,
}

/// What the pipeline has made of a function where every value has a place, and where it is one loop nest per kernel.
pub(crate) struct Planned {
    /// With the planned graph as the entry.
    pub(crate) module: Module,
    /// Behind `FuseOps`, if there is such a pass: the groups are relax functions.
    pub(crate) groups: Option<Module>,
}

impl Run<'_> {
    /// Runs passes with one more watcher.
    fn watched(
        &self,
        module: &mut Module,
        context: &PassContext,
        watcher: Box<dyn pass::PassInstrument>,
    ) -> Result<(), CompileError> {
        let mut context = context.clone();
        context.watch(watcher);
        let (shared, rest) = pipeline::split_shared(&self.passes);
        pass::run(shared, module, &self.sharing(&context))?;
        pass::run(rest, module, &context)
    }

    /// The context of the passes that variants share.
    fn sharing(&self, context: &PassContext) -> PassContext {
        let layout = self.options.layout.as_ref();
        layout.map_or_else(|| context.clone(), |target| context.with_target(target.clone()))
    }

    /// The context without its own watchers, which would be counted and timed with the passes.
    fn quiet(&self) -> PassContext {
        let mut quiet = self.context.clone();
        quiet.alone();
        quiet
    }

    fn timing(&self, mut module: Module) -> Result<String, CompileError> {
        let (timing, table) = Timing::new();
        let mut quiet = self.quiet();
        quiet.verify = false;
        self.watched(&mut module, &quiet, Box::new(timing))?;
        Ok(table.text())
    }

    fn remarks(&self, mut module: Module) -> Result<String, CompileError> {
        let remarks = Remarks::default();
        self.watched(&mut module, self.context, Box::new(remarks.clone()))?;
        let lines: Vec<String> = remarks.all().iter().map(|remark| format!("{remark}\n")).collect();
        Ok(if lines.is_empty() { "no pass has a remark\n".into() } else { lines.concat() })
    }

    /// Of all variants one after another, as a build counts them.
    fn executions(&self, mut module: Module) -> Result<String, CompileError> {
        let all = BisectLimit::new(usize::MAX);
        let mut counting = self.quiet();
        counting.watch(Box::new(all.clone()));
        let (shared, rest) = pipeline::split_shared(&self.passes);
        pass::run(shared, &mut module, &self.sharing(&counting))?;
        let variants = gaining(&module, &self.context.target, &self.options.variants).into_iter().map(|v| &v.target);
        for target in std::iter::once(&self.context.target).chain(variants) {
            pass::run(rest, &mut module.clone(), &counting.with_target(target.clone()))?;
        }
        Ok(all.asked().iter().map(|name| format!("{name}\n")).collect())
    }

    fn planned(&self, mut module: Module) -> Result<Planned, CompileError> {
        let mut groups = None;
        let (shared, _) = pipeline::split_shared(&self.passes);
        let first = self.sharing(self.context);
        let (graph, _) = pipeline::split_before("LowerEntry", &self.passes);
        for (number, pass) in graph.iter().enumerate() {
            let context = if number < shared.len() { &first } else { self.context };
            pass::run(std::slice::from_ref(pass), &mut module, context)?;
            if pass.info.name == "FuseOps" {
                groups = Some(module.clone());
            }
        }
        Ok(Planned { module, groups })
    }
}
