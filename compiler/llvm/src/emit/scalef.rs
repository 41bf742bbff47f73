//! x 2^⌊n⌋, `scalef`: an instruction of AVX-512. `LowerMath` writes it for nothing else.

use super::function::{Body, Result};
use crate::ir::Value;

/// How many lanes the instruction takes.
const WIDTH: u32 = 16;
/// As the control register says, which is to the nearest.
const ROUNDING: i64 = 4;

impl<'c> Body<'_, 'c, '_> {
    /// `scalef(x, n)`.
    pub(super) fn scalef(&self, x: Value<'c>, n: Value<'c>) -> Result<Value<'c>> {
        let lanes = x.ty().lanes();
        if !(self.cx.target.has("avx512f") && lanes.is_multiple_of(WIDTH)) {
            return Err(format!("`scalef` of {lanes} lanes: AVX-512 has it of multiples of {WIDTH}"));
        }
        let ir = self.cx.ir;
        let (all, rounding) = (ir.const_int(ir.int(16), -1), ir.const_int(ir.int(32), ROUNDING));
        Ok(self.in_parts(&[x, n], WIDTH, |part| {
            ir.intrinsic("llvm.x86.avx512.mask.scalef.ps.512", &[], &[part[0], part[1], part[0], all, rounding])
        }))
    }
}
