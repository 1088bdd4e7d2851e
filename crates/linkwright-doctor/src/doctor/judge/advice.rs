//! Says where to look for each cause, and which command shows it.

use super::cause::SlowCause;

/// The setting or the part to look at, and the command that shows it.
pub(super) fn advice(cause: SlowCause) -> (&'static str, &'static str) {
    match cause {
        SlowCause::Tcp => (
            "the driver and the verbs library of the network interfaces, and NCCL_IB_DISABLE, NCCL_NET and \
             NCCL_NET_PLUGIN",
            "ibv_devinfo -l; env | grep NCCL_",
        ),
        SlowCause::InterfaceUnused => (
            "NCCL_IB_HCA, and the state of the ports that carry nothing",
            "ibstat; env | grep NCCL_IB_HCA",
        ),
        SlowCause::WrongInterface => (
            "NCCL_IB_HCA, NCCL_TOPO_FILE and which interfaces the container sees",
            "nvidia-smi topo -m; env | grep -E 'NCCL_(IB_HCA|TOPO_FILE)'",
        ),
        SlowCause::GpudirectOff => (
            "the kernel module nvidia-peermem (or DMA-BUF), PCIe access control (ACS), and NCCL_NET_GDR_LEVEL",
            "lsmod | grep nvidia_peermem; sudo lspci -vvv | grep ACSCtl; env | grep NCCL_NET_GDR",
        ),
        SlowCause::PeerOff => (
            "NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, PCIe access control (ACS), the IOMMU, and the fabric manager",
            "nvidia-smi topo -p2p r; env | grep NCCL_P2P; systemctl status nvidia-fabricmanager",
        ),
        SlowCause::NvlsOff => (
            "NCCL_NVLS_ENABLE, the driver's and the fabric manager's version, and multicast in containers",
            "env | grep NCCL_NVLS; nvidia-smi -q -i 0 | grep -A4 Fabric",
        ),
        SlowCause::AlgorithmForced => {
            ("NCCL_ALGO", "env | grep NCCL_ALGO; cat ~/.nccl.conf /etc/nccl.conf")
        }
        SlowCause::ProtocolForced => {
            ("NCCL_PROTO", "env | grep NCCL_PROTO; cat ~/.nccl.conf /etc/nccl.conf")
        }
        SlowCause::PxnOff => ("NCCL_PXN_DISABLE", "env | grep NCCL_PXN_DISABLE"),
        SlowCause::CrossNic => ("NCCL_CROSS_NIC", "env | grep NCCL_CROSS_NIC"),
        SlowCause::ChannelsLimited => (
            "NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS, NCCL_NTHREADS and NCCL_BUFFSIZE",
            "env | grep -E 'NCCL_(M..._NCHANNELS|M..._CTAS|NTHREADS|BUFFSIZE)'",
        ),
        SlowCause::PcieNarrow => (
            "the seat of the card or its riser, and the slot's setting in the firmware",
            "sudo lspci -vv | grep -E 'LnkCap:|LnkSta:'; nvidia-smi --query-gpu=pcie.link.gen.current,\
             pcie.link.width.current --format=csv",
        ),
        SlowCause::OldVersion => (
            "the version of NCCL that the program loads",
            "NCCL_DEBUG=VERSION ./all_reduce_perf -b 8 -e 8",
        ),
        SlowCause::SlowGpu => (
            "the GPU's links, clocks and errors, one GPU after another",
            "nvidia-smi nvlink -s; nvidia-smi -q -d CLOCK,PERFORMANCE,ECC; dmesg | grep -i xid",
        ),
        SlowCause::SlowServer => (
            "the ports and cables of each server, and its uplinks' speed at the switch",
            "ibstat | grep Rate; ethtool IFACE | grep Speed; ib_write_bw between pairs of servers",
        ),
        SlowCause::SlowNetwork => (
            "the speed of the ports, congestion and other traffic on the switches, and adaptive routing",
            "ibstat | grep Rate; ib_write_bw between pairs of servers; perfquery -x",
        ),
        SlowCause::SlowLinks => (
            "the links' speed and state on every GPU, and other work on the GPUs",
            "nvidia-smi nvlink -s; nvidia-smi; nvidia-smi -q -d CLOCK,PERFORMANCE",
        ),
    }
}
