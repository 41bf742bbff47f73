//! Devices through CUDA: a driver that a C compiler makes and that runs the one kernel of these tests on the processor,
//! in processes of their own; and the machine's driver, where there is one.

use std::path::{Path, PathBuf};
use std::process::Command;

use tenfold::{Cuda, Device, DeviceCode, DeviceFault, DeviceKind, DeviceTensor, Error, Status};
use tenfold_abi::DType;
use tenfold_abi::program::{Arg, MAX_AXES, Map, MapAxis, Node, Operation, Step};
use tenfold_tests::tools;

use crate::faults::{child, folder};
use crate::program::{Row, both, call, check, check_shift, compiled, kernel, row, twice};
use crate::{copies, events, faults, interop, recorded};

/// `y[i] = a * x[i] + c[0]` for `i < n`, as SPIR-V has it in `spirv.rs`.
const SCALE: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 c, .param .u64 y, .param .u32 n, .param .f32 a)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .f32 %f<6>;
    .reg .b64 %d<8>;
    ld.param.u64 %d0, [x];
    ld.param.u64 %d1, [c];
    ld.param.u64 %d2, [y];
    ld.param.u32 %r0, [n];
    ld.param.f32 %f0, [a];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p bra END;
    cvta.to.global.u64 %d3, %d0;
    cvta.to.global.u64 %d4, %d1;
    cvta.to.global.u64 %d5, %d2;
    mul.wide.u32 %d6, %r4, 4;
    add.s64 %d3, %d3, %d6;
    add.s64 %d5, %d5, %d6;
    ld.global.f32 %f1, [%d3];
    ld.global.f32 %f2, [%d4];
    mul.rn.f32 %f3, %f0, %f1;
    add.rn.f32 %f4, %f3, %f2;
    st.global.f32 [%d5], %f4;
END:
    ret;
}
";

pub(crate) fn linked(change: impl FnOnce(&mut tenfold_core::program::Program)) -> tenfold::DeviceCode {
    pair(change)[0]
}

/// The program with its kernel as PTX.
fn ptx() -> tenfold_core::program::Program {
    let mut program = twice();
    program.kernels = vec![kernel("scale", SCALE.into())];
    program
}

/// Two functions of one blob: what they add is 3 and 5.
fn pair(change: impl FnOnce(&mut tenfold_core::program::Program)) -> [tenfold::DeviceCode; 2] {
    let mut program = ptx();
    change(&mut program);
    both(&program, "nvptx:sm_80")
}

pub(crate) fn why<T: std::fmt::Debug>(result: Result<T, Error>) -> DeviceFault {
    match result {
        Err(Error::Device { kind: DeviceKind::Cuda, why }) => why,
        other => panic!("{other:?} is no fault of a device"),
    }
}

