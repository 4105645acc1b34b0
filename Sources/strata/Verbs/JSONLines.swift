import StrataDocuments
import StrataModel

// The shapes of the lines that `--json` prints.

extension Document {
  /// An object without the members that are nil.
  static func object(of members: KeyValuePairs<String, Document?>) -> Document {
    .object(members.compactMap { name, value in value.map { Member(name, $0) } })
  }

  static func count(_ number: Int) -> Document { .number(NumberText(Int64(number))) }

  static func commit(_ number: CommitNumber) -> Document { .number(NumberText(Int64(clamping: number.rawValue))) }

  /// A version as the app's raw value has it: a string or a number.
  static func version(_ text: String, in datastore: DatastoreDescriptor) -> Document {
    datastore.versionIsString ? .string(text) : NumberText(text).map(Document.number) ?? .string(text)
  }

  /// `{"id":…,"version":…,"value":…}`
  static func record(_ record: Record, in datastore: DatastoreDescriptor) throws(ModelError) -> Document {
    [
      "id": .identifier(record.identifier), "version": .version(record.version, in: datastore),
      "value": try record.document(),
    ]
  }

  /// The text of `record(_:in:)` before the record's own.
  static func beginning(of record: Record, in datastore: DatastoreDescriptor) -> [UInt8] {
    let (identifier, version) = (identifier(record.identifier), version(record.version, in: datastore))
    return Array("{\"id\":".utf8) + identifier.json(.compact) + Array(",\"version\":".utf8) + version.json(.compact)
      + Array(",\"value\":".utf8)
  }

  static func identifier(_ key: StoredKey) -> Document { key.value.document }

  /// `{"commit":…,"date":…,"action":…,"author":…,"changes":[…]}`
  static func history(_ commit: CommitDetails) -> Document {
    [
      "commit": .commit(commit.number),
      "date": .string(Clock.iso8601(commit.date)),
      "action": .string(commit.action),
      "author": .string(commit.author),
      "program": .string(commit.program),
      "parents": .array(commit.parents.map(Document.commit)),
      "changes": .array(
        commit.changes.map { change in
          [
            "datastore": .string(change.datastore), "inserted": .count(change.inserted),
            "updated": .count(change.updated), "deleted": .count(change.deleted),
          ]
        }),
    ]
  }

  /// `{"datastore":…,"id":…,"change":"insert|update|delete","fields":[{"path":…,"old":…,"new":…}]}`; with a `problem` instead of the fields
  /// if a content cannot be read.
  static func change(_ change: RecordChange) throws -> Document {
    let fields = try change.damage == nil ? change.fields() : []
    return .object(of: [
      "datastore": .string(change.datastore),
      "id": .identifier(change.identifier),
      "change": .string(change.kind.rawValue),
      "fields": .array(
        fields.map { .object(of: ["path": .string($0.path.description), "old": $0.old, "new": $0.new]) }),
      "problem": change.damage.map { .string("\($0)") },
    ])
  }
}

extension RecordChange {
  func fields() throws(ModelError) -> [FieldChange] {
    Document.fieldChanges(from: try old?.document(), to: try new?.document())
  }
}
