#!/usr/bin/env bash
# Prepares this machine for the tests of shaders: a validator of SPIR-V, a Vulkan device that is this processor, and
# Khronos' validation of what programs give it.
# Everything comes by package name; what is there already is left alone.
set -euo pipefail

missing=()
for package in spirv-tools libvulkan1 mesa-vulkan-drivers vulkan-validationlayers; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
echo "vulkan: $(spirv-val --version | head -n 1)"