/// What the processes do; `false` if the case is none of these.
pub(crate) fn case(name: &str) -> bool {
    match name {
        "cuda" => works(&Cuda::new().expect("there is a device")),
        "cuda faults" => refuses(&Cuda::new().expect("there is a device")),
        "cuda without a driver" => {
            let told = Cuda::new().expect_err("there is no driver").to_string();
            let text =
                "cuda: there is no driver on this machine: CUDA's driver cannot be opened (on Linux libcuda.so.1)";
            assert_eq!(told, text);
        }
        "cuda without a device" => assert_eq!(why(Cuda::new()), DeviceFault::NoDevice),
        "cuda of another time" => {
            assert_eq!(why(Cuda::new()), DeviceFault::OldDriver { lacks: "cuMemAllocAsync" });
        }
        "cuda lost" => lost(),
        "cuda lost with threads" => {
            faults::lost_with_threads(&Cuda::new().expect("there is a device"), linked(|_| ()));
        }
        "cuda one of two" => {
            let open = |index| Cuda::open(index).expect("there are two");
            faults::one_of_two(&open(0), &open(1), linked(|_| ()));
        }
        "cuda lost in a call" => lost_in_a_call(),
        "cuda lost recorded" => lost_recorded(),
        "cuda event" => {
            let gpu = Cuda::new().expect("there is a device");
            let stream = gpu.stream().expect("the device works");
            let event = stream.event().expect("the device works");
            assert_eq!(why(event.synchronize()), DeviceFault::Lost);
            assert_eq!(why(event.is_done()), DeviceFault::Lost);
            assert_eq!(why(stream.event()), DeviceFault::Lost);
        }
        "cuda copies" => copies::works(&Cuda::new().expect("there is a device"), linked(|_| ())),
        // An upload looks at no event: there is none yet.
        "cuda pending" => {
            let gpu = Cuda::new().expect("there is a device");
            let stream = gpu.stream().expect("the device works");
            let event = stream.event().expect("the device works");
            assert_eq!([event.is_done(), event.is_done()], [Ok(false), Ok(true)]);
        }
        "cuda two devices" => two_devices(),
        // The pool is waited for once.
        "cuda memory comes back" => {
            check(&Cuda::new().expect("there is a device"), linked(|_| ()), 9).expect("it does the second time");
        }
        "cuda memory of a call" => memory_of_a_call(),
        "cuda memory of a recording" => memory_of_a_recording(),
        "cuda node" => {
            let (gpu, code) = (Cuda::new().expect("there is a device"), linked(|_| ()));
            let x = DeviceTensor::upload(&gpu, row(65).view()).expect("there is memory");
            let mut y = Row::zeros(&gpu, [65]).expect("there is memory");
            let (grid, block) = ([2, 1, 1], [64, 1, 1]);
            let refused = DeviceFault::Start { kernel: "scale", grid, block, code: 701 };
            let recorded = recorded::on(&gpu).recorded();
            assert_eq!(why(recorded::call(&recorded, code, 2.0, &x, &mut y)), refused);
            assert_eq!(y.download(&gpu).expect("the device works still"), [0.0; 65]);
        }
        "cuda out of memory" => {
            let gpu = Cuda::new().expect("there is a device");
            let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
            assert_eq!(why(Row::zeros(&gpu, [50])), DeviceFault::OutOfMemory { bytes: 200 });
            assert_eq!(x.download(&gpu).expect("the device works still"), row(9));
        }
        "cuda tensors" => {
            let (gpu, code) = (Cuda::new().expect("there is a device"), of_tensors(|_| ()));
            for n in [4, 64, 72, 1000] {
                check(&gpu, code, n).expect("the device works");
            }
            let recorded = recorded::on(&gpu).recorded();
            let x = DeviceTensor::upload(&gpu, row(64).view()).expect("there is memory");
            let mut y = Row::zeros(&gpu, [64]).expect("there is memory");
            for _ in 0..3 {
                assert_eq!(recorded::call(&recorded, code, 0.0, &x, &mut y), Ok(Status::OK));
            }
            assert_eq!(y.download(&gpu).expect("the device works"), [3.0; 64]);
            let beyond = of_tensors(|it| {
                let more = it.node(Node::Const(1 << 20));
                it.maps[0].axes[1].extent = more;
            });
            assert_eq!(why(check(&gpu, beyond, 64)), DeviceFault::Operands);
        }
        "cuda tensor refused" => {
            let gpu = Cuda::new().expect("there is a device");
            let call = "cuTensorMapEncodeTiled";
            assert_eq!(why(check(&gpu, of_tensors(|_| ()), 64)), DeviceFault::Driver { call, code: 1 });
        }
        "cuda load" => {
            let gpu = Cuda::new().expect("there is a device");
            let said = "line 3; error: no such thing";
            let refused = DeviceFault::Kernel { kernel: "scale", block: [64, 1, 1], code: 218, said };
            let code = linked(|_| ());
            assert_eq!(why(check(&gpu, code, 9)), refused);
            // The driver would take it now, but is not asked again.
            let told = check(&gpu, code, 9).expect_err("it is refused").to_string();
            let text = "cuda: the driver refuses `scale` with groups of 64 x 1 x 1 threads (error 218): line 3; error: no \
                        such thing";
            assert_eq!(told, text);
        }
        "cuda launch" => {
            let gpu = Cuda::new().expect("there is a device");
            let told = check(&gpu, linked(|_| ()), 65).expect_err("it does not start").to_string();
            let text =
                "cuda: the driver does not start `scale` with 2 x 1 x 1 groups of 64 x 1 x 1 threads (error 701)";
            assert_eq!(told, text);
        }
        _ => return false,
    }
    true
}

