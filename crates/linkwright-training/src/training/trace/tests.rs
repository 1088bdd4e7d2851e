//! Holds summaries of traces to ones that were counted by hand.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

/// Writes an event of a span; `more` holds its other fields.
fn span(
    category: &str,
    name: &str,
    thread: u64,
    (start, lasting): (f64, f64),
    more: &str,
) -> String {
    format!(
        r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":{thread},"ts":{start},"dur":{lasting},"args":{{{more}}}}}"#
    )
}

/// Writes a launch on a thread and its kernel on a stream.
fn kernel(number: u64, name: &str, launched: (u64, f64), ran: (u64, f64, f64)) -> [String; 2] {
    let (thread, at) = launched;
    let (stream, start, lasting) = ran;
    let call = format!(r#""correlation":{number},"External id":{number}"#);
    let own = format!(r#""correlation":{number},"stream":{stream}"#);
    [
        span("cuda_runtime", "cudaLaunchKernel", thread, (at, 2.0), &call),
        span("kernel", name, stream, (start, lasting), &own),
    ]
}

fn written(events: &[String]) -> String {
    format!(
        r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"GPU"}}],"distributedInfo":{{"rank":3,"world_size":8}},"traceEvents":[{}]}}"#,
        events.join(",\n")
    )
}

/// Writes a step of 100 µs: a product, a gap, attention beside a collective, and its end alone.
fn one_step() -> Vec<String> {
    let mut events = vec![
        span("user_annotation", "ProfilerStep#4", 7, (1000.0, 200.0), ""),
        span(
            "cpu_op",
            "aten::mm",
            7,
            (1000.0, 10.0),
            r#""External id":1,"Input Dims":[[64,32],[32,16],[]]"#,
        ),
        span(
            "cpu_op",
            "autograd::engine::evaluate_function: X",
            8,
            (1050.0, 90.0),
            r#""External id":9"#,
        ),
        span(
            "cpu_op",
            "record_param_comms",
            8,
            (1060.0, 5.0),
            r#""External id":3,"Collective name":"allreduce","In msg nelems":1024,"dtype":"Float","Group size":8,"Process Group Name":"0""#,
        ),
    ];
    events.extend(kernel(1, "nvjet_tst_64x64", (7, 1001.0), (7, 1010.0, 20.0)));
    events.extend(kernel(2, "flash_bwd_kernel", (8, 1055.0), (7, 1060.0, 30.0)));
    events.extend(kernel(3, "ncclDevKernel_AllReduce", (8, 1061.0), (20, 1070.0, 40.0)));
    events
}

fn read(text: &str) -> Result<KernelTrace, InputError> {
    KernelTrace::read("t.json", text.as_bytes())
}

const MICROSECOND: u64 = 1_000_000;

#[test]
fn a_step_is_summed_up_by_kind_pass_and_stream() {
    let trace = read(&written(&one_step())).unwrap();
    assert_eq!((trace.steps, trace.rank, trace.ranks), (1, Some(3), Some(8)));
    assert_eq!(trace.gpu, "GPU");
    let rows: Vec<_> = trace
        .kernels
        .iter()
        .map(|it| (it.kind, it.is_backward, it.stream, it.time.0 / MICROSECOND))
        .collect();
    let own = [
        (KernelKind::Product, false, 7, 20),
        (KernelKind::Attention, true, 7, 30),
        (KernelKind::Collective, true, 20, 40),
    ];
    assert_eq!(rows, own);
    assert_eq!((trace.products.len(), trace.products[0].shape), (1, [64, 16, 32]));
    let call = &trace.collectives[0];
    assert_eq!(
        (call.name.as_str(), call.elements, call.group_size),
        ("allreduce", Some(1024), Some(8))
    );
    // From 1010 to 1110: 50 computing, 20 of the collective alone, 30 idle; the next kernel was launched at 1057.
    let time = trace.time;
    let parts = [time.computing, time.exposed, time.host, time.waiting, time.collectives];
    assert_eq!(parts.map(|part| part.0 / MICROSECOND), [50, 20, 27, 3, 40]);
    assert!(trace.skipped.is_empty() && trace.recognised() >= 1.0);
}

#[test]
fn gzipped_traces_and_lists_of_events_are_read_alike() {
    let text = written(&one_step());
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let plain = read(&text).unwrap();
    assert_eq!(KernelTrace::read("t.json", packed.as_slice()).unwrap(), plain);
    let listed = read(&format!("[{}]", one_step().join(","))).unwrap();
    assert_eq!(listed, KernelTrace { rank: None, ranks: None, gpu: String::new(), ..plain });
    let cut = KernelTrace::read("t.json.gz", &packed[..packed.len() / 2]).unwrap_err();
    assert!(cut.to_string().contains("the compressed trace is cut off here"), "{cut}");
}

