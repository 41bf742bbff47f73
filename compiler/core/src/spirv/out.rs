//! Instructions and where they go: types and constants once each, blocks in order, helpers as functions of their own.

use std::collections::{BTreeMap, BTreeSet};

use spirv::{AddressingModel, BuiltIn, Capability, Decoration, GlslStd450Op, MemoryModel, Op, StorageClass};

use super::kind::{F32, F64, Kind};
use super::words::{Instruction, Module, Operand, named};
use super::{CONTROLS, Feature, Setting};

/// A result.
pub(super) type Id = u32;

/// A module being written.
pub(super) struct Out {
    pub(super) module: Module,
    next: Id,
    /// Types and constants by what they are made of.
    known: BTreeMap<(u32, Id, Vec<u64>), Id>,
    glsl: Id,
    /// The function being written, and the label of its block.
    code: Vec<Instruction>,
    here: Id,
    helpers: BTreeMap<&'static str, Id>,
    pub(super) features: BTreeSet<Feature>,
    pub(super) settings: BTreeMap<Setting, Id>,
    /// Variables of the shader's interface that hold a word, by what is in them.
    inputs: BTreeMap<u32, Id>,
    /// Whether features may be used that a device need not have.
    pub(super) optional: bool,
}

impl Out {
    pub(super) fn new(optional: bool) -> Out {
        let mut module = Module::default();
        let plain = |op, operands| Instruction::new(op, None, None, operands);
        module.capabilities.push(plain(Op::Capability, vec![named(Capability::Shader as u32, Capability::Shader)]));
        let glsl = vec![Operand::Text("GLSL.std.450".into())];
        module.imports.push(Instruction::new(Op::ExtInstImport, None, Some(1), glsl));
        let model = vec![
            named(AddressingModel::Logical as u32, AddressingModel::Logical),
            named(MemoryModel::GLSL450 as u32, MemoryModel::GLSL450),
        ];
        module.memory_model.push(plain(Op::MemoryModel, model));
        let (known, helpers) = (BTreeMap::new(), BTreeMap::new());
        let (features, settings, inputs) = <_>::default();
        let code = Vec::new();
        Out { module, next: 2, known, glsl: 1, code, here: 0, helpers, features, settings, inputs, optional }
    }

    pub(super) fn id(&mut self) -> Id {
        self.next += 1;
        self.next - 1
    }

    /// The module with its number of ids.
    pub(super) fn finish(mut self) -> Module {
        self.module.bound = self.next;
        self.module
    }

    pub(super) fn need(&mut self, feature: Feature) {
        if !self.features.insert(feature) {
            return;
        }
        let dots = [Capability::DotProduct, Capability::DotProductInput4x8BitPacked];
        let control = CONTROLS.iter().find(|control| control.feature == feature);
        let capability = control.map(|control| [control.capability]);
        let (capabilities, extension) = match (&capability, feature) {
            (Some(capability), _) => (&capability[..], Some("SPV_KHR_float_controls")),
            (None, Feature::I64) => (&[Capability::Int64][..], None),
            (None, Feature::F64) => (&[Capability::Float64][..], None),
            (None, Feature::Storage8) => (&[Capability::StorageBuffer8BitAccess][..], Some("SPV_KHR_8bit_storage")),
            (None, Feature::Storage16) => (&[Capability::StorageBuffer16BitAccess][..], None),
            (None, Feature::Subgroup) => (&[Capability::GroupNonUniform][..], None),
            (None, Feature::SubgroupArithmetic) => (&[Capability::GroupNonUniformArithmetic][..], None),
            (None, Feature::Dot8) => (&dots[..], Some("SPV_KHR_integer_dot_product")),
            // Nothing that this back end writes asks for another.
            _ => return,
        };
        let of = |op, operand| Instruction::new(op, None, None, vec![operand]);
        // Features of two widths may share both.
        let add = |all: &mut Vec<Instruction>, one| {
            if !all.contains(&one) {
                all.push(one);
            }
        };
        for capability in capabilities {
            add(&mut self.module.capabilities, of(Op::Capability, named(*capability as u32, capability)));
        }
        if let Some(name) = extension {
            add(&mut self.module.extensions, of(Op::Extension, Operand::Text(name.into())));
        }
    }

    /// Whether the shader computes in floats of that width.
    pub(super) fn computes_in(&self, bits: u32) -> bool {
        self.known.contains_key(&(Op::TypeFloat as u32, 0, vec![u64::from(bits)]))
    }

    // Types and constants.

    /// A type or constant: the one that is there, or a new one.
    fn once(&mut self, op: Op, ty: Option<Id>, key: Vec<u64>, operands: Vec<Operand>) -> Id {
        let key = (op as u32, ty.unwrap_or(0), key);
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let id = self.id();
        self.known.insert(key, id);
        self.module.globals.push(Instruction::new(op, ty, Some(id), operands));
        id
    }

