//! What threads do together, as it is written.

use crate::decode::{Decoded, Names, Width};
use crate::op::{Op, Shuffle, Together};
use crate::parse::Operand;

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
        _ => return Ok(None),
    }))
}

/// The threads of a mask, which the text has to say.
fn these(mask: &Operand) -> Decoded<Together> {
    match mask {
        Operand::Number(mask) => Ok(Together::These(*mask as u32)),
        other => Err(format!("{other:?} is no mask that the text says")),
    }
}