fn works(gpu: &Cuda) {
    let [code, other] = pair(|_| ());
    for n in [0, 1, 63, 64, 65, 1000] {
        check(gpu, code, n).expect("the device works");
    }
    check_shift(gpu, other, 65, 5.0).expect("the device works");
    // More than every kernel has must be asked for first.
    let more = shared(100 << 10);
    check(gpu, more, 65).expect("the device works");
    recorded::works(gpu, more);
    recorded::works(gpu, code);
    events::works(gpu, code);
    copies::works(gpu, code);
    interop::works(gpu, code);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || (0..20).for_each(|n| check(gpu, code, 50 * n + thread).expect("the device works")));
        }
    });
    let stream = gpu.stream().expect("the device works");
    let x = DeviceTensor::upload(gpu, row(7).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [7]).expect("there is memory");
    assert_eq!(call(gpu, code, 1.0, &x, &mut y), Ok(Status(1)));
    stream.synchronize().expect("the device works");
    assert_eq!(y.download(gpu).expect("the device works"), [0.0; 7]);
}

/// The code whose kernel also takes its first argument as a tensor of lines of four elements, in boxes of eight lines.
fn of_tensors(change: impl FnOnce(&mut tenfold_core::program::Program)) -> DeviceCode {
    linked(|it| {
        let [four, sixteen] = [4, 16].map(|n| it.node(Node::Const(n)));
        let lines = it.node(Node::Of(Operation::FloorDiv, 0, four));
        let mut axes = [MapAxis::default(); MAX_AXES];
        axes[0] = MapAxis { width: 32, extent: four, stride: 0 };
        axes[1] = MapAxis { width: 8, extent: lines, stride: sixteen };
        it.maps = [0, 2].map(|buffer| Map { buffer, dtype: DType::F32, rank: 2, axes }).into();
        it.kernels[0].code.extend(b"// tensors");
        it.args.insert(5, Arg::Map(0));
        it.args.push(Arg::Map(1));
        let mut first = 0;
        for step in &mut it.steps {
            if let Step::Launch { args, .. } = step {
                (*args, first) = ((first, first + 6), first + 6);
            }
        }
        change(it);
    })
}

/// The code whose kernel is started with so many bytes of shared memory.
fn shared(bytes: i64) -> DeviceCode {
    linked(|it| {
        let bytes = it.node(Node::Const(bytes));
        it.steps.iter_mut().for_each(|step| {
            if let Step::Launch { shared, .. } = step {
                *shared = bytes;
            }
        });
    })
}

fn refuses(gpu: &Cuda) {
    let x = DeviceTensor::upload(gpu, row(65).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [65]).expect("there is memory");
    let mut fails = |code| why(call(gpu, code, 1.0, &x, &mut y));
    let many = |sizes: fn(&mut tenfold_core::program::Program)| linked(sizes);
    let limit = "bytes of shared memory";
    let refused = DeviceFault::Launch { kernel: "scale", grid: [2, 1, 1], block: [64, 1, 1], limit };
    assert_eq!(fails(shared(1 << 30)), refused);
    let unknown = DeviceFault::Unsupported { kernel: "scale", feature: "a feature of a later version" };
    assert_eq!(fails(many(|it| it.kernels[0].features = 1 << 63)), unknown);
    let zero = fails(many(|it| it.kernels[0].code = vec![b'a', 0, b'b']));
    assert!(matches!(zero, DeviceFault::Kernel { .. }), "{zero:?}");
    assert_eq!(fails(compiled(&twice(), "spirv")), DeviceFault::NoCode);
    crate::damaged::refused(gpu, &ptx(), "nvptx:sm_80");
    let other = Cuda::open(0).expect("there is a device");
    assert_eq!(why(x.download(&other)), DeviceFault::OtherDevice);
    assert_eq!(why(call(&other, linked(|_| ()), 1.0, &x, &mut y)), DeviceFault::OtherDevice);
    assert_eq!(why(Cuda::open(100)), DeviceFault::NoDevice);
}

