import Testing

@testable import StrataPostgres

@Suite("URLs of servers")
struct URLTests {
  @Test("a URL is shown without its password, and everything else stays")
  func shown() throws {
    let url = try ServerURL(
      parsing: "postgres://ada:s3cr%40t@db.example:5433,[::1]:5434/app?schema=library&sslmode=require")
    #expect(url.description == "postgres://ada@db.example:5433,[::1]:5434/app?sslmode=require&schema=library")
    #expect(url.schema == "library")
    #expect(url.redact("password s3cr@t is wrong") == "password … is wrong")
    let socket = try ServerURL(parsing: "postgresql:///app?host=/tmp/x y&password=top")
    #expect(socket.description == "postgres:///app?host=/tmp/x%20y")
    #expect(try ServerURL(parsing: "postgres://").description == "postgres://")
  }

  @Test(
    "a URL that is shown leads to the same servers in the same way",
    arguments: [
      "postgres://ada@one,two/app?port=5433", "postgres://?port=5433,5434&hostaddr=10.0.0.1,10.0.0.2",
      "postgres://one:5433,two/app", "postgres://pooler/app?prepared=no&wait=2.5",
    ])
  func shownIsTheSame(_ text: String) throws {
    let url = try ServerURL(parsing: text)
    let shown = try ServerURL(parsing: url.description)
    #expect(shown.prepares == url.prepares && shown.patience == url.patience)
    func words(_ url: ServerURL) -> [String] { url.words(program: "tests").map { "\($0.name)=\($0.value)" }.sorted() }
    // No host is the same as an empty one.
    #expect(words(shown).filter { $0 != "host=" } == words(url).filter { $0 != "host=" })
  }

  @Test(
    "a malformed URL is refused with the part that is wrong, and never with the password",
    arguments: [
      ("http://x", "begins with postgres://"), ("postgres://a:hush@h:0/d", "a port is a number"),
      ("postgres://a:hush@h:x/d", "a port is a number"), ("postgres://a:hush%@h/d", "hexadecimal"),
      ("postgres://a:hu@sh@h/d", "%40"), ("postgres://a:hush/x@h/d", "%40 or %2F"),
      ("postgres://h/d?sslmod=require", "no parameter “sslmod”"), ("postgres://h/d?schema=", "1 to 63 bytes"),
      ("postgres://h/d?schema", "has no value"), ("postgres://[::1/d", "has no end"),
      ("postgres://a:hush#x@h/d", "%23"),
      ("postgres://a:%FFhush@h/d", "not UTF-8"),
    ])
  func refused(_ text: String, _ part: String) throws {
    let error = try #require(throws: InvalidServerURL.self) { try ServerURL(parsing: text) }
    #expect(error.description.contains(part), "\(error)")
    #expect(!error.description.contains("hush"))
  }
}
