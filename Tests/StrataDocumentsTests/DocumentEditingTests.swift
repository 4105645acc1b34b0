import Testing

@testable import StrataDocuments

struct DocumentEditingTests {
  private let book: Document = [
    "title": "Solaris", "authors": ["Lem"], "dims": ["w": 12.7, "h": 19.8], "price": nil, "odd name": 1,
  ]

  private func path(_ text: String) throws -> DocumentPath { try DocumentPath(parsing: text) }

  @Test("paths are read and shown")
  func paths() throws {
    for text in [".", ".price", ".authors[0]", ".dims.w", #"."odd name""#, #"."null""#, ".a[0][12].b", ".[3]", #"."""#]
    {
      #expect(try path(text).description == text)
    }
    #expect(try path("dims.w") == path(".dims.w"))
    #expect(try path("[\"dims\"].w") == path(".dims.w"))
    #expect(try path(#"."\b\f\u00e9\ud83d\ude00""#).components == [.member("\u{8}\u{C}é😀")])
    #expect(try path("postal-code").components == [.member("postal-code")])
    #expect(try book[path("authors[0]")] == "Lem")
    #expect(try book[path(".")] == book)
    #expect(try book[path("authors[1]")] == nil)
    #expect(try book[path("title.x")] == nil)
  }

  @Test(
    "a path that is none is refused at its column",
    arguments: [
      ("", 1), ("a..b", 3), ("a[x]", 3), ("a[1", 4), ("a b", 2), ("a.\"b", 3), ("a[99999999999999999999]", 3),
      ("a" + String(repeating: ".b", count: 100_000), 1_024),
    ])
  func wrongPaths(text: String, column: Int) {
    #expect { try DocumentPath(parsing: text) } throws: { error in
      guard case DocumentError.invalid(_, column, _) = error else { return false }
      return true
    }
  }

  @Test("setting changes, adds and makes what is missing on the way")
  func setting() throws {
    #expect(try book.setting(path("price"), to: 7)[path("price")] == 7)
    #expect(try book.setting(path("price.amount"), to: 7)[path("price")] == ["amount": 7])
    #expect(try book.setting(path("x.y[0].z"), to: 7)[path("x")] == ["y": [["z": 7]]])
    #expect(try book.setting(path("authors[1]"), to: "L")[path("authors")] == ["Lem", "L"])
    #expect(try book.setting(.root, to: 1) == 1)
    #expect(throws: DocumentError.self) { try book.setting(path("authors[3]"), to: "L") }
    #expect(throws: DocumentError.self) { try book.setting(path("title.x"), to: "L") }
    #expect(throws: DocumentError.self) { try book.setting(path("dims[0]"), to: "L") }
  }

  @Test("removing, inserting and moving")
  func lists() throws {
    let list: Document = ["l": ["a", "b", "c"]]
    #expect(try list.removing(path("l[1]")) == ["l": ["a", "c"]])
    #expect(try list.removing(path("l[7]")) == list)
    #expect(try list.removing(path("l")) == [:])
    #expect(try list.inserting("x", at: path("l[0]")) == ["l": ["x", "a", "b", "c"]])
    #expect(try list.inserting("x", at: path("l[3]")) == ["l": ["a", "b", "c", "x"]])
    #expect(try list.moving(path("l[0]"), to: 2) == ["l": ["b", "c", "a"]])
    #expect(try list.moving(path("l[2]"), to: 0) == ["l": ["c", "a", "b"]])
    #expect(throws: DocumentError.self) { try list.inserting("x", at: path("l[4]")) }
    #expect(throws: DocumentError.self) { try list.inserting(1, at: path("l")) }
    #expect(throws: DocumentError.self) { try list.moving(path("l[0]"), to: 3) }
    #expect(throws: DocumentError.self) { try list.removing(.root) }
    #expect(try book.moving(path("price"), to: 0).compactJSON.hasPrefix("{\"price\":null,"))
  }

