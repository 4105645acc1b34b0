import Testing

@testable import CodableDatastore

@Suite("Index values: where they are read")
struct IndexValueSourceTests {
  struct Part: Sendable {
    var small: Int8 = 7
    var text = "a text that does not fit into its own value"
  }

  final class Shared: Sendable { let number = 3 }

  struct Whole: Sendable {
    var flag = true
    var part = Part()
    var optional: Part? = Part()
    var missing: Part?
    var list = ["x", "y"]
    var observed = 5 { didSet { changes += 1 } }
    var changes = 0
    var computed: String { "\(observed) of \(list.count)" }
    let shared = Shared()
    subscript(place: Int) -> String { list[place] }
  }

  @Test("an index has the value of the key path: stored, nested, observed, computed, optional, and behind a reference")
  func values() {
    let whole = Whole()
    func expect<Value: Sendable & Equatable>(_ path: KeyPath<Whole, Value>) {
      #expect(IndexValueSource(path).value(whole) == whole[keyPath: path])
    }
    expect(\.flag)
    expect(\.part.small)
    expect(\.part.text)
    expect(\.optional?.text)
    expect(\.optional!.small)
    expect(\.missing?.small)
    expect(\.list)
    expect(\.list.count)
    expect(\.observed)
    expect(\.computed)
    expect(\.shared.number)
    expect(\.[1])
    expect(\.part.text.count)
  }
}
