import StrataDocuments
import StrataFoundation

// Descriptors as JSON. Members are sorted, absent ones have their default meaning, and members of a later version are kept and written
// back, so that an older program never removes data that a newer one wrote.
//
// They are read by the parser for records, because each program reads them at its start, and `JSONDecoder` spends half a millisecond on
// making types before the first one.

extension DatastoreDescriptor: Encodable {
  /// Reads the attributes of a datastore's tree.
  package init(bytes: [UInt8]) throws(ModelError) {
    do {
      try self.init(DescriptorMembers(try RecordCoding.json.document(of: bytes)))
    } catch {
      throw .unreadable(what: "the descriptor of a datastore", where: "\(error)")
    }
  }

  /// The stored JSON, which is the same for equal descriptors. Throws `readOnly` if an index is of an unknown kind.
  package var bytes: [UInt8] {
    get throws(ModelError) {
      try requireKnownIndexes()
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      do {
        return try [UInt8](encoder.encode(self))
      } catch {
        throw .unreadable(what: "the descriptor of \(key)", where: "\(error)")
      }
    }
  }

  private enum Members: String, CaseIterable {
    case key, version, versionIsString, instanceType, identifierType, identifierEncoding, coding, identifierPath
    case indexes
  }

  private init(_ members: DescriptorMembers<Members>) throws(DocumentError) {
    var unknownIndexes: [String: String] = [:]
    let indexes = try members.list(.indexes) { element throws(DocumentError) -> IndexDescriptor? in
      let index = try DescriptorMembers<IndexDescriptor.Members>(element)
      guard let kind = try index.textIfThere(.kind), IndexKind(rawValue: kind) == nil else {
        return try IndexDescriptor(index)
      }
      unknownIndexes[try index.text(.name)] = kind
      return nil
    }
    self.init(
      key: try members.text(.key),
      version: try members.text(.version),
      versionIsString: try members.flag(.versionIsString),
      instanceType: try members.textIfThere(.instanceType) ?? "",
      identifierType: try members.text(.identifierType),
      identifierEncoding: try members.value(.identifierEncoding) { KeyEncoding($0) },
      coding: try members.value(.coding) { RecordCoding(rawValue: $0) },
      identifierPath: try members.textIfThere(.identifierPath),
      indexes: indexes.compactMap { $0 },
      unknown: members.others)
    self.unknownIndexes = unknownIndexes
  }

  package func encode(to encoder: any Encoder) throws {
    var members = DescriptorWriter(encoder)
    try members.write(key, Members.key)
    try members.write(version, Members.version)
    if versionIsString { try members.write(true, Members.versionIsString) }
    if !instanceType.isEmpty { try members.write(instanceType, Members.instanceType) }
    try members.write(identifierType, Members.identifierType)
    try members.write(identifierEncoding, Members.identifierEncoding)
    try members.write(coding, Members.coding)
    if let identifierPath { try members.write(identifierPath, Members.identifierPath) }
    if !indexes.isEmpty { try members.write(indexes, Members.indexes) }
    try members.write(others: unknown)
  }
}

extension IndexDescriptor: Encodable {
  fileprivate enum Members: String, CaseIterable {
    case name, kind, type, storage, encoding, valueType, keyPathName, rule, isUnique, version, isStale, tiers, target
  }

  fileprivate init(_ members: DescriptorMembers<Members>) throws(DocumentError) {
    self.init(
      name: try members.text(.name),
      kind: try members.value(.kind) { IndexKind(rawValue: $0) },
      type: try members.text(.type),
      storage: try members.valueIfThere(.storage) { IndexStorageKind(rawValue: $0) } ?? .reference,
      encoding: try members.value(.encoding) { KeyEncoding($0) },
      valueType: try members.text(.valueType),
      keyPathName: try members.textIfThere(.keyPathName),
      rule: try members.textIfThere(.rule),
      isUnique: try members.flag(.isUnique),
      version: try members.text(.version),
      isStale: try members.flag(.isStale),
      tiers: try members.list(.tiers) { element throws(DocumentError) in try IndexTier(DescriptorMembers(element)) },
      target: try members.textIfThere(.target),
      unknown: members.others)
  }

  package func encode(to encoder: any Encoder) throws {
    var members = DescriptorWriter(encoder)
    try members.write(name, Members.name)
    try members.write(kind, Members.kind)
    try members.write(type, Members.type)
    if storage != .reference { try members.write(storage, Members.storage) }
    try members.write(encoding, Members.encoding)
    try members.write(valueType, Members.valueType)
    if let keyPathName { try members.write(keyPathName, Members.keyPathName) }
    if let rule { try members.write(rule, Members.rule) }
    if isUnique { try members.write(true, Members.isUnique) }
    try members.write(version, Members.version)
    if isStale { try members.write(true, Members.isStale) }
    if !tiers.isEmpty { try members.write(tiers, Members.tiers) }
    if let target { try members.write(target, Members.target) }
    try members.write(others: unknown)
  }
}

