//! Random steps: arguments that often, but not always, fit.

use tenfold_core::schedule::{Arg, Rv, Schedule};

/// A stream of numbers.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        if n == 0 { 0 } else { ((self.0 >> 33) as usize) % n }
    }
    pub(crate) fn pick<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())].clone()) }
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// What steps may refer to.
pub(crate) struct Known {
    pub(crate) blocks: Vec<String>,
    /// The loops of each block.
    pub(crate) loops: Vec<Vec<Rv>>,
    /// Places that were annotated, and with what.
    pub(crate) noted: Vec<(Arg, Arg)>,
    /// Producers and consumers.
    pub(crate) pairs: Vec<(usize, usize)>,
}

impl Known {
    pub(crate) fn of(schedule: &mut Schedule<'_>) -> Known {
        let blocks = schedule.block_names();
        let loops = blocks.iter().map(|b| schedule.apply("get_loops", vec![b.as_str().into()]).unwrap_or_default());
        let loops = loops.collect();
        let mut pairs = Vec::new();
        for (n, block) in blocks.iter().enumerate() {
            let of = schedule.apply("get_consumers", vec![block.as_str().into()]).unwrap_or_default();
            for consumer in of.into_iter().filter_map(Rv::block) {
                pairs.extend(blocks.iter().position(|b| b == schedule.block_name(consumer)).map(|m| (n, m)));
            }
        }
        let noted = schedule.trace().steps.iter().filter(|s| s.primitive == "annotate");
        let noted = noted.filter_map(|s| Some((s.args.first()?.clone(), s.args.get(1)?.clone()))).collect();
        Known { blocks, loops, noted, pairs }
    }

    fn block(&self, rng: &mut Rng) -> Option<Arg> {
        rng.pick(&self.blocks).map(Arg::Text)
    }

    /// A block and a loop around one that it feeds, or that feeds it.
    fn at(&self, rng: &mut Rng, up: bool) -> Option<Vec<Arg>> {
        let (a, b) = rng.pick(&self.pairs)?;
        let (moved, target) = if up { (b, a) } else { (a, b) };
        let it = rng.pick(&self.loops[target])?;
        Some(vec![Arg::Text(self.blocks[moved].clone()), Arg::Rv(it)])
    }

    fn any_loop(&self, rng: &mut Rng) -> Option<Arg> {
        let all = rng.pick(&self.loops)?;
        rng.pick(&all).map(Arg::Rv)
    }
}

fn factor(rng: &mut Rng) -> Arg {
    match rng.below(10) {
        0 => Arg::Infer,
        n => Arg::Int([1, 2, 2, 3, 4, 4, 5, 8, 0][n - 1]),
    }
}

