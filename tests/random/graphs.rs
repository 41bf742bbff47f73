//! Random graphs.

use tenfold_ir::relax;

use crate::case::Case;
use crate::harness::{Source, run};
use crate::random::{grow, steps};
use crate::shrink::shortest;

struct Graphs;

fn name(seed: u64) -> String {
    format!("graph_{seed}")
}

impl Source for Graphs {
    fn topic(&self) -> &'static str {
        "graphs"
    }

    fn case(&self, seed: u64) -> Option<Case> {
        Some(grow(&name(seed), seed, &steps(seed), 4))
    }

    fn smallest(&self, seed: u64, fails: &mut dyn FnMut(Case) -> Option<String>) -> String {
        let mut best = (steps(seed), 4);
        for results in [1, 2] {
            let shorter = shortest(best.0.clone(), |steps| fails(grow(&name(seed), seed, steps, results)).is_some());
            if fails(grow(&name(seed), seed, &shorter, results)).is_some() {
                best = (shorter, results);
                break;
            }
        }
        let (steps, results) = best;
        let steps = shortest(steps, |steps| fails(grow(&name(seed), seed, steps, results)).is_some());
        let case = grow(&name(seed), seed, &steps, results);
        fails(grow(&name(seed), seed, &steps, results));
        case.module.relax(&case.name).map(relax::print_function).unwrap_or_default()
    }
}

#[test]
fn random_graphs_at_every_level() {
    run(&Graphs);
}
