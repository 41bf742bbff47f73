//! Random arguments for the primitives that copy buffers, lay them out anew or make blocks.

use tenfold_core::schedule::{Arg, IndexMap};
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{Block, IterKind, PrimFunc, Scope, Stmt};

use crate::random::{Known, Rng};

/// The block called `name`.
fn block<'s>(stmt: &'s Stmt, name: &str) -> Option<&'s Block> {
    let mut found = None;
    stmt.walk(&mut |s| {
        if let Stmt::Block(block) = s
            && block.name == name
        {
            found = Some(&**block);
        }
    });
    found
}

/// A buffer by place or by name; sometimes one that is not there.
fn buffer(func: &PrimFunc, rng: &mut Rng) -> Arg {
    match rng.below(6) {
        0 => Arg::Int(rng.below(3) as i64),
        1 => Arg::Text("nothing".into()),
        2 => Arg::Int(1),
        _ => Arg::Int(i64::from(func.buffers.is_empty())),
    }
}

fn memory(rng: &mut Rng) -> Arg {
    Arg::Text(["global", "local", "shared", "global", "heap"][rng.below(5)].into())
}

fn var(name: &str) -> IntExpr {
    IntExpr::var(Sym::new(name))
}

/// A map of `rank` indices: mostly one that can be undone.
fn map(rank: usize, rng: &mut Rng) -> Arg {
    let rank = if rng.below(12) == 0 { rank + 1 } else { rank };
    let params: Vec<Sym> = (0..rank).map(|n| Sym::new(format!("m{n}"))).collect();
    let mut results: Vec<IntExpr> = params.iter().map(|p| var(p.as_str())).collect();
    for _ in 0..1 + rng.below(2) {
        let at = rng.below(results.len());
        match rng.below(6) {
            0 | 1 if results.len() > 1 => {
                let other = rng.below(results.len());
                results.swap(at, other);
            }
            2 | 3 if !results.is_empty() => {
                let by = IntExpr::from([2, 3, 4][rng.below(3)]);
                let e = results[at].clone();
                results[at] = e.floor_div(&by);
                results.push(e.floor_mod(&by));
            }
            4 if !results.is_empty() => results[at] = &results[at] * 2,
            5 if results.len() > 1 => drop(results.remove(at)),
            _ => {}
        }
    }
    Arg::Map(IndexMap { params, results })
}

/// A map without the indices that name reduce iterators, which what is written does not.
fn of_spatial(block: &Block, map: Arg) -> Arg {
    let Arg::Map(mut map) = map else { return map };
    let kinds = block.iters.iter().map(|i| i.kind);
    let reduce: Vec<Sym> =
        map.params.iter().zip(kinds).filter(|(_, k)| *k != IterKind::Spatial).map(|(p, _)| p.clone()).collect();
    map.results.retain(|e| !e.vars().iter().any(|v| reduce.contains(v)));
    Arg::Map(map)
}

fn rank_of_written(func: &PrimFunc, block: &Block) -> usize {
    let mut rank = 0;
    block.body.walk(&mut |s| {
        if let Stmt::Store { buf, .. } = s {
            rank = func.buffers[buf.0 as usize].shape.len();
        }
    });
    rank
}

/// Arguments for a primitive of this family.
pub(crate) fn args(name: &str, func: &PrimFunc, known: &Known, rng: &mut Rng) -> Option<Vec<Arg>> {
    let mut at = rng.pick(&known.blocks)?;
    if ["set_scope", "unsafe_set_dtype", "storage_align", "transform_layout", "rolling_buffer"].contains(&name)
        && rng.below(8) > 0
    {
        // Blocks that write memory of the function's own.
        let own = |name: &&String| {
            let mut found = false;
            block(&func.body, name).into_iter().for_each(|b| {
                b.body.walk(&mut |s| {
                    if let Stmt::Store { buf, .. } = s {
                        found |= func.buffers[buf.0 as usize].scope == Scope::Global;
                    }
                });
            });
            found
        };
        let all: Vec<String> = known.blocks.iter().filter(own).cloned().collect();
        at = rng.pick(&all).unwrap_or(at);
    }
    let found = block(&func.body, &at)?;
    let iters = found.iters.len();
    let of = Arg::Text(at.clone());
    Some(match name {
        "set_scope" | "cache_read" | "cache_write" | "cache_inplace" => vec![of, buffer(func, rng), memory(rng)],
        "unsafe_set_dtype" => {
            // Nothing is lost in a wider one.
            vec![of, Arg::Int(i64::from(rng.below(8) == 0)), Arg::Text(["f64", "f64", "f12"][rng.below(3)].into())]
        }
        "reindex" => {
            vec![of, Arg::Text(["read", "write", "write", "both"][rng.below(4)].into()), buffer(func, rng)]
        }
        "reindex_cache_read" => vec![of, buffer(func, rng), memory(rng), map(iters, rng)],
        "reindex_cache_write" => vec![of, Arg::Int(0), memory(rng), of_spatial(found, map(iters, rng))],
        "transform_layout" => {
            let rank = rank_of_written(func, found);
            vec![of, Arg::Int(0), map(rank, rng)]
        }
        "storage_align" => {
            let (axis, factor) = (rng.below(3) as i64, [1, 8, 32, 0][rng.below(4)]);
            vec![of, Arg::Int(0), Arg::Int(axis), Arg::Int(factor), Arg::Int(rng.below(3) as i64)]
        }
        "transform_block_layout" => vec![of, map(iters, rng)],
        "decompose_padding" => vec![of],
        "blockize" if rng.below(4) == 0 => vec![of],
        "blockize" => vec![rng.pick(&known.loops).and_then(|all| rng.pick(&all)).map(Arg::Rv)?],
        "pad_einsum" => {
            let count = if rng.below(10) == 0 { iters + 1 } else { iters };
            let number = |rng: &mut Rng| if rng.below(20) == 0 { 0 } else { [1, 2, 3, 4][rng.below(4)] };
            vec![of, Arg::List((0..count).map(|_| Arg::Int(number(rng))).collect())]
        }
        "rolling_buffer" => vec![of, Arg::Int(0)],
        _ => return None,
    })
}