extension IndexTier {
  fileprivate enum Members: String, CaseIterable { case valueType, keyPathName, rule, isDescending }

  fileprivate init(_ members: DescriptorMembers<Members>) throws(DocumentError) {
    self.init(
      valueType: try members.text(.valueType), keyPathName: try members.textIfThere(.keyPathName),
      rule: try members.textIfThere(.rule),
      isDescending: try members.required(.isDescending, members.flagIfThere(.isDescending)))
  }
}

extension IndexKind: Encodable {}
extension IndexStorageKind: Encodable {}

/// The members of one JSON object, with known and unknown names. A null member counts as absent.
private struct DescriptorMembers<Name: RawRepresentable<String> & CaseIterable> {
  private let members: [Document.Member]

  init(_ document: Document) throws(DocumentError) {
    guard case .object(let members) = document else {
      throw .unreadable(what: "a descriptor", where: "it is \(document.typeName) and no object")
    }
    self.members = members.lastOfEachName
  }

  func text(_ name: Name) throws(DocumentError) -> String { try required(name, textIfThere(name)) }

  func textIfThere(_ name: Name) throws(DocumentError) -> String? { try valueIfThere(name) { $0 } }

  func value<Value>(_ name: Name, _ make: (String) -> Value?) throws(DocumentError) -> Value {
    try required(name, valueIfThere(name, make))
  }

  /// Returns the value that a member's text stands for.
  func valueIfThere<Value>(_ name: Name, _ make: (String) -> Value?) throws(DocumentError) -> Value? {
    try read(name) { if case .string(let text) = $0 { make(text) } else { nil } }
  }

  /// Returns false if the member is absent.
  func flag(_ name: Name) throws(DocumentError) -> Bool { try flagIfThere(name) ?? false }

  func flagIfThere(_ name: Name) throws(DocumentError) -> Bool? {
    try read(name) { if case .bool(let flag) = $0 { flag } else { nil } }
  }

  /// Returns the elements of a list; none if there is no such member.
  func list<Element>(
    _ name: Name, _ make: (Document) throws(DocumentError) -> Element
  ) throws(DocumentError) -> [Element] {
    let elements = try read(name) { document -> [Document]? in
      if case .array(let elements) = document { elements } else { nil }
    }
    var made: [Element] = []
    for element in elements ?? [] { made.append(try make(element)) }
    return made
  }

  /// The members of a later version.
  var others: [String: DescriptorValue] {
    var others: [String: DescriptorValue] = [:]
    for member in members where Name(rawValue: member.name) == nil {
      others[member.name] = DescriptorValue(member.value)
    }
    return others
  }

  func required<Value>(_ name: Name, _ value: Value?) throws(DocumentError) -> Value {
    guard let value else { throw .unreadable(what: "a descriptor", where: "its \(name.rawValue) is missing") }
    return value
  }

  private func read<Value>(_ name: Name, _ make: (Document) -> Value?) throws(DocumentError) -> Value? {
    guard let document = members.first(where: { $0.name == name.rawValue })?.value, document != .null else {
      return nil
    }
    guard let value = make(document) else {
      throw .unreadable(what: "a descriptor", where: "its \(name.rawValue) is \(document.shownInSentence)")
    }
    return value
  }
}

private struct DescriptorWriter {
  struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private var container: KeyedEncodingContainer<Name>

  init(_ encoder: any Encoder) { container = encoder.container(keyedBy: Name.self) }

  mutating func write(_ value: some Encodable, _ member: some RawRepresentable<String>) throws {
    try container.encode(value, forKey: Name(stringValue: member.rawValue))
  }

  mutating func write(others: [String: DescriptorValue]) throws {
    for (name, value) in others { try container.encode(value, forKey: Name(stringValue: name)) }
  }
}

/// Any JSON value, for members that this version does not know.
package enum DescriptorValue: Hashable, Sendable, Encodable {
  case null
  case bool(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([DescriptorValue])
  case object([String: DescriptorValue])

  fileprivate init(_ document: Document) {
    switch document {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .number(let number):
      let integer = number.integer ?? Int64(exactly: number.double)
      self = integer.map { .integer($0) } ?? .double(number.double)
    case .string(let value): self = .string(value)
    case .array(let elements): self = .array(elements.map { DescriptorValue($0) })
    case .object(let members):
      self = .object(
        Dictionary(uniqueKeysWithValues: members.lastOfEachName.map { ($0.name, DescriptorValue($0.value)) }))
    // JSON has no dates and no data.
    case .date, .data: self = .null
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
