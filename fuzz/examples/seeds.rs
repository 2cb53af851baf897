//! Writes what the targets begin with: a folder of small files for each, below the folder that is named.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use parquet::basic::{BrotliLevel, Compression as Codec, Encoding, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The bytes plain and compressed.
fn packings(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    let halves = |pack: fn(&[u8]) -> Vec<u8>| [pack(half), pack(rest)].concat();
    vec![bytes.to_vec(), gzip(bytes), zstd(bytes), lz4(bytes), halves(gzip), halves(zstd), halves(lz4)]
}

fn json_lines() -> Vec<Vec<u8>> {
    let lines = "{\"id\": 7, \"text\": \"seven\"}\n\n{\"text\":\"t\\u00e9\\n\",\"id\":\"a\",\"more\":[1,{\"id\":2}]}\r\n{\"id\":-1}\nnot\n{\"id\":1,\"text\":null}";
    packings(lines.as_bytes())
}

fn tables() -> Vec<Vec<u8>> {
    let rows = "id,text,more\na,one,1\n\"b\",\"two\n \"\"lines\"\"\",2\r\nc,short\n\nd,\"open,3\n";
    [rows, &rows.replace(',', "\t"), "\u{feff}text,id\r\nx,\r\n"]
        .iter()
        .flat_map(|text| packings(text.as_bytes()))
        .collect()
}

fn pages() -> Vec<Vec<u8>> {
    let page = "<!doctype html><html><head><meta charset=utf-8><title>A &amp; b</title><script>x<y</script></head><body>\
        <nav><a href=/>home</a></nav><article><h1>Tea</h1><p>It is a long text with <b>many</b> words, which someone has \
        written for others to read; and there is more of it.<p>&eacute;&#233;&#xe9;<br>Line<ul><li>one<li>two</ul>\
        <pre>a\n b</pre><table><tr><td>1<td>2</table></article><!-- no --><style>p{}</style></body></html>";
    let feed =
        "<?xml version='1.0' encoding='iso-8859-1'?><rss><item><title>x</title><![CDATA[<b>y</b>]]></item></rss>";
    let nested = "<div><b><i>".repeat(40);
    [page, feed, &nested, "<textarea><title>", "a < b && c &copy &lt;"].map(|text| text.as_bytes().to_vec()).into()
}

fn charsets() -> Vec<Vec<u8>> {
    let texts: [&[u8]; 6] = [
        b"<meta charset=shift_jis>\x93\xfa\x96\x7b",
        b"na\xefve caf\xe9",
        b"\xff\xfea\0b\0",
        b"\xef\xbb\xbfmark",
        b"\xc4\xe3\xba\xc3 \x1b$B4A;z\x1b(B",
        "наивно 你好".as_bytes(),
    ];
    texts.iter().enumerate().map(|(at, text)| [&[at as u8], *text].concat()).collect()
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let (half, rest) = body.split_at(body.len() / 2);
    let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
    [chunk(half), chunk(rest), b"0\r\n\r\n".to_vec()].concat()
}

fn warcs() -> Vec<Vec<u8>> {
    let record = |kind: &str, media: &str, content: &[u8]| {
        let head = format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: http://e.org/{kind}\r\n\
             WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n",
            content.len()
        );
        [head.as_bytes(), content, b"\r\n\r\n"].concat()
    };
    let page = &pages()[0];
    let http = |head: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{head}\r\n");
        record("response", "application/http;msgtype=response", &[head.as_bytes(), body].concat())
    };
    let records = [
        record("warcinfo", "application/warc-fields", b"software: x\r\n"),
        record("request", "application/http;msgtype=request", b"GET / HTTP/1.1\r\n\r\n"),
        http(&format!("Content-Length: {}\r\n", page.len()), page),
        http("Transfer-Encoding: chunked\r\n", &chunked(page)),
        http("Content-Encoding: gzip\r\n", &gzip(page)),
        http("Content-Encoding: deflate\r\n", &deflate(page)),
        http("Content-Encoding: zstd\r\nTransfer-Encoding: chunked\r\n", &chunked(&zstd(page))),
        record("conversion", "text/plain", b"A text.\nAnd more."),
        record("resource", "text/html", page),
    ];
    let members = |pack: fn(&[u8]) -> Vec<u8>| records.iter().flat_map(|record| pack(record)).collect::<Vec<u8>>();
    let mut all = vec![records.concat(), members(gzip), members(zstd), members(lz4), gzip(&records.concat())];
    all.extend(records);
    for values in ["uuid:1 application/http; msgtype=response", "message/http uuid:1"] {
        let body = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>A page.</p>";
        let line = |length: usize| format!("warc/0.9 {length:08} response http://e.org/ 20060101000000 {values}\r\nIP-Address: x\r\n\r\n");
        all.push(format!("{}{body}\r\n\r\n", line(line(0).len() + body.len() + 4)).into_bytes());
    }
    all
}

