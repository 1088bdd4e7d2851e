//! Tests what has to hold for the times of any kernels alone.

use proptest::prelude::*;

use super::*;
use crate::diagnostic::Named;
use crate::system::gpus;

fn seconds(gpu: &str, numbers: KernelNumbers, shape: KernelShape) -> f64 {
    let gpu = KernelGpu::of(gpus::find(gpu).unwrap(), numbers).unwrap();
    shape.time(&gpu, numbers, KernelTerms::own()).unwrap().total().as_seconds()
}

fn product(rows: u64, columns: u64, depth: u64) -> KernelShape {
    KernelShape::Product(ProductShape { rows, columns, depth })
}

#[test]
fn a_large_product_reaches_most_of_its_peak() {
    for (gpu, numbers, least) in [
        ("a100-sxm4-80gb", KernelNumbers::Bf16, 0.85),
        ("h100-sxm5-80gb", KernelNumbers::Bf16, 0.8),
        // With the cast of its activations.
        ("h100-sxm5-80gb", KernelNumbers::Fp8, 0.55),
        ("b200-sxm6-180gb", KernelNumbers::Nvfp4, 0.4),
    ] {
        let shape = product(8192, 8192, 8192);
        let peak = numbers.peak(gpus::find(gpu).unwrap()).unwrap().0 as f64;
        let reached = 2.0 * shape.multiply_adds() / seconds(gpu, numbers, shape) / peak;
        assert!((least..1.0).contains(&reached), "{gpu} {}: {reached}", numbers.name());
    }
}

#[test]
fn rows_beyond_a_cluster_s_tile_cost_a_tile() {
    let time = |rows| seconds("h100-sxm5-80gb", KernelNumbers::Fp8, product(rows, 16_384, 16_384));
    assert!(time(257) / time(256) > 1.5, "{} {}", time(256), time(257));
    assert!(time(512) / time(257) < 1.03, "{} {}", time(257), time(512));
}

#[test]
fn every_gpu_that_multiplies_numbers_times_every_kernel_of_them() {
    let shapes = [
        (AskedKernel::Gemm, "128x4096x4096"),
        (AskedKernel::Attention, "2x2048x32x8x128"),
        (AskedKernel::Decode, "batch=8,tokens=4096,heads=32,kv-heads=8,head=128,window=1024"),
        (
            AskedKernel::Experts,
            "tokens=512,hidden=2048,inner=768,top=8,experts=128,ep=8,draw=power-law:1.2",
        ),
    ];
    let mut answered = 0;
    for model in gpus::all() {
        for numbers in KernelNumbers::ALL {
            let Ok(gpu) = KernelGpu::of(model, numbers) else { continue };
            for (kind, text) in shapes {
                let shape = KernelShape::read(kind, text).unwrap();
                let time = shape.time(&gpu, numbers, KernelTerms::own()).unwrap().total();
                assert!(time.0 > 1_000_000, "{} {text}", model.name);
                answered += 1;
            }
        }
    }
    assert!(answered > 300, "{answered}");
}

#[test]
fn shapes_that_are_none_are_refused_with_what_works() {
    let refused = |kind, text: &str| {
        let gpu = KernelGpu::of(gpus::find("h100").unwrap(), KernelNumbers::Bf16).unwrap();
        let made = KernelShape::read(kind, text)
            .and_then(|shape| shape.time(&gpu, KernelNumbers::Bf16, KernelTerms::own()));
        made.unwrap_err().to_string()
    };
    for (kind, text, word) in [
        (AskedKernel::Gemm, "4096x0x8", "above 0"),
        (AskedKernel::Gemm, "4096x8", "m x n x k"),
        (AskedKernel::Gemm, "4096xmanyx8", "whole number"),
        (AskedKernel::Gemm, "m=1,n=2", "say m, n, k"),
        (AskedKernel::Gemm, "m=1,n=2,q=2", "no `q`"),
        (AskedKernel::Gemm, "99999999999x1x1", "at most"),
        (AskedKernel::Attention, "1x8x4x8x128", "at most"),
        (AskedKernel::Attention, "batch=1,tokens=8,heads=4,kv-heads=4,head=8,cache=int3", "fp8"),
        (AskedKernel::Experts, "8x8x8x4x2", "at most"),
        (AskedKernel::Experts, "tokens=8,hidden=8,inner=8,top=1,experts=3,ep=2", "divides"),
        (AskedKernel::Experts, "tokens=8,hidden=8,inner=8,top=1,experts=3,draw=x", "balanced"),
    ] {
        let told = refused(kind, text);
        assert!(told.contains(word), "{text}: {told}");
    }
    let model = gpus::find("h100").unwrap();
    let told = KernelGpu::of(model, KernelNumbers::Nvfp4).unwrap_err().to_string();
    assert!(told.contains("fp8") && told.contains("bf16"), "{told}");
}

