//! That the interpreter finds what it is there to find: each text does one thing that it must not.

use crate::{Axis, Device, Tensor, kernels};

/// A function of so many threads, with memory that they share, and what is asked of threads already: `%r1` is the thread,
/// `%rd1` where the buffer of 256 bytes begins, `%rd2` where the thread's own word is in it, `%rd3` the same in `S`.
fn run(threads: u32, body: &str) -> Result<Vec<u32>, String> {
    let text = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 .ptr .align 16 k_param_0, .param \
         .align 64 .b8 k_param_1[128]) .reqntid {threads}, 1, 1 {{\n.reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n\
         .shared .align 1024 .b8 S[1024];\n.shared .align 8 .b8 M[8];\nld.param.b64 %rd1, [k_param_0];\nmov.u32 %r1, \
         %tid.x;\nmul.wide.u32 %rd2, %r1, 4; mov.b64 %rd3, S; add.s64 %rd3, %rd3, %rd2; add.s64 %rd2, %rd1, %rd2;\n\
         xor.b32 %r2, %r1, 1; mul.wide.u32 %rd4, %r2, 4; mov.b64 %rd5, S; add.s64 %rd4, %rd5, %rd4;\n{body}\nret;\n}}\n"
    );
    let made = kernels(&text).map_err(|why| why.to_string())?;
    let mut device = Device::new(7);
    let buffer = device.allocate(256);
    let axes = [(8, 2, 8), (4, 16, 4)].map(|(extent, stride, width)| Axis { extent, stride, width });
    let map = device.describe(Tensor { at: buffer, element: 2, axes: axes.into() })?;
    let words: Vec<u8> = (0..64_u32).flat_map(u32::to_le_bytes).collect();
    device.write(buffer, &words)?;
    let params = [buffer.to_le_bytes().to_vec(), map.to_vec()];
    device.launch(&made[0], [1, 1, 1], [threads, 1, 1], 0, &params).map_err(|fault| fault.to_string())?;
    let bytes = device.read(buffer, 256)?;
    Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// That a text does what it must not, and that this is said.
fn faults(threads: u32, body: &str, wanted: &str) {
    let told = run(threads, body).expect_err(body);
    assert!(told.contains(wanted), "`{wanted}` is not in `{told}`");
}

const TURNED: &str = "ld.shared.b32 %r4, [%rd4]; st.global.b32 [%rd2], %r4;";

#[test]
fn threads_exchange_words() {
    let stored = "ld.global.b32 %r3, [%rd2]; st.shared.b32 [%rd3], %r3;";
    let words = run(64, &format!("{stored} bar.sync 0; {TURNED}")).expect("a kernel");
    assert_eq!(words, (0..64).map(|n| n ^ 1).collect::<Vec<u32>>());
    let words = run(32, "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1; st.global.b32 [%rd2], %r3;").expect("a kernel");
    assert_eq!(words[..3], [1, 0, 3]);
    faults(64, &format!("{stored} {TURNED}"), "a race: ");
    let apart = "setp.gt.u32 %p1, %r1, 40; @%p1 bra L; bar.sync 0; L: ";
    faults(64, &format!("{stored} {apart}"), "threads of its warp that have ended");
    let elsewhere = "setp.gt.u32 %p1, %r1, 31; @%p1 bra L; bar.sync 0; L: ";
    faults(64, &format!("{stored} {elsewhere}"), "waits at a barrier to which others do not come");
}

#[test]
fn memory_has_an_end_and_an_order() {
    faults(32, "st.global.b32 [%rd2+252], %r1;", "writes 4 bytes");
    faults(32, "ld.global.b32 %r3, [%rd2+2];", "no multiple of 4");
    faults(32, "ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd2];", "no multiple of 16");
    faults(32, TURNED, "that nobody has written");
    faults(32, "add.s32 %r4, %r3, 1; st.global.b32 [%rd2], %r4;", "nothing was written to the register");
    faults(32, "ld.global.nc.b32 %r3, [%rd2]; st.global.b32 [%rd2], %r2;", "as what no thread writes");
    // Half of a word that nobody has written, and that nobody looks at, does no harm.
    let half = "mov.b32 {%r5, _}, 0;";
    assert!(run(32, half).is_err());
    let open = "{ .reg .b16 a, b, c; cvt.u16.u32 a, %r1; mov.b32 %r3, {a, b}; mov.b32 {c, _}, %r3; cvt.u32.u16 %r4, c; \
                st.global.b32 [%rd2], %r4; }";
    assert_eq!(run(32, open).expect("a kernel")[5], 5);
    faults(32, "div.u32 %r3, 7, %r1; st.global.b32 [%rd2], %r3;", "divides by 0");
}

