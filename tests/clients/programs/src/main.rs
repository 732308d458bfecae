//! fetch-rust HOST: prints what is at https://HOST/, by rustls over a plain socket.
use std::error::Error;
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

fn fetch(host: &str) -> Result<String, Box<dyn Error>> {
    let mut roots = rustls::RootCertStore::empty();
    let file = std::fs::File::open(AUTHORITIES)?;
    roots.add_parsable_certificates(&rustls_pemfile::certs(&mut BufReader::new(file))?);
    let config = rustls::ClientConfig::builder()
        .with_safe_defaults()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tls = rustls::ClientConnection::new(Arc::new(config), host.try_into()?)?;
    let mut stream = rustls::StreamOwned::new(tls, TcpStream::connect((host, 443))?);
    write!(stream, "GET / HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn main() {
    match fetch(&std::env::args().nth(1).expect("a host")) {
        Ok(answer) => print!("{answer}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