#[test]
fn steps_are_told_apart_and_what_lies_outside_is_left_out() {
    let mut events = one_step();
    events.push(span("user_annotation", "ProfilerStep#5", 7, (1200.0, 100.0), ""));
    events.extend(kernel(4, "my_own_kernel", (7, 1205.0), (7, 1210.0, 5.0)));
    events.extend(kernel(5, "late", (7, 1400.0), (7, 1410.0, 5.0)));
    let trace = read(&written(&events)).unwrap();
    assert_eq!(trace.steps, 2);
    assert_eq!(trace.unknown, [("my_own_kernel".to_owned(), Picoseconds(5 * MICROSECOND))]);
    assert_eq!(trace.skipped, ["1 kernels that no step of the trace launched"]);
    assert_eq!(trace.time.whole().0, 205 * MICROSECOND);
}

#[test]
fn what_is_no_trace_is_refused_in_one_line_with_a_remedy() {
    let text = written(&one_step());
    let host = written(&one_step()[..4]);
    let cases: Vec<(&[u8], &str)> = vec![
        (b"", "t.json:1:1: the trace is empty"),
        (&text.as_bytes()[..text.len() / 2], "the trace is cut off here"),
        (b"hello", "t.json:1:1: this is no JSON"),
        (b"7", "this is no trace of PyTorch's profiler"),
        (br#"{"traceEvents": 7}"#, "this is no trace of PyTorch's profiler"),
        (br#"{"displayTimeUnit": "ns", "traceEvents": []}"#, "no event is a kernel"),
        (b"SQLite format 3\0", "as Nsight Systems and rocprof export"),
        (host.as_bytes(), "the trace holds nothing that ran on a GPU"),
    ];
    for (bytes, said) in cases {
        let error = KernelTrace::read("t.json", bytes).unwrap_err();
        let line = error.to_string();
        assert!(line.contains(said) && !line.contains('\n'), "{line}");
        assert!(!error.remedy.is_empty(), "{line}");
    }
}

/// Texts and lists that would fill the memory are refused before they do.
#[test]
fn hostile_texts_are_refused() {
    let long = format!(r#"{{"a": "{}"}}"#, "x".repeat(2 << 20));
    let deep = format!(r#"{{"a": {}"#, "[".repeat(1 << 20));
    for text in [long, deep] {
        let line = read(&text).unwrap_err().to_string();
        assert!(line.len() < 500 && !line.contains('\n'), "{line}");
    }
}

#[test]
fn kernels_are_known_by_names_of_several_libraries() {
    let cases = [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", KernelKind::Collective),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", KernelKind::Product),
        ("Cijk_Ailk_Bljk_BBS_BH_MT64x64x64", KernelKind::Product),
        ("nvjet_hsh_128x256_64x4", KernelKind::Product),
        ("void flash_fwd_kernel<cutlass::bfloat16_t>", KernelKind::Attention),
        ("fmha_cutlassB_bf16_aligned", KernelKind::Attention),
        ("sm80_xmma_fprop_implicit_gemm_indexed", KernelKind::Convolution),
        ("batched_transpose_32x32_half", KernelKind::Convolution),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW", KernelKind::BatchNorm),
        ("rmsnorm_bwd_tuned", KernelKind::TokenNorm),
        ("max_pool_forward_nchw", KernelKind::Pooling),
        ("multi_tensor_apply_kernel", KernelKind::Optimizer),
        ("triton_poi_fused_convert_element_type_0", KernelKind::Elementwise),
        ("cunn_SoftMaxForward<LogSoftMaxForwardEpilogue>", KernelKind::Softmax),
        ("scaled_fp8_quant_kernel", KernelKind::Cast),
        ("my_own", KernelKind::Other),
    ];
    for (name, kind) in cases {
        assert_eq!(KernelKind::of_kernel(name), kind, "{name}");
    }
}

proptest! {
    /// Whatever a trace holds, it is refused or summed up, and its parts are no longer than the whole.
    #[test]
    fn any_text_is_refused_or_summed_up(cut in 0_usize..4000, byte: u8, at in 0_usize..4000) {
        let mut bytes = written(&one_step()).into_bytes();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(length.min(cut + length / 2));
        if let Ok(trace) = KernelTrace::read("t.json", bytes.as_slice()) {
            prop_assert!(trace.steps > 0);
            prop_assert!((0.0..=1.0).contains(&trace.recognised()));
            prop_assert!(trace.time.collectives.0 <= trace.time.whole().0);
        }
    }
}