fn arcs() -> Vec<Vec<u8>> {
    let version = "1 0 Archive\nURL IP-address Archive-date Content-type Archive-length\n\n";
    let body = "HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<p>A page.</p>";
    let head = format!("filedesc://a.arc 0.0.0.0 20260101000000 text/plain {}\n", version.len());
    let page = format!("http://e.org/ 1.2.3.4 20260101000000 text/html {}\n{body}\n", body.len());
    let parts = [format!("{head}{version}"), page.clone(), page];
    let mut all = packings(parts.concat().as_bytes());
    all.push(parts.iter().flat_map(|part| gzip(part.as_bytes())).collect());
    all
}

fn fingerprints() -> Vec<Vec<u8>> {
    let texts: [(u8, &[u8]); 6] = [
        (0, b"0123456789abcdef"),
        (1, b"0123456789abcdef"),
        (2, b"00ff\n0xffffffffffffffff\n\nxyz\n"),
        (9, b"id,fingerprint\na,ff\n\"b\",0\nc\n"),
        (10, b"id\tfingerprint\na\tff\n"),
        (11, b"{\"id\":\"a\",\"fingerprint\":18446744073709551615}\n{\"fingerprint\":\"ff\",\"id\":1}\n{}\n"),
    ];
    let with = |how: u8, text: &[u8]| [&[how], text].concat();
    let plain = texts.iter().flat_map(|&(how, text)| [with(how, text), with(how | 0x80, text), with(how + 12, text)]);
    plain.chain(texts.iter().map(|&(how, text)| with(how, &gzip(text)))).collect()
}

fn parquets() -> Vec<Vec<u8>> {
    let schema = "message m { optional binary text (UTF8); required int32 n; required binary id (UTF8); }";
    let texts: Vec<ByteArray> = (0..30).map(|i| format!("text {} {}", i % 7, "x".repeat(i)).as_str().into()).collect();
    let levels: Vec<i16> = (0..40).map(|i| i16::from(i % 4 != 1)).collect();
    let ids: Vec<ByteArray> = (0..40).map(|i| format!("id{i}").as_str().into()).collect();
    let codecs = [
        Codec::UNCOMPRESSED,
        Codec::SNAPPY,
        Codec::GZIP(GzipLevel::default()),
        Codec::BROTLI(BrotliLevel::default()),
        Codec::LZ4,
        Codec::LZ4_RAW,
        Codec::ZSTD(ZstdLevel::default()),
    ];
    let encodings =
        [None, Some(Encoding::PLAIN), Some(Encoding::DELTA_LENGTH_BYTE_ARRAY), Some(Encoding::DELTA_BYTE_ARRAY)];
    let mut all = Vec::new();
    for (at, codec) in codecs.into_iter().cycle().take(28).enumerate() {
        let version = if at % 2 == 0 { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
        let mut kind = WriterProperties::builder()
            .set_compression(codec)
            .set_writer_version(version)
            .set_data_page_row_count_limit(15);
        if let Some(encoding) = encodings[at / 7] {
            let packed = if encoding == Encoding::PLAIN { encoding } else { Encoding::DELTA_BINARY_PACKED };
            kind = kind.set_dictionary_enabled(false).set_column_encoding("text".into(), encoding);
            kind = kind.set_column_encoding("id".into(), encoding).set_column_encoding("n".into(), packed);
        }
        let schema = parse_message_type(schema).unwrap().into();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, kind.build().into()).unwrap();
        for _ in 0..2 {
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int32Type>().write_batch(&(-20..20).collect::<Vec<i32>>(), None, None).unwrap();
            column.close().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&ids, None, None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        all.push(writer.into_inner().unwrap());
    }
    all
}

fn texts() -> Vec<Vec<u8>> {
    let texts = [
        "The quick brown fox jumps over the lazy dog, twice.",
        "你好世界，漢字と仮名 สวัสดีชาวโลก ភាសាខ្មែរ",
        "fn main() { let x_1 = 0x7f; } // code",
        "Zürich straße ǅ ﬁ ①② e\u{301}\u{327} \u{200d}👩‍👩‍👧 مرحبا שלום हिन्दी 한국어",
        "1,234.5 a.b@c.d it's — “quotes” \0\u{7f}\u{feff}",
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

fn main() {
    let folder = std::env::args().nth(1).expect("the folder to write to");
    let all = [
        ("json_lines", json_lines()),
        ("table", tables()),
        ("whole_text", texts().iter().flat_map(|text| packings(text)).collect()),
        ("warc", warcs()),
        ("arc", arcs()),
        ("parquet", parquets()),
        ("fingerprints", fingerprints()),
        ("html", pages()),
        ("charset", charsets()),
        ("analyser", texts()),
    ];
    for (target, seeds) in all {
        let folder = Path::new(&folder).join(target);
        fs::create_dir_all(&folder).expect("the folder can be made");
        for (at, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{at}")), seed).expect("the folder can be written to");
        }
    }
}