/// Arguments for a primitive.
pub(crate) fn args(name: &str, known: &Known, rng: &mut Rng) -> Option<Vec<Arg>> {
    let some_loops = |rng: &mut Rng, ordered: bool| {
        let all = rng.pick(&known.loops)?;
        let mut chosen: Vec<Rv> = if ordered {
            let from = rng.below(all.len());
            let count = 1 + rng.below(3);
            all.into_iter().skip(from).take(count).collect()
        } else {
            all.into_iter().filter(|_| rng.chance(70)).collect()
        };
        if !ordered {
            for n in (1..chosen.len()).rev() {
                let m = rng.below(n + 1);
                chosen.swap(n, m);
            }
        }
        if rng.chance(20) {
            chosen.extend(rng.pick(&known.loops).and_then(|l| rng.pick(&l)));
        }
        Some(Arg::List(chosen.into_iter().map(Arg::Rv).collect()))
    };
    Some(match name {
        "compute_inline" | "sample_compute_location" if rng.chance(60) => {
            let (a, _) = rng.pick(&known.pairs)?;
            vec![Arg::Text(known.blocks[a].clone())]
        }
        "reverse_compute_inline" if rng.chance(70) => {
            let (_, b) = rng.pick(&known.pairs)?;
            vec![Arg::Text(known.blocks[b].clone())]
        }
        "get_block" | "get_loops" | "get_producers" | "get_consumers" | "compute_inline" | "reverse_compute_inline" => {
            vec![if rng.chance(25) && name.starts_with("get_") {
                Arg::Text("nothing".into())
            } else {
                known.block(rng)?
            }]
        }
        "get_child_blocks" => vec![if rng.chance(40) { Arg::Text("none".into()) } else { known.any_loop(rng)? }],
        "get_output_blocks" => {
            if rng.chance(30) {
                vec![Arg::Int(1)]
            } else {
                vec![]
            }
        }
        "split" => {
            let count = 1 + rng.below(3);
            let infer = rng.below(count + 1);
            let factors = (0..count).map(|n| if n == infer { Arg::Infer } else { factor(rng) }).collect();
            vec![known.any_loop(rng)?, Arg::List(factors)]
        }
        "fuse" => vec![some_loops(rng, true)?],
        "reorder" => vec![some_loops(rng, false)?],
        "tile" => {
            let loops = some_loops(rng, true)?;
            let Arg::List(all) = &loops else { return None };
            let sizes = all.iter().map(|_| Arg::Int(1 + rng.below(4) as i64 - 4 * i64::from(rng.chance(10)))).collect();
            vec![loops, Arg::List(sizes)]
        }
        "reorder_block_iter_var" => {
            let count = 1 + rng.below(3);
            let mut order: Vec<i64> = (0..count as i64).collect();
            order.reverse();
            vec![known.block(rng)?, Arg::List(order.into_iter().map(Arg::Int).collect())]
        }
        "add_unit_loop" => vec![if rng.chance(30) {
            Arg::Text("gone".into())
        } else if rng.chance(50) {
            known.block(rng)?
        } else {
            known.any_loop(rng)?
        }],
        "bind" => {
            let axes = ["blockIdx.x", "threadIdx.x", "threadIdx.y", "warp"];
            vec![known.any_loop(rng)?, Arg::Text(rng.pick(&axes)?.into())]
        }
        "parallel" | "vectorize" | "unroll" => vec![known.any_loop(rng)?],
        "compute_at" if rng.chance(80) => known.at(rng, false)?,
        "reverse_compute_at" if rng.chance(80) => known.at(rng, true)?,
        "decompose_reduction" if rng.chance(80) => {
            let n = rng.below(known.blocks.len());
            let loops = &known.loops[n];
            // The outermost loop is around every reduce loop.
            let at = if rng.chance(50) { 0 } else { rng.below(loops.len()) };
            vec![Arg::Text(known.blocks[n].clone()), Arg::Rv(*loops.get(at)?)]
        }
        "rfactor" if rng.chance(70) => {
            let loops = rng.pick(&known.loops)?;
            vec![Arg::Rv(*loops.last()?), Arg::Int(rng.below(2) as i64)]
        }
        "annotate" => {
            let keys = [
                ("note", Arg::Int(3)),
                ("loop_partition", Arg::Bool(true)),
                ("pragma_auto_unroll_max_step", Arg::Int(8)),
            ];
            let (key, value) = rng.pick(&keys)?;
            let place = if rng.chance(50) { known.block(rng)? } else { known.any_loop(rng)? };
            vec![place, Arg::Text(key.into()), value]
        }
        "unannotate" => {
            let key = Arg::Text(["note", "loop_partition", "other"][rng.below(3)].into());
            let (place, noted) = known.noted.last().cloned().or_else(|| Some((known.block(rng)?, key.clone())))?;
            match rng.below(4) {
                0 => vec![known.block(rng)?, key],
                1 => vec![place, key],
                _ => vec![place, noted],
            }
        }
        "loop_partition" => {
            let sizes = (0..1 + rng.below(2)).map(|_| Arg::Int(rng.below(5) as i64)).collect();
            vec![known.any_loop(rng)?, Arg::List(sizes)]
        }
        "merge" => {
            let n = rng.below(known.loops.len());
            let m = if rng.chance(85) { n + 1 } else { rng.below(known.loops.len()) };
            let first = |n: usize| known.loops.get(n).and_then(|l| l.first()).copied().map(Arg::Rv);
            vec![Arg::List(vec![first(n)?, first(m)?])]
        }
        "sample_categorical" => {
            let weights = [vec![0.5, 0.5], vec![0.0, 1.0], vec![0.0, 0.0], vec![1.0]];
            let weights = rng.pick(&weights)?.into_iter().map(Arg::Real).collect();
            vec![Arg::List(vec![Arg::Int(3), Arg::Int(5)]), Arg::List(weights)]
        }
        "sample_perfect_tile" => vec![known.any_loop(rng)?, Arg::Int(rng.below(4) as i64), Arg::Int(4)],
        "sample_partitioned_tile" => {
            let inner = [1, 2, 2, 3][rng.below(4)];
            vec![known.any_loop(rng)?, Arg::Int(3), Arg::Int(1 + rng.below(2) as i64), Arg::Int(inner)]
        }
        "sample_compute_location" => vec![known.block(rng)?],
        "compute_at" | "reverse_compute_at" | "decompose_reduction" => vec![known.block(rng)?, known.any_loop(rng)?],
        "rfactor" => vec![known.any_loop(rng)?, Arg::Int(rng.below(3) as i64)],
        _ => return None,
    })
}
