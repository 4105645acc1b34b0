import CodableDatastore
import StoreEntities
import Foundation
import Testing

@Suite("The interchange form of entities")
struct InterchangeTests {
  @Test("the form that is documented reads and writes as documented")
  func documented() async throws {
    let text = #"""
      {"entities":[
      {"type":"book","identifier":"book-7","datestamp":"2020-01-21T10:00:00.000Z","author":{"entity":"person-3","type":"author","datestamp":"2020-01-21T10:00:00.000Z"},"name":{"string":"Dune","type":"string","datestamp":"2020-01-21T10:00:00.000Z"}},
      {"type":"person","identifier":"person-3","datestamp":"2020-02-01T00:00:00.000Z","name":{"string":"Frank","type":"string","datestamp":"2020-02-01T00:00:00.000Z"}}
      ]}

      """#
    let entities = EntityStore(MemoryPersistence())
    let report = try await entities.importing(Data(text.utf8))
    #expect(report == EntityImportReport(created: 2))
    #expect(String(decoding: try await entities.exported(), as: UTF8.self) == text)
    let book = try #require(try await entities.load("book-7"))
    #expect(try await entities.follow("author", from: book).map { $0?.label } == ["Frank"])
  }

  @Test(
    "a property that a restore or a new entity of the same identifier has not got is not a property of what is imported",
    arguments: [false, true])
  func lostProperties(isRestored: Bool) async throws {
    let persistence = MemoryPersistence()
    let entities = EntityStore(persistence)
    try await entities.add(Entity("e", type: "t", properties: isRestored ? [:] : ["a": 1]))
    if isRestored {
      let first = try #require(try await persistence.head)
      try await entities.update("e", ["a": 1])
      try await persistence.restore(first.id)
    } else {
      try await entities.delete("e")
      try await entities.add(Entity("e", type: "t"))
    }
    let past = try await entities.past(of: "e", "a")
    #expect(past.map(\.property?.value) == [nil, .integer(1)])
    for form in [EntityInterchangeForm.full, .compact] {
      let text = try await entities.exported(form: form, history: true)
      let others = EntityStore(MemoryPersistence())
      try await others.importing(text)
      let other = try #require(try await others.load("e"))
      #expect(other.properties.isEmpty)
      #expect(try await others.exported(form: form, history: true) == text)
    }
  }

  @Test("bare values, dates of both forms and missing dates are read; the compact form says no more than it must")
  func compact() async throws {
    let text = #"""
      {"entities":[{"type":"person","identifier":"p","datestamp":{"date":"1969-07-20T20:17:40Z"},
      "name":"Frank","age":37,"height":1.0,"alive":true,"born":{"date":"1920-10-08"},"tags":["a",{"entity":"q"}],
      "home":{"string":"Bern","type":"address"}}]}
      """#
    let entities = EntityStore(MemoryPersistence())
    try await entities.importing(Data(text.utf8))
    let person = try #require(try await entities.load("p"))
    #expect(person["height"]?.value == .double(1))
    #expect(person["age"]?.value == .integer(37))
    #expect(person["name"]?.date == person.created)
    #expect(
      String(decoding: try await entities.exported(form: .compact), as: UTF8.self) == #"""
        {"entities":[
        {"type":"person","identifier":"p","datestamp":"1969-07-20T20:17:40.000Z","age":37,"alive":true,"born":{"date":"1920-10-08T00:00:00.000Z"},"height":1.0,"home":{"string":"Bern","type":"address"},"name":"Frank","tags":["a",{"entity":"q"}]}
        ]}

        """#)
    let undated = EntityStore(MemoryPersistence())
    let now = Date(timeIntervalSinceReferenceDate: 12.5)
    try await undated.importing(Data(#"{"entities":[{"type":"person","name":"Ada"}]}"#.utf8), now: now)
    let ada = try #require(try await undated.load(type: "person").first)
    #expect(ada.created == now && ada["name"]?.date == now && UUID(uuidString: ada.id) != nil)
  }

  @Test(
    "export, import and export again give the same text, for values of every kind, in both forms, with and without history",
    arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64])
  func roundTrip(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let first = EntityStore(MemoryPersistence())
    var identifiers: [String] = []
    for _ in 0..<40 {
      let entity = random.entity(referringTo: identifiers + ["nobody"])
      identifiers.append(entity.id)
      try await first.add(entity)
    }
    for _ in 0..<80 {
      let id = identifiers[random.below(identifiers.count)]
      let key = random.key()
      if random.below(4) == 0 {
        try await first.remove(key, from: id, date: random.date())
      } else {
        try await first.update(id, [key: random.value(referringTo: identifiers, depth: 0)], date: random.date())
      }
    }
    for form in [EntityInterchangeForm.full, .compact] {
      for history in [false, true] {
        let text = try await first.exported(form: form, history: history)
        let second = EntityStore(MemoryPersistence())
        try await second.importing(text, now: Date(timeIntervalSinceReferenceDate: 0))
        let again = try await second.exported(form: form, history: history)
        #expect(text == again, "seed \(seed), \(form), history \(history)")
        for id in identifiers where try await first.load(id)?.properties != second.load(id)?.properties {
          Issue.record("seed \(seed): \(id) differs")
        }
        // A second import of what is known changes nothing.
        let report = try await second.importing(text)
        #expect(report.unchanged == identifiers.count)
      }
    }
  }

  @Test(
    "a file that is wrong is refused with what and where, and nothing of it is taken",
    arguments: [
      (#"{"entities":[{"identifier":"a"}]}"#, "entities[0].type: it is missing."),
      (
        #"{"entities":[{"type":"a","identifier":"x"},{"type":"a","identifier":"x"}]}"#,
        "entities[1].identifier: “x” is that of entities[0] too."
      ),
      (
        #"{"entities":[{"type":"a","size":{"float":1}}]}"#,
        "entities[0].size.float: “float” is not a kind of value; there are string, integer, double, boolean, date, data, entity, list."
      ),
      (
        #"{"entities":[{"type":"a","born":{"date":"2020-13-01"}}]}"#,
        "entities[0].born.date: “2020-13-01” is not a date; one is written 2020-01-21T10:00:00.000Z."
      ),
      (#"{"entities":[{"type":"a","size":{"double":"NaN"}}]}"#, "entities[0].size.double: expected a finite number."),
      (#"{"entities":[{"type":"a","size":1e400}]}"#, "entities[0].size: expected a finite number."),
      (
        #"{"entities":[{"type":"a","size":9223372036854775808}]}"#,
        "entities[0].size: expected a whole number of 64 bits."
      ),
      (#"{"entities":[{"type":"a","size":NaN}]}"#, "line 1, column 33: unexpected “N”."),
      (#"{"entities":[{"type":"a","size":null}]}"#, "entities[0].size: null is not a value."),
      (
        #"{"entities":[{"type":"a","size":{"string":"a","integer":1}}]}"#,
        "entities[0].size: two values, “string” and “integer”."
      ),
      (#"{"entities":[{"type":"a","photo":{"data":"*"}}]}"#, "entities[0].photo.data: expected base64."),
      (
        #"{"entities":[{"type":"a","list":[{"list":[{"entity":1}]}]}]}"#,
        "entities[0].list[0].list[0].entity: expected a text, not Int."
      ),
      (#"{"entities":{}}"#, "line 1: expected an object with a list “entities”."),
      (#"[]"#, "line 1: expected an object with a list “entities”."),
      (#"{"entities":[{"type":"a"}],"entities":[]}"#, "line 1: “entities” is there twice."),
    ])
  func refused(text: String, message: String) async throws {
    let entities = EntityStore(MemoryPersistence())
    let persistence = entities.persistence
    try await entities.add(Entity("known", type: "thing"))
    let head = try await persistence.head?.id
    let error = await #expect(throws: EntityError.self) { try await entities.importing(Data(text.utf8)) }
    #expect(error?.errorDescription == message)
    #expect(try await entities.datastore.count == 1)
    #expect(try await persistence.head?.id == head)
  }

  @Test("forward references and cycles come in; what leads nowhere is counted")
  func references() async throws {
    let text =
      #"{"entities":[{"type":"a","identifier":"1","next":{"entity":"2"}},{"type":"a","identifier":"2","next":{"entity":"1"},"lost":{"entity":"3"}}]}"#
    let entities = EntityStore(MemoryPersistence())
    #expect(try await entities.importing(Data(text.utf8)) == EntityImportReport(created: 2, dangling: 1))
    #expect(try await entities.load(referringTo: "1").collectInstances(upTo: .infinity).map(\.id) == ["2"])
    let dangling = try await entities.dangling()
    #expect(dangling.map(\.entity) == ["2"] && dangling.map(\.target) == ["3"])
  }

  @Test("lists that lie too deep to be read back are refused, and nothing is taken")
  func tooDeep() async throws {
    let entities = EntityStore(MemoryPersistence())
    func file(_ depth: Int) -> Data {
      let lists = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      return Data(#"{"entities":[{"type":"a","identifier":"x","deep":\#(lists)}]}"#.utf8)
    }
    let error = await #expect(throws: EntityError.self) { try await entities.importing(file(400)) }
    guard case .tooDeep(_, 64)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try await entities.datastore.count == 0)
    try await entities.importing(file(64))
    #expect(try await entities.load("x")?["deep"] != nil)
  }

  @Test("one undo takes an import back")
  func undo() async throws {
    let persistence = MemoryPersistence()
    let entities = EntityStore(persistence)
    try await entities.add(Entity("a", type: "thing", properties: ["name": "old"]))
    try await entities.importing(
      Data(#"{"entities":[{"type":"thing","identifier":"a","name":"new"},{"type":"thing","identifier":"b"}]}"#.utf8))
    #expect(try await entities.load("a")?.label == "new")
    try await persistence.undo()
    #expect(try await entities.load("a")?.label == "old")
    #expect(try await entities.load("b") == nil)
  }
}
