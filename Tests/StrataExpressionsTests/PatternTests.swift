import StrataDocuments
import Testing

@testable import StrataExpressions

struct PatternTests {
  @Test(
    "patterns occur where they should",
    arguments: [
      ("San", "San Marino", true), ("^San", "El San", false), ("^San$", "San", true), ("S.n", "Sun", true),
      ("S.n", "S\nn", false),
      ("a|b|cd", "xcdx", true), ("(ab)+c", "ababc", true), ("^(ab)*$", "", true), ("^(ab)*$", "aba", false),
      ("a{2,3}b", "ab", false),
      ("^a{2,3}$", "aaa", true), ("^a{2,3}$", "aaaa", false), ("a{2,}", "xaaax", true), ("a{2}", "a", false),
      ("[a-c]x", "bx", true),
      ("[^a-c]x", "bx", false), ("[]a]", "]", true), ("[a-]", "-", true), ("\\d+", "no 5", true),
      ("^\\w+$", "Žofie_1", true),
      ("^\\w+$", "a b", false), ("\\bcat\\b", "a cat.", true), ("\\bcat\\b", "concat", false),
      ("\\Bcat", "concat", true), ("\\.", "a.b", true),
      ("\\u{1F600}", "😀", true), ("\\x41", "A", true), ("", "anything", true), ("(?:a|b)c", "bc", true),
      ("colou?r", "color", true),
      ("[\\d\\s]+x", "1 2x", true), ("[^\\d]", "12", false), ("\\s", "a\tb", true), ("(a*)*b", "aaab", true),
      ("(|a)+$", "aa", true),
    ])
  func occurrence(pattern: String, text: String, occurs: Bool) throws {
    #expect(try Pattern(pattern).occurs(in: text) == occurs)
  }

  @Test("a letter is found in each of its normal forms, by a pattern in any of them")
  func normalForms() throws {
    let forms = ["caf\u{e9}", "cafe\u{301}"]
    for text in forms {
      for pattern in forms + ["^caf.$", "[\u{e9}]", "caf[^e]"] {
        #expect(try Pattern(pattern).occurs(in: text))
        #expect(try Pattern(pattern).replacing(in: text, with: "x")?.hasSuffix("x") == true)
        #expect(try Pattern(pattern).places(in: text).last?.upperBound == 4)
      }
      #expect(try Pattern(literally: "\u{e9}").replacing(in: text, with: "e") == "cafe")
      #expect(try Pattern("x").replacing(in: text, with: "")?.utf8.elementsEqual(text.utf8) == true)
      #expect(try !Pattern("e").occurs(in: text))
    }
  }

  @Test("case is ignored on request, in classes too")
  func ignoringCase() throws {
    #expect(try Pattern("žOFIE", ignoresCase: true).occurs(in: "Žofie"))
    #expect(try Pattern("[a-c]+$", ignoresCase: true).occurs(in: "ABC"))
    #expect(try !Pattern("[^a]", ignoresCase: true).occurs(in: "A"))
    #expect(try !Pattern("abc").occurs(in: "ABC"))
  }

  @Test(
    "what is not a pattern, or would need backtracking, is refused at its column",
    arguments: [
      ("a(b", 2), ("a)b", 2), ("[a", 1), ("*a", 1), ("a**", 3), ("a{3,2}", 2), ("a{x}", 2), ("a\\", 2), ("(a)\\1", 4),
      ("(?=a)", 1), ("\\q", 1),
      ("[b-a]", 3), ("a{2000}", 2), ("[[:alpha:]]", 2), ("a++", 3), ("\\u{110000}", 4), ("^*", 2), ("{1}", 1),
    ])
  func refused(pattern: String, column: Int) {
    #expect { try Pattern(pattern) } throws: { ($0 as? ExpressionError)?.column == column }
  }

