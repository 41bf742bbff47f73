//! Devices through Vulkan and CUDA: a program of two kernels on whatever device there is (Mesa's lavapipe runs on a processor),
//! and what happens without a driver, with a driver that fails, with two devices and with two threads.

mod copies;
mod cuda;
mod damaged;
mod events;
mod faults;
mod interop;
mod old;
mod pipelines;
mod program;
mod recorded;
mod spirv;
mod sweep;

use std::sync::OnceLock;

use tenfold::{Device, DeviceFault, DeviceKind, DeviceTensor, Dyn, Error, Status, Vulkan};
use tenfold_abi::program::{Node, Operation, Step};
use tenfold_core::program::Code;
use tenfold_tests::tools;

use program::{Row, both, call, check, check_shift, kernel, linked, row, twice};

/// The device, opened once; none where there is no driver.
fn gpu() -> Option<&'static Vulkan> {
    static GPU: OnceLock<Option<Vulkan>> = OnceLock::new();
    let gpu = GPU.get_or_init(|| Vulkan::new().inspect_err(|why| println!("{why}")).ok());
    if gpu.is_none() {
        tools::skip("a driver of Vulkan", "tests/vulkan.sh installs lavapipe");
    }
    gpu.as_ref()
}

fn why<T: std::fmt::Debug>(result: Result<T, Error>) -> DeviceFault {
    match result {
        Err(Error::Device { kind: DeviceKind::Vulkan, why }) => why,
        other => panic!("{other:?} is no fault of a device"),
    }
}

#[test]
fn a_program_runs_for_all_extents() {
    let Some(gpu) = gpu() else { return };
    let code = linked(&twice());
    for n in [0, 1, 2, 63, 64, 65, 1000, 100_003] {
        check(gpu, code, n).expect("the device works");
    }
}

#[test]
fn functions_of_one_blob_have_their_own_constants() {
    let Some(gpu) = gpu() else { return };
    let [three, five] = both(&twice(), "spirv");
    for (code, shift) in [(three, 3.0), (five, 5.0), (three, 3.0)] {
        check_shift(gpu, code, 65, shift).expect("the device works");
    }
}

#[test]
fn calls_run_in_order_and_need_not_be_waited_for() {
    let Some(gpu) = gpu() else { return };
    let (code, stream) = (linked(&twice()), gpu.stream().expect("the device works"));
    let mut x = DeviceTensor::upload(gpu, row(300).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [300]).expect("there is memory");
    for _ in 0..100 {
        assert_eq!(call(gpu, code, 0.5, &x, &mut y), Ok(Status::OK));
        std::mem::swap(&mut x, &mut y);
    }
    stream.synchronize().expect("the device works");
    let found = x.download(gpu).expect("the device works");
    let expected = |mut x: f32| {
        (0..100).for_each(|_| x = 0.5 * (0.5 * x + 3.0) + 3.0);
        x
    };
    assert!(found.as_slice().iter().zip(row(300).as_slice()).all(|(found, x)| *found == expected(*x)));
}

#[test]
fn a_check_that_does_not_hold_is_the_status() {
    let Some(gpu) = gpu() else { return };
    let x = DeviceTensor::upload(gpu, row(7).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [7]).expect("there is memory");
    assert_eq!(call(gpu, linked(&twice()), 1.0, &x, &mut y), Ok(Status(1)));
    assert_eq!(y.download(gpu).expect("the device works"), [0.0; 7]);
}

#[test]
fn threads_share_a_device() {
    let Some(gpu) = gpu() else { return };
    let code = linked(&twice());
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || (0..20).for_each(|n| check(gpu, code, 100 * n + thread).expect("the device works")));
        }
    });
}

#[test]
fn tensors_of_two_devices_do_not_mix() {
    let (Some(gpu), Ok(other)) = (gpu(), Vulkan::new()) else { return };
    let code = linked(&twice());
    check(&other, code, 65).expect("the other device works");
    let x = DeviceTensor::upload(&other, row(8).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [8]).expect("there is memory");
    assert_eq!(why(call(gpu, code, 1.0, &x, &mut y)), DeviceFault::OtherDevice);
    assert_eq!(why(call(&other, code, 1.0, &x, &mut y)), DeviceFault::OtherDevice);
    assert_eq!(why(x.download(gpu)), DeviceFault::OtherDevice);
    drop(other);
    assert_eq!(why(x.download(gpu)), DeviceFault::OtherDevice);
}

#[test]
fn a_launch_that_cannot_be_is_told_with_its_sizes() {
    let Some(gpu) = gpu() else { return };
    let mut program = twice();
    let many = program.node(Node::Const(1 << 40));
    if let Step::Launch { grid, .. } = &mut program.steps[1] {
        grid[2] = many;
    }
    let x = DeviceTensor::upload(gpu, row(65).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [65]).expect("there is memory");
    let found = call(gpu, linked(&program), 1.0, &x, &mut y).expect_err("there are too many groups").to_string();
    let text = "vulkan: `scale` cannot start with 2 x 1 x 1099511627776 groups of 64 x 1 x 1 threads: the device allows \
                fewer groups along z";
    assert_eq!(found, text);
}

