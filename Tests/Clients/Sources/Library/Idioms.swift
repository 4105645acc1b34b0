import CodableDatastore
import Foundation

// How apps spell what they do: each compiles in every mode that clients are built in, and does what it says.

struct Contact: Codable, Hashable, Identifiable, Sendable {
  enum Group: String, Codable, Comparable, CaseIterable, Sendable, RangedIndexable, DiscreteIndexable {
    case family, friends, work
    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  struct Address: Codable, Hashable, Sendable {
    var city: String
    var street: String?
  }

  var id: UUID = UUID()
  var name: String
  var email: String?
  var group: Group = .friends
  var address: Address?
  var home = Address(city: "Bern")
  var tags: Set<String> = []
  var numbers: [String] = []
  var born: Date?
  var score: Double = 0

  var initials: String { String(name.split(separator: " ").compactMap(\.first)) }
  var lowercasedName: String { name.lowercased() }
  var city: String? { address?.city }
}

struct ContactFormat: DatastoreFormat {
  enum Version: Int, CaseIterable, Sendable { case first = 1, second, third }
  typealias Instance = Contact
  static let defaultKey: DatastoreKey = "Contacts"
  static let currentVersion = Version.third

  let name = Index(\.name)
  let byLowercasedName = Index(\.lowercasedName)
  let initials = Index(\.initials)
  let email = Index(\.email)
  let cityOfAddress = Index(\.city)
  let cityOfHome = Index(\.home.city)
  let tags = ManyToManyIndex(\.tags)
  let numbers = ManyToOneIndex(\.numbers)
  @Direct var group = Index(\.group)
  let score = Index(\.score)
}

/// As the first release had contacts.
struct ContactV1: Codable, Sendable {
  var id: UUID
  var fullName: String
}

@Sendable func decodeFirst(_ decoder: JSONDecoder, _ data: Data) throws -> Contact {
  let old = try decoder.decode(ContactV1.self, from: data)
  return Contact(id: old.id, name: old.fullName)
}

@Sendable func decodeSecond(_ decoder: JSONDecoder, _ data: Data) async throws -> Contact {
  await Task.yield()
  return try decoder.decode(Contact.self, from: data)
}

extension Contact {
  @Sendable static func decode(_ decoder: JSONDecoder, _ data: Data) throws -> Contact {
    try decoder.decode(Contact.self, from: data)
  }

  @Sendable static func decodeSlowly(_ decoder: JSONDecoder, _ data: Data) async throws -> Contact {
    try decoder.decode(Contact.self, from: data)
  }
}

extension DatastoreFormat where Instance: Identifiable, Identifier == Instance.ID {
  /// Generic over a format.
  static func names<AccessMode>(
    in datastore: CodableDatastore.Datastore<Self, AccessMode>, _ name: KeyPath<Instance, String>
  ) async throws -> [String] {
    try await datastore.load(...).map { $0[keyPath: name] }.collectInstances(upTo: .infinity)
  }
}

func copy<Format: DatastoreFormat>(
  from source: Datastore<Format, ReadOnly>, to target: Datastore<Format, ReadWrite>
) async throws -> Int where Format.Instance: Identifiable, Format.Identifier == Format.Instance.ID {
  var count = 0
  for try await instance in source.load(...) {
    try await target.persist(instance)
    count += 1
  }
  return count
}

protocol ContactRepository: Sendable {
  func contact(_ id: UUID) async throws -> Contact?
  func save(_ contact: Contact) async throws
}

struct StoredContacts: ContactRepository {
  let datastore: ContactFormat.Datastore
  func contact(_ id: UUID) async throws -> Contact? { try await datastore.load(id) }
  func save(_ contact: Contact) async throws { try await datastore.persist(contact) }
}

actor ContactCache {
  private let datastore: ContactFormat.Datastore
  private var cached: [UUID: Contact] = [:]
  init(_ datastore: ContactFormat.Datastore) { self.datastore = datastore }

  func contact(_ id: UUID) async throws -> Contact? {
    if let contact = cached[id] { return contact }
    guard let contact = try await datastore.load(id) else { return nil }
    cached[id] = contact
    return contact
  }

  func fill() async throws -> Int {
    for try await contact in datastore.load(...) { cached[contact.id] = contact }
    return cached.count
  }
}

@MainActor final class ContactList {
  private(set) var contacts: [Contact] = []
  private(set) var failure: String?
  private(set) var progress = 0.0
  let datastore: ContactFormat.Datastore
  init(_ datastore: ContactFormat.Datastore) { self.datastore = datastore }