fn lost() {
    let (gpu, code) = (Cuda::new().expect("there is a device"), linked(|_| ()));
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert_eq!(call(&gpu, code, 1.0, &x, &mut y), Ok(Status::OK));
    assert_eq!(why(y.download(&gpu)), DeviceFault::Lost);
    assert_eq!(why(call(&gpu, code, 1.0, &x, &mut y)), DeviceFault::Lost);
    assert_eq!(why(Row::zeros(&gpu, [9])), DeviceFault::Lost);
    assert_eq!(why(gpu.stream().map(|_| ())), DeviceFault::Lost);
}

/// The first of two launches runs, the second says that the device is gone.
fn lost_in_a_call() {
    let (gpu, code) = (Cuda::new().expect("there is a device"), linked(|_| ()));
    let mut x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert_eq!(call(&gpu, code, 1.0, &x, &mut y), Ok(Status::OK));
    assert_eq!(why(call(&gpu, code, 1.0, &x, &mut y)), DeviceFault::Lost);
    assert_eq!(why(y.download(&gpu)), DeviceFault::Lost);
    assert_eq!(why(x.write(&gpu, row(9).view())), DeviceFault::Lost);
    // A device that is opened anew has nothing of the one that was lost.
    drop(gpu);
    let gpu = Cuda::new().expect("there is a device");
    assert_eq!(why(x.download(&gpu)), DeviceFault::OtherDevice);
}

fn lost_recorded() {
    let (gpu, code) = (Cuda::new().expect("there is a device"), linked(|_| ()));
    let recorded = recorded::on(&gpu).recorded();
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert_eq!(recorded::call(&recorded, code, 1.0, &x, &mut y), Ok(Status::OK));
    // Each call from here on says so, those that are recorded and those that are not.
    assert_eq!(why(recorded::call(&recorded, code, 1.0, &x, &mut y)), DeviceFault::Lost);
    assert_eq!(why(recorded::call(&recorded, code, 1.0, &x, &mut y)), DeviceFault::Lost);
    assert_eq!(why(recorded::call(&recorded, code, 2.0, &x, &mut y)), DeviceFault::Lost);
    assert_eq!(why(call(&gpu, code, 1.0, &x, &mut y)), DeviceFault::Lost);
}

fn two_devices() {
    let (one, two) = (Cuda::open(0).expect("it is there"), Cuda::open(1).expect("it is there"));
    assert_ne!(one.info(), two.info());
    let code = linked(|_| ());
    std::thread::scope(|scope| {
        for gpu in [&one, &two, &one, &two] {
            scope.spawn(move || (0..20).for_each(|n| check(gpu, code, 8 * n).expect("the device works")));
        }
    });
    let x = DeviceTensor::upload(&one, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&two, [9]).expect("there is memory");
    for gpu in [&one, &two] {
        assert_eq!(why(call(gpu, code, 1.0, &x, &mut y)), DeviceFault::OtherDevice);
        let recorded = recorded::on(gpu).recorded();
        assert_eq!(why(recorded::call(&recorded, code, 1.0, &x, &mut y)), DeviceFault::OtherDevice);
    }
    assert_eq!(why(x.download(&two)), DeviceFault::OtherDevice);
    assert_eq!(why(y.write(&one, row(9).view())), DeviceFault::OtherDevice);
    let streams = [&one, &two].map(|gpu| gpu.stream().expect("the device works"));
    let [first, second] = [&streams[0], &streams[1]].map(|stream| stream.event().expect("the device works"));
    assert_eq!(why(second.since(&first)), DeviceFault::OtherDevice);
}

