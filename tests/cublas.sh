#!/bin/sh
# Products of matrices beside those of cuBLAS, which torch calls, on one GPU one after the other: TFLOP/s on random data, the
# median of batches. Needs a driver of NVIDIA's, rustup's toolchain, and python3 with torch. Ends with status 2 where there
# is no driver or no torch.
set -eu
cd "$(dirname "$0")/.."

python3 - <<'PY' || exit 2
import statistics, sys, time
try:
    import torch
except ImportError:
    sys.exit("python3 has no torch")
if not torch.cuda.is_available():
    sys.exit("torch finds no GPU")
print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
# The product of f32 is one of f32, as that of the bench is.
torch.backends.cuda.matmul.allow_tf32 = False
for side, dtype in [(4096, "float32"), (8192, "bfloat16")]:
    x, y = (torch.rand(side, side, device="cuda").mul(2).sub(1).to(getattr(torch, dtype)) for _ in range(2))
    out = torch.empty(side, side, device="cuda", dtype=x.dtype)
    def seconds(calls):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            torch.matmul(x, y, out=out)
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / calls
    seconds(3)
    calls = max(3, int(0.05 / seconds(3)) + 1)
    median = statistics.median(seconds(calls) for _ in range(7))
    print(f"{f'cuBLAS {side}, {dtype}':28} {2 * side**3 / median / 1e12:9.1f} TFLOP/s")
PY
cargo bench --quiet -p tenfold-tests --bench gpu -- matmul
