#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// Descriptors as JSON. Members are sorted, absent ones have their plain meaning, and members of a later version are
// kept and written back, so that an older program never takes away what a newer one wrote.

extension DatastoreDescriptor: Codable {
  /// Reads the attributes of a datastore's tree.
  package init(bytes: [UInt8]) throws(ModelError) {
    do {
      self = try JSONDecoder().decode(Self.self, from: Data(bytes))
    } catch {
      throw .unreadable(what: "the descriptor of a datastore", where: "\(error)")
    }
  }

  /// The JSON that is kept, the same for equal descriptors.
  package var bytes: [UInt8] {
    get throws(ModelError) {
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

  package init(from decoder: any Decoder) throws {
    let members = try DescriptorMembers(reading: decoder)
    self.init(
      key: try members.required(Members.key),
      version: try members.required(Members.version),
      versionIsString: try members.optional(Members.versionIsString) ?? false,
      instanceType: try members.optional(Members.instanceType) ?? "",
      identifierType: try members.required(Members.identifierType),
      identifierEncoding: try members.required(Members.identifierEncoding),
      coding: try members.required(Members.coding),
      identifierPath: try members.optional(Members.identifierPath),
      indexes: try members.optional(Members.indexes) ?? [],
      unknown: try members.others(than: Members.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = DescriptorMembers.Writer(encoder)
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

extension IndexDescriptor: Codable {
  private enum Members: String, CaseIterable {
    case name, kind, type, storage, encoding, valueType, keyPathName, rule, isUnique, version, isStale, tiers, target
  }

  package init(from decoder: any Decoder) throws {
    let members = try DescriptorMembers(reading: decoder)
    self.init(
      name: try members.required(Members.name),
      kind: try members.required(Members.kind),
      type: try members.required(Members.type),
      storage: try members.optional(Members.storage) ?? .reference,
      encoding: try members.required(Members.encoding),
      valueType: try members.required(Members.valueType),
      keyPathName: try members.optional(Members.keyPathName),
      rule: try members.optional(Members.rule),
      isUnique: try members.optional(Members.isUnique) ?? false,
      version: try members.required(Members.version),
      isStale: try members.optional(Members.isStale) ?? false,
      tiers: try members.optional(Members.tiers) ?? [],
      target: try members.optional(Members.target),
      unknown: try members.others(than: Members.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var members = DescriptorMembers.Writer(encoder)
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

extension IndexKind: Codable {}
extension IndexStorageKind: Codable {}

/// The members of one JSON object, known and unknown.
private struct DescriptorMembers {
  struct Name: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private let container: KeyedDecodingContainer<Name>

  init(reading decoder: any Decoder) throws { container = try decoder.container(keyedBy: Name.self) }

  func required<Value: Decodable>(_ member: some RawRepresentable<String>) throws -> Value {
    try container.decode(Value.self, forKey: Name(stringValue: member.rawValue))
  }

  func optional<Value: Decodable>(_ member: some RawRepresentable<String>) throws -> Value? {
    try container.decodeIfPresent(Value.self, forKey: Name(stringValue: member.rawValue))
  }

  func others<Members: RawRepresentable<String>>(than known: Members.Type) throws -> [String: DescriptorValue] {
    var others: [String: DescriptorValue] = [:]
    for name in container.allKeys where Members(rawValue: name.stringValue) == nil {
      others[name.stringValue] = try container.decode(DescriptorValue.self, forKey: name)
    }
    return others
  }

  struct Writer {
    private var container: KeyedEncodingContainer<Name>

    init(_ encoder: any Encoder) { container = encoder.container(keyedBy: Name.self) }

    mutating func write(_ value: some Encodable, _ member: some RawRepresentable<String>) throws {
      try container.encode(value, forKey: Name(stringValue: member.rawValue))
    }

    mutating func write(others: [String: DescriptorValue]) throws {
      for (name, value) in others { try container.encode(value, forKey: Name(stringValue: name)) }
    }
  }
}

/// Any JSON value, for members that this version does not know.
package enum DescriptorValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case double(Double)
  case string(String)
  case array([DescriptorValue])
  case object([String: DescriptorValue])
}

extension DescriptorValue: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([DescriptorValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: DescriptorValue].self))
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
