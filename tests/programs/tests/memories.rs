//! Workspaces that are split among memories: every way to call gives what one memory gives.

use tenfold::{Arg, Cpu, DeviceTensor, DynTensorMut, Tensor, Workspace};
use tenfold_programs::memories::{bounded, bounded_whole, divided, of_types, undivided};

fn numbers<const N: usize, const M: usize>() -> [[f32; M]; N] {
    std::array::from_fn(|i| std::array::from_fn(|j| ((i * 7 + j * 5) % 9) as f32 - 4.0))
}

/// Fills memory with what no result may hold.
fn spoil(memory: &mut impl tenfold::AsWorkspace) {
    memory.bytes().fill(std::mem::MaybeUninit::new(0xff));
}

#[test]
fn every_call_gives_what_one_memory_gives() {
    let (x, w) = (numbers::<4, 4>(), numbers::<4, 16>());
    let expected = undivided(&x, &w);
    assert_eq!(divided(&x, &w), expected);
    let mut y = [[0.0; 4]; 4];
    let (mut dtcm, mut psram) = (divided::Dtcm::new(), divided::Psram::new());
    spoil(&mut dtcm);
    spoil(&mut psram);
    divided::into(&x, &w, &mut y, &mut dtcm, &mut psram);
    assert_eq!(expected, y);
}

#[test]
fn sizes_are_what_the_source_allows() {
    let sizes = [divided::DTCM_BYTES, divided::PSRAM_BYTES];
    assert_eq!(divided::WORKSPACE_BYTES, sizes.iter().sum::<usize>());
    assert!((64..=128).contains(&sizes[0]) && (64..=8192).contains(&sizes[1]), "{sizes:?}");
    let sizes = [bounded::AXI_SRAM_BYTES, bounded::PSRAM_BYTES];
    assert!((64..=1024).contains(&sizes[0]) && (64..=65536).contains(&sizes[1]), "{sizes:?}");
    let [near, far] = [
        [of_types::of_f32::NEAR_BYTES, of_types::of_f64::NEAR_BYTES],
        [of_types::of_f32::FAR_BYTES, of_types::of_f64::FAR_BYTES],
    ];
    assert!(near.iter().all(|bytes| *bytes <= 256) && far[0] < far[1], "{near:?} {far:?}");
}

#[test]
fn with_bounded_dims_and_weights_that_are_read() {
    let (x, w) = (numbers::<5, 16>(), Tensor::from(numbers::<16, 32>()));
    let expected = bounded_whole(&x, &w).expect("the dims agree");
    assert_eq!(bounded(&x, &w).expect("the dims agree"), expected);
    let params = bounded::Params { w: w.view() };
    let mut y = [[0.0; 5]; 5];
    let (mut near, mut far) = (bounded::AxiSram::new(), bounded::Psram::new());
    params.call_into(&x, &mut y, &mut near, &mut far).expect("the dims agree");
    assert_eq!(expected, y);
    assert!(bounded(&numbers::<9, 16>(), &w).is_err());
}

/// By name, and on a device, there is one memory for all.
#[test]
fn one_memory_is_split() -> Result<(), tenfold::Error> {
    let (x, w) = (Tensor::from(numbers::<4, 4>()), Tensor::from(numbers::<4, 16>()));
    let expected = undivided(&x, &w);
    let mut y = [0.0_f32; 16];
    let mut call = |memory: &mut [std::mem::MaybeUninit<u8>]| {
        let mut args = [Arg::input(x.view()), Arg::input(w.view())];
        let called = divided::FUNCTION.call(&mut args, &mut [DynTensorMut::new(&mut y, [4, 4])?], memory);
        called.map(|()| y)
    };
    let mut memory: Workspace<{ divided::WORKSPACE_BYTES }> = Workspace::new();
    let bytes = tenfold::AsWorkspace::bytes(&mut memory);
    assert_eq!(call(bytes)?.as_slice(), expected.as_slice());
    let error = call(&mut bytes[64..]).expect_err("a part of it is too small");
    assert!(error.to_string().contains("workspace"), "{error}");
    let (on_x, on_w) = (DeviceTensor::upload(&Cpu, x.view())?, DeviceTensor::upload(&Cpu, w.view())?);
    let mut on_y = DeviceTensor::upload(&Cpu, Tensor::from([[0.0_f32; 4]; 4]).view())?;
    divided::on(&Cpu).call(&on_x, &on_w, &mut on_y)?;
    assert_eq!(on_y.download(&Cpu)?, expected);
    Ok(())
}

#[test]
fn instances_have_memories_of_their_own() {
    let x = numbers::<8, 8>();
    let wide = x.map(|row| row.map(f64::from));
    let (mut near, mut far) = (of_types::of_f64::Near::new(), of_types::of_f64::Far::new());
    let mut y = [[0.0; 8]; 8];
    of_types::of_f64::into(&wide, &mut y, &mut near, &mut far);
    let narrow = of_types(&x);
    assert!(y.as_flattened().iter().zip(narrow.as_slice()).all(|(a, b)| *a == f64::from(*b)), "{y:?}");
}