#[test]
fn terms_that_nobody_has_are_refused() {
    let text = KernelTerms::TEXT;
    assert!(KernelTerms::read("terms.toml", text).is_ok());
    let without = text.replace("attention]", "other]");
    assert!(KernelTerms::read("terms.toml", &without).is_err());
    let error = KernelTerms::read("terms.toml", "[ampere]\nenergy = 1").unwrap_err();
    assert!(error.to_string().contains("products"), "{error}");
}

#[test]
fn experts_of_the_busiest_gpu_get_at_least_an_even_part() {
    for exponent in [0.0, 0.5, 1.0, 1.01, 1.2, 3.0] {
        let draw = ExpertDraw::read(&format!("power-law:{exponent}")).unwrap();
        for [tokens, top, experts, gpus] in [[1, 8, 256, 8], [4096, 8, 256, 256], [65_536, 2, 8, 4]]
        {
            let even = tokens as f64 * top as f64 / gpus as f64;
            let loads = draw.loads([tokens, top, experts, gpus]);
            let own: f64 = loads.iter().sum();
            assert_eq!(loads.len() as u64, experts / gpus);
            assert!(own >= even * (1.0 - 1e-9), "{exponent}: {own} of {even}");
            assert!(loads.iter().all(|load| *load <= tokens as f64 * (1.0 + 1e-6)), "{exponent}");
        }
    }
}

proptest! {
    /// A faster GPU never takes longer: more bandwidth, a higher peak.
    #[test]
    fn a_faster_gpu_takes_no_longer(
        rows in 1_u64..40_000, columns in 1_u64..40_000, depth in 1_u64..40_000,
        times in 1.0_f64..4.0,
        numbers in prop::sample::select(vec![
            KernelNumbers::Bf16, KernelNumbers::Fp8, KernelNumbers::Fp8Block,
        ]),
    ) {
        let gpu = KernelGpu::of(gpus::find("h100").unwrap(), numbers).unwrap();
        let time = |gpu: &KernelGpu| {
            product(rows, columns, depth).time(gpu, numbers, KernelTerms::own()).unwrap().total()
        };
        let base = time(&gpu);
        let more_memory = KernelGpu { memory: gpu.memory * times, ..gpu };
        prop_assert!(time(&more_memory) <= base);
        let higher_peak = KernelGpu { peak: gpu.peak * times, ..gpu };
        prop_assert!(time(&higher_peak) <= base);
        let slower = KernelGpu { clock: gpu.clock / times, ..gpu };
        prop_assert!(time(&slower) >= base);
    }

    /// No product takes less than its peak and its memory allow.
    #[test]
    fn no_product_beats_its_bounds(
        rows in 1_u64..100_000, columns in 1_u64..100_000, depth in 1_u64..100_000,
        gpu in prop::sample::select(vec!["a100-sxm4-80gb", "h100", "b200-sxm6-180gb", "l40s"]),
    ) {
        let numbers = KernelNumbers::Bf16;
        let of = KernelGpu::of(gpus::find(gpu).unwrap(), numbers).unwrap();
        let shape = product(rows, columns, depth);
        let time = seconds(gpu, numbers, shape);
        prop_assert!(time >= 2.0 * shape.multiply_adds() / of.peak);
        let bytes = 2.0 * (rows * depth + depth * columns + rows * columns) as f64;
        prop_assert!(time * 1.000_001 >= bytes / of.memory);
    }

    /// Any text is a shape or an error.
    #[test]
    fn any_text_is_read(text in "[a-z0-9=,x:.-]{0,60}") {
        for (_, kind) in AskedKernel::NAMED {
            let _ = KernelShape::read(*kind, &text);
        }
    }

    /// Attention of more tokens never takes less time.
    #[test]
    fn longer_attention_takes_no_less(
        tokens in 1_u64..20_000, more in 1_u64..10_000, heads in 1_u64..64, batch in 1_u64..16,
    ) {
        let time = |tokens| {
            let shape = AttentionShape {
                batch, tokens, heads, key_value_heads: 1, head: 128, window: 0,
                narrow_cache: false,
            };
            seconds("h100", KernelNumbers::Bf16, KernelShape::Attention(shape))
        };
        prop_assert!(time(tokens + more) >= time(tokens) * (1.0 - 1e-9));
    }
}