#[test]
fn what_a_device_cannot_do_is_told() {
    let Some(gpu) = gpu() else { return };
    let x = DeviceTensor::upload(gpu, row(65).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [65]).expect("there is memory");
    let mut fails = |change: &dyn Fn(&mut tenfold_core::program::Program)| {
        let mut program = twice();
        change(&mut program);
        why(call(gpu, linked(&program), 1.0, &x, &mut y))
    };
    let unsupported = |feature| DeviceFault::Unsupported { kernel: "scale", feature };
    assert_eq!(fails(&|it| it.kernels[0].features = 1 << 63), unsupported("a feature of a later version"));
    assert_eq!(fails(&|it| it.kernels[0].subgroup = 3), unsupported("subgroups of another size"));
    assert_eq!(fails(&|it| it.kernels[0].local = [1 << 20, 1, 1]), unsupported("groups of more threads"));
    let garbage = fails(&|it| it.kernels = vec![kernel("noise", vec![7; 40])]);
    assert!(matches!(garbage, DeviceFault::Kernel { kernel: "noise", block: [64, 1, 1], .. }), "{garbage:?}");
    assert_eq!(fails(&|it| it.constants[0].bytes = 8), DeviceFault::Operands);
    assert_eq!(fails(&|it| it.params = 2), DeviceFault::Operands);
    let bytes = |it: &mut tenfold_core::program::Program| it.buffers[3].bytes = it.node(Node::Const(8));
    assert_eq!(fails(&bytes), DeviceFault::Operands);
    let outside = |it: &mut tenfold_core::program::Program| it.workspace = it.node(Node::Const(256));
    assert_eq!(fails(&outside), DeviceFault::Operands);
}

#[test]
fn what_a_device_lacks_it_does_without() {
    let Some(gpu) = gpu() else { return };
    let x = DeviceTensor::upload(gpu, row(65).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [65]).expect("there is memory");
    let (lacked, noise) = (1 << 63, vec![7; 40]);
    let mut program = twice();
    let plain = program.kernels[0].clone();
    let over =
        |instead: Code| Code { instead: Some(instead.into()), features: lacked, ..kernel("scale", noise.clone()) };
    program.kernels = vec![over(over(plain.clone()))];
    assert_eq!(call(gpu, linked(&program), 1.0, &x, &mut y), Ok(Status::OK));
    let found = y.download(gpu).expect("it is done");
    program.kernels = vec![plain.clone()];
    assert_eq!(call(gpu, linked(&program), 1.0, &x, &mut y), Ok(Status::OK));
    assert_eq!(found, y.download(gpu).expect("it is done"));
    program.kernels = vec![over(Code { features: lacked, ..plain })];
    let feature = "a feature of a later version";
    let unsupported = DeviceFault::Unsupported { kernel: "scale", feature };
    assert_eq!(why(call(gpu, linked(&program), 1.0, &x, &mut y)), unsupported);
}

#[test]
fn damaged_code_does_not_run() {
    let Some(gpu) = gpu() else { return };
    damaged::refused(gpu, &twice(), "spirv");
}

#[test]
fn a_check_is_told_before_numbers_that_do_not_fit() {
    let Some(gpu) = gpu() else { return };
    let x = DeviceTensor::upload(gpu, row(65).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [65]).expect("there is memory");
    let mut program = twice();
    let n = program.node(Node::Dim(0));
    let [most, one] = [i64::MAX, 1].map(|value| program.node(Node::Const(value)));
    let wide = program.node(Node::Of(Operation::Mul, n, most));
    let fits = program.node(Node::Of(Operation::Eq, n, one));
    let overflow = DeviceFault::Program(tenfold::program::ProgramError::Overflow(wide as usize));
    assert_eq!(why(call(gpu, linked(&program), 1.0, &x, &mut y)), overflow);
    program.steps.insert(1, Step::Check { holds: fits, check: 2 });
    assert_eq!(call(gpu, linked(&program), 1.0, &x, &mut y), Ok(Status(2)));
    // What cannot be known is no check that fails.
    program.steps.insert(0, Step::Check { holds: wide, check: 3 });
    assert_eq!(call(gpu, linked(&program), 1.0, &x, &mut y), Ok(Status(2)));
}

#[test]
fn memory_ends() {
    let Some(gpu) = gpu() else { return };
    let found = why(Row::zeros(gpu, [1 << 50]));
    assert_eq!(found, DeviceFault::OutOfMemory { bytes: 1 << 52 });
    assert!(matches!(why(Row::zeros(gpu, [usize::MAX / 2])), DeviceFault::OutOfMemory { .. }));
}

#[test]
fn devices_are_chosen() {
    let Some(gpu) = gpu() else { return };
    let all = Vulkan::devices().expect("there is a driver");
    assert!(all.contains(gpu.info()));
    let last = all.last().expect("there is a device");
    assert_eq!(Vulkan::open(&last.index.to_string()).expect("it is there").info(), last);
    assert_eq!(why(Vulkan::open(&all.len().to_string())), DeviceFault::NoDevice);
    assert_eq!(why(Vulkan::open("no such name")), DeviceFault::NoDevice);
}

#[test]
fn the_processor_runs_no_program() {
    let x = DeviceTensor::<_, f32, (Dyn,)>::upload(&tenfold::Cpu, row(3).view()).expect("there is memory");
    assert!(x.memory().is_none());
}