    fn type_of_ids(&mut self, op: Op, ids: &[Id]) -> Id {
        let key = ids.iter().map(|id| u64::from(*id)).collect();
        self.once(op, None, key, refs(ids))
    }

    pub(super) fn void(&mut self) -> Id {
        self.once(Op::TypeVoid, None, vec![], vec![])
    }

    pub(super) fn bool(&mut self) -> Id {
        self.once(Op::TypeBool, None, vec![], vec![])
    }

    /// Integers have no sign: instructions say how they take them.
    pub(super) fn int(&mut self, bits: u32) -> Id {
        if bits == 64 {
            self.need(Feature::I64);
        }
        let operands = vec![Operand::Word(bits), Operand::Word(0)];
        self.once(Op::TypeInt, None, vec![u64::from(bits)], operands)
    }

    pub(super) fn float(&mut self, bits: u32) -> Id {
        if bits == 64 {
            self.need(Feature::F64);
        }
        self.once(Op::TypeFloat, None, vec![u64::from(bits)], vec![Operand::Word(bits)])
    }

    /// The type of a register.
    pub(super) fn register(&mut self, kind: Kind) -> Id {
        match kind {
            Kind::Bool => self.bool(),
            Kind::Int { bits, .. } => self.int(bits.max(32)),
            Kind::Half { .. } => self.int(32),
            Kind::Float { bits } => self.float(bits),
        }
    }

    pub(super) fn vector(&mut self, of: Id, lanes: u32) -> Id {
        let operands = vec![Operand::Id(of), Operand::Word(lanes)];
        self.once(Op::TypeVector, None, vec![u64::from(of), u64::from(lanes)], operands)
    }

    pub(super) fn array(&mut self, of: Id, length: u32) -> Id {
        let length = self.word(length);
        self.type_of_ids(Op::TypeArray, &[of, length])
    }

    pub(super) fn runtime_array(&mut self, of: Id, stride: u32) -> Id {
        let before = self.next;
        let ty = self.type_of_ids(Op::TypeRuntimeArray, &[of]);
        if ty == before {
            self.decorate(ty, Decoration::ArrayStride, vec![Operand::Word(stride)]);
        }
        ty
    }

    /// A block whose members lie at these offsets, and are never written unless `write`. That says the block, not the
    /// variable: a driver of NVIDIA's takes what it says of a variable for all variables of its type, and reads what another
    /// one holds before it is written.
    pub(super) fn block(&mut self, members: &[(Id, u32)], write: bool) -> Id {
        let ids: Vec<Id> = members.iter().map(|(ty, _)| *ty).collect();
        let key = [u64::from(write)].into_iter().chain(ids.iter().map(|id| u64::from(*id))).collect();
        let before = self.next;
        let ty = self.once(Op::TypeStruct, None, key, ids.into_iter().map(Operand::Id).collect());
        if ty == before {
            self.decorate(ty, Decoration::Block, vec![]);
            for (member, (_, offset)) in (0..).zip(members) {
                self.decorate_member(ty, member, Decoration::Offset, vec![Operand::Word(*offset)]);
                if !write {
                    self.decorate_member(ty, member, Decoration::NonWritable, vec![]);
                }
            }
        }
        ty
    }

    fn decorate_member(&mut self, ty: Id, member: u32, decoration: Decoration, more: Vec<Operand>) {
        let operands = [Operand::Id(ty), Operand::Word(member), named(decoration as u32, decoration)];
        let operands = operands.into_iter().chain(more).collect();
        self.module.decorations.push(Instruction::new(Op::MemberDecorate, None, None, operands));
    }

    pub(super) fn pointer(&mut self, class: StorageClass, to: Id) -> Id {
        let operands = vec![named(class as u32, class), Operand::Id(to)];
        self.once(Op::TypePointer, None, vec![class as u64, u64::from(to)], operands)
    }

    pub(super) fn function_type(&mut self, result: Id, params: &[Id]) -> Id {
        let ids: Vec<Id> = [result].into_iter().chain(params.iter().copied()).collect();
        self.type_of_ids(Op::TypeFunction, &ids)
    }

    /// A constant of 32 bits or 64, by its bits.
    pub(super) fn bits(&mut self, ty: Id, wide: bool, bits: u64) -> Id {
        let operand = if wide { Operand::Wide(bits) } else { Operand::Word(bits as u32) };
        let bits = if wide { bits } else { bits & u64::from(u32::MAX) };
        self.once(Op::Constant, Some(ty), vec![bits], vec![operand])
    }

    pub(super) fn word(&mut self, value: u32) -> Id {
        let ty = self.int(32);
        self.bits(ty, false, u64::from(value))
    }

