//! What threads do together, as it is written.

use crate::copies::Copying;
use crate::decode::{Decoded, Names, Width};
use crate::matrix::{Element, Mma};
use crate::mbarrier::Act;
use crate::op::{Op, Shuffle, Space, Together};
use crate::parse::Operand;
use crate::product::{Left, Product};
use crate::tensor::Bulk;

/// The instruction, and who has to come to it; nothing where a thread does it alone.
pub(crate) fn decode(names: &Names, parts: &[&str], operands: &[Operand]) -> Decoded<Option<(Op, Together)>> {
    let word = |operand| names.source(operand, 32, Width::Exact);
    Ok(Some(match (parts, operands) {
        (["bar", "sync"] | ["barrier", "sync", "aligned"] | ["barrier", "cta", "sync", "aligned"], [number]) => {
            (Op::Barrier { number: word(number)?, threads: None }, Together::All)
        }
        (
            ["bar", "sync"] | ["barrier", "sync", "aligned"] | ["barrier", "cta", "sync", "aligned"],
            [number, threads],
        ) => (Op::Barrier { number: word(number)?, threads: Some(word(threads)?) }, Together::All),
        (["bar", "warp", "sync"], [mask]) => (Op::WarpBarrier, these(mask)?),
        (["shfl", "sync", how, "b32"], [to @ .., value, by, limits, mask]) => {
            let how = match *how {
                "up" => Shuffle::Up,
                "down" => Shuffle::Down,
                "bfly" => Shuffle::Butterfly,
                "idx" => Shuffle::Index,
                _ => return Ok(None),
            };
            let (to, valid) = match to {
                [to] => (to, None),
                [to, valid] => (to, Some(names.target(valid, 1, Width::Exact)?)),
                _ => return Ok(None),
            };
            let to = names.target(to, 32, Width::Exact)?;
            let [value, by, limits] = [word(value)?, word(by)?, word(limits)?];
            (Op::Shuffle { how, to, valid, value, by, limits }, these(mask)?)
        }
        (["cp", "async", "bulk", how @ ..], _) => {
            return copy_box(names, how, operands).map(|op| op.map(|op| (op, Together::Alone)));
        }
        (["mbarrier", how @ ..], _) => {
            return mbarrier(names, how, operands).map(|op| op.map(|op| (op, Together::Alone)));
        }
        (["fence", "mbarrier_init", "release", "cluster"], []) => (Op::Nothing, Together::Alone),
        (["cp", "async", how @ ..], _) => {
            return copy(names, how, operands).map(|op| op.map(|op| (op, Together::Alone)));
        }
        (["fence", "proxy", "async"] | ["fence", "proxy", "async", "shared::cta"], []) => (Op::Show, Together::Alone),
        (["ldmatrix", "sync", "aligned", "m8n8", count, rest @ ..], [to, from]) => {
            let transposed = match rest {
                ["shared", "b16"] => false,
                ["trans", "shared", "b16"] => true,
                _ => return Ok(None),
            };
            let to = names.words(to)?;
            if count.strip_prefix('x').and_then(|n| n.parse().ok()) != Some(to.len()) {
                return Err(format!("{} registers for {count}", to.len()));
            }
            (Op::LoadMatrices(to, transposed, names.address(from, Space::Shared)?), Together::All)
        }
        (["mma", "sync", "aligned", shape, "row", "col", types @ ..], [to, left, right, sums]) => {
            let Some(elements) = elements(shape, types) else { return Ok(None) };
            let all = |operand| names.sources(operand, 32, Width::Exact);
            let mma = Mma { elements, to: names.words(to)?, left: all(left)?, right: all(right)?, sums: all(sums)? };
            if [mma.to.len(), mma.left.len(), mma.right.len(), mma.sums.len()] != [4, 4, 2, 4] {
                return Err("other numbers of registers than 4, 4, 2 and 4".into());
            }
            (Op::Multiply(mma), Together::All)
        }
        (["wgmma", "fence", "sync", "aligned"], []) => (Op::ProductFence, Together::All),
        (["wgmma", "commit_group", "sync", "aligned"], []) => (Op::ProductCommit, Together::All),
        (["wgmma", "wait_group", "sync", "aligned"], [Operand::Number(left)]) => {
            (Op::ProductWait(*left as u32), Together::All)
        }
        (["wgmma", "mma_async", "sync", "aligned", shape, sums @ ("f32" | "s32"), left, right], operands) => {
            return product(names, (shape, sums), [left, right], operands).map(|op| op.map(|op| (op, Together::All)));
        }
        _ => return Ok(None),
    }))
}

/// Elements of the factors of a product of 16 by 8 sums: halves of one kind, or bytes of any.
fn elements(shape: &str, types: &[&str]) -> Option<[Element; 2]> {
    let [to, left, right, sums] = types else { return None };
    let [a, b] = [Element::of(left)?, Element::of(right)?];
    let bytes = |element| matches!(element, Element::Signed | Element::Unsigned);
    let fits = match (shape, *to, *sums) {
        ("m16n8k16", "f32", "f32") => a == b && !bytes(a),
        ("m16n8k32", "s32", "s32") => bytes(a) && bytes(b),
        _ => false,
    };
    fits.then_some([a, b])
}

