import CodableDatastore
import Foundation

// An address book as three releases of an app have it, written from the guides alone: each release opens the store that the one
// before it left. Releases are functions here, so that their types may have the same names.

let url = FileManager.default.temporaryDirectory.appendingPathComponent("contacts-\(UUID().uuidString).strata")
defer { try? FileManager.default.removeItem(at: url) }

func require(_ condition: Bool, _ what: String, line: Int = #line) {
  if !condition { fatalError("line \(line): \(what)") }
}

// MARK: What the app has kept, by version

struct ContactV1: Codable, Identifiable, Sendable {
  var id: UUID
  var fullName: String
}

struct ContactV2: Codable, Identifiable, Sendable {
  var id: UUID
  var first: String
  var last: String
  var email: String?

  init(id: UUID = UUID(), first: String, last: String, email: String? = nil) {
    (self.id, self.first, self.last, self.email) = (id, first, last, email)
  }

  init(_ old: ContactV1) {
    let parts = old.fullName.split(separator: " ", maxSplits: 1).map(String.init)
    self.init(id: old.id, first: parts.first ?? "", last: parts.count > 1 ? parts[1] : "")
  }
}

struct Contact: Codable, Identifiable, Hashable, Sendable {
  var id: UUID = UUID()
  var first: String
  var last: String
  var emails: [String]

  init(_ old: ContactV2) { (id, first, last, emails) = (old.id, old.first, old.last, old.email.map { [$0] } ?? []) }
}

enum ContactVersion: Int, CaseIterable, Sendable { case full = 1, split, manyEmails }

// MARK: The first release

struct FormatV1: DatastoreFormat {
  typealias Version = ContactVersion
  typealias Instance = ContactV1
  static let defaultKey: DatastoreKey = "Contacts"
  static let currentVersion = ContactVersion.full
  let name = Index(\.fullName)
}

func firstRelease() async throws {
  let persistence = try DiskPersistence(readWriteURL: url)
  let contacts = FormatV1.Datastore.JSONStore(
    persistence: persistence, migrations: [.full: { try $0.decode(ContactV1.self, from: $1) }])
  try await persistence.perform(actionName: "Import") {
    for name in ["Ada Lovelace", "Alan Turing", "Grace Hopper"] {
      try await contacts.persist(ContactV1(id: UUID(), fullName: name))
    }
  }
  try await persistence.close()
}

// MARK: The second

struct FormatV2: DatastoreFormat {
  typealias Version = ContactVersion
  typealias Instance = ContactV2
  static let defaultKey: DatastoreKey = "Contacts"
  static let currentVersion = ContactVersion.split
  let last = Index(\.last)
  let email = Index(\.email)
}

func secondRelease() async throws {
  let persistence = try DiskPersistence(readWriteURL: url)
  let contacts = FormatV2.Datastore.JSONStore(
    persistence: persistence,
    migrations: [
      .full: { ContactV2(try $0.decode(ContactV1.self, from: $1)) },
      .split: { try $0.decode(ContactV2.self, from: $1) },
    ])
  let rehearsal = try await contacts.rehearseMigration()
  require(rehearsal.succeeds && rehearsal.total == 3, "the rehearsal")
  try await contacts.warm { progress in
    if case .complete(let total) = progress { require(total == 3, "three are there") }
  }
  guard var ada = try await contacts.load("Lovelace", from: \.last).firstInstance else { fatalError("Ada") }
  ada.email = "ada@example.com"
  try await contacts.persist(ada)
  require(try await contacts.load("ada@example.com", from: \.email).firstInstance?.first == "Ada", "by email")
  try await persistence.close()
}

// MARK: The third

struct Format: DatastoreFormat {
  typealias Version = ContactVersion
  typealias Instance = Contact
  static let defaultKey: DatastoreKey = "Contacts"
  static let currentVersion = ContactVersion.manyEmails
  let name = Index(\.last, \.first)
  let emails = ManyToManyIndex(\.emails)

  static func datastore(in persistence: some Persistence<ReadWrite>) -> Self.Datastore {
    .JSONStore(
      persistence: persistence,
      migrations: [
        .full: { Contact(ContactV2(try $0.decode(ContactV1.self, from: $1))) },
        .split: { Contact(try $0.decode(ContactV2.self, from: $1)) },
        .manyEmails: { try $0.decode(Contact.self, from: $1) },
      ])
  }
}

func thirdRelease() async throws {
  let persistence = try DiskPersistence(readWriteURL: url)
  let contacts = Format.datastore(in: persistence)
  let byName = try await contacts.load(..., from: \.name).map(\.last).collectInstances(upTo: .infinity)
  require(byName == ["Hopper", "Lovelace", "Turing"], "by name: \(byName)")
  guard var ada = try await contacts.load("ada@example.com", from: \.emails).firstInstance else { fatalError("Ada") }
  ada.emails.append("countess@example.com")
  try await contacts.persist(ada)
  require(try await contacts.load(prefix: "Lovelace", from: \.name).firstInstance == ada, "by last name")
  // What became of her, over all versions.
  let history = try await contacts.history(of: ada.id, \.emails).collectInstances(upTo: .infinity)
  require(history.map { $0.value ?? [] } == [ada.emails, ["ada@example.com"], []], "her emails: \(history)")
  try await persistence.undo()
  require(try await contacts.load("countess@example.com", from: \.emails).firstInstance == nil, "taken back")
  try await persistence.redo()
  require(try await contacts.load("countess@example.com", from: \.emails).firstInstance == ada, "brought back")
  try await contacts.migrateEntireStore(ifLessThan: .manyEmails)
  try await persistence.close()
}

func olderAppOnNewerStore() async throws {
  let contacts = FormatV2.Datastore.JSONStore(
    persistence: try DiskPersistence(readWriteURL: url),
    migrations: [
      .full: { ContactV2(try $0.decode(ContactV1.self, from: $1)) },
      .split: { try $0.decode(ContactV2.self, from: $1) },
    ])
  do {
    _ = try await contacts.count
    fatalError("it is newer")
  } catch DatastoreError.incompatibleVersion {}
}

try await firstRelease()
try await secondRelease()
try await thirdRelease()
try await olderAppOnNewerStore()
print("ok")
