//! Calls each function on the processor and on a device, which is there, refuses each kernel, or is absent.
use e2e_devices::{classify, here, one, other, products, scheduled, step, total};
use tenfold::{Cpu, Cuda, Device, DeviceFault, DeviceTensor, Dyn, Error, Fixed, Tensor, Vulkan, bf16, view};

fn wave(count: usize, step: f64) -> Vec<f32> {
    (0..count).map(|n| (n as f64 * step).sin() as f32).collect()
}

fn near(found: &[f32], wanted: &[f32]) {
    assert_eq!(found.len(), wanted.len());
    for (a, b) in found.iter().zip(wanted) {
        assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} and {b}");
    }
}

/// Classes of so many rows, the device's or the processor's where that is asked for.
fn classes<D: Device>(device: &D, rows: usize, or_host: bool) -> Result<Vec<f32>, Error> {
    let x = wave(rows * 16, 0.37);
    let x = DeviceTensor::<D, f32, (Dyn, Fixed<16>)>::upload(device, view(&x, [rows, 16])?.with_shape()?)?;
    let mut y = DeviceTensor::zeros(device, [rows, 8])?;
    let stream = device.stream()?;
    let on = classify::on(device).stream(&stream);
    if or_host { on.or_host() } else { on }.call(&x, &mut y)?;
    stream.synchronize()?;
    Ok(y.download(device)?.as_slice().to_vec())
}

/// Classes by calls that are recorded, of rows that change between them.
fn recorded<D: Device>(device: &D, or_host: bool) {
    let classify = classify::on(device).recorded();
    let classify = if or_host { classify.or_host() } else { classify };
    let mut x = DeviceTensor::<D, f32, (Dyn, Fixed<16>)>::zeros(device, [7, 16]).unwrap();
    let mut y = DeviceTensor::zeros(device, [7, 8]).unwrap();
    for step in [0.37, 0.71, 0.11] {
        let data = wave(7 * 16, step);
        let here = view(&data, [7, 16]).unwrap();
        x.write(device, here.with_shape().unwrap()).unwrap();
        for _ in 0..2 {
            classify.call(&x, &mut y).unwrap();
        }
        near(y.download(device).unwrap().as_slice(), e2e_devices::classify(&here).unwrap().as_slice());
    }
}

/// What a step gives, and the state behind it.
fn steps<D: Device>(device: &D, pos: usize, or_host: bool) -> Result<(Vec<f32>, Vec<i32>, Vec<f32>), Error> {
    let data = wave(15, 0.71);
    let x = DeviceTensor::upload(device, view(&data, [3, 5])?)?;
    let mut sums = DeviceTensor::<D, f32, (Dyn,)>::upload(device, view(&[1.0_f32, 2.0, 3.0], [3])?)?;
    let mut scaled = DeviceTensor::zeros(device, [3, 5])?;
    let mut picked = DeviceTensor::zeros(device, [5])?;
    let on = step::on(device);
    let on = if or_host { on.or_host() } else { on };
    on.call(&x, pos, 9.5, -3, &mut sums, &mut scaled, &mut picked)?;
    let (scaled, picked) = (scaled.download(device)?, picked.download(device)?);
    Ok((scaled.as_slice().to_vec(), picked.as_slice().to_vec(), sums.download(device)?.as_slice().to_vec()))
}

fn same<D: Device>(device: &D, or_host: bool) {
    for rows in [0, 1, 7, 64] {
        let x = wave(rows * 16, 0.37);
        let expected = classify(&view(&x, [rows, 16]).unwrap()).unwrap();
        near(&classes(device, rows, or_host).unwrap(), expected.as_slice());
    }
    recorded(device, or_host);
    let (found, expected) = (steps(device, 2, or_host).unwrap(), steps(&Cpu, 2, false).unwrap());
    near(&found.0, &expected.0);
    assert_eq!(found.1, expected.1);
    near(&found.2, &expected.2);
    let error = steps(device, 3, or_host).unwrap_err().to_string();
    assert!(error.contains("the row is past the end"), "{error}");
}

fn totals<D: Device>(device: &D) {
    let (floats, ints) = ([0.5_f32, 1.25, -3.0, 1e-3, 7.0, 1e5, 3.0, 4.0], [1_i32, 2, -3, 4, i32::MAX, 6, 7, 8]);
    let x = DeviceTensor::<D, f32, (Fixed<8>,)>::upload(device, Tensor::from(floats).view()).unwrap();
    let mut y = DeviceTensor::<D, f32, ()>::zeros(device, []).unwrap();
    total::of_f32::on(device).call(&x, &mut y).unwrap();
    assert_eq!(y.download(device).unwrap().as_slice()[0].to_bits(), total(&floats).to_bits());
    let x = DeviceTensor::<D, i32, (Fixed<8>,)>::upload(device, Tensor::from(ints).view()).unwrap();
    let mut y = DeviceTensor::<D, i32, ()>::zeros(device, []).unwrap();
    total::of_i32::on(device).call(&x, &mut y).unwrap();
    assert_eq!(y.download(device).unwrap().as_slice()[0], total(&ints));
}

/// Functions whose programs are equal keep their own constants.
fn windows<D: Device>(device: &D) {
    let data = wave(512, 0.37);
    let x = DeviceTensor::<D, f32, (Fixed<512>,)>::upload(device, view(&data, [512]).unwrap().with_shape().unwrap());
    let (x, mut y) = (x.unwrap(), DeviceTensor::<D, f32, (Fixed<512>,)>::zeros(device, [512]).unwrap());
    let x_here = Tensor::<f32, (Fixed<512>,)>::from(<[f32; 512]>::try_from(data).unwrap());
    one::windowed::on(device).call(&x, &mut y).unwrap();
    near(y.download(device).unwrap().as_slice(), one::windowed(&x_here).as_slice());
    other::windowed::on(device).call(&x, &mut y).unwrap();
    near(y.download(device).unwrap().as_slice(), other::windowed(&x_here).as_slice());
}

