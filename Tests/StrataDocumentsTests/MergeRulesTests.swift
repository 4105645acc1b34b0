import Testing

@testable import StrataDocuments

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
            .array(a.sorted { $0.compactText(limit: 256) < $1.compactText(limit: 256) }),
            .array(b.sorted { $0.compactText(limit: 256) < $1.compactText(limit: 256) })
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
    // The first line is composed in another way.
    expect("text", "\u{E9}\ntwo\nthree\n", "e\u{301}\ntwo\nthree\n", "\u{E9}\ntwo\n3\n", "e\u{301}\ntwo\n3\n")
  }

  @Test("a counter counts both changes, a maximum keeps the greater value")
  func numbers() {
    expect("counter", 10, 13, 8, 11)
    expect("counter", 0, .number(NumberText(Int64.max)), 5, nil)
    expect("maximum", 1, 7, 3, 7)
    // These two have the same nearest double.
    expect("maximum", 1, 1_763_370_000_000_000_001, 1_763_370_000_000_000_002, 1_763_370_000_000_000_002)
    let far = ["1e400", "1E500"].map { Document.number(NumberText(unchecked: $0)) }
    expect("maximum", 1, far[0], far[1], far[1])
    expect("maximum", 1, .number(NumberText(Double.nan)), 3, nil)
    expect("maximum", "2026-01-01", "2026-03-01", "2026-02-01", "2026-03-01")
  }

  @Test("a counter that two stores changed to the same number counts both changes, and nothing else is changed by that")
  func equalChanges() {
    var rules = MergeRules([".f": "counter", ".o.n": "counter"])
    let base: Document = ["f": 10, "o": ["n": 1, "m": 0], "g": ["a": 1], "h": 5]
    let both: Document = ["f": 11, "o": ["n": 0, "m": 7], "g": [1, 2], "h": 6]
    func merged(_ base: Document) -> DocumentMerge { DocumentMerge(base: base, mine: both, theirs: both, rules: rules) }
    #expect(merged(base).merged == both)
    rules.countEqualChanges()
    #expect(merged(base).merged == ["f": 12, "o": ["n": -1, "m": 7], "g": [1, 2], "h": 6])
    #expect(merged(base).overlaps.isEmpty)
    // A new record was not counted, and an unchanged one neither.
    for base in [[:], ["f": nil, "o": 1], both] as [Document] {
      #expect(merged(base).merged == both && merged(base).overlaps.isEmpty)
    }
    let great: Document = ["f": .number(NumberText(Int64.max))]
    let kept = DocumentMerge(base: ["f": 0], mine: great, theirs: great, rules: rules)
    #expect(kept.merged == great && kept.overlaps.isEmpty)
  }

  private func merge(_ base: Document, _ mine: Document, _ theirs: Document) -> DocumentMerge {
    DocumentMerge(base: ["l": base], mine: ["l": mine], theirs: ["l": theirs])
  }

  @Test("a list that both sides changed is one value, whatever its length: nothing lands on another element")
  func lists() {
    let cases: [(Document, Document, Document)] = [
      (
        [["name": "bread", "done": false], ["name": "wine", "done": false]],
        [["name": "wine", "done": false], ["name": "bread", "done": false]],
        [["name": "bread", "done": true], ["name": "wine", "done": false]]
      ),
      (["red", 1, "green", 1], ["green", 1, "red", 1], ["red", 9, "green", 1]), ([1, 2], [1, 3], [4, 2]),
      ([[1, 2], [3]], [[1, 5], [3]], [[4, 2], [3]]),
    ]
    for (base, mine, theirs) in cases {
      for (left, right) in [(mine, theirs), (theirs, mine)] {
        let merge = merge(base, left, right)
        #expect(
          merge.overlaps == [.init(path: DocumentPath.root.appending("l"), base: base, mine: left, theirs: right)])
        #expect(merge.merged == ["l": left])
      }
    }
  }

  @Test("objects that all versions have by the same ids merge by them, in the order of the side that moved them")
  func identities() throws {
    let base: Document = [["id": 1, "n": 0], ["id": 2, "n": 0]]
    let ticked: Document = [["id": 1, "n": 5], ["id": 2, "n": 0]]
    let moved: Document = [["id": 2, "n": 0], ["id": 1, "n": 0]]
    for (left, right) in [(ticked, moved), (moved, ticked)] {
      #expect(merge(base, left, right).merged == ["l": [["id": 2, "n": 0], ["id": 1, "n": 5]]])
      #expect(merge(base, left, right).overlaps.isEmpty)
    }
    // Where nobody moved an element, the fields of one conflict by themselves.
    let field = merge(base, ticked, [["id": 1, "n": 7], ["id": 2, "n": 1]])
    #expect(field.overlaps.map(\.path.description) == [".l[0].n"])
    #expect(field.merged == ["l": [["id": 1, "n": 5], ["id": 2, "n": 1]]])
    let three: Document = [["id": 1], ["id": 2], ["id": 3]]
    for (left, right) in [
      ([["id": 3], ["id": 1], ["id": 2]], [["id": 2], ["id": 1], ["id": 3]]),
      ([["id": 1], ["id": 2]], [["id": 1, "x": 1], ["id": 2], ["id": 3]]),
      ([["id": 1], ["id": 1], ["id": 3]], [["id": 1, "x": 1], ["id": 2], ["id": 3]]),
      ([["id": 1], ["id": 2], ["n": 3]], [["id": 1, "x": 1], ["id": 2], ["id": 3]]),
    ] as [(Document, Document)] {
      #expect(merge(three, left, right).overlaps.map(\.path.description) == [".l"])
    }
  }

  @Test("a declared list keeps the order of the side that moved its elements; moved on both sides it is a conflict")
  func order() {
    let (one, two, three): (Document, Document, Document) = (["k": 1], ["k": 2], ["k": 3])
    let merge = merged("list by .k", [one, two, three], [three, one, two], [one, two, three, ["k": 4]])
    #expect(merge.overlaps.isEmpty)
    #expect(merge.merged[member: "f"] == [three, one, two, ["k": 4]])
    expect("list by .k", [one, two, three], [three, one, two], [two, one, three], nil)
  }

  @Test("a stored set whose lists mix kinds is ignored")
  func mixed() {
    expect("set", ["red", 1, "green", 1], ["green", 1, "red", 1], ["red", 9, "green", 1], nil)
    expect("set", [1], [1, .null], [1, 2], nil)
  }

  @Test("lists that are written in any order are compared and merged without it")
  func unordered() {
    let rules = MergeRules([:], unordered: [".tags": "set", ".colors": "pairs", ".parts.tags": "set"])
    func record(_ tags: Document, _ colors: Document) -> Document {
      ["tags": tags, "colors": colors, "parts": [["tags": tags]]]
    }
    let base = record(["a", "b", "c"], ["red", 1, "green", 1])
    #expect(base != record(["c", "a", "b"], ["green", 1, "red", 1]))
    #expect(rules.normalized(base) == rules.normalized(record(["c", "a", "b"], ["green", 1, "red", 1])))
    #expect(rules.normalized(base) != rules.normalized(record(["c", "a"], ["green", 1, "red", 1])))
    #expect(rules.normalized(base) != rules.normalized(record(["a", "b", "c"], ["red", "green", 1, 1])))
    let (mine, theirs): (Document, Document) = (
      ["tags": ["c", "b", "a", "d"], "colors": ["green", 1, "red", 9]], ["tags": ["b", "c"], "colors": ["red", 1]]
    )
    let merge = DocumentMerge(
      base: ["tags": ["a", "b", "c"], "colors": ["red", 1, "green", 1]], mine: mine, theirs: theirs, rules: rules)
    #expect(merge.overlaps.isEmpty)
    #expect(rules.normalized(merge.merged) == rules.normalized(["tags": ["b", "c", "d"], "colors": ["red", 9]]))
    let clash = DocumentMerge(
      base: ["colors": ["red", 1]], mine: ["colors": ["red", 2]], theirs: ["colors": ["red", 3]], rules: rules)
    #expect(clash.overlaps.map(\.path.description) == [".colors"])
  }

  @Test("without a rule, or with one that does not fit, the value is a conflict")
  func none() {
    expect("shuffle", ["a"], ["a", "b"], ["a", "c", "d"], nil)
    expect("counter", "a", "b", "c", nil)
  }
}
