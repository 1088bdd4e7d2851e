//! A network for tests: each GPU injects one message at a time, each arrives a latency later.

use std::num::NonZeroU64;

use crate::engine::{Model, Random, Scheduler};
use crate::network::{
    DeviceIndex, GpuIndex, GpuSite, Message, Occurrence, Stuck, Transport, TransportError,
};
use crate::units::Picoseconds;

/// A latency of 1 us, a byte per picosecond; messages of a pair stay in order unless a jitter
/// is set.
pub struct TestNetwork {
    told: Option<Occurrence>,
    /// When each GPU has injected all it was given.
    injected: Vec<u64>,
    jitter: Option<(Random, NonZeroU64)>,
    pub messages: Vec<(Picoseconds, Message)>,
    pub under_way: usize,
    pub most_under_way: usize,
    /// Where GPUs sit: a host stands for the first of as many; four GPUs are a server.
    site: GpuSite,
    /// Says after how many sent messages it reports itself stuck.
    pub stuck_after: usize,
}

pub const LATENCY: u64 = 1_000_000;

impl TestNetwork {
    pub fn new() -> Self {
        Self {
            told: None,
            injected: vec![0; 4096],
            jitter: None,
            messages: Vec::new(),
            under_way: 0,
            most_under_way: 0,
            site: GpuSite::bare(0),
            stuck_after: usize::MAX,
        }
    }

    /// Makes a network whose GPUs sit at a given site.
    pub fn with_site(site: GpuSite) -> Self {
        Self { site, ..Self::new() }
    }

    /// Makes a network of a given number of GPUs.
    pub fn of_gpus(gpus: u32) -> Self {
        Self { injected: vec![0; gpus as usize], ..Self::new() }
    }

    /// A network that delays each message by chance, so that some overtake others.
    pub fn disordered(seed: u64) -> Self {
        let jitter = NonZeroU64::new(10 * LATENCY).expect("not zero");
        Self { jitter: Some((Random::new(seed), jitter)), ..Self::new() }
    }
}

impl Default for TestNetwork {
    fn default() -> Self {
        Self::new()
    }
}

impl Model for TestNetwork {
    type Event = Occurrence;
    type Error = TransportError;
    const SETTLES: bool = false;

    fn handle(
        &mut self,
        event: Occurrence,
        scheduler: &mut impl Scheduler<Occurrence>,
    ) -> Result<(), TransportError> {
        if self.messages.len() >= self.stuck_after {
            let (time, messages) = (scheduler.now(), self.under_way);
            return Err(Stuck { time, messages, cycle: "a test".to_owned() }.into());
        }
        if let Occurrence::Delivered { .. } = event {
            self.under_way -= 1;
        }
        self.told = Some(event);
        Ok(())
    }
}

impl Transport for TestNetwork {
    fn gpu_device(&self, gpu: GpuIndex) -> DeviceIndex {
        gpu
    }

    fn gpu_site(&self, gpu: GpuIndex) -> GpuSite {
        let host = self.site.host.map(|first| first + gpu);
        GpuSite { device: gpu, host, server: gpu / 4, ..self.site }
    }

    fn send(&mut self, message: Message, scheduler: &mut impl Scheduler<Occurrence>) {
        let now = scheduler.now();
        let injected = &mut self.injected[message.source as usize];
        *injected = now.0.max(*injected) + message.size.0;
        let jitter = self.jitter.as_mut().map_or(0, |(random, most)| random.below(*most));
        let arrival = *injected + LATENCY + jitter;
        let (sent, token) = (Picoseconds(*injected), message.token);
        scheduler.schedule(sent, Occurrence::Sent { token });
        scheduler.schedule(Picoseconds(arrival), Occurrence::Delivered { token });
        self.messages.push((now, message));
        self.under_way += 1;
        self.most_under_way = self.most_under_way.max(self.under_way);
    }

    fn tell(&mut self) -> Option<Occurrence> {
        self.told.take()
    }
}