    pub(super) fn truth(&mut self, value: bool) -> Id {
        let ty = self.bool();
        self.once(if value { Op::ConstantTrue } else { Op::ConstantFalse }, Some(ty), vec![], vec![])
    }

    /// A constant of a kind, by its bits in a register. Infinities and NaN are made of their bits where they are used:
    /// not every reader of SPIR-V takes them for constants.
    pub(super) fn constant(&mut self, kind: Kind, bits: u64) -> Id {
        let ty = self.register(kind);
        if kind == F32 && !f32::from_bits(bits as u32).is_finite() {
            let word = self.word(bits as u32);
            return self.op(Op::Bitcast, ty, &[word]);
        }
        if kind == F64 && !f64::from_bits(bits).is_finite() {
            let narrow = self.constant(F32, u64::from((f64::from_bits(bits) as f32).to_bits()));
            return self.op(Op::FConvert, ty, &[narrow]);
        }
        match kind {
            Kind::Bool => self.truth(bits != 0),
            Kind::Int { bits: 64, .. } | Kind::Float { bits: 64 } => self.bits(ty, true, bits),
            Kind::Int { .. } | Kind::Half { .. } | Kind::Float { .. } => self.bits(ty, false, bits),
        }
    }

    /// A constant integer of a kind.
    pub(super) fn number(&mut self, kind: Kind, value: i64) -> Id {
        self.constant(kind, value as u64)
    }

    /// A constant float of a kind.
    pub(super) fn real(&mut self, kind: Kind, value: f64) -> Id {
        let bits = if kind == F64 { value.to_bits() } else { u64::from((value as f32).to_bits()) };
        self.constant(kind, bits)
    }

    // Variables, names, decorations.

    /// A variable of the module.
    pub(super) fn global(&mut self, class: StorageClass, ty: Id) -> Id {
        let pointer = self.pointer(class, ty);
        let id = self.id();
        let inst = Instruction::new(Op::Variable, Some(pointer), Some(id), vec![named(class as u32, class)]);
        self.module.globals.push(inst);
        id
    }

    /// A word that the device gives a shader.
    pub(super) fn input_word(&mut self, builtin: BuiltIn, name: &str) -> Id {
        let word = self.int(32);
        let variable = match self.inputs.get(&(builtin as u32)) {
            Some(variable) => *variable,
            None => {
                let variable = self.global(StorageClass::Input, word);
                self.name(variable, name);
                self.decorate(variable, Decoration::BuiltIn, vec![named(builtin as u32, builtin)]);
                self.inputs.insert(builtin as u32, variable);
                variable
            }
        };
        self.op(Op::Load, word, &[variable])
    }

    /// The variables of [`Out::input_word`].
    pub(super) fn inputs(&self) -> impl Iterator<Item = Id> {
        self.inputs.values().copied()
    }

    /// A constant that a device may set, else 0.
    pub(super) fn setting(&mut self, setting: Setting, name: &str) -> Id {
        if let Some(id) = self.settings.get(&setting) {
            return *id;
        }
        let (word, id) = (self.int(32), self.id());
        self.name(id, name);
        self.decorate(id, Decoration::SpecId, vec![Operand::Word(setting as u32)]);
        let inst = Instruction::new(Op::SpecConstant, Some(word), Some(id), vec![Operand::Word(0)]);
        self.module.globals.push(inst);
        self.settings.insert(setting, id);
        id
    }

    pub(super) fn name(&mut self, id: Id, name: &str) {
        let operands = vec![Operand::Id(id), Operand::Text(name.into())];
        self.module.names.push(Instruction::new(Op::Name, None, None, operands));
    }

    pub(super) fn decorate(&mut self, id: Id, decoration: Decoration, more: Vec<Operand>) {
        let operands = [Operand::Id(id), named(decoration as u32, decoration)].into_iter().chain(more).collect();
        self.module.decorations.push(Instruction::new(Op::Decorate, None, None, operands));
    }

    // Instructions of the function being written.

    pub(super) fn push(&mut self, op: Op, ty: Option<Id>, id: Option<Id>, operands: Vec<Operand>) {
        self.code.push(Instruction::new(op, ty, id, operands));
    }

    /// An instruction whose operands are results.
    pub(super) fn op(&mut self, op: Op, ty: Id, operands: &[Id]) -> Id {
        let id = self.id();
        self.push(op, Some(ty), Some(id), refs(operands));
        id
    }

    /// Arithmetic on floats that a driver takes as it stands: none is fused, dropped or reordered.
    pub(super) fn exact(&mut self, op: Op, ty: Id, operands: &[Id]) -> Id {
        let id = self.op(op, ty, operands);
        self.decorate(id, Decoration::NoContraction, vec![]);
        id
    }

