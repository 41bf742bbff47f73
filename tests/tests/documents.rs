//! What the documents say of the repository is so.

use std::fs;
use tenfold_tests::tools;

fn read(path: &str) -> String {
    fs::read_to_string(tools::root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The README shows the crate that a user copies, and that crate is built by the workspace.
#[test]
fn the_readme_shows_saxpy_as_it_is() {
    let readme = read("README.md");
    for file in ["examples/saxpy/build.rs", "examples/saxpy/src/main.rs"] {
        let block = format!("```rust\n{}```", read(file));
        assert!(readme.contains(&block), "README.md does not show {file} as it is");
    }
}

#[test]
fn the_readme_names_files_that_exist() {
    let readme = read("README.md");
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        if !link.starts_with("https://") {
            assert!(tools::root().join(link).exists(), "README.md names {link}, which is absent");
        }
    }
}

#[test]
fn every_dependency_has_its_row_and_every_row_a_dependency() {
    let manifest = read("Cargo.toml");
    let (_, table) = manifest.split_once("[workspace.dependencies]\n").expect("the table");
    let table = table.split("\n[").next().unwrap_or(table);
    let mut named: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with("tenfold"))
        .collect();
    let document = read("compiler/docs/dependencies.md");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut rows: Vec<&str> = rows.map(|(name, _)| name).collect();
    named.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, named, "left: dependencies.md, right: Cargo.toml");
}

/// What is known of TVM by name: each has a row that says where it is here, or why it is not.
const SYSTEMS: &str = "
    PassInfo PassContext opt_level TVM_REGISTER_PASS_CONFIG_OPTION ModulePass FunctionPass PrimFuncPass Sequential GetPass
    CreateModulePass PassInstrument override_instruments PassTimingInstrument PrintBeforeAll PrintIR DiagnosticContext
    tir.add_lower_pass tir.noalias tir.disable_vectorize tir.disable_assert tir.detect_global_barrier
    relay.fallback_device_type SkipOptimization
    export_library ModuleSerializer _import_tree _lib PackImportsToLLVM PackImportsToC load_module load_from_bytes.KEY
    Target tags JSON from_device mfloat-abi keys TVMGetNativeVectorBits target.build.KIND CodeGenLLVM CodeGenC CodeGenCHost
    CodeGenSPIRV CodeGenNVPTX CodeGenHexagon CodeGenAMDGPU NVRTC SplitHostDevice system-lib link-params unpacked-api
    interface-api RunCodegen BYOC on_device fallback_device_type ARM
    runtime.Module PackedFunc Object DeviceAPI CUDAModule barrier GraphExecutor AOTExecutor VM NDArray DLPack RPC languages
    IRModule PrimType FuncType DynTensorType Op TOpPattern FTVMCompute OpStrategy reflection StructuralEqual ExprFunctor
    MixedModeVisitor TVMScript Relay ADTs DataflowBlock ShapeExpr data-dependent match_shape call_tir call_dps_packed
    call_packed tir.Load AllocateConst Shuffle GetUniqueName te.compute create_prim_func InferBound ScheduleOps MakePipeline
    tir.PrimFunc arith::Analyzer ConstIntBound ModularSet DetectIterMap EstimateRegion TOPI AutoTensorization RewriteLayout
    PyTorch TensorFlow Paddle NNModule ONNX TFLite support
    RemoveUnusedFunctions DeadCodeElimination ToBasicBlockNormalForm ToANormalForm qnn.Legalize SimplifyInference
    DynamicToStatic EliminateCommonSubexpr SimplifyExpr CombineParallelConv2D CombineParallelDense
    CombineParallelBatchMatmul FoldConstant FoldScaleAxis CanonicalizeCast CanonicalizeOps FastMath FuseOps FuseTIR Inline
    InferType LabelOps LegalizeOps ConvertLayout quantisation StaticPlanBlockMemory Gradient
    InjectPrefetch InjectDoubleBuffer InjectVirtualThread StorageFlatten FlattenBuffer LowerInitBlock
    ConvertBlocksToOpaque LowerMatchBuffer PlanAndUpdateBufferAllocationLocation CompactBufferAllocation
    BF16ComputeLegalize NarrowDataType Simplify RemoveNoOp RewriteUnsafeSelect HoistIfThenElse LoopPartition VectorizeLoop
    UnrollLoop StorageRewrite InstrumentBoundCheckers MakePackedAPI LowerIntrin CanonicalizeLoop LowerCrossThreadReduction
    LiftThreadBinding UnifyThreadBinding LowerAutoCopy InjectSoftwarePipeline ThreadSync LowerThreadAllreduce
    MergeSharedMemoryAllocations FP8ComputeLegalize VerifyMemory CommonSubexprElimTIR LowerTVMBuiltin LowerWarpMemory
    AnnotateTIROpPattern RewriteDataflowReshape CallTIRRewrite LowerAllocTensor KillAfterLastUse VMShapeLower
    ToMixedPrecision LiftTransformParams DataflowUseInplaceCalls AllocateWorkspace FuseOpsByPattern
    MetaSchedule AutoTVM AutoScheduler DLight Navigator relay.visualization translation";

#[test]
fn every_system_of_tvm_has_its_row() {
    let text = read("compiler/docs/differences-from-tvm.md");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| in TVM")).collect();
    let names = |row: &str, name: &str| {
        let first = row.split('|').nth(1).unwrap_or_default();
        first
            .split(|c: char| !c.is_alphanumeric() && !"_.:-".contains(c))
            .any(|word| word.trim_end_matches('.') == name)
    };
    let missing: Vec<&str> =
        SYSTEMS.split_whitespace().filter(|name| !rows.iter().any(|row| names(row, name))).collect();
    assert!(missing.is_empty(), "no row of differences-from-tvm.md names {missing:?}");
    for row in rows {
        let [_, _, here, why, _] = row.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
            panic!("a row has three columns: {row}");
        };
        assert!(!here.is_empty() || !why.is_empty(), "neither where it is nor why it is not: {row}");
    }
}
