//! LLVM's instructions as small safe functions.
//!
//! inkwell types every value as scalar or vector, integer or float, at compile time; code that is
//! the same for a scalar and a vector would be written twice. Here a [`Value`] is what LLVM makes
//! of it, and the verifier tells a wrong type. It knows instructions, not tir.

use std::{ffi::CString, marker::PhantomData, ptr};

use inkwell::{
    context::Context,
    llvm_sys::{
        self, LLVMIntPredicate, LLVMLinkage, LLVMOpcode, LLVMRealPredicate, LLVMTypeKind, LLVMVisibility,
        core::*,
        debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMSetSubprogram, LLVMTemporaryMDNode},
        prelude::*,
    },
    module::Module,
};

pub(crate) use llvm_sys::{LLVMIntPredicate as Int, LLVMRealPredicate as Real};

/// Calls a function of LLVM-C with references of this file's own types.
macro_rules! llvm {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: every reference comes from the one context that `Ir` borrows, which outlives
        // it; none is null, because each was made by a function that gives none; LLVM is loaded,
        // because `Ir` is made from a context. Wrong types are found by the verifier.
        unsafe { $function($($argument),*) }
    };
}

mod attributes;
mod indirect;
mod memory;
mod opaque;
mod warp;

/// A value: constant, parameter or result of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value<'c>(LLVMValueRef, PhantomData<&'c Context>);

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type<'c>(LLVMTypeRef, PhantomData<&'c Context>);

/// A basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block<'c>(LLVMBasicBlockRef, PhantomData<&'c Context>);

/// A node of metadata.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metadata<'c>(LLVMMetadataRef, PhantomData<&'c Context>);

/// `LLVMFastMathAllowReassoc` and `LLVMFastMathAllowContract` of LLVM-C, which llvm-sys lacks.
const REASSOCIATE: u32 = 1 << 0;
const CONTRACT: u32 = 1 << 5;

/// What the rounding of floats may be changed by. Nothing else is ever allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Freedom {
    /// Sums may be taken in another order.
    pub(crate) reassociate: bool,
    /// A product and a sum may round once.
    pub(crate) contract: bool,
}

/// Who sees a function or a global.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The linker and the user's program.
    Outside,
    /// The linker, inside one program.
    Hidden,
    /// This module.
    Inside,
}

impl<'c> Value<'c> {
    fn new(value: LLVMValueRef) -> Self {
        Value(value, PhantomData)
    }

    /// Its type.
    pub(crate) fn ty(self) -> Type<'c> {
        Type::new(llvm!(LLVMTypeOf(self.0)))
    }

    /// The value of a constant integer, of a scalar or in every lane of a vector.
    pub(crate) fn as_const(self) -> Option<i64> {
        let constant = !llvm!(LLVMIsAConstantInt(self.0)).is_null();
        constant.then(|| llvm!(LLVMConstIntGetSExtValue(self.0)))
    }
}

impl<'c> Type<'c> {
    fn new(ty: LLVMTypeRef) -> Self {
        Type(ty, PhantomData)
    }

    fn kind(self) -> LLVMTypeKind {
        llvm!(LLVMGetTypeKind(self.0))
    }

    /// The number of lanes; 1 for a scalar.
    pub(crate) fn lanes(self) -> u32 {
        match self.kind() {
            LLVMTypeKind::LLVMVectorTypeKind => llvm!(LLVMGetVectorSize(self.0)),
            _ => 1,
        }
    }