  func reload() async {
    do {
      contacts = try await datastore.load(..., from: \.name).collectInstances(upTo: .infinity)
    } catch {
      failure = error.localizedDescription
    }
  }

  func warm() async throws {
    try await datastore.warm { progress in
      if case .working(let current, let total) = progress { print(current, total) }
    }
  }

  func rename(_ id: UUID, to name: String) async throws {
    guard var contact = try await datastore.load(id) else { return }
    contact.name = name
    try await datastore.persist(contact)
    await reload()
  }
}

enum Idioms {
  static func run() async throws {
    let persistence = MemoryPersistence()
    let contacts = try await migrations(persistence)
    try await loading(contacts)
    try await writing(contacts, persistence)
    try await structure(contacts, persistence)
  }

  /// 1–14: how migrations are given.
  static func migrations(_ persistence: MemoryPersistence) async throws -> ContactFormat.Datastore {
    // 1 functions, one synchronous, one not
    let mixed: ContactFormat.Datastore = .JSONStore(
      persistence: persistence, migrations: [.first: decodeFirst, .second: decodeSecond, .third: Contact.decode])
    // 2 functions that are all synchronous
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "2", migrations: [.first: decodeFirst, .third: Contact.decode])
    // 3 static functions. (Swift 6.3 crashes where a synchronous one becomes an asynchronous value that stays on its caller's actor,
    // whatever takes it.)
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "3", migrations: [.second: Contact.decodeSlowly, .third: Contact.decodeSlowly])
    // 4 a function beside a closure
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "4",
      migrations: [.first: decodeFirst, .third: { try $0.decode(Contact.self, from: $1) }])
    // 5 an asynchronous function beside a closure
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "5",
      migrations: [.second: decodeSecond, .third: { decoder, data in try decoder.decode(Contact.self, from: data) }])
    // 6 a synchronous dictionary in a variable
    let synchronous: [ContactFormat.Version: @Sendable (JSONDecoder, Data) throws -> Contact] = [
      .first: decodeFirst, .third: Contact.decode,
    ]
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "6",
      migrations: synchronous.mapValues { decode in { @Sendable decoder, data in try decode(decoder, data) } })
    // 7 an asynchronous one
    let asynchronous: [ContactFormat.Version: @Sendable (JSONDecoder, Data) async throws -> Contact] = [
      .second: decodeSecond, .third: Contact.decodeSlowly,
    ]
    _ = ContactFormat.Datastore.JSONStore(persistence: persistence, key: "7", migrations: asynchronous)
    // 8 closures of several statements, one of which waits
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "8",
      migrations: [
        .first: { decoder, data in
          let old = try decoder.decode(ContactV1.self, from: data)
          return Contact(id: old.id, name: old.fullName)
        },
        .third: { decoder, data in
          await Task.yield()
          return try decoder.decode(Contact.self, from: data)
        },
      ])
    // 9 written types
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "9",
      migrations: [
        .third: { (decoder: JSONDecoder, data: Data) throws -> Contact in try decoder.decode(Contact.self, from: data) }
      ])
    // 10 with the identifier
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "10",
      migrations: [
        .third: { decoder, data in
          let contact = try decoder.decode(Contact.self, from: data)
          return (contact.id, contact)
        }
      ])
    // 11 property lists by functions
    @Sendable func decodeList(_ decoder: PropertyListDecoder, _ data: Data) throws -> Contact {
      try decoder.decode(Contact.self, from: data)
    }
    _ = ContactFormat.Datastore.propertyListStore(
      persistence: persistence, key: "11", outputFormat: .binary, migrations: [.second: decodeList, .third: decodeList])
    // 12 own coders by functions
    @Sendable func encode(_ contact: Contact) throws -> Data { try JSONEncoder().encode(contact) }
    @Sendable func decode(_ data: Data) throws -> Contact { try JSONDecoder().decode(Contact.self, from: data) }
    _ = ContactFormat.Datastore(persistence: persistence, key: "12", encoder: encode, decoders: [.third: decode])
    // 13 a configured coder
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    _ = ContactFormat.Datastore.JSONStore(
      persistence: persistence, key: "13", encoder: encoder, decoder: decoder,
      migrations: [.third: { try $0.decode(Contact.self, from: $1) }])
    // 14 the shortest ways to warm up
    try await mixed.warm()
    try await mixed.warm { print($0) }
    try await mixed.warm { progress in _ = progress }
    try await mixed.warm(progressHandler: { if case .complete(let total) = $0 { check(total == 0, "empty") } })
    try await mixed.warm(reporting: { if $0.isComplete { print("complete") } })
    return mixed
  }

  /// 15–36: how instances are found.
  static func loading(_ contacts: ContactFormat.Datastore) async throws {
    let ada = Contact(
      name: "Ada Lovelace", email: "ada@example.com", group: .work, address: .init(city: "London"), tags: ["maths"],
      numbers: ["1"], score: 9.5)
    let bob = Contact(name: "Bob", tags: ["maths", "tennis"], numbers: ["2", "3"])
    for contact in [ada, bob] { try await contacts.persist(contact) }
    // 15 if let
    if let found = try await contacts.load(ada.id) { check(found == ada, "if let") } else { check(false, "if let") }
    // 16 guard let and try?
    guard let same = try? await contacts.load(id: ada.id) else { return check(false, "guard let") }
    check(same == ada, "guard let")
    // 17 optional chaining
    let email = try await contacts.load(ada.id)?.email
    check(email == "ada@example.com", "chaining")
    // 18 a default
    let nobody = try await contacts.load(UUID()) ?? bob
    check(nobody == bob, "a default")
    // 19 computed properties
    check(try await contacts.load("AL", from: \.initials).firstInstance == ada, "computed")
    // 20 and ranges of them
    check(try await contacts.load("a"..<"b", from: \.byLowercasedName).collectInstances(upTo: 5) == [ada], "computed")
    // 21 optional properties
    check(try await contacts.load("ada@example.com", from: \.email).firstInstance == ada, "optional")
    // 22 nil
    check(try await contacts.load(nil, from: \.email).firstInstance == bob, "nil")
    // 23 an optional variable
    let city: String? = "London"
    check(try await contacts.load(city, from: \.cityOfAddress).firstInstance == ada, "an optional variable")
    // 24 a nested key path
    check(try await contacts.load("Bern", from: \.cityOfHome).collectInstances(upTo: .infinity).count == 2, "nested")
    // 25 an implicit member
    check(try await contacts.load(.work, from: \.group).firstInstance == ada, "an implicit member")
    // 26 a range of such
    check(
      try await contacts.load(Contact.Group.family...Contact.Group.friends, from: \.group).firstInstance == bob, "range"
    )
    // 27 a set
    check(try await contacts.load("tennis", from: \.tags).firstInstance == bob, "a set")
    // 28 one of several
    check(try await contacts.load("3", from: \.numbers)?.name == "Bob", "one of several")
    // 29 literals
    check(try await contacts.load(9..., from: \.score).firstInstance == ada, "an integer for a floating-point number")
    // 30 collected
    let all = try await contacts.load(...).collectInstances(upTo: .infinity)
    check(Set(all) == [ada, bob], "collected")
    // 31 reduced
    let scores = try await contacts.load(...).reduce(0) { $0 + $1.score }
    check(scores == 9.5, "reduced")
    // 32 contains and first
    check(try await contacts.load(...).contains { $0.name == "Bob" }, "contains")
    check(try await contacts.load(...).first { $0.name == "Bob" } == bob, "first")
    // 33 map, filter, prefix
    let names = try await contacts.load(..., from: \.name).filter { $0.score < 100 }.map(\.name).collectInstances(
      upTo: 9)
    check(names == ["Ada Lovelace", "Bob"], "map and filter")
    for try await contact in contacts.load(..., order: .descending, from: \.name).prefix(1) {
      check(contact == bob, "prefix")
    }
    // 34 an opaque sequence in a variable
    let sequence = contacts.load("A"..., from: \.name)
    for try await _ in sequence {}
    var iterator = sequence.makeAsyncIterator()
    check(try await iterator.next() == ada, "an iterator")
    // 35 a loop with break, continue and a label
    outer: for try await contact in contacts.load(..., from: \.name) {
      for tag in contact.tags where tag == "maths" { continue outer }
      break
    }
    // 36 a range in a variable, and one of one's own
    let range: ClosedRange<String> = "A"..."B"
    check(try await contacts.load(range, from: \.name).firstInstance == ada, "a range in a variable")
    let open = IndexRange(lower: .excluding("Ada Lovelace"), upper: .extent, order: .descending)
    check(try await contacts.load(open, from: \.name).firstInstance == bob, "an index range")
  }

  /// 37–54: how they are changed.
  static func writing(_ contacts: ContactFormat.Datastore, _ persistence: MemoryPersistence) async throws {
    let carl = Contact(name: "Carl")
    // 37 the result used, and not
    let before = try await contacts.persist(carl)
    check(before == nil, "nothing was there")
    try await contacts.persist(carl)
    // 38 try?
    _ = try? await contacts.persist(carl)
    try? await contacts.delete(UUID())
    // 39 an updated copy
    if var contact = try await contacts.load(carl.id) {
      contact.group = .family
      try await contacts.persist(contact)
    }
    // 40 by key path and by identifier
    try await contacts.persist(carl, id: \.id)
    try await contacts.persist(carl, to: carl.id)
    // 41 async let
    async let first = contacts.persist(Contact(name: "Dora"))
    async let second = contacts.persist(Contact(name: "Emil"))
    _ = try await (first, second)
    // 42 a task group
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<4 { group.addTask { try await contacts.persist(Contact(name: "Group \(number)")) } }
      try await group.waitForAll()
    }
    // 43 a transaction with a result
    let count = try await persistence.perform { try await contacts.count }
    check(count == 9, "nine: \(count)")
    // 44 with a name and options
    try await persistence.perform(actionName: "Both", options: [.readOnly]) { _ = try await contacts.count }
    // 45 with both parameters, and with none of them
    try await persistence.perform { _, _ in }
    try await persistence.perform { persistence, isDurable in check(isDurable, "durable: \(persistence)") }
    // 46 local variables in it
    var written = 0
    try await persistence.perform {
      for number in 0..<3 {
        try await contacts.persist(Contact(name: "In \(number)"))
        written += 1
      }
    }
    check(written == 3, "local variables")
    // 47 an error that takes it back
    struct Refusal: Error {}
    do {
      try await persistence.perform {
        try await contacts.persist(Contact(name: "never"))
        throw Refusal()
      }
    } catch is Refusal {}
    check(try await contacts.load("never", from: \.name).firstInstance == nil, "taken back")
    // 48 a transaction in a transaction
    try await persistence.perform { try await persistence.perform { try await contacts.persist(carl) } }
    // 49 a function as the transaction
    func addOne() async throws { try await contacts.persist(Contact(name: "One")) }
    try await persistence.perform(transaction: addOne)
    // 50 a loop that changes what it reads
    for try await contact in contacts.load(...) where contact.name.hasPrefix("In") {
      var contact = contact
      contact.score += 1
      try await contacts.persist(contact)
    }
    // 51 deleting what is loaded
    for try await contact in contacts.load("Group"..<"Grouq", from: \.name) { try await contacts.delete(contact) }
    // 52 deleting once more
    do {
      try await contacts.delete(UUID())
      check(false, "it is not there")
    } catch DatastoreInterfaceError.instanceNotFound {
    } catch { throw error }
    check(try await contacts.deleteIfPresent(id: UUID()) == nil, "not there")
    // 53 errors by their types
    do {
      try await contacts.delete(id: UUID())
    } catch let error as DatastoreInterfaceError where error == .instanceNotFound {
      check(!error.localizedDescription.isEmpty, "described")
    }
    // 54 a detached task
    try await Task.detached { try await contacts.persist(carl) }.value
  }

  /// 55–66: how code is built around it.
  static func structure(_ contacts: ContactFormat.Datastore, _ persistence: MemoryPersistence) async throws {
    // 55 generic over a format
    let names = try await ContactFormat.names(in: contacts, \.name)
    check(names.contains("Bob"), "generic over a format")
    // 56 generic over both
    let other: ContactFormat.Datastore = .JSONStore(
      persistence: persistence, key: "other", migrations: [.third: { try $0.decode(Contact.self, from: $1) }])
    check(try await copy(from: contacts.readOnly, to: other) == names.count, "copied")
    // 57 behind a protocol
    let repository: any ContactRepository = StoredContacts(datastore: contacts)
    let zoe = Contact(name: "Zoe")
    try await repository.save(zoe)
    check(try await repository.contact(zoe.id) == zoe, "behind a protocol")
    // 58 in an actor
    let cache = ContactCache(contacts)
    check(try await cache.contact(zoe.id) == zoe, "in an actor")
    check(try await cache.fill() == names.count + 1, "in an actor")
    // 59 on the main actor
    let list = await ContactList(contacts)
    await list.reload()
    try await list.warm()
    try await list.rename(zoe.id, to: "Zora")
    check(await list.contacts.last?.name == "Zora", "on the main actor")
    check(await list.failure == nil, "on the main actor")
    // 60 any persistence
    func open(_ persistence: some Persistence<ReadWrite>) -> ContactFormat.Datastore {
      .JSONStore(persistence: persistence, migrations: [.third: { try $0.decode(Contact.self, from: $1) }])
    }
    check(try await open(MemoryPersistence()).count == 0, "some persistence")
    // 61 a stored sequence of changes
    let changes = try await contacts.observe()
    let watching = Task { () -> String? in
      for try await case .deleted(_, let old) in changes { return old.name }
      return nil
    }
    try await contacts.delete(zoe)
    check(try await watching.value == "Zora", "observed")
    // 62 key paths in variables
    let index: KeyPath<ContactFormat, ContactFormat.Index<String>> = \.name
    check(try await contacts.load("Bob", from: index).firstInstance != nil, "a key path in a variable")
    // 63 a date that orders
    let sorted = try await contacts.load(...).collectInstances(upTo: .infinity).sorted { $0.name < $1.name }
    check(sorted.first?.name == "Ada Lovelace", "sorted")
    // 64 a dictionary of instances
    let byName = Dictionary(sorted.map { ($0.name, $0) }) { first, _ in first }
    check(byName["Bob"]?.tags.count == 2, "a dictionary")
    // 65 the readers of a datastore
    let reader = await contacts.readOnly
    check(try await reader.load(..., from: \.score).collectInstances(upTo: 1).count == 1, "a reader")
    // 66 closures that are kept
    let save: @Sendable (Contact) async throws -> Void = { try await contacts.persist($0) }
    try await save(zoe)
    check(try await contacts.load(zoe.id) != nil, "a closure")
  }
}
