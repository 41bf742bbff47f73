//! A kernel of SPIR-V, written down word by word.

/// Instructions by their names in the specification.
#[derive(Clone, Copy)]
#[repr(u16)]
enum Op {
    MemoryModel = 14,
    EntryPoint = 15,
    ExecutionMode = 16,
    Capability = 17,
    TypeVoid = 19,
    TypeBool = 20,
    TypeInt = 21,
    TypeFloat = 22,
    TypeVector = 23,
    TypeRuntimeArray = 29,
    TypeStruct = 30,
    TypePointer = 32,
    TypeFunction = 33,
    Constant = 43,
    Function = 54,
    FunctionEnd = 56,
    Variable = 59,
    Load = 61,
    Store = 62,
    AccessChain = 65,
    Decorate = 71,
    MemberDecorate = 72,
    CompositeExtract = 81,
    FAdd = 129,
    FMul = 133,
    ULessThan = 176,
    SelectionMerge = 247,
    Label = 248,
    Branch = 249,
    BranchConditional = 250,
    Return = 253,
}

const MAIN: u32 = u32::from_le_bytes(*b"main");
const STORAGE: u32 = 12;
const PUSH: u32 = 9;
const INPUT: u32 = 1;

/// Threads of a group of [`scale`].
pub(crate) const GROUP: u32 = 64;

/// `y[i] = a * x[i] + c[0]` for `i < n`: buffers `x`, `c` and `y`, values `n` and `a`.
pub(crate) fn scale() -> Vec<u8> {
    use Op::{Constant, Decorate, MemberDecorate, TypePointer, TypeStruct, Variable};
    let [main, gid, rta, buf, x, c, y, push, pc, void, func, uint, float, boolean] =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    let [uint3, buffers, elements, inputs, pushes, push_uint, push_float, zero, one] =
        [15, 16, 17, 18, 19, 20, 21, 22, 23];
    let mut out: Vec<u32> = vec![0x0723_0203, 0x0001_0300, 0, 60, 0];
    let mut op = |op: Op, words: &[u32]| {
        out.push((words.len() as u32 + 1) << 16 | u32::from(op as u16));
        out.extend(words);
    };
    op(Op::Capability, &[1]);
    op(Op::MemoryModel, &[0, 1]);
    op(Op::EntryPoint, &[5, main, MAIN, 0, gid]);
    op(Op::ExecutionMode, &[main, 17, GROUP, 1, 1]);
    op(Decorate, &[gid, 11, 28]);
    op(Decorate, &[rta, 6, 4]);
    op(MemberDecorate, &[buf, 0, 35, 0]);
    op(Decorate, &[buf, 2]);
    for (binding, variable) in [x, c, y].into_iter().enumerate() {
        op(Decorate, &[variable, 34, 0]);
        op(Decorate, &[variable, 33, binding as u32]);
    }
    op(MemberDecorate, &[push, 0, 35, 0]);
    op(MemberDecorate, &[push, 1, 35, 8]);
    op(Decorate, &[push, 2]);
    op(Op::TypeVoid, &[void]);
    op(Op::TypeFunction, &[func, void]);
    op(Op::TypeInt, &[uint, 32, 0]);
    op(Op::TypeFloat, &[float, 32]);
    op(Op::TypeBool, &[boolean]);
    op(Op::TypeVector, &[uint3, uint, 3]);
    op(Op::TypeRuntimeArray, &[rta, float]);
    op(TypeStruct, &[buf, rta]);
    op(TypeStruct, &[push, uint, float]);
    op(TypePointer, &[buffers, STORAGE, buf]);
    op(TypePointer, &[elements, STORAGE, float]);
    op(TypePointer, &[inputs, INPUT, uint3]);
    op(TypePointer, &[pushes, PUSH, push]);
    op(TypePointer, &[push_uint, PUSH, uint]);
    op(TypePointer, &[push_float, PUSH, float]);
    op(Constant, &[uint, zero, 0]);
    op(Constant, &[uint, one, 1]);
    op(Variable, &[inputs, gid, INPUT]);
    op(Variable, &[pushes, pc, PUSH]);
    [x, c, y].into_iter().for_each(|variable| op(Variable, &[buffers, variable, STORAGE]));
    op(Op::Function, &[void, main, 0, func]);
    op(Op::Label, &[30]);
    op(Op::Load, &[uint3, 31, gid]);
    op(Op::CompositeExtract, &[uint, 32, 31, 0]);
    op(Op::AccessChain, &[push_uint, 33, pc, zero]);
    op(Op::Load, &[uint, 34, 33]);
    op(Op::ULessThan, &[boolean, 35, 32, 34]);
    op(Op::SelectionMerge, &[51, 0]);
    op(Op::BranchConditional, &[35, 50, 51]);
    op(Op::Label, &[50]);
    op(Op::AccessChain, &[push_float, 36, pc, one]);
    op(Op::Load, &[float, 37, 36]);
    op(Op::AccessChain, &[elements, 38, x, zero, 32]);
    op(Op::Load, &[float, 39, 38]);
    op(Op::AccessChain, &[elements, 40, c, zero, zero]);
    op(Op::Load, &[float, 41, 40]);
    op(Op::FMul, &[float, 42, 37, 39]);
    op(Op::FAdd, &[float, 43, 42, 41]);
    op(Op::AccessChain, &[elements, 44, y, zero, 32]);
    op(Op::Store, &[44, 43]);
    op(Op::Branch, &[51]);
    op(Op::Label, &[51]);
    op(Op::Return, &[]);
    op(Op::FunctionEnd, &[]);
    out.into_iter().flat_map(u32::to_le_bytes).collect()
}