    /// The type of a lane.
    pub(crate) fn lane(self) -> Type<'c> {
        match self.kind() {
            LLVMTypeKind::LLVMVectorTypeKind => Type::new(llvm!(LLVMGetElementType(self.0))),
            _ => self,
        }
    }

    /// This type in `lanes` lanes.
    pub(crate) fn times(self, lanes: u32) -> Type<'c> {
        if lanes == 1 { self } else { Type::new(llvm!(LLVMVectorType(self.0, lanes))) }
    }

    /// The width in bits of a lane that is an integer, `float` or `double`.
    pub(crate) fn bits(self) -> u32 {
        let lane = self.lane();
        match lane.kind() {
            LLVMTypeKind::LLVMIntegerTypeKind => llvm!(LLVMGetIntTypeWidth(lane.0)),
            LLVMTypeKind::LLVMDoubleTypeKind => 64,
            LLVMTypeKind::LLVMFloatTypeKind => 32,
            _ => 16,
        }
    }

    /// Whether a lane is a float.
    pub(crate) fn is_float(self) -> bool {
        matches!(
            self.lane().kind(),
            LLVMTypeKind::LLVMHalfTypeKind
                | LLVMTypeKind::LLVMBFloatTypeKind
                | LLVMTypeKind::LLVMFloatTypeKind
                | LLVMTypeKind::LLVMDoubleTypeKind
        )
    }
}

/// Writes instructions at a place in a module.
pub(crate) struct Ir<'c, 'm> {
    context: LLVMContextRef,
    module: &'m Module<'c>,
    builder: LLVMBuilderRef,
}

impl Drop for Ir<'_, '_> {
    fn drop(&mut self) {
        llvm!(LLVMDisposeBuilder(self.builder));
    }
}

impl<'c, 'm> Ir<'c, 'm> {
    /// Writes into `module`.
    pub(crate) fn new(context: &'c Context, module: &'m Module<'c>) -> Self {
        let raw = context.raw();
        Ir { context: raw, module, builder: llvm!(LLVMCreateBuilderInContext(raw)) }
    }

    /// The module.
    pub(crate) fn module(&self) -> &'m Module<'c> {
        self.module
    }

    // Types.

