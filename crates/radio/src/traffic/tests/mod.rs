mod datagrams;
mod link;
mod transport;
