import CodableDatastore
import StoreEntities
import Foundation
import Testing

extension EntityKeys { fileprivate var address: EntityKey { "address" } }

@Suite("Records without a type")
struct EntityStoreTests {
  @Test("a property is read as the type that is asked for, by a key path of one's own")
  func typed() {
    var person = Entity("p", type: "person", properties: ["address": "Bern", "age": 37, "height": 1.5])
    #expect(person[\.address, as: String.self] == "Bern")
    #expect(person["age", as: Double.self] == 37)
    #expect(person["height", as: Int.self] == nil)
    #expect(person["age", as: [Int].self] == [37])
    person.set("phones", ["1", "2"].entityValue)
    #expect(person["phones", as: [String].self] == ["1", "2"])
    #expect(person[\.name, as: String.self] == nil)
  }

  @Test("an update writes only where the value differs, and takes over the label")
  func update() async throws {
    let persistence = MemoryPersistence()
    let entities = EntityStore(persistence)
    var person = Entity("p", type: "person")
    person.set("phone", "1", label: "work")
    try await entities.add(person)
    let before = try await persistence.head?.id
    #expect(try await entities.update("p", ["phone": "1"]) == [])
    #expect(try await persistence.head?.id == before)
    #expect(try await entities.update("p", ["phone": "2", "name": "Ada"]) == ["phone", "name"])
    #expect(try await entities.load("p")?["phone"]?.label == "work")
    await #expect(throws: EntityError.notFound("“q”")) { try await entities.update("q", [:]) }
    await #expect(throws: EntityError.exists("p")) { try await entities.add(person) }
  }

