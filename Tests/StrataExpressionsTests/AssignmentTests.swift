import StrataDocuments
import Testing

@testable import StrataExpressions

struct AssignmentTests {
  private let book: Document = [
    "title": "  Solaris ", "price": 8.50, "stock": 7, "none": nil, "dims": ["w": 2.0], "tags": ["a", "b"],
    "big": .number(NumberText(Int64.max)),
    "lower": 3,
  ]

  @Test(
    "assignments compute",
    arguments: [
      ("price = price * 1.1", "price", "9.35"), ("price = 0.1 + 0.2", "price", "0.3"),
      ("price = 4 + 5", "price", "9.0"), ("stock = stock * 2 + 1", "stock", "15"),
      ("stock = (stock + 1) * 2", "stock", "16"), ("stock = stock - -1", "stock", "8"),
      ("stock = -stock", "stock", "-7"), ("stock = 2 + 3 * 4 - 6 / 2", "stock", "11"),
      ("stock = 7.0", "stock", "7"), ("stock = stock / 7", "stock", "1"),
      ("title = trim(title)", "title", "\"Solaris\""), ("title = upper(trim(title)) + \"!\"", "title", "\"SOLARIS!\""),
      ("stock = length(tags)", "stock", "2"),
      ("title = replace(title, /(\\w)(\\w+)/, \"$2$1\")", "title", "\"  olarisS \""),
      ("title = replace(lower(title), \"s\", \"$0$0\")", "title", "\"  ssolariss \""),
      ("price = null", "price", "null"), ("none = none * 2", "none", "null"), ("none = 5", "none", "5"),
      ("new.deep = stock", "new", "{\"deep\":7}"),
      ("dims.w = dims.w / 3", "dims", "{\"w\":0.6666666666666666666666666666666667}"),
      ("tags[0] = \"x\"", "tags", "[\"x\",\"b\"]"), ("title = \"it\\'s\"", "title", "\"it's\""),
      ("title = 'x'", "title", "\"x\""), ("lower = lower + 1", "lower", "4"), ("price = 1e3 / 8", "price", "125.0"),
      ("x = if(stock > 5 and title contains \"Sol\", \"much\", 0)", "x", "\"much\""),
      ("x = if(none is null, if(stock = 7, 1, 2), 3) + 1", "x", "2"), ("if = stock + 1", "if", "8"),
      ("x = date(\"2026-11-17\") - date(\"2026-11-16\")", "x", "86400"), ("none = date(none)", "none", "null"),
      ("x = date(86400) - date(0)", "x", "86400"), ("date = length(tags)", "date", "2"),
      ("price = 3", "price", "3"), ("price = 3.50", "price", "3.50"),
      ("stock = 1.5k + 2M", "stock", "2001500"), ("price = 2k / 8", "price", "250.0"),
    ])
  func computes(text: String, field: String, result: String) throws {
    let document = try Assignment(parsing: text).apply(to: book)
    #expect(document[member: field]?.compactJSON == result)
  }