  @Test("fields are the leaves with their paths")
  func fields() {
    #expect(
      book.fields.map { "\($0.path)" } == [".title", ".authors[0]", ".dims.w", ".dims.h", ".price", #"."odd name""#])
  }

  @Test("a difference names the fields, and an insertion in a list is one change")
  func difference() throws {
    let new = try book.setting(path("price"), to: 7).setting(path("dims.w"), to: 13).removing(path("title"))
    #expect(Document.difference(book, new).map { "\($0.path)" } == [".dims.w", ".price", ".title"])
    #expect(Document.difference(book, book).isEmpty)
    #expect(
      Document.difference(["l": ["a", "b", "c"]], ["l": ["a", "x", "b", "c"]])
        == [FieldChange(path: try path("l[1]"), old: nil, new: "x")])
    #expect(
      Document.difference(["l": ["a", "b", "c"]], ["l": ["b", "c"]])
        == [FieldChange(path: try path("l[0]"), old: "a", new: nil)])
    #expect(
      Document.difference(["l": [["x": 1], 2]], ["l": [["x": 2], 2]])
        == [FieldChange(path: try path("l[0].x"), old: 1, new: 2)])
    #expect(Document.difference(1, "x") == [FieldChange(path: .root, old: 1, new: "x")])
    #expect(Document.difference(["a": 1.0], ["a": 1]).isEmpty)
  }

  @Test("elements that only moved are not a change, however long the list is and whatever else changed in it")
  func movedElements() throws {
    func changes(_ old: [Document], _ new: [Document]) -> [String] {
      Document.difference(.array(old), .array(new)).map {
        "\($0.path.shortText) \($0.old?.compactText(limit: 9) ?? "+") \($0.new?.compactText(limit: 9) ?? "-")"
      }
    }
    #expect(changes(["a", "b", "c", "d"], ["x", "a", "b", "d"]) == [".[0] + x", ".[2] c -"])
    #expect(changes(["a", "b", "c"], ["a", "x", "c"]) == [".[1] b x"])
    let old = (0..<4_000).map { Document.number(NumberText($0)) }
    var new = [Document.string("first")] + old
    for place in stride(from: 10, to: 4_000, by: 10) { new[place] = .string("changed") }
    #expect(changes(old, new).count == 400)
    #expect(changes(old, Array(new.dropLast(2))).count == 402)
    #expect(Document.origins(of: new, in: old).enumerated().allSatisfy { $1 == ($0 > 0 ? $0 - 1 : nil) })
    // Two elements that alternate have more pairs of equals than a comparison looks at.
    let many = (0..<4_000).map { Document.number(NumberText($0 % 2)) }
    #expect(changes(many, ["first"] + many + ["last"]) == [".[0] + first", ".[4001] + last"])
  }

  @Test("edits of different fields are merged, edits of one field overlap")
  func merge() throws {
    let mine = try book.setting(path("price"), to: 7).setting(path("new"), to: 1)
    let theirs = try book.setting(path("dims.w"), to: 13).removing(path("title"))
    let merge = DocumentMerge(base: book, mine: mine, theirs: theirs)
    #expect(merge.overlaps.isEmpty)
    #expect(merge.merged == ["authors": ["Lem"], "dims": ["w": 13, "h": 19.8], "price": 7, "odd name": 1, "new": 1])

    let other = try book.setting(path("price"), to: 8)
    let conflict = DocumentMerge(base: book, mine: mine, theirs: other)
    #expect(conflict.overlaps == [.init(path: try path("price"), base: nil as Document, mine: 7, theirs: 8)])
    #expect(conflict.merged[member: "price"] == 7)
    let chosen = try conflict.choosing(8, at: path("price"))
    #expect(chosen.overlaps.isEmpty)
    #expect(chosen.merged[member: "price"] == 8)
    #expect(DocumentMerge(base: book, mine: mine, theirs: mine).overlaps.isEmpty)
  }

  @Test("one removes what the other changes: that is for a person to choose")
  func mergeOfRemoval() throws {
    let merge = DocumentMerge(base: ["a": 1], mine: [:], theirs: ["a": 2])
    #expect(merge.overlaps == [.init(path: try path("a"), base: 1, mine: nil, theirs: 2)])
    #expect(merge.merged == [:])
    let lists = DocumentMerge(base: ["l": [1, 2]], mine: ["l": [1, 3]], theirs: ["l": [4, 2]])
    #expect(lists.overlaps.map(\.path) == [try path("l")])
    #expect(lists.merged == ["l": [1, 3]])
    #expect(DocumentMerge(base: ["l": [1]], mine: ["l": [1, 3]], theirs: ["l": [4]]).overlaps.count == 1)
  }

  @Test("an object that both add is one value: members of two cases of an enum together would not decode")
  func mergeOfAddition() throws {
    let merge = DocumentMerge(base: [:], mine: ["shape": ["circle": 1]], theirs: ["shape": ["square": 2]])
    #expect(
      merge.overlaps == [.init(path: try path("shape"), base: nil, mine: ["circle": 1], theirs: ["square": 2])])
    #expect(merge.merged == ["shape": ["circle": 1]])
  }

  @Test("merging with an unchanged side gives the other side", arguments: 1...4 as ClosedRange<UInt64>)
  func mergeLaws(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let base = Document.random(using: &random)
      let mine = base.mutated(using: &random)
      let theirs = base.mutated(using: &random)
      #expect(DocumentMerge(base: base, mine: mine, theirs: base).merged == mine)
      #expect(DocumentMerge(base: base, mine: base, theirs: theirs).merged == theirs)
      #expect(
        Set(DocumentMerge(base: base, mine: mine, theirs: theirs).overlaps.map(\.path))
          == Set(DocumentMerge(base: base, mine: theirs, theirs: mine).overlaps.map(\.path)))
      #expect(Document.difference(base, mine).isEmpty == (base == mine))
    }
  }

  @Test("a cell shows a value on one line, cut where it is long")
  func compactText() {
    #expect(Document.null.compactText(limit: 256) == "—")
    #expect(Document.string("Invisible Cities").compactText(limit: 256) == "Invisible Cities")
    #expect(Document.string("Invisible Cities").compactText(limit: 5) == "Invis…")
    #expect(Document.array(["x"]).compactText(limit: -1) == "…")
    #expect(Document.array(["Calvino", nil]).compactText(limit: 256) == #"["Calvino", null]"#)
    #expect((["w": 12.7, "odd name": true] as Document).compactText(limit: 256) == #"{w: 12.7, "odd name": true}"#)
    #expect(Document.data([255, 1]).compactText(limit: 256) == "<2 B ff 01>")
    #expect(Document.string(String(repeating: "x", count: 5_000_000)).compactText(limit: 10).count == 11)
    #expect(Document.array(Array(repeating: "x", count: 1_000_000)).compactText(limit: 10).count == 11)
  }

  @Test("types are named for the tree")
  func typeNames() {
    #expect(book.fields.map(\.value.typeName) == ["String", "String", "Decimal", "Decimal", "null", "Int"])
    #expect(Document.data([1]).typeName == "Data 1 B")
    #expect((["a": [1, 2]] as Document).typeName == "{1}")
    #expect(([1, 2] as Document).typeName == "list (2)")
  }
}
