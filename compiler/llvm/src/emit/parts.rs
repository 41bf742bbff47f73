//! Instructions that take vectors of one length only: longer ones go by in parts.

use super::function::Body;
use crate::ir::Value;

impl<'c> Body<'_, 'c, '_> {
    /// What `f` makes of each part of `width` lanes of these vectors, whose lanes are a multiple of that, side by side.
    pub(super) fn in_parts(&self, args: &[Value<'c>], width: u32, f: impl Fn(&[Value<'c>]) -> Value<'c>) -> Value<'c> {
        let ir = self.cx.ir;
        let lanes = args[0].ty().lanes();
        let part =
            |arg: &Value<'c>, first| if lanes == width { *arg } else { ir.shuffle(*arg, *arg, first..first + width) };
        let of_part = |first: u32| f(&args.iter().map(|arg| part(arg, first)).collect::<Vec<_>>());
        let mut parts: Vec<Value<'c>> = (0..lanes).step_by(width as usize).map(of_part).collect();
        while let [first, .., last] = parts[..] {
            // The last of an odd number waits beside a copy of itself, of which no lane is taken in the end.
            let longer = 2 * first.ty().lanes();
            let pairs = parts.chunks(2).map(|pair| ir.shuffle(pair[0], *pair.get(1).unwrap_or(&last), 0..longer));
            parts = pairs.collect();
        }
        let all = parts[0];
        if all.ty().lanes() == lanes { all } else { ir.shuffle(all, all, 0..lanes) }
    }
}
