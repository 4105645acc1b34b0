import StrataDocuments
import Testing

@Suite("Searching the leaves of JSON texts")
struct LeafSearchTests {
  @Test(
    "a text is found exactly if a leaf of the document has it, with and without regard to case",
    arguments: [true, false])
  func equalsDocument(ignoresCase: Bool) throws {
    var random = SystemRandomNumberGenerator()
    let texts = [
      "Bern", "bern\\u0065", "ZÜRICH", "zu\u{308}rich", "\u{212A}ey", "\u{130}x", "a\\/b", "a\\nb", "\\\"q\\\"", "",
      "x y", "kK", "\\u00c9", "é",
    ]
    let needles = [
      "bern", "e", "Zürich", "zu\u{308}", "k", "i", "a/b", "nb", "\"", "", " ", "42", "tru", "null", "É", "e\u{301}",
      "name", "[]", "0", "\n",
    ]
    let leaves = ["42", "-0.5", "true", "null", "1e3", "[]", "{}"]
    func leaf() -> String {
      Bool.random() ? "\"\(texts.randomElement(using: &random) ?? "")\"" : leaves.randomElement(using: &random) ?? "0"
    }
    var (found, told) = (0, 0)
    for _ in 0..<4_000 {
      let text = "{\"name\":\(leaf()),\"list\":[\(leaf()),{\"e\":\(leaf())}]}"
      let search = LeafSearch(needles.randomElement(using: &random) ?? "", ignoresCase: ignoresCase)
      var tape = JSONTape()
      let occurs = Array(text.utf8).withUnsafeBytes { search.occurs(in: $0, &tape) }
      guard let occurs else { continue }
      let isThere = try JSONParser.parse(Array(text.utf8)).fields.contains { field in
        switch field.value {
        case .string(let text): (ignoresCase ? text.lowercased() : text).contains(search.needle)
        case .number(let number): (ignoresCase ? number.text.lowercased() : number.text).contains(search.needle)
        case .bool(let flag): (flag ? "true" : "false").contains(search.needle)
        case .null: "null".contains(search.needle)
        default: false
        }
      }
      #expect(occurs == isThere, "\(search.needle) in \(text)")
      told += 1
      if occurs { found += 1 }
    }
    #expect(told > 2_000 && (400..<told).contains(found))
  }
}
