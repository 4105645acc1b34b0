import Testing

@testable import Documents

@Suite("Rules of a merge")
struct MergeRulesTests {
  private func merged(_ rule: String, _ base: Document, _ mine: Document, _ theirs: Document) -> DocumentMerge {
    func record(_ value: Document) -> Document { .object([.init("f", value)]) }
    return DocumentMerge(
      base: record(base), mine: record(mine), theirs: record(theirs), rules: MergeRules([".f": rule]))
  }

  private func expect(
    _ rule: String, _ base: Document, _ mine: Document, _ theirs: Document, _ result: Document?,
    _ place: SourceLocation = #_sourceLocation
  ) {
    for (left, right) in [(mine, theirs), (theirs, mine)] {
      let merge = merged(rule, base, left, right)
      if let result {
        #expect(merge.overlaps.isEmpty, sourceLocation: place)
        var (found, wanted) = (merge.merged[member: "f"], result)
        // Which side's additions come first is no matter of the rule.
        if rule == "set" || rule.hasPrefix("list"), case .array(let a)? = found, case .array(let b) = wanted {
          (found, wanted) = (
            .array(a.sorted { $0.compactText < $1.compactText }), .array(b.sorted { $0.compactText < $1.compactText })
          )
        }
        #expect(found == wanted, sourceLocation: place)
      } else {
        #expect(merge.overlaps.map(\.path.description) == [".f"], sourceLocation: place)
      }
    }
  }

  @Test("a set takes what was added and leaves out what was taken out, on either side")
  func set() {
    expect("set", ["a", "b"], ["a", "b", "c"], ["b", "d"], ["b", "c", "d"])
    expect("set", [], ["x"], ["x"], ["x"])
  }

  @Test("a list of named elements merges element by element; one that both changed in the same field is a conflict")
  func list() {
    expect(
      "list by .id", [["id": 1, "n": 0], ["id": 2, "n": 0]], [["id": 1, "n": 5], ["id": 2, "n": 0]],
      [["id": 1, "n": 0], ["id": 3, "n": 9]], [["id": 1, "n": 5], ["id": 3, "n": 9]])
    expect("list by .id", [["id": 1, "n": 0]], [["id": 1, "n": 1]], [["id": 1, "n": 2]], nil)
    expect("list by .id", [["id": 1, "n": 0]], [], [["id": 1, "n": 2]], nil)
  }

  @Test("a sequence and a text keep changes of different places, and conflict at the same one")
  func sequence() {
    expect("sequence", [1, 2, 3, 4], [0, 1, 2, 3, 4], [1, 2, 3, 5], [0, 1, 2, 3, 5])
    expect("sequence", [1, 2, 3], [1, 9, 3], [1, 8, 3], nil)
    expect("sequence", [1, 2, 3], [1, 3], [1, 2, 3, 4], [1, 3, 4])
    expect("text", "one\ntwo\nthree\n", "ONE\ntwo\nthree\n", "one\ntwo\nthree\nfour\n", "ONE\ntwo\nthree\nfour\n")
    expect("text", "one\n", "uno\n", "eins\n", nil)
  }

  @Test("a counter counts both changes, a maximum keeps the greater value")
  func numbers() {
    expect("counter", 10, 13, 8, 11)
    expect("counter", 0, .number(NumberText(Int64.max)), 5, nil)
    expect("maximum", 1, 7, 3, 7)
    expect("maximum", "2026-01-01", "2026-03-01", "2026-02-01", "2026-03-01")
  }

  @Test("without a rule, or with one that does not fit, the value is a conflict")
  func none() {
    expect("shuffle", ["a"], ["a", "b"], ["a", "c", "d"], nil)
    expect("counter", "a", "b", "c", nil)
  }
}
