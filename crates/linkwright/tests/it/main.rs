//! Integration tests: contracts, brute force, schedules, determinism, layer order.

mod brute_force;
mod collective_timing;
mod collectives;
mod copies;
mod diagnoses;
mod effort;
mod exact_rings;
mod fabric;
mod flow_and_packets;
mod labels;
mod layers;
mod loggp;
mod messages_of_devices;
mod mpi_programs;
mod nearness;
mod otf2;
mod packet_reference;
mod packet_settings;
mod played;
mod policy_contract;
mod programs_page;
mod real_machine;
mod routing;
mod server;
mod servers_on_fabrics;
mod systems;