/// A function with the threads that its schedules say.
fn rows<D: Device>(device: &D) -> Result<(Vec<f32>, Vec<f32>), Error> {
    let data = wave(280, 0.37);
    let x = DeviceTensor::<D, f32, (Dyn, Fixed<40>)>::upload(device, view(&data, [7, 40])?.with_shape()?)?;
    let (mut y, mut sums) = (DeviceTensor::zeros(device, [7, 40])?, DeviceTensor::<D, f32, (Dyn,)>::zeros(device, [7])?);
    scheduled::on(device).call(&x, &mut y, &mut sums)?;
    Ok((y.download(device)?.as_slice().to_vec(), sums.download(device)?.as_slice().to_vec()))
}

fn why<T: std::fmt::Debug>(result: Result<T, Error>) -> DeviceFault {
    match result {
        Err(Error::Device { why, .. }) => why,
        other => panic!("{other:?} is no fault of a device"),
    }
}

fn everything<D: Device>(gpu: &D) {
    same(gpu, false);
    same(&Cpu, true);
    totals(gpu);
    totals(&Cpu);
    windows(gpu);
    windows(&Cpu);
    let (found, expected) = (rows(gpu).unwrap(), rows(&Cpu).unwrap());
    near(&found.0, &expected.0);
    near(&found.1, &expected.1);
    let x = DeviceTensor::<_, f32, (Fixed<8>,)>::zeros(gpu, [8]).unwrap();
    let mut y = DeviceTensor::zeros(gpu, [8]).unwrap();
    assert_eq!(why(here::on(gpu).call(&x, &mut y)), DeviceFault::NoCode);
}

/// Small integers, whose products have sums that halves hold.
fn small(count: usize, by: usize) -> Vec<bf16> {
    (0..count).map(|n| bf16::from_f32((n * by % 5) as f32 - 2.0)).collect()
}

/// Products, called once and recorded.
fn multiplied<D: Device>(device: &D) -> [Vec<bf16>; 2] {
    type Factor<D, const M: usize, const N: usize> = DeviceTensor<D, bf16, (Fixed<132>, Fixed<M>, Fixed<N>)>;
    let (x, w) = (small(132 * 65 * 64, 3), small(132 * 64 * 128, 7));
    let x = view(&x, [132, 65, 64]).unwrap().with_shape().unwrap();
    let w = view(&w, [132, 64, 128]).unwrap().with_shape().unwrap();
    let (x, w) = (Factor::<D, 65, 64>::upload(device, x).unwrap(), Factor::<D, 64, 128>::upload(device, w).unwrap());
    let mut y = Factor::<D, 65, 128>::zeros(device, [132, 65, 128]).unwrap();
    products::on(device).call(&x, &w, &mut y).unwrap();
    let once = y.download(device).unwrap().as_slice().to_vec();
    let products = products::on(device).recorded();
    (0..2).for_each(|_| products.call(&x, &w, &mut y).unwrap());
    [once, y.download(device).unwrap().as_slice().to_vec()]
}

/// Calls for a driver that computes nothing and says what it is asked for.
fn launches<D: Device>(gpu: &D) {
    let x = DeviceTensor::<D, f32, (Fixed<512>,)>::zeros(gpu, [512]).unwrap();
    let mut y = DeviceTensor::zeros(gpu, [512]).unwrap();
    one::windowed::on(gpu).call(&x, &mut y).unwrap();
    classes(gpu, 7, false).unwrap();
    let windowed = one::windowed::on(gpu).recorded();
    (0..2).for_each(|_| windowed.call(&x, &mut y).unwrap());
    steps(gpu, 2, false).unwrap();
    let x = DeviceTensor::<D, f32, (Fixed<8>,)>::zeros(gpu, [8]).unwrap();
    total::of_f32::on(gpu).call(&x, &mut DeviceTensor::zeros(gpu, []).unwrap()).unwrap();
}

fn main() {
    let gpu = Vulkan::new();
    match std::env::args().nth(1).as_deref() {
        Some("absent") => assert!(matches!(why(gpu), DeviceFault::NoDriver { .. })),
        Some("cuda absent") => assert!(matches!(why(Cuda::new()), DeviceFault::NoDriver { .. })),
        Some("cuda launches") => launches(&Cuda::new().unwrap()),
        Some("cuda scheduled") => drop(rows(&Cuda::new().unwrap()).unwrap()),
        Some("cuda shared") => drop(multiplied(&Cuda::new().unwrap())),
        Some("cuda refused") => {
            let gpu = Cuda::new().unwrap();
            assert!(matches!(why(classes(&gpu, 7, false)), DeviceFault::Kernel { .. }));
            same(&gpu, true);
        }
        Some("cuda") => {
            let gpu = Cuda::new().unwrap();
            everything(&gpu);
            assert!(multiplied(&gpu) == multiplied(&Cpu));
        }
        Some("refused") => {
            let gpu = gpu.unwrap();
            assert!(matches!(why(classes(&gpu, 7, false)), DeviceFault::Kernel { .. }));
            same(&gpu, true);
        }
        _ => everything(&gpu.unwrap()),
    }
    println!("done");
}
