//! Random graphs.

use tenfold_ir::{Function, relax};

use crate::graph::{Made, grow, steps};
use crate::harness::{BATCH, Source, Trial, run};
use crate::shrink::shortest;

struct Graphs(Made);

/// Results of a graph that was not made smaller.
const RESULTS: usize = 4;

impl Graphs {
    fn made_of(&self, seed: u64, steps: &[u64], results: usize) -> Trial {
        let name = format!("graph_{seed}");
        let grown = grow(self.0, &name, seed, steps, results);
        Trial { name, module: grown.module, settings: grown.settings }
    }
}

impl Source for Graphs {
    fn topic(&self) -> &'static str {
        match self.0 {
            Made::OfAny => "graphs",
            Made::OfLayers => "layers",
        }
    }

    fn batch(&self) -> u64 {
        match self.0 {
            Made::OfAny => BATCH,
            // each takes as long as some dozens of others
            Made::OfLayers => 6,
        }
    }

    fn trial(&self, seed: u64) -> Result<Trial, String> {
        Ok(self.made_of(seed, &steps(self.0, seed), RESULTS))
    }

    fn smallest(&self, seed: u64, fails: &mut dyn FnMut(&Trial) -> bool) -> String {
        let trial = |steps: &[u64], results: usize| self.made_of(seed, steps, results);
        let mut best = (steps(self.0, seed), RESULTS);
        for results in [1, 2] {
            let shorter = shortest(best.0.clone(), |steps| fails(&trial(steps, results)));
            if fails(&trial(&shorter, results)) {
                best = (shorter, results);
                break;
            }
        }
        let (steps, results) = best;
        let steps = shortest(steps, |steps| fails(&trial(steps, results)));
        let smallest = pruned(trial(&steps, results), fails);
        fails(&smallest);
        text(&smallest)
    }
}

/// The case without what no result needs, and without all settings but one, if it still fails.
fn pruned(mut trial: Trial, fails: &mut dyn FnMut(&Trial) -> bool) -> Trial {
    for n in (0..trial.settings.len()).rev() {
        let mut less = trial.clone();
        less.settings.remove(n);
        if !less.settings.is_empty() && fails(&less) {
            trial = less;
        }
    }
    let mut less = trial.clone();
    for function in less.module.functions.values_mut() {
        if let Function::Relax(graph) = function {
            drop_unread(graph);
        }
    }
    if fails(&less) { less } else { trial }
}

/// Drops bindings of blocks without effects that nothing reads.
fn drop_unread(graph: &mut relax::Function) {
    loop {
        let uses = graph.uses();
        let before = graph.bindings().count();
        let kept = |b: &relax::Binding| uses.count(b.out) > 0 || relax::binding_kind(b) == relax::BlockKind::Effect;
        let results = graph.results.clone();
        let symbols: Vec<relax::ValueId> = graph.syms.iter().filter_map(bound_by).collect();
        relax::bodies_mut(&mut graph.blocks, &mut |blocks| {
            for block in blocks.iter_mut() {
                block.bindings.retain(|b| kept(b) || results.contains(&b.out) || symbols.contains(&b.out));
            }
            blocks.retain(|block| !block.bindings.is_empty());
        });
        if graph.bindings().count() == before {
            return;
        }
    }
}

fn bound_by(decl: &relax::SymDecl) -> Option<relax::ValueId> {
    match decl.kind {
        relax::SymKind::Bound(v) | relax::SymKind::Loop(v) => Some(v),
        relax::SymKind::Dim { .. } | relax::SymKind::IndexParam { .. } | relax::SymKind::Stride { .. } => None,
    }
}

/// The functions of a case, and what the symbols are.
fn text(trial: &Trial) -> String {
    let mut text = String::new();
    for setting in &trial.settings {
        let syms: Vec<String> = setting.syms.iter().map(|(sym, value)| format!("{sym} = {value}")).collect();
        text += &format!("// {}\n", syms.join(", "));
    }
    for function in trial.module.functions.values() {
        if let Function::Relax(graph) = function {
            text += &relax::print_function(graph);
        }
    }
    text
}

#[test]
fn random_graphs_at_every_level() {
    run(&Graphs(Made::OfAny));
}

#[test]
fn random_layers_at_every_level() {
    run(&Graphs(Made::OfLayers));
}
