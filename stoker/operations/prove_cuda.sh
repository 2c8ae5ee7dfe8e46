# Prove that the CUDA tree in $1 compiles, links and runs a kernel for the GPUs of this machine.
# The program comes by stdin. Without a GPU it is compiled for sm_120 and not run.
set -eu
home=$1 mark=$2 text=$3
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cat > "$work/proof.cu"
export CUDA_HOME="$home" PATH="$home/bin:$PATH"

fail() {
    echo "cannot prove CUDA in $home for sm_$sm: $1; the messages above say more" >&2
    exit 1
}

capabilities=$(timeout 60 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || capabilities=
for sm in $(echo "${capabilities:-12.0}" | tr -d '. ' | sort -u); do
    nvcc -gencode="arch=compute_$sm,code=sm_$sm" -Xcompiler -fPIC -c "$work/proof.cu" -o "$work/proof.o" ||
        fail "nvcc does not compile"
    # As flashinfer links what it compiles: lib64 and the driver's stub are not where gcc looks itself.
    g++ -shared "$work/proof.o" -o "$work/proof.so" \
        -L"$home/lib64" -L"$home/lib64/stubs" -lcudart -lcuda || fail "the kernel does not link"
    g++ "$work/proof.o" -o "$work/proof-$sm" -L"$home/lib64" -lcudart -Wl,-rpath,"$home/lib" ||
        fail "the program does not link"
done
# Only a loaded driver can run it; a sandbox has an nvidia-smi too.
if [ -n "$capabilities" ] && [ -e /proc/driver/nvidia/version ]; then
    sm=$(echo "$capabilities" | head -n 1 | tr -d '. ')
    status=0
    timeout 120 "$work/proof-$sm" || status=$?
    case $status in
    0) ;;
    75)
        text="$text, compiled and not run"
        echo "the GPU has no memory left: compiled, not run" >&2
        ;;
    *) fail "the kernel does not run (status $status)" ;;
    esac
fi
umask 022
echo "$text" > "$mark.new"
mv -f -- "$mark.new" "$mark"