  @Test("occurrences are replaced, groups filled in")
  func replacing() throws {
    func replace(_ pattern: String, _ text: String, _ template: String) throws -> String? {
      try Pattern(pattern).replacing(in: text, with: template)
    }
    #expect(try replace("a", "banana", "o") == "bonono")
    #expect(try replace("(\\w+), (\\w+)", "Lem, Stanisław", "$2 $1") == "Stanisław Lem")
    #expect(try replace("^", "x", "-") == "-x")
    #expect(try replace("", "ab", "-") == "-a-b-")
    #expect(try replace("b*", "abc", "-") == "-a--c-")
    #expect(try replace("a+?", "aaa", "x") == "xxx")
    #expect(try replace("<.+?>", "<a><b>", "") == "")
    #expect(try replace("<.+>", "<a>-<b>", "") == "")
    #expect(try replace("(a)|b", "ab", "[$1]$$") == "[a]$[]$")
    #expect(try replace("x", "abc", "-") == "abc")
    #expect(try replace("(a|ab)(c|bcd)", "abcd", "$1|$2") == "a|bcd")
    #expect(try Pattern(literally: "a.b").replacing(in: "a.b axb", with: "-") == "- axb")
  }

  @Test("patterns made to hang a backtracking engine take steps linear in the text")
  func hostile() throws {
    let text = String(repeating: "a", count: 20_000)
    for pattern in ["(a+)+$b", "(a|a)*b", "(a*)*b", "(a|aa)+$x", "((((a*)*)*)*)*b", "(.*)(.*)(.*)(.*)x"] {
      #expect(try !Pattern(pattern).occurs(in: text))
    }
    // Quadratic by nature: ended by the limit of steps.
    #expect(try Pattern("(.*x)?").replacing(in: text, with: "-", stepLimit: 100_000) == nil)
    #expect(throws: ExpressionError.self) { try Pattern(String(repeating: "(", count: 10_000)) }
    #expect(throws: ExpressionError.self) { try Pattern("((((a{99}){99}){99}){99}){99}") }
  }

  @Test("arbitrary patterns and texts never trap", arguments: 1...4 as ClosedRange<UInt64>)
  func fuzz(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = [
      "a", "b", ".", "*", "+", "?", "|", "(", ")", "[", "]", "^", "$", "{2}", "{1,3}", "\\d", "\\b", "-", "é", "\\",
      "(?:", "{",
    ]
    for _ in 0..<3000 {
      let source = (0..<Int.random(in: 0...8, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        .joined()
      guard let pattern = try? Pattern(source, ignoresCase: Bool.random(using: &random)) else { continue }
      let text = (0..<Int.random(in: 0...8, using: &random)).map { _ in
        ["a", "b", "1", "é", " "].randomElement(using: &random) ?? ""
      }.joined()
      let occurs = pattern.occurs(in: text)
      let replaced = pattern.replacing(in: text, with: "\u{1}")
      #expect(replaced?.contains("\u{1}") == occurs, "\(source) in \(text)")
    }
  }

  @Test("agrees with Swift's own engine on simple patterns", arguments: 1...4 as ClosedRange<UInt64>)
  func reference(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func atom(_ depth: Int) -> String {
      switch Int.random(in: 0...(depth > 2 ? 2 : 4), using: &random) {
      case 0: return "a"
      case 1: return "b"
      case 2: return "[^a]"
      case 3: return "(" + piece(depth + 1) + piece(depth + 1) + ")"
      default: return "(?:" + piece(depth + 1) + "|" + piece(depth + 1) + ")"
      }
    }
    // Of loops around what may be empty, engines differ in the empty turns that they take: no group is empty here.
    func piece(_ depth: Int) -> String {
      let quantifiers = depth > 0 ? ["", "", "+", "+?", "{1,2}"] : ["", "*", "+", "?", "*?", "{1,2}"]
      return atom(depth) + (quantifiers.randomElement(using: &random) ?? "")
    }
    for _ in 0..<200 {
      let source = piece(0) + piece(0)
      let regex = try Regex(source)
      let pattern = try Pattern(source)
      for _ in 0..<5 {
        let text = String((0..<6).map { _ in ["a", "b", "c"].randomElement(using: &random) ?? "a" })
        #expect(pattern.occurs(in: text) == text.contains(regex), "\(source) in \(text)")
        #expect(
          pattern.replacing(in: text, with: "<$0>") == text.replacing(regex) { "<\(text[$0.range])>" },
          "\(source) in \(text)")
      }
    }
  }
}
