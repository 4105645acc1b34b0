import StrataDocuments
import StrataModel
import Testing

@testable import StrataFolders

@Suite("The folder's files, byte by byte")
struct FormatTests {
  @Test("an identifier of 40 characters gives its folders and its text back")
  func identifier() throws {
    let identifier = try #require(DatedIdentifier("2026-11-20 13-53-53-660 D5EC94D8D3596E72"))
    #expect(identifier.description == "2026-11-20 13-53-53-660 D5EC94D8D3596E72")
    #expect(identifier.shard == "2026/11-20/13-53")
    #expect(try #require(DatedIdentifier("0000-00-00 00-00-00-000 0000000000000001")).description.count == 40)
  }

  @Test(
    "nothing else is taken for an identifier",
    arguments: [
      "", "2026-11-20 13-53-53 D5EC94D8D3596E72", "2026-11-20 13-53-53-660 D5EC94D8D3596E7",
      "2026-11-20 13-53-53-660 d5ec94d8d3596e72", "2026/11/20 13-53-53-660 D5EC94D8D3596E72",
      "2026-11-20 13-53-53-660 D5EC94D8D3596E7\u{e9}", "../../../../../../../../../../etc/passwd...",
      "2026-11-20T13-53-53-660 D5EC94D8D3596E72", "２026-11-20 13-53-53-660 D5EC94D8D3596",
    ])
  func noIdentifier(_ text: String) { #expect(DatedIdentifier(text) == nil) }

  @Test(
    "no name that a file mentions leads out of the folder",
    arguments: ["", ".", "..", "a/b", "/etc", ".hidden", "a\0b"])
  func names(_ text: String) { #expect(FolderName(text) == nil) }

  @Test(
    "names keep their odd characters",
    arguments: ["Shelves  Racks2-5092A34CD2647502", "strings -D61EC451CA0360EC", "-0123456789ABCDEF"])
  func oddNames(_ text: String) { #expect(FolderName(text)?.text == text) }

  @Test("a manifest lists live pages in order and leaves dropped ones out")
  func manifest() throws {
    let text = """
      INDEX
       2026-11-20 13-53-53-161 4A9043AB5BC9017E
      -2026-11-20 13-53-53-660 D5EC94D8D3596E72
      +2026-11-20 13-53-53-716 C991054259FC9928

      """
    let manifest = try IndexManifest(parsing: Array(text.utf8))
    #expect(
      manifest.pages.map(\.description) == [
        "2026-11-20 13-53-53-161 4A9043AB5BC9017E", "2026-11-20 13-53-53-716 C991054259FC9928",
      ])
    #expect(manifest.added.count == 1)
    #expect(manifest.dropped.count == 1)
    #expect(!manifest.endsInDroppedPage)
    #expect(try IndexManifest(parsing: Array("INDEX\n".utf8)).pages.isEmpty)
  }

  @Test(
    "a manifest with a byte out of place is refused with its place",
    arguments: [
      ("", 0), ("INDEX", 0), ("PAGE\n", 0), ("INDEX\n\n", 6), ("INDEX\n 2026-11-20 13-53-53-161 4A9043AB5BC9017E", 6),
      ("INDEX\n*2026-11-20 13-53-53-161 4A9043AB5BC9017E\n", 6),
      ("INDEX\n 2026-11-20 13-53-53-161 4A9043AB5BC9017G\n", 7),
      ("INDEX\n 2026-11-20 13-53-53-161 4A9043AB5BC9017E ", 47),
    ])
  func brokenManifest(_ text: String, _ offset: Int) {
    #expect { try IndexManifest(parsing: Array(text.utf8)) } throws: { ($0 as? FormatError)?.offset == offset }
  }

  @Test("blocks of a page are counted by their bytes, whatever these are")
  func page() throws {
    let page = Page(parsing: Array("PAGE\n<2\nab\n=3\nx\ny\n>4\n\n=1\n\n".utf8))
    #expect(page.damage == nil)
    #expect(page.blocks.map(\.kind) == [.tail, .whole, .head])
    #expect(page.starts == [1, 2])
    #expect(page.beginsOpen == true)
    #expect(page.endsOpen == true)
    let empty = Page(parsing: Page.header)
    #expect(empty.damage == nil && empty.rowCount == 0 && empty.beginsOpen == nil)
  }

  @Test(
    "a damaged page keeps the blocks before the damage",
    arguments: [
      ("PAGE\n=1\na\n=9\nab\n", 1, 10), ("PAGE\n=1\na\n=0\n\n", 1, 11), ("PAGE\n=1\na\n=01\na\n", 1, 11),
      ("PAGE\n=1\na\n?1\na\n", 1, 10), ("PAGE\n=1\na\n=1\nab", 1, 14), ("PAGE\n=1\na\n<1\nb\n", 1, 10),
      ("PAGE\n>1\na\n=1\nb\n", 1, 10), ("PAGE\n=99999999999\na\n", 0, 6), ("PAGE\n=-1\na\n", 0, 6),
      ("PAGE \n=1\na\n", 0, 0), ("PAGE\0\n", 0, 0), ("", 0, 0), ("PAGE\n=9999999999\na\n", 0, 5), ("PAGE\n=1", 0, 6),
    ])
  func brokenPage(_ text: String, _ blocks: Int, _ offset: Int) {
    let page = Page(parsing: Array(text.utf8))
    #expect(page.blocks.count == blocks)
    #expect(page.damage?.offset == offset)
  }

  @Test("an entry is headers, an empty line, and content up to the end")
  func entry() throws {
    let bytes = Array("1 1\n1 0\n\n{\"stars\":0}\n\n".utf8)
    let primary = try Entry(parsing: bytes, as: .primary)
    #expect(primary.headers.map { String(decoding: $0, as: UTF8.self) } == ["1", "0"])
    #expect(String(decoding: primary.content, as: UTF8.self) == "{\"stars\":0}\n\n")
    let multiline = "{\n  \"number\" : 3,\n  \"region\" : \"EU\"\n}"
    let reference = try Entry(parsing: Array("\(multiline.utf8.count) \(multiline)\n\n12".utf8), as: .reference)
    #expect(String(decoding: reference.value, as: UTF8.self) == multiline)
    #expect(String(decoding: reference.identifier, as: UTF8.self) == "12")
    let direct = try Entry(parsing: Array("1 1\n6 \"only\"\n1 7\n\n{}".utf8), as: .direct)
    #expect(String(decoding: direct.identifier, as: UTF8.self) == "7")
  }

  @Test(
    "an entry with headers that do not fit is refused",
    arguments: [
      "", "1 1\n", "1 1\n1 0", "2 1\n1 0\n\n", "1 1\n1 0\n1 2\n\n", "\n", "x 1\n", "99999999999 1\n", "0 \n\n",
      "9999999999 1\n",
    ])
  func brokenEntry(_ text: String) {
    #expect(throws: FormatError.self) { try Entry(parsing: Array(text.utf8), as: .primary) }
  }

  @Test(
    "types of values are known by their Swift names",
    arguments: [
      ("Int", KeyEncoding.integer), ("UInt64", .unsigned), ("Optional<Int8>", .optional(.integer)), ("UUID", .uuid),
      ("Optional<Optional<Date>>", .optional(.date)), ("Color", .comparator("Color")),
      ("Optional<Color>", .comparator("Optional<Color>")), ("", .comparator("")),
    ])
  func types(_ name: String, _ encoding: KeyEncoding) { #expect(ValueType(named: name).encoding == encoding) }

  @Test("kinds of indexes are known by their types; the first releases wrote the value's type alone")
  func indexTypes() {
    #expect(IndexType(parsing: "ManyToManyIndex(Optional<Int>)").kind == .manyToMany)
    #expect(IndexType(parsing: "ManyToManyIndex(Optional<Int>)").value.encoding == .optional(.integer))
    #expect(IndexType(parsing: "OneToOneIndex(String)").kind == .oneToOne)
    #expect(IndexType(parsing: "String").kind == .oneToMany)
    #expect(IndexType(parsing: "String").value.encoding == .string)
  }

  @Test(
    "headers give their values",
    arguments: [
      ("Int", "-9223372036854775808", KeyValue.integer(.min)), ("UInt64", "18446744073709551615", .unsigned(.max)),
      ("Double", "2", .double(2)), ("Double", "-0", .double(0)), ("Double", "1e+300", .double(1e300)),
      ("Optional<String>", "null", .null), ("String", #""a\/b/é""#, .string("a/b/é")),
      ("Date", #""2023-11-14T22:13:20.125Z""#, .date(721_692_800.125)), ("Bool", "true", .bool(true)),
      ("Data", #""AQI=""#, .data([1, 2])), ("Color", "2", .document(2)),
      ("Pair", #"{"b":1,"a":"x"}"#, .document(["a": "x", "b": 1])),
    ])
  func headers(_ type: String, _ json: String, _ value: KeyValue) throws {
    #expect(try ValueType(named: type).key(parsing: Array(json.utf8)).value == value)
  }

  @Test("a composite header is the same key in whatever order and layout its members stand")
  func compositeHeaders() throws {
    let type = ValueType(named: "Pair")
    let one = try type.key(parsing: Array(#"{"b":1,"a":"x"}"#.utf8))
    let other = try type.key(parsing: Array("{\n  \"a\" : \"x\",\n  \"b\" : 1\n}".utf8))
    #expect(one == other)
  }

  @Test("strings that are canonically equal are one key, and lie in the order of their normal form")
  func strings() throws {
    let type = ValueType(named: "String")
    func key(_ text: String) throws -> StoredKey { try type.key(parsing: Document.string(text).json(.compact)) }
    #expect(try key("é") == key("e\u{301}"))
    #expect(try key("a").bytes.precedes(try key("b").bytes))
    #expect(try key("z").bytes.precedes(try key("é").bytes))
  }

  @Test(
    "dates are read with and without fractions and offsets, and refused without a T",
    arguments: [
      ("2026-11-20T13:53:53.661Z", 1_795_182_833_661_000_000 as Int64?), ("1970-01-01T00:00:00Z", 0),
      ("1970-01-01T02:00:00.5+02:00", 500_000_000), ("2026-11-20 13:53:53.661Z", nil), ("never", nil),
      ("1969-12-31T23:59:59.999Z", -1_000_000),
    ])
  func dates(_ text: String, _ nanoseconds: Int64?) throws {
    let file = try JSONFile(["date": .string(text)], named: "")
    #expect((try? file.date("date")) == nanoseconds)
  }
}