  @Test("what is removed is gone now, and stays in the past")
  func remove() async throws {
    let entities = EntityStore(MemoryPersistence())
    let (born, changed, gone) = (
      Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2), Date(timeIntervalSince1970: 3)
    )
    try await entities.add(Entity("p", type: "person", created: born, properties: ["name": "Ada"]))
    try await entities.update("p", ["name": "Countess"], date: changed)
    #expect(try await entities.remove("name", from: "p", date: gone))
    #expect(try await !entities.remove("name", from: "p"))
    #expect(try await entities.load("p")?["name"] == nil)
    #expect(
      try await entities.past(of: "p", "name") == [
        EntityPast(removed: gone), EntityPast(EntityProperty("Countess", date: changed)),
        EntityPast(EntityProperty("Ada", date: born)),
      ])
  }

  @Test("the delete of an entity that does not decode says so, and deletes nothing")
  func deleteUnreadable() async throws {
    struct Odd: Codable, Identifiable, Sendable {
      var id: String
      var type: Int
    }
    struct OddFormat: DatastoreFormat {
      enum Version: Int, CaseIterable { case first = 1 }
      typealias Instance = Odd
      static let defaultKey = EntityFormat.defaultKey
      static let currentVersion = Version.first
    }
    let persistence = MemoryPersistence()
    func writeOdd() async throws { try await persistence.datastore(OddFormat.self).persist(Odd(id: "p", type: 3)) }
    try await writeOdd()
    let entities = EntityStore(persistence)
    await #expect(throws: UnreadableInstanceError.self) { try await entities.delete("p") }
    await #expect(throws: EntityError.notFound("“q”")) { try await entities.delete("q") }
    #expect(try await entities.datastore.count == 1)
  }

  @Test("what cannot be written is refused with its path")
  func refused() async throws {
    let entities = EntityStore(MemoryPersistence())
    await #expect(throws: EntityError.reservedKey("type")) {
      try await entities.add(Entity("p", type: "person", properties: ["type": "x"]))
    }
    await #expect(throws: EntityError.empty("identifier")) { try await entities.add(Entity("", type: "person")) }
    await #expect(throws: EntityError.empty("type")) { try await entities.add(Entity("p", type: "")) }
    await #expect(throws: EntityError.notFinite(path: "p.sizes[1]")) {
      try await entities.add(Entity("p", type: "person", properties: ["sizes": [1, .nan].entityValue]))
    }
    await #expect(throws: EntityError.notFinite(path: "p.born")) {
      try await entities.add(
        Entity("p", type: "person", properties: ["born": .date(Date(timeIntervalSinceReferenceDate: .infinity))]))
    }
    #expect(try await entities.datastore.count == 0)
    // The date of a removal, too: the entity could not be read any more.
    try await entities.add(Entity("p", type: "person", properties: ["age": 3]))
    await #expect(throws: EntityError.notFinite(path: "p.age.history[0].datestamp")) {
      try await entities.remove("age", from: "p", date: Date(timeIntervalSinceReferenceDate: .nan))
    }
    #expect(try await entities.load("p")?["age", as: Int.self] == 3)
  }

  @Test("entities are found by what is said of them, also where a text is longer than the index keeps")
  func found() async throws {
    let entities = EntityStore(MemoryPersistence())
    let long = String(repeating: "x", count: 500)
    let date = Date(timeIntervalSince1970: -12.5)
    try await entities.add(
      Entity("1", type: "a", properties: ["name": .string(long + "1"), "n": 1, "when": .date(date)]))
    try await entities.add(
      Entity("2", type: "a", properties: ["name": .string(long + "2"), "n": 1.0, "to": .entity("1")]))
    try await entities.add(
      Entity("3", type: "a", properties: ["names": ["x", "y"].entityValue, "raw": .data(Data([1]))]))
    func ids(_ key: EntityKey, _ value: EntityValue) async throws -> [String] {
      try await entities.load(where: key, is: value).map(\.id)
    }
    #expect(try await ids("name", .string(long + "2")) == ["2"])
    #expect(try await ids("n", 1) == ["1"])
    #expect(try await ids("n", 1.0) == ["2"])
    #expect(try await ids("names", "y") == ["3"])
    #expect(try await ids("to", .entity("1")) == ["2"])
    #expect(try await ids("when", .date(date)) == ["1"])
    #expect(try await ids("when", .date(Date(timeIntervalSinceReferenceDate: .nan))) == [])
    #expect(try await ids("raw", .data(Data([1]))) == ["3"])
    #expect(try await ids("other", "y") == [])
    try await entities.add(Entity("4", type: "a", properties: ["n": [0.0, -0.0].entityValue]))
    try await entities.add(Entity("0", type: "a", properties: ["n": .double(-0.0)]))
    for zero in [0.0, -0.0] { #expect(try await ids("n", .double(zero)) == ["0", "4"]) }
  }

  @Test("types conform to types by any number of steps, and cycles are survived")
  func conformance() async throws {
    let entities = EntityStore(MemoryPersistence())
    try await entities.declare("novel", conformsTo: "book")
    try await entities.declare("book", conformsTo: "work", "thing")
    try await entities.declare("work", conformsTo: "novel")
    try await entities.declare("work", conformsTo: "novel")
    for type in ["novel", "book", "map"] { try await entities.add(Entity(type, type: type)) }
    #expect(try await entities.types(conformingTo: "thing") == ["thing", "book", "novel", "work"])
    #expect(try await entities.conforms("book", to: "novel"))
    #expect(try await !entities.conforms("thing", to: "book"))
    #expect(try await entities.load(type: "work").map(\.id) == ["book", "novel"])
    #expect(try await entities.load(type: "work", conforming: false).isEmpty)
  }

  @Test("what is resolved is found by the first match that leads somewhere, or made in the same transaction")
  func resolve() async throws {
    let persistence = MemoryPersistence()
    let entities = EntityStore(persistence)
    let made = try await entities.resolve(.property("isbn", "1"), .name("Dune"), type: "book", orCreate: ["pages": 412])
    #expect(made.isCreated)
    #expect(
      made.entity["isbn"]?.value == "1" && made.entity["name"]?.value == "Dune" && made.entity["pages"]?.value == 412)
    let found = try await entities.resolve(.property("isbn", "2"), .name("Dune"), type: "book", orCreate: [:])
    #expect(!found.isCreated && found.entity.id == made.entity.id)
    #expect(try await entities.find(.name("Dune"), type: "person") == nil)
    let head = try await persistence.head?.id
    let related = try await entities.relate((.name("Dune"), "book"), "author", to: (.name("Frank"), "person"))
    #expect(!related.subject.isCreated && related.object.isCreated)
    #expect(related.subject.entity["author"]?.label == "author")
    let now = try await persistence.head
    #expect(now?.parents == [head].compactMap { $0 })
    #expect(try await entities.load(referringTo: related.object.entity.id).collectInstances(upTo: .infinity).count == 1)
  }

  @Test("a list is resolved in its order and in one commit; what one item made the next ones find")
  func resolveList() async throws {
    let persistence = MemoryPersistence()
    let entities = EntityStore(persistence)
    try await entities.add(Entity("lem", type: "person", properties: ["name": "Lem"]))
    let head = try await persistence.head?.id
    let found = try await entities.resolve(
      ["Dick", "Lem", "Dick"], type: "person", by: { [.name($0)] }, orCreate: { ["letters": .integer($0.count)] })
    #expect(found.map(\.entity.label) == ["Dick", "Lem", "Dick"])
    #expect(found.map(\.isCreated) == [true, false, false])
    #expect(found[0].entity["letters"]?.value == 4 && found[2].entity.id == found[0].entity.id)
    #expect(try await persistence.head?.parents == [head].compactMap { $0 })
  }

  @Test("a view of the past has the calls that read")
  func past() async throws {
    let place = FileManager.default.temporaryDirectory.appending(path: "entities-\(UUID().uuidString).strata")
    defer { try? FileManager.default.removeItem(at: place) }
    let persistence = try DiskPersistence(readWriteURL: place)
    let entities = EntityStore(persistence)
    try await entities.add(Entity("p", type: "person", properties: ["name": "Ada"]))
    let commit = try #require(try await persistence.head?.id)
    try await entities.update("p", ["name": "Countess"])
    try await entities.add(Entity("q", type: "person", properties: ["friend": .entity("p")]))
    let before = try await EntityStore(reading: DiskPersistence(readOnlyURL: place)).view(at: commit)
    #expect(try await before.load(type: "person").map(\.label) == ["Ada"])
    #expect(try await before.find(.name("Countess")) == nil)
    #expect(try await before.load(referringTo: "p").collectInstances(upTo: .infinity).isEmpty)
    let text = String(decoding: try await before.exported(form: .compact, history: true), as: UTF8.self)
    #expect(text.contains("Ada") && !text.contains("Countess"))
    // From the store that goes on being written, too.
    let past = try await entities.view(at: commit)
    #expect(try await past.load(type: "person").map(\.label) == ["Ada"])
    try await entities.update("p", ["name": "Lovelace"])
    #expect(try await past.load("p")?.label == "Ada")
    #expect(try await past.load("q") == nil)
    #expect(try await past.exported(form: .compact, history: true) == Data(text.utf8))
    try await persistence.close()
  }

  @Test("observers hear what came, what changed by which properties, and what went")
  func observe() async throws {
    let entities = EntityStore(MemoryPersistence())
    let changes = try await entities.observe()
    try await entities.add(Entity("p", type: "person", properties: ["name": "Ada", "age": 36]))
    try await entities.update("p", ["name": "Countess", "age": 36, "born": 1815])
    try await entities.delete("p")
    var heard: [String] = []
    for try await change in changes {
      switch change {
      case .added(let entity): heard.append("+\(entity.label)")
      case .changed(_, let keys): heard.append(keys.sorted().map(\.rawValue).joined(separator: ","))
      case .deleted(let entity): heard.append("-\(entity.label)")
      }
      if heard.count == 3 { break }
    }
    #expect(heard == ["+Ada", "born,name", "-Countess"])
  }
}