    /// An integer of `bits` bits.
    pub(crate) fn int(&self, bits: u32) -> Type<'c> {
        Type::new(llvm!(LLVMIntTypeInContext(self.context, bits)))
    }

    /// `half`, `float` or `double`.
    pub(crate) fn float(&self, bits: u32) -> Type<'c> {
        Type::new(match bits {
            16 => llvm!(LLVMHalfTypeInContext(self.context)),
            32 => llvm!(LLVMFloatTypeInContext(self.context)),
            _ => llvm!(LLVMDoubleTypeInContext(self.context)),
        })
    }

    /// The 16-bit float with the exponent of `float`.
    pub(crate) fn brain(&self) -> Type<'c> {
        Type::new(llvm!(LLVMBFloatTypeInContext(self.context)))
    }

    /// A pointer.
    pub(crate) fn pointer(&self) -> Type<'c> {
        Type::new(llvm!(LLVMPointerTypeInContext(self.context, 0)))
    }

    /// `length` of `of`.
    pub(crate) fn array(&self, of: Type<'c>, length: u64) -> Type<'c> {
        Type::new(llvm!(LLVMArrayType2(of.0, length)))
    }

    /// The integer as wide as the float, with as many lanes.
    pub(crate) fn int_like(&self, ty: Type<'c>) -> Type<'c> {
        self.int(ty.bits()).times(ty.lanes())
    }

    /// `bool`s, as many as `ty` has lanes.
    pub(crate) fn bool_like(&self, ty: Type<'c>) -> Type<'c> {
        self.int(1).times(ty.lanes())
    }

    // Constants.

    /// An integer in every lane, of which the low bits are taken.
    pub(crate) fn const_int(&self, ty: Type<'c>, value: i64) -> Value<'c> {
        let lane = Value::new(llvm!(LLVMConstInt(ty.lane().0, value as u64, 1)));
        self.const_splat(lane, ty.lanes())
    }

    /// A float in every lane.
    pub(crate) fn const_float(&self, ty: Type<'c>, value: f64) -> Value<'c> {
        let bits = match ty.bits() {
            32 => i64::from((value as f32).to_bits()),
            _ => value.to_bits() as i64,
        };
        let lane = self.const_int(self.int(ty.bits()), bits);
        let lane = Value::new(llvm!(LLVMConstBitCast(lane.0, ty.lane().0)));
        self.const_splat(lane, ty.lanes())
    }

    fn const_splat(&self, lane: Value<'c>, lanes: u32) -> Value<'c> {
        if lanes == 1 { lane } else { self.const_vector(&vec![lane; lanes as usize]) }
    }

    /// The value of a constant float, or of a vector all of whose lanes are one.
    pub(crate) fn float_const(&self, value: Value<'c>) -> Option<f64> {
        if llvm!(LLVMIsConstant(value.0)) == 0 {
            return None;
        }
        let lanes = value.ty().lanes();
        let lane = |n| if lanes == 1 { value.0 } else { llvm!(LLVMGetAggregateElement(value.0, n)) };
        let first = lane(0);
        if first.is_null() || llvm!(LLVMIsAConstantFP(first)).is_null() || (1..lanes).any(|n| lane(n) != first) {
            return None;
        }
        let mut inexact = 0;
        Some(llvm!(LLVMConstRealGetDouble(first, &mut inexact)))
    }

    /// A vector of constants.
    pub(crate) fn const_vector(&self, lanes: &[Value<'c>]) -> Value<'c> {
        let mut raw: Vec<LLVMValueRef> = lanes.iter().map(|lane| lane.0).collect();
        Value::new(llvm!(LLVMConstVector(raw.as_mut_ptr(), raw.len() as u32)))
    }

    /// Any value.
    pub(crate) fn poison(&self, ty: Type<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMGetPoison(ty.0)))
    }

    // Integers.

    fn binary(&self, opcode: LLVMOpcode, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildBinOp(self.builder, opcode, a.0, b.0, c"".as_ptr())))
    }

    /// `a + b`, wrapping.
    pub(crate) fn add(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(LLVMOpcode::LLVMAdd, a, b)
    }

    /// `a + b` that is known not to overflow, as a signed integer.
    pub(crate) fn add_exact(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildNSWAdd(self.builder, a.0, b.0, c"".as_ptr())))
    }

    /// `a - b`, wrapping.
    pub(crate) fn sub(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(LLVMOpcode::LLVMSub, a, b)
    }

    /// `a - b` that is known not to overflow, as a signed integer.
    pub(crate) fn sub_exact(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildNSWSub(self.builder, a.0, b.0, c"".as_ptr())))
    }

    /// `a * b` that is known not to overflow, as a signed integer.
    pub(crate) fn mul_exact(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildNSWMul(self.builder, a.0, b.0, c"".as_ptr())))
    }

    /// `a * b`, wrapping.
    pub(crate) fn mul(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(LLVMOpcode::LLVMMul, a, b)
    }

    /// Quotient; the divisor is neither 0 nor, for `MIN`, -1.
    pub(crate) fn div(&self, signed: bool, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(if signed { LLVMOpcode::LLVMSDiv } else { LLVMOpcode::LLVMUDiv }, a, b)
    }

    /// Remainder, with the limits of [`Ir::div`].
    pub(crate) fn rem(&self, signed: bool, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(if signed { LLVMOpcode::LLVMSRem } else { LLVMOpcode::LLVMURem }, a, b)
    }

    /// Bitwise and.
    pub(crate) fn and(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(LLVMOpcode::LLVMAnd, a, b)
    }

    /// Bitwise or.
    pub(crate) fn or(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(LLVMOpcode::LLVMOr, a, b)
    }

    /// Bitwise exclusive or.
    pub(crate) fn xor(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(LLVMOpcode::LLVMXor, a, b)
    }

    /// Shift left by less than the width.
    pub(crate) fn shl(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(LLVMOpcode::LLVMShl, a, b)
    }

    /// Shift right by less than the width, keeping the sign if `signed`.
    pub(crate) fn shr(&self, signed: bool, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(if signed { LLVMOpcode::LLVMAShr } else { LLVMOpcode::LLVMLShr }, a, b)
    }

    /// A comparison of integers.
    pub(crate) fn icmp(&self, how: LLVMIntPredicate, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildICmp(self.builder, how, a.0, b.0, c"".as_ptr())))
    }

    /// `a` with the bits of `ty`: cut off, or filled up with the sign or zeros.
    pub(crate) fn resize(&self, signed: bool, a: Value<'c>, ty: Type<'c>) -> Value<'c> {
        let (from, to) = (a.ty().bits(), ty.bits());
        let opcode = match from.cmp(&to) {
            std::cmp::Ordering::Equal => return a,
            std::cmp::Ordering::Greater => LLVMOpcode::LLVMTrunc,
            std::cmp::Ordering::Less if signed => LLVMOpcode::LLVMSExt,
            std::cmp::Ordering::Less => LLVMOpcode::LLVMZExt,
        };
        self.cast(opcode, a, ty)
    }

    // Floats.

    fn float_binary(&self, opcode: LLVMOpcode, freedom: Freedom, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let value = self.binary(opcode, a, b);
        self.free(freedom, value);
        value
    }

    /// Lets LLVM change how a float is rounded.
    fn free(&self, freedom: Freedom, value: Value<'c>) {
        let mut flags = 0;
        if freedom.reassociate {
            flags |= REASSOCIATE;
        }
        if freedom.contract {
            flags |= CONTRACT;
        }
        // A folded constant has no flags.
        if flags != 0 && llvm!(LLVMCanValueUseFastMathFlags(value.0)) != 0 {
            llvm!(LLVMSetFastMathFlags(value.0, flags));
        }
    }

    /// `a + b`.
    pub(crate) fn fadd(&self, freedom: Freedom, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.float_binary(LLVMOpcode::LLVMFAdd, freedom, a, b)
    }

    /// `a - b`.
    pub(crate) fn fsub(&self, freedom: Freedom, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.float_binary(LLVMOpcode::LLVMFSub, freedom, a, b)
    }

    /// `a * b`.
    pub(crate) fn fmul(&self, freedom: Freedom, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.float_binary(LLVMOpcode::LLVMFMul, freedom, a, b)
    }

    /// `a / b`.
    pub(crate) fn fdiv(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        self.binary(LLVMOpcode::LLVMFDiv, a, b)
    }

    /// `-a`.
    pub(crate) fn fneg(&self, a: Value<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildFNeg(self.builder, a.0, c"".as_ptr())))
    }

    /// A comparison of floats.
    pub(crate) fn fcmp(&self, how: LLVMRealPredicate, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildFCmp(self.builder, how, a.0, b.0, c"".as_ptr())))
    }

    /// `a` as the float `ty`, rounded to nearest.
    pub(crate) fn fresize(&self, a: Value<'c>, ty: Type<'c>) -> Value<'c> {
        let (from, to) = (a.ty().bits(), ty.bits());
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => a,
            std::cmp::Ordering::Greater => self.cast(LLVMOpcode::LLVMFPTrunc, a, ty),
            std::cmp::Ordering::Less => self.cast(LLVMOpcode::LLVMFPExt, a, ty),
        }
    }

    /// The integer `a` as the float `ty`, rounded to nearest.
    pub(crate) fn int_to_float(&self, signed: bool, a: Value<'c>, ty: Type<'c>) -> Value<'c> {
        let opcode = if signed { LLVMOpcode::LLVMSIToFP } else { LLVMOpcode::LLVMUIToFP };
        self.cast(opcode, a, ty)
    }

    /// The float `a` as the integer `ty`: towards zero, saturating, 0 for NaN.
    pub(crate) fn float_to_int(&self, signed: bool, a: Value<'c>, ty: Type<'c>) -> Value<'c> {
        let name = if signed { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
        self.intrinsic(name, &[ty, a.ty()], &[a])
    }

    /// The float `a` as the integer `ty`, towards zero: poison where that has no room for it, and for NaN.
    pub(crate) fn float_to_int_inside(&self, signed: bool, a: Value<'c>, ty: Type<'c>) -> Value<'c> {
        self.cast(if signed { LLVMOpcode::LLVMFPToSI } else { LLVMOpcode::LLVMFPToUI }, a, ty)
    }

    // Both.

    fn cast(&self, opcode: LLVMOpcode, a: Value<'c>, ty: Type<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildCast(self.builder, opcode, a.0, ty.0, c"".as_ptr())))
    }

    /// The same bits as another type.
    pub(crate) fn bitcast(&self, a: Value<'c>, ty: Type<'c>) -> Value<'c> {
        if a.ty() == ty { a } else { self.cast(LLVMOpcode::LLVMBitCast, a, ty) }
    }

    /// `cond ? a : b`, both evaluated.
    pub(crate) fn select(&self, cond: Value<'c>, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildSelect(self.builder, cond.0, a.0, b.0, c"".as_ptr())))
    }

    /// A call of an intrinsic of LLVM, overloaded by `types`.
    pub(crate) fn intrinsic(&self, name: &str, types: &[Type<'c>], arguments: &[Value<'c>]) -> Value<'c> {
        let mut types: Vec<LLVMTypeRef> = types.iter().map(|ty| ty.0).collect();
        let id = llvm!(LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()));
        let module = self.module.as_mut_ptr();
        let function = llvm!(LLVMGetIntrinsicDeclaration(module, id, types.as_mut_ptr(), types.len()));
        let ty = llvm!(LLVMIntrinsicGetType(self.context, id, types.as_mut_ptr(), types.len()));
        self.call_raw(ty, function, arguments)
    }

    /// A call of an intrinsic that is not overloaded, with arguments of other types of the same size as it takes.
    pub(crate) fn intrinsic_of_bits(&self, name: &str, arguments: &[Value<'c>]) -> Value<'c> {
        let id = llvm!(LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len()));
        let ty = llvm!(LLVMIntrinsicGetType(self.context, id, ptr::null_mut(), 0));
        let mut taken = vec![ptr::null_mut(); arguments.len()];
        llvm!(LLVMGetParamTypes(ty, taken.as_mut_ptr()));
        let cast = |(value, ty): (&Value<'c>, &LLVMTypeRef)| self.bitcast(*value, Type::new(*ty));
        let arguments: Vec<Value<'c>> = arguments.iter().zip(&taken).map(cast).collect();
        self.intrinsic(name, &[], &arguments)
    }

    fn call_raw(&self, ty: LLVMTypeRef, function: LLVMValueRef, arguments: &[Value<'c>]) -> Value<'c> {
        let mut raw: Vec<LLVMValueRef> = arguments.iter().map(|value| value.0).collect();
        Value::new(llvm!(LLVMBuildCall2(self.builder, ty, function, raw.as_mut_ptr(), raw.len() as u32, c"".as_ptr(),)))
    }

    /// A call of a function of this module.
    pub(crate) fn call(&self, function: Value<'c>, arguments: &[Value<'c>]) -> Value<'c> {
        let ty = llvm!(LLVMGlobalGetValueType(function.0));
        self.call_raw(ty, function.0, arguments)
    }

    // Lanes.

    /// `a` in each of `lanes` lanes.
    pub(crate) fn splat(&self, a: Value<'c>, lanes: u32) -> Value<'c> {
        if lanes == 1 {
            return a;
        }
        let vector = a.ty().times(lanes);
        let first = self.insert(self.poison(vector), a, 0);
        let mask = self.const_int(self.int(32).times(lanes), 0);
        Value::new(llvm!(LLVMBuildShuffleVector(self.builder, first.0, self.poison(vector).0, mask.0, c"".as_ptr(),)))
    }

    /// Lanes picked by number from those of two vectors of one type, behind one another.
    pub(crate) fn shuffle(&self, a: Value<'c>, b: Value<'c>, lanes: impl Iterator<Item = u32>) -> Value<'c> {
        let mask: Vec<Value<'c>> = lanes.map(|lane| self.const_int(self.int(32), i64::from(lane))).collect();
        Value::new(llvm!(LLVMBuildShuffleVector(self.builder, a.0, b.0, self.const_vector(&mask).0, c"".as_ptr())))
    }

    /// The lane at a constant place.
    pub(crate) fn extract(&self, vector: Value<'c>, lane: u32) -> Value<'c> {
        let at = self.const_int(self.int(32), i64::from(lane));
        Value::new(llvm!(LLVMBuildExtractElement(self.builder, vector.0, at.0, c"".as_ptr())))
    }

    /// `vector` with one lane replaced.
    pub(crate) fn insert(&self, vector: Value<'c>, value: Value<'c>, lane: u32) -> Value<'c> {
        let at = self.const_int(self.int(32), i64::from(lane));
        Value::new(llvm!(LLVMBuildInsertElement(self.builder, vector.0, value.0, at.0, c"".as_ptr(),)))
    }

    // Blocks.

    /// A new block at the end of a function.
    pub(crate) fn block(&self, function: Value<'c>) -> Block<'c> {
        let block = llvm!(LLVMAppendBasicBlockInContext(self.context, function.0, c"".as_ptr()));
        Block(block, PhantomData)
    }

    /// What follows is written at the end of `block`.
    pub(crate) fn at_end(&self, block: Block<'c>) {
        llvm!(LLVMPositionBuilderAtEnd(self.builder, block.0));
    }

    /// The block that is written to.
    pub(crate) fn here(&self) -> Block<'c> {
        Block(llvm!(LLVMGetInsertBlock(self.builder)), PhantomData)
    }

    /// A jump.
    pub(crate) fn jump(&self, to: Block<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildBr(self.builder, to.0)))
    }

    /// A jump to one of two blocks.
    pub(crate) fn branch(&self, cond: Value<'c>, yes: Block<'c>, no: Block<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildCondBr(self.builder, cond.0, yes.0, no.0)))
    }

    /// The end of a function.
    pub(crate) fn ret(&self, value: Option<Value<'c>>) {
        match value {
            Some(value) => llvm!(LLVMBuildRet(self.builder, value.0)),
            None => llvm!(LLVMBuildRetVoid(self.builder)),
        };
    }

    /// A value that depends on the block control came from.
    pub(crate) fn phi(&self, ty: Type<'c>) -> Value<'c> {
        Value::new(llvm!(LLVMBuildPhi(self.builder, ty.0, c"".as_ptr())))
    }

    /// What a phi is, for control that comes from `block`.
    pub(crate) fn incoming(&self, phi: Value<'c>, value: Value<'c>, block: Block<'c>) {
        llvm!(LLVMAddIncoming(phi.0, [value.0].as_mut_ptr(), [block.0].as_mut_ptr(), 1));
    }

    // Functions and globals.

    /// A new function.
    pub(crate) fn function(
        &self,
        name: &str,
        parameters: &[Type<'c>],
        result: Option<Type<'c>>,
        seen: Seen,
    ) -> Value<'c> {
        let mut raw: Vec<LLVMTypeRef> = parameters.iter().map(|ty| ty.0).collect();
        let result = match result {
            Some(ty) => ty.0,
            None => llvm!(LLVMVoidTypeInContext(self.context)),
        };
        let ty = llvm!(LLVMFunctionType(result, raw.as_mut_ptr(), raw.len() as u32, 0));
        let name = c_string(name);
        let function = llvm!(LLVMAddFunction(self.module.as_mut_ptr(), name.as_ptr(), ty));
        self.see(function, seen);
        Value::new(function)
    }

    /// How a function is called.
    pub(crate) fn convention(&self, function: Value<'c>, number: u32) {
        llvm!(LLVMSetFunctionCallConv(function.0, number));
    }

    /// The functions that the module defines.
    pub(crate) fn functions(&self) -> Vec<Value<'c>> {
        let mut all = Vec::new();
        let mut next = llvm!(LLVMGetFirstFunction(self.module.as_mut_ptr()));
        while !next.is_null() {
            if llvm!(LLVMIsDeclaration(next)) == 0 {
                all.push(Value::new(next));
            }
            next = llvm!(LLVMGetNextFunction(next));
        }
        all
    }

    /// The function of that name.
    pub(crate) fn function_named(&self, name: &str) -> Option<Value<'c>> {
        let name = c_string(name);
        let found = llvm!(LLVMGetNamedFunction(self.module.as_mut_ptr(), name.as_ptr()));
        (!found.is_null()).then(|| Value::new(found))
    }

    /// A constant that another object defines.
    pub(crate) fn external(&self, name: &str, of: Type<'c>, align: u32) -> Value<'c> {
        let text = c_string(name);
        let module = self.module.as_mut_ptr();
        let mut global = llvm!(LLVMGetNamedGlobal(module, text.as_ptr()));
        if global.is_null() {
            global = llvm!(LLVMAddGlobal(module, of.0, text.as_ptr()));
            llvm!(LLVMSetGlobalConstant(global, 1));
            llvm!(LLVMSetAlignment(global, align));
            self.see(global, Seen::Hidden);
        }
        Value::new(global)
    }

    fn see(&self, global: LLVMValueRef, seen: Seen) {
        match seen {
            Seen::Outside => llvm!(LLVMSetVisibility(global, LLVMVisibility::LLVMDefaultVisibility)),
            Seen::Hidden => llvm!(LLVMSetVisibility(global, LLVMVisibility::LLVMHiddenVisibility)),
            Seen::Inside => llvm!(LLVMSetLinkage(global, LLVMLinkage::LLVMInternalLinkage)),
        }
    }

    /// The parameter of that number.
    pub(crate) fn parameter(&self, function: Value<'c>, number: u32) -> Value<'c> {
        Value::new(llvm!(LLVMGetParam(function.0, number)))
    }

    /// Puts a function into a section of its own, which a linker can leave out.
    pub(crate) fn section(&self, function: Value<'c>, name: &str) {
        let name = c_string(name);
        llvm!(LLVMSetSection(function.0, name.as_ptr()));
    }

    // Metadata.

    /// Says something of the loop that `jump` closes, such as `llvm.loop.unroll.full`; with `true` if `switch`.
    pub(crate) fn loop_property(&self, jump: Value<'c>, name: &str, switch: bool) {
        let context = self.context;
        let text = llvm!(LLVMMDStringInContext2(context, name.as_ptr().cast(), name.len()));
        let yes = llvm!(LLVMValueAsMetadata(self.const_int(self.int(1), 1).0));
        let mut words = if switch { vec![text, yes] } else { vec![text] };
        let property = llvm!(LLVMMDNodeInContext2(context, words.as_mut_ptr(), words.len()));
        // The first operand of a loop's node is the node itself, so that no two are merged.
        let hole = llvm!(LLVMTemporaryMDNode(context, ptr::null_mut(), 0));
        let mut operands = [hole, property];
        let node = llvm!(LLVMMDNodeInContext2(context, operands.as_mut_ptr(), operands.len()));
        llvm!(LLVMMetadataReplaceAllUsesWith(hole, node));
        self.describe(jump, "llvm.loop", node);
    }

    pub(super) fn describe(&self, instruction: Value<'c>, kind: &str, node: LLVMMetadataRef) {
        let id = llvm!(LLVMGetMDKindIDInContext(self.context, kind.as_ptr().cast(), kind.len() as u32));
        llvm!(LLVMSetMetadata(instruction.0, id, LLVMMetadataAsValue(self.context, node)));
    }

    /// What follows stands at this place in the source, or at none.
    pub(crate) fn place(&self, location: Option<Metadata<'c>>) {
        let raw = location.map_or(ptr::null_mut(), |location| location.0);
        llvm!(LLVMSetCurrentDebugLocation2(self.builder, raw));
    }

    /// Makes a function the one that places inside it name.
    pub(crate) fn set_subprogram(&self, function: Value<'c>, program: inkwell::debug_info::DISubprogram<'c>) {
        llvm!(LLVMSetSubprogram(function.0, program.as_mut_ptr()));
    }

    /// How many bits a value had before it was widened with its sign, if it was.
    pub(crate) fn widened_from(&self, value: Value<'c>) -> Option<u32> {
        if llvm!(LLVMIsASExtInst(value.0)).is_null() {
            return None;
        }
        let from = llvm!(LLVMGetOperand(value.0, 0));
        Some(llvm!(LLVMGetIntTypeWidth(LLVMTypeOf(from))))
    }

    /// A place that inkwell made.
    pub(crate) fn location(&self, location: inkwell::debug_info::DILocation<'c>) -> Metadata<'c> {
        Metadata(location.as_mut_ptr(), PhantomData)
    }
}

/// A name for LLVM. Names come from identifiers, which hold no zero byte; one that did would be cut.
fn c_string(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}