  @Test(
    "what cannot be computed is a failure with its reason",
    arguments: [
      "stock = stock * 1.1", "stock = stock / 2", "stock = 1 / 0", "stock = title + 1", "price = \"a\" * 2",
      "big = big * big", "title = lower(5)", "stock = length(5)",
      "x = date(title)", "title.x = 5", "price = 1e900 + 1e-900",
    ])
  func failures(text: String) throws {
    let assignment = try Assignment(parsing: text)
    #expect { try assignment.apply(to: book) } throws: { error in
      guard case DocumentError.refused(let reason) = error else { return false }
      return !reason.isEmpty
    }
  }

  @Test("an integer may become a fraction if other records have one in the field")
  func fractions() throws {
    let assignment = try Assignment(parsing: "stock = stock * 1.5")
    #expect(try assignment.apply(to: book) { true }[member: "stock"]?.compactJSON == "10.5")
    let whole = try Assignment(parsing: "stock = stock * 2").apply(to: book) {
      Issue.record("asked for a whole result")
      return true
    }
    #expect(whole[member: "stock"]?.compactJSON == "14")
  }

  @Test("null added to what is not there leaves it away")
  func missing() throws {
    #expect(try Assignment(parsing: "missing = missing * 2").apply(to: book).compactJSON == book.compactJSON)
  }

  @Test(
    "what is not an assignment is refused at its column",
    arguments: [
      ("", 1), ("price", 6), ("price = ", 9), ("price = 5 5", 11), ("= 5", 1), ("price = (1", 11),
      ("price = lower(1", 16), ("price = replace(a, 5, \"\")", 20), ("price = replace(a, /(/, \"\")", 21),
      ("price = 1 +", 12), (". = 5", 3), ("x = if(stock >, 1, 2)", 15), ("x = if(stock > 1, 1)", 20),
    ])
  func refused(text: String, column: Int) {
    #expect { try Assignment(parsing: text) } throws: { error in
      guard case DocumentError.invalid(_, let place, _) = error else { return false }
      return place == column
    }
  }

  @Test("decimal arithmetic agrees with that of 128-bit integers", arguments: 1...4 as ClosedRange<UInt64>)
  func arithmetic(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let left =
        Int64.random(in: -1_000_000_000_000...1_000_000_000_000, using: &random)
        >> Int64.random(in: 0...40, using: &random)
      let right =
        Int64.random(in: -1_000_000_000_000...1_000_000_000_000, using: &random)
        >> Int64.random(in: 0...40, using: &random)
      let a = try #require(DecimalDigits("\(left)"))
      let b = try #require(DecimalDigits("\(right)e-3"))
      #expect(a.adding(b) == DecimalDigits("\(Int128(left) * 1000 + Int128(right))e-3"))
      #expect(a.multiplied(by: b) == DecimalDigits("\(Int128(left) * Int128(right))e-3"))
      guard right != 0 else { continue }
      let product = try #require(a.multiplied(by: b))
      #expect(product.divided(by: b) == a)
    }
  }

  @Test("a quotient is the nearest number of 34 digits, also if the divisor has more digits than 128 bits hold")
  func quotients() throws {
    var random = SeededGenerator(seed: 7)
    func number(_ digits: Int) throws -> DecimalDigits {
      let text = (0..<digits).map { _ in "\(Int.random(in: 0...9, using: &random))" }.joined()
      return try #require(DecimalDigits("\(text)1e\(Int.random(in: -20...20, using: &random))"))
    }
    for _ in 0..<500 {
      let (a, b) = (try number(.random(in: 0...60, using: &random)), try number(.random(in: 0...60, using: &random)))
      let quotient = try #require(a.divided(by: b))
      let product = try #require(quotient.multiplied(by: b))
      let error = try #require(a.adding(product.negated))
      // Half of the last of 34 digits, or a little more if the divisor was rounded.
      let bound = b.scaled(by: quotient.exponent - 34)
      let twice = try #require(error.adding(error))
      let magnitude = twice.isNegative ? twice.negated : twice
      let isNear = b.digits.count > 37 ? magnitude < (try #require(bound.adding(bound))) : !(bound < magnitude)
      #expect(quotient.digits.count <= 34 && isNear, "\(a) / \(b) = \(quotient)")
      if a.digits.count <= 34 { #expect(try #require(a.multiplied(by: b)).divided(by: b) == a) }
    }
  }

  @Test("what would be nested too deep is refused", arguments: [" + 1", " * 1", ".a"])
  func depth(part: String) {
    for text in ["price = price", "price = if(price = 1, price"] {
      #expect(throws: DocumentError.self) { try Assignment(parsing: text + String(repeating: part, count: 100_000)) }
    }
    #expect(throws: Never.self) { try Assignment(parsing: "price = price" + String(repeating: part, count: 150)) }
  }
}