#[test]
fn copies_are_waited_for() {
    let copy = "mul.wide.u32 %rd6, %r1, 16; add.s64 %rd7, %rd5, %rd6; add.s64 %rd8, %rd1, %rd6; setp.gt.u32 %p1, %r1, 7; \
                @%p1 bra L; cp.async.cg.shared.global [%rd7], [%rd8], 16; L: cp.async.commit_group;";
    let words = run(32, &format!("{copy} cp.async.wait_group 0; bar.sync 0; {TURNED}")).expect("a kernel");
    assert_eq!(words[..3], [1, 0, 3]);
    faults(32, &format!("{copy} cp.async.wait_group 1; bar.sync 0; {TURNED}"), "that a copy is still writing");
    faults(32, &format!("{copy} cp.async.wait_group 0; {TURNED}"), "a race: ");
}

/// A box of 4 lines of 16 bytes comes to `S`, and thread 0 says so.
fn boxes(before: &str, wait: &str) -> String {
    format!(
        "mov.b64 %rd6, M; cvt.u32.u64 %r3, %rd6; cvt.u32.u64 %r4, %rd5; mov.b64 %rd7, k_param_1; cvta.param.u64 %rd7, \
         %rd7; setp.ne.b32 %p1, %r1, 0; @%p1 bra L; mbarrier.init.shared::cta.b64 [%r3], 1; \
         fence.mbarrier_init.release.cluster; {before} mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 64; \
         cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd7, {{0, 1}}], [%r3]; L: \
         bar.sync 0; {wait} setp.gt.u32 %p2, %r1, 15; @%p2 bra E; {TURNED} E:"
    )
}

#[test]
fn boxes_of_tensors_are_waited_for() {
    let wait = "{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [%r3], 0; @!over bra again; }";
    let words = run(64, &boxes("", wait)).expect("a kernel");
    // From the second line on, and what lies beyond the fourth is 0. Lines of 16 bytes keep their order here.
    assert_eq!(words[..16], [5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14, 0, 0, 0, 0]);
    // It comes now or then.
    faults(64, &boxes("", ""), "depends on `%r4`");
    let twice = format!("{wait} {wait}").replace("again", "once");
    assert!(run(64, &boxes("", &twice)).is_ok());
    faults(64, &boxes("st.shared.b32 [%rd3], %r1;", wait), "without a fence to the asynchronous proxy");
    let unequal = boxes("", wait).replace(", 64;", ", 80;");
    faults(64, &unequal, "does not end");
}

/// A product of 64 x 8 sums of zeros in `S`, by a warpgroup.
fn product(written: &str, fence: &str, wait: &str) -> String {
    let sums = "%r4, %r5, %r6, %r7";
    format!(
        "mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0; {written} bar.sync 0; shr.u64 %rd6, %rd5, 4; or.b64 \
         %rd6, %rd6, 4611686018427387904; setp.eq.u32 %p1, 1, 1; {fence} \
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{sums}}}, %rd6, %rd6, %p1, 1, 1, 0, 0; \
         wgmma.commit_group.sync.aligned; {wait} setp.gt.u32 %p2, %r1, 31; @%p2 bra E; st.global.b32 [%rd2], %r4; E:"
    )
}

#[test]
fn products_are_fenced_and_waited_for() {
    let zeros = "mov.b32 %r9, 1006648320; st.shared.b32 [%rd3], %r9; st.shared.b32 [%rd3+512], %r9;";
    let shown = format!("{zeros} fence.proxy.async.shared::cta;");
    let (fence, wait) = ("wgmma.fence.sync.aligned;", "wgmma.wait_group.sync.aligned 0;");
    // 1006648320 is 0x3C003C00, two halves that are 1.
    let words = run(128, &product(&shown, fence, wait)).expect("a kernel");
    assert_eq!(f32::from_bits(words[0]), 16.0);
    faults(128, &product(zeros, fence, wait), "without a fence to the asynchronous proxy");
    faults(128, &product(&shown, "", wait), "without `wgmma.fence`");
    faults(128, &product(&shown, fence, ""), "a product that was not waited for has it");
    let changed =
        format!("bar.sync 0; mov.b32 %r9, 0; st.shared.b32 [%rd3], %r9; fence.proxy.async; bar.sync 0; {wait}");
    faults(128, &product(&shown, fence, &changed), "was changed before it was waited for");
}

#[test]
fn what_is_unknown_is_named() {
    let told = run(32, "frobnicate.sync.b32 %r1, %r2;").expect_err("no instruction");
    assert!(told.contains("`frobnicate.sync.b32`: the interpreter does not know this instruction"), "{told}");
    faults(32, "L: bra.uni L;", "the group does not end");
}