    pub(super) fn glsl(&mut self, op: GlslStd450Op, ty: Id, operands: &[Id]) -> Id {
        let id = self.id();
        let head = [Operand::Id(self.glsl), named(op as u32, op)];
        self.push(Op::ExtInst, Some(ty), Some(id), head.into_iter().chain(refs(operands)).collect());
        id
    }

    /// As [`Out::exact`].
    pub(super) fn exact_glsl(&mut self, op: GlslStd450Op, ty: Id, operands: &[Id]) -> Id {
        let id = self.glsl(op, ty, operands);
        self.decorate(id, Decoration::NoContraction, vec![]);
        id
    }

    pub(super) fn select(&mut self, kind: Kind, cond: Id, yes: Id, no: Id) -> Id {
        let ty = self.register(kind);
        self.op(Op::Select, ty, &[cond, yes, no])
    }

    /// A comparison.
    pub(super) fn test(&mut self, op: Op, a: Id, b: Id) -> Id {
        let ty = self.bool();
        self.op(op, ty, &[a, b])
    }

    pub(super) fn begin(&mut self, label: Id) {
        self.push(Op::Label, None, Some(label), vec![]);
        self.here = label;
    }

    /// The label of the block being written.
    pub(super) fn here(&self) -> Id {
        self.here
    }

    pub(super) fn branch(&mut self, to: Id) {
        self.push(Op::Branch, None, None, refs(&[to]));
    }

    pub(super) fn branch_if(&mut self, cond: Id, yes: Id, no: Id) {
        self.push(Op::BranchConditional, None, None, refs(&[cond, yes, no]));
    }

    pub(super) fn selection_merge(&mut self, merge: Id) {
        let operands = vec![Operand::Id(merge), Operand::Named(0, "None".into())];
        self.push(Op::SelectionMerge, None, None, operands);
    }

    pub(super) fn loop_merge(&mut self, merge: Id, next: Id, unroll: bool) {
        let control = if unroll { Operand::Named(1, "Unroll".into()) } else { Operand::Named(0, "None".into()) };
        let operands = vec![Operand::Id(merge), Operand::Id(next), control];
        self.push(Op::LoopMerge, None, None, operands);
    }

    /// A function; what `f` writes is its body, of which it gives the result and something for the caller.
    fn function<R>(
        &mut self,
        id: Id,
        result: Id,
        params: &[Id],
        f: impl FnOnce(&mut Out, &[Id]) -> (Option<Id>, R),
    ) -> R {
        let ty = self.function_type(result, params);
        let (around, here) = (std::mem::take(&mut self.code), self.here);
        let head = vec![Operand::Named(0, "None".into()), Operand::Id(ty)];
        self.push(Op::Function, Some(result), Some(id), head);
        let own: Vec<Id> = params.iter().map(|_| self.id()).collect();
        for (ty, param) in params.iter().zip(&own) {
            self.push(Op::FunctionParameter, Some(*ty), Some(*param), vec![]);
        }
        let label = self.id();
        self.begin(label);
        let (value, more) = f(self, &own);
        match value {
            Some(value) => self.push(Op::ReturnValue, None, None, refs(&[value])),
            None => self.push(Op::Return, None, None, vec![]),
        }
        self.push(Op::FunctionEnd, None, None, vec![]);
        let written = std::mem::replace(&mut self.code, around);
        self.module.functions.extend(written);
        self.here = here;
        more
    }

    /// The entry function; what `f` writes is its body.
    pub(super) fn entry<R>(&mut self, name: &str, f: impl FnOnce(&mut Out) -> R) -> (Id, R) {
        let (id, void) = (self.id(), self.void());
        self.name(id, name);
        let more = self.function(id, void, &[], |out, _| (None, f(out)));
        (id, more)
    }

    /// A call of a function that is written at its first use.
    pub(super) fn helper(
        &mut self,
        name: &'static str,
        result: Kind,
        args: &[(Kind, Id)],
        f: impl FnOnce(&mut Out, &[Id]) -> Id,
    ) -> Id {
        let ty = self.register(result);
        let id = match self.helpers.get(name) {
            Some(id) => *id,
            None => {
                let params: Vec<Id> = args.iter().map(|(kind, _)| self.register(*kind)).collect();
                let id = self.id();
                self.helpers.insert(name, id);
                self.name(id, name);
                self.function(id, ty, &params, |out, own| (Some(f(out, own)), ()));
                id
            }
        };
        let operands: Vec<Id> = [id].into_iter().chain(args.iter().map(|(_, arg)| *arg)).collect();
        self.op(Op::FunctionCall, ty, &operands)
    }
}

/// Results as operands.
pub(super) fn refs(ids: &[Id]) -> Vec<Operand> {
    ids.iter().map(|id| Operand::Id(*id)).collect()
}