/// What stands behind `cp.async`.
fn copy(names: &Names, how: &[&str], operands: &[Operand]) -> Decoded<Option<Op>> {
    Ok(Some(match (how, operands) {
        (["commit_group"], []) => Op::CopyCommit,
        (["wait_all"], []) => Op::CopyWait(None),
        (["wait_group"], [Operand::Number(leaves)]) => Op::CopyWait(Some(*leaves as u32)),
        ([cache @ ("ca" | "cg"), "shared", "global"], [to, from, Operand::Number(len), read @ ..]) => {
            let (to, from) = (names.address(to, Space::Shared)?, names.address(from, Space::Global)?);
            let read = read.first().map(|read| names.source(read, 32, Width::Exact)).transpose()?;
            let fits = matches!((*cache, *len), (_, 16) | ("ca", 4 | 8));
            if !fits {
                return Err(format!("copies of {len} bytes"));
            }
            Op::Copy(Copying { to, from, len: *len as usize, read })
        }
        _ => return Ok(None),
    }))
}

/// What stands behind `mbarrier`, of the group's own shared memory.
fn mbarrier(names: &Names, how: &[&str], operands: &[Operand]) -> Decoded<Option<Op>> {
    let word = |operand| names.source(operand, 32, Width::Exact);
    let (act, at) = match (how, operands) {
        (["init", "shared::cta" | "shared", "b64"], [at, arrivals]) => (Act::Init(word(arrivals)?), at),
        (["inval", "shared::cta" | "shared", "b64"], [at]) => (Act::End, at),
        (["arrive", "shared::cta" | "shared", "b64"], [Operand::Name(sink), at]) if sink == "_" => (Act::Arrive, at),
        (["arrive", "expect_tx", "shared::cta" | "shared", "b64"], [Operand::Name(sink), at, bytes]) if sink == "_" => {
            (Act::ArriveExpect(word(bytes)?), at)
        }
        (["try_wait" | "test_wait", "parity", "shared::cta" | "shared", "b64"], [to, at, parity]) => {
            (Act::Test { parity: word(parity)?, to: names.target(to, 1, Width::Exact)? }, at)
        }
        _ => return Ok(None),
    };
    Ok(Some(Op::Mbarrier(act, names.address(at, Space::Shared)?)))
}

/// What stands behind `cp.async.bulk`: a box of a tensor, for the group itself.
fn copy_box(names: &Names, how: &[&str], operands: &[Operand]) -> Decoded<Option<Op>> {
    let ["tensor", axes, "shared::cluster" | "shared::cta", "global", rest @ ..] = how else { return Ok(None) };
    let (
        ["mbarrier::complete_tx::bytes"] | ["tile", "mbarrier::complete_tx::bytes"],
        [to, Operand::Tensor(map, begins), tells],
    ) = (rest, operands)
    else {
        return Ok(None);
    };
    if axes.strip_suffix('d').and_then(|n| n.parse().ok()) != Some(begins.len()) {
        return Err(format!("{} coordinates for {axes}", begins.len()));
    }
    Ok(Some(Op::CopyBox(Bulk {
        to: names.address(to, Space::Shared)?,
        map: names.source(map, 64, Width::Exact)?,
        begins: begins.iter().map(|at| names.source(at, 32, Width::Exact)).collect::<Decoded<_>>()?,
        tells: names.address(tells, Space::Shared)?,
    })))
}

/// A product of a warpgroup: 64 rows, 16 terms of halves or 32 of bytes that all have a sign or none, and as many columns as
/// the shape says.
fn product(names: &Names, (shape, of): (&str, &str), types: [&str; 2], operands: &[Operand]) -> Decoded<Option<Op>> {
    let [sums, left, right, added, rest @ ..] = operands else { return Ok(None) };
    let halves = of == "f32";
    let shape = shape.strip_prefix("m64n").and_then(|rest| rest.strip_suffix(if halves { "k16" } else { "k32" }));
    let columns =
        shape.and_then(|columns| columns.parse::<usize>().ok()).filter(|n| n % 8 == 0 && (8..=256).contains(n));
    let (Some(columns), [Some(a), Some(b)]) = (columns, types.map(Element::of)) else { return Ok(None) };
    let one = Operand::Number(1);
    // A left factor in registers has no lines.
    let in_words = matches!(left, Operand::List(_));
    let by_term = match rest {
        [scale_left, scale_right, Operand::Number(columns)]
            if in_words && halves && *scale_left == one && *scale_right == one =>
        {
            [false, *columns == 1]
        }
        [scale_left, scale_right, Operand::Number(rows), Operand::Number(columns)]
            if !in_words && halves && *scale_left == one && *scale_right == one =>
        {
            [*rows == 1, *columns == 1]
        }
        [] if !halves => [false, false],
        _ => return Ok(None),
    };
    if a != b || halves != matches!(a, Element::Half | Element::Brain) || !halves && columns > 24 && columns % 16 != 0 {
        return Ok(None);
    }
    let sums = names.words(sums)?;
    if 2 * sums.len() != columns {
        return Err(format!("{} registers for {columns} columns", sums.len()));
    }
    let right = names.source(right, 64, Width::Exact)?;
    let added = names.source(added, 1, Width::Exact)?;
    let left = match in_words {
        true => Left::Words(names.sources(left, 32, Width::Exact)?),
        false => Left::Tile(names.source(left, 64, Width::Exact)?),
    };
    if matches!(&left, Left::Words(words) if words.len() != 4) {
        return Err("another number of registers than 4".into());
    }
    Ok(Some(Op::Product(Product { elements: [a, b], sums, left, right, added, by_term })))
}

/// The threads of a mask, which the text has to say.
fn these(mask: &Operand) -> Decoded<Together> {
    match mask {
        Operand::Number(mask) => Ok(Together::These(*mask as u32)),
        other => Err(format!("{other:?} is no mask that the text says")),
    }
}
