//! Loads and stores, and memory that a kernel has for itself.

use spirv::{Op, StorageClass};
use tenfold_ir::tir::{BufId, ExprId, PrimFunc, Scope};

use super::expr::{Cannot, Made};
use super::kind::Kind;
use super::out::{Id, Out, refs};
use super::stmt::{Body, Place};
use super::words::named;
use crate::kernel;

impl Body<'_> {
    /// Where an element lies, and how.
    fn element(&mut self, buf: BufId, index: &[ExprId]) -> Result<(Id, Place), Cannot> {
        let name = || self.func.buffers[buf.0 as usize].name.clone();
        let Some(place) = self.places.get(&buf).copied() else {
            let why = "a kernel has parameters, constants, shared and local memory of constant size";
            return Err(Cannot { what: format!("the memory of `{}`", name()), why });
        };
        let [at] = index else {
            return Err(Cannot { what: format!("`{}` with its axes", name()), why: "run FlattenBuffer before" });
        };
        let at = self.value(*at)?;
        let pointer = self.out.pointer(place.class, place.element);
        let mut operands = vec![place.variable];
        if place.stored {
            operands.push(self.out.word(0));
        }
        operands.push(at);
        Ok((self.out.op(Op::AccessChain, pointer, &operands), place))
    }

    pub(super) fn load(&mut self, buf: BufId, index: &[ExprId]) -> Made {
        let (at, place) = self.element(buf, index)?;
        let value = self.out.op(Op::Load, place.element, &[at]);
        if !place.stored {
            return Ok(value);
        }
        let word = self.out.int(32);
        Ok(match place.kind {
            Kind::Bool => {
                let (wide, zero) = (self.out.op(Op::UConvert, word, &[value]), self.out.word(0));
                self.out.test(Op::INotEqual, wide, zero)
            }
            Kind::Int { bits: 8 | 16, signed: true } => self.out.op(Op::SConvert, word, &[value]),
            Kind::Int { bits: 8 | 16, .. } | Kind::Half { .. } => self.out.op(Op::UConvert, word, &[value]),
            Kind::Int { .. } | Kind::Float { .. } => value,
        })
    }

    pub(super) fn store(&mut self, buf: BufId, index: &[ExprId], value: ExprId) -> Result<(), Cannot> {
        let mut value = self.value(value)?;
        let (at, place) = self.element(buf, index)?;
        if place.stored {
            value = match place.kind {
                Kind::Bool => {
                    let (one, zero) = (self.out.word(1), self.out.word(0));
                    let word = self.out.select(super::kind::U32, value, one, zero);
                    self.out.op(Op::UConvert, place.element, &[word])
                }
                Kind::Int { bits: 8 | 16, .. } | Kind::Half { .. } => {
                    self.out.op(Op::UConvert, place.element, &[value])
                }
                Kind::Int { .. } | Kind::Float { .. } => value,
            };
        }
        self.out.push(Op::Store, None, None, refs(&[at, value]));
        Ok(())
    }
}

/// How many elements a buffer of constant size has.
fn elements(func: &PrimFunc, buf: BufId) -> Result<u32, Cannot> {
    let what = || format!("`{}`, whose size is not constant,", func.buffers[buf.0 as usize].name);
    let why = "give local and shared memory constant extents";
    kernel::elements(func, buf).ok_or_else(|| Cannot { what: what(), why })
}

/// Memory that the threads of a group share; its bytes are added to `bytes`.
pub(super) fn shared(out: &mut Out, func: &PrimFunc, buf: BufId, bytes: &mut u32) -> Result<Place, Cannot> {
    let kind = Kind::of_dtype(func.buffers[buf.0 as usize].dtype);
    let (length, element) = (elements(func, buf)?, out.register(kind));
    let array = out.array(element, length);
    let variable = out.global(StorageClass::Workgroup, array);
    out.name(variable, &func.buffers[buf.0 as usize].name);
    *bytes = bytes.saturating_add(length.saturating_mul(kind.stored_bits().max(32) / 8));
    Ok(Place { variable, class: StorageClass::Workgroup, element, kind, stored: false })
}

/// Memory of one thread, made at the head of the function.
pub(super) fn local(out: &mut Out, func: &PrimFunc, buf: BufId) -> Result<Place, Cannot> {
    let kind = Kind::of_dtype(func.buffers[buf.0 as usize].dtype);
    let (length, element) = (elements(func, buf)?, out.register(kind));
    let array = out.array(element, length);
    let (pointer, variable) = (out.pointer(StorageClass::Function, array), out.id());
    let class = vec![named(StorageClass::Function as u32, StorageClass::Function)];
    out.push(Op::Variable, Some(pointer), Some(variable), class);
    out.name(variable, &func.buffers[buf.0 as usize].name);
    Ok(Place { variable, class: StorageClass::Function, element, kind, stored: false })
}

/// Whether a buffer is memory of a group.
pub(super) fn is_shared(scope: Scope) -> bool {
    matches!(scope, Scope::Shared | Scope::SharedDyn)
}