/// A call that finds no memory for its workspace has done nothing, and the device works on.
fn memory_of_a_call() {
    let (gpu, code) = (Cuda::new().expect("there is a device"), linked(|_| ()));
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert_eq!(why(call(&gpu, code, 1.0, &x, &mut y)), DeviceFault::OutOfMemory { bytes: 256 + 36 });
    assert_eq!(y.download(&gpu).expect("the device works still"), [0.0; 9]);
    assert_eq!(x.download(&gpu).expect("the device works still"), row(9));
}

/// A recording that the driver has no memory for is none, and the next call makes it.
fn memory_of_a_recording() {
    let (gpu, code) = (Cuda::new().expect("there is a device"), linked(|_| ()));
    let recorded = recorded::on(&gpu).recorded();
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert!(matches!(why(recorded::call(&recorded, code, 1.0, &x, &mut y)), DeviceFault::OutOfMemory { .. }));
    assert_eq!(y.download(&gpu).expect("the device works still"), [0.0; 9]);
    assert_eq!(recorded::call(&recorded, code, 0.0, &x, &mut y), Ok(Status::OK));
    assert_eq!(y.download(&gpu).expect("the device works still"), [3.0; 9]);
}

#[test]
fn a_driver_is_used_as_it_should_be() {
    let Some(driver) = driver("cuda", &[]) else { return };
    child("cuda", &[("LD_LIBRARY_PATH", &driver)]);
    child("cuda faults", &[("LD_LIBRARY_PATH", &driver)]);
    child("cuda tensors", &[("LD_LIBRARY_PATH", &driver)]);
}

#[test]
fn a_driver_that_fails_is_an_error() {
    let Some(driver) = driver("cuda_fails", &[]) else { return };
    let cases = [
        ("cuda without a device", "devices:1"),
        ("cuda lost", "wait:1"),
        // The third and fourth launch are those of the second call.
        ("cuda lost in a call", "lost:4"),
        ("cuda lost recorded", "replay:2"),
        ("cuda lost with threads", "wait:7"),
        ("cuda one of two", "lost=1"),
        ("cuda event", "event:1"),
        ("cuda pending", "pending=1"),
        ("cuda two devices", "none"),
        // Where each copy is on its way for ever new memory is taken, and where there is none copies are waited for.
        ("cuda copies", "pending:1"),
        ("cuda copies", "host:9"),
        ("cuda out of memory", "memory:2"),
        // The two tensors, the constant, the workspace.
        ("cuda memory of a call", "memory:4"),
        ("cuda memory comes back", "memory=4"),
        ("cuda memory of a recording", "graph=1"),
        ("cuda node", "node:2"),
        ("cuda load", "load=1"),
        ("cuda tensor refused", "map:1"),
        ("cuda launch", "launch:1"),
        // These say themselves what fails.
        ("each call of cuda fails", "none"),
        ("each call of cuda loses the device", "none"),
    ];
    for (case, fault) in cases {
        child(case, &[("LD_LIBRARY_PATH", &driver), ("TENFOLD_TEST_FAULT", Path::new(fault))]);
    }
    let Some(old) = self::driver("cuda_old", &["-DOLD"]) else { return };
    child("cuda of another time", &[("LD_LIBRARY_PATH", &old)]);
}

#[test]
fn the_machines_own_driver_is_used_or_missed() {
    match Cuda::new() {
        Ok(gpu) => {
            works(&gpu);
            refuses(&gpu);
        }
        Err(Error::Device { why: DeviceFault::NoDriver { .. }, .. }) => drop(child("cuda without a driver", &[])),
        Err(why) => println!("no device here: {why}"),
    }
}

/// A folder of this name with a driver made of `cuda.c`.
fn driver(name: &str, options: &[&str]) -> Option<PathBuf> {
    if !tools::has("cc") || !cfg!(target_os = "linux") {
        tools::skip("a C compiler on Linux", "install one, such as gcc");
        return None;
    }
    let folder = folder(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("devices/cuda.c");
    // What is looked for first, so that a driver of the machine's is not found.
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-pthread", "-Wall", "-Werror", "-o"]).arg(folder.join("libcuda.so"));
    let made = compiler.arg(source).args(options).output().expect("the compiler starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(folder)
}
