//! What a function needs beside its own text: the tensor functions it calls and the files it reads.

use tenfold_syntax::ast::{
    Block, ConstSource, Expr, ExprKind, ModelFormat, NodeId, Range, RangeStep, Stmt, StmtKind, Target, TargetKind,
    TensorFn, Type, TypeKind,
};

/// A call of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CallSite {
    /// The path's node.
    pub(crate) node: NodeId,
    /// `["super", "f"]`.
    pub(crate) path: Vec<String>,
}

/// A file by the name that the source gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileUse {
    /// From the package root.
    pub(crate) file: String,
    /// Whether it is an ONNX model, which may name further files.
    pub(crate) model: bool,
}

/// What a function needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Uses {
    /// In source order.
    pub(crate) calls: Vec<CallSite>,
    /// In source order.
    pub(crate) files: Vec<FileUse>,
    /// Whether it calls functions outside, so that the attribute prints shims with symbols of their own.
    pub(crate) shims: bool,
}

/// What a function needs.
pub(crate) fn of(function: &TensorFn) -> Uses {
    let mut uses = Uses::default();
    if let Some(model) = &function.attributes.model {
        let model = FileUse { file: model.file.value.clone(), model: model.format == ModelFormat::Onnx };
        uses.files.push(model);
    }
    for param in &function.params {
        uses.ty(&param.ty);
    }
    if let Some(result) = &function.result {
        uses.ty(result);
    }
    if let Some(body) = &function.body {
        uses.block(body);
    }
    uses
}

impl Uses {
    fn file(&mut self, file: &str) {
        let used = FileUse { file: file.into(), model: false };
        if !self.files.contains(&used) {
            self.files.push(used);
        }
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
        if let Some(value) = &block.value {
            self.expr(value);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { ty, value, .. } => {
                if let Some(ty) = ty {
                    self.ty(ty);
                }
                self.expr(value);
            }
            StmtKind::Const { ty, source, .. } => {
                self.ty(ty);
                match source {
                    ConstSource::Safetensors { file, .. }
                    | ConstSource::Npz { file, .. }
                    | ConstSource::Npy { file } => {
                        self.file(&file.value);
                    }
                    ConstSource::Value(value) => self.expr(value),
                }
            }
            StmtKind::Assert { condition, .. } => self.expr(condition),
            StmtKind::Assign { target, value, .. } => {
                self.target(target);
                self.expr(value);
            }
            StmtKind::For { range, body, .. } => {
                self.range(range);
                self.block(body);
            }
            StmtKind::While { condition, body } => {
                self.expr(condition);
                self.block(body);
            }
            StmtKind::Expr(value) => self.expr(value),
            StmtKind::Error => {}
        }
    }

    fn target(&mut self, target: &Target) {
        match &target.kind {
            TargetKind::Element { indices, .. } => self.exprs(indices),
            TargetKind::Tuple(parts) => parts.iter().for_each(|part| self.target(part)),
            TargetKind::Name(_) | TargetKind::Ignore | TargetKind::Error => {}
        }
    }

    fn ty(&mut self, ty: &Type) {
        match &ty.kind {
            TypeKind::Tensor(tensor) => self.exprs(&tensor.dims),
            TypeKind::Tuple(parts) => parts.iter().for_each(|part| self.ty(part)),
            TypeKind::Scalar(_) | TypeKind::Error => {}
        }
    }

    fn range(&mut self, range: &Range) {
        for end in [&range.start, &range.end].into_iter().flatten() {
            self.expr(end);
        }
        for step in &range.steps {
            match step {
                RangeStep::Rev => {}
                RangeStep::StepBy(step) => self.expr(step),
            }
        }
    }

    fn exprs(&mut self, exprs: &[Expr]) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Path(_) | ExprKind::MutRef(_) | ExprKind::Error => {}
            ExprKind::Unary(_, a) | ExprKind::Cast(a, _) => self.expr(a),
            ExprKind::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => self.exprs(parts),
            ExprKind::Range(range) => self.range(range),
            ExprKind::Element { tensor, indices } => {
                self.expr(tensor);
                self.exprs(indices);
            }
            ExprKind::Get { tensor, indices, default, .. } => {
                self.expr(tensor);
                self.exprs(indices);
                if let Some(default) = default {
                    self.expr(default);
                }
            }
            ExprKind::Call(call) => {
                if call.callee.name().is_none() {
                    self.calls.push(CallSite { node: call.callee.node, path: call.callee.segments.clone() });
                }
                self.exprs(&call.turbofish);
                self.exprs(&call.args);
                for named in &call.named {
                    self.expr(&named.value);
                }
            }
            ExprKind::MatchShape { value, dims } => {
                self.expr(value);
                self.exprs(dims);
            }
            ExprKind::ExternCall { args, .. } => {
                self.shims = true;
                self.exprs(args);
            }
            ExprKind::Closure { body, .. } => self.expr(body),
            ExprKind::If { condition, then, otherwise } => {
                self.expr(condition);
                self.block(then);
                if let Some(otherwise) = otherwise {
                    self.block(otherwise);
                }
            }
            ExprKind::Block(block) | ExprKind::Unsafe(block) => self.block(block),
        }
    }
}
