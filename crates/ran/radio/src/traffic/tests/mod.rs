mod datagrams;
mod link;
mod transport;
mod users;
