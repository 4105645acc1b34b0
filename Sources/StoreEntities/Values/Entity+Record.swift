import StrataDocuments
import StrataFoundation

// An entity as a record of the store:
//
//   {"created":"2020-01-21T10:00:00.000Z","id":"book-7","past":{…},"properties":{"name":{"string":"Dune",
//    "type":"string","datestamp":"2020-01-21T10:00:00.000Z"}},"type":"book"}
//
// Properties are written as in the full interchange form, so that a reader of one can read the other.

extension Entity: Codable {
  private enum Member: String, CodingKey { case id, type, created, properties, past }

  /// Reads the record of an entity.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Member.self)
    id = try container.decode(String.self, forKey: .id)
    type = try container.decode(String.self, forKey: .type)
    created = try container.decode(EntityDate.self, forKey: .created).date
    let stored = try container.decodeIfPresent([String: EntityProperty].self, forKey: .properties) ?? [:]
    properties = Dictionary(uniqueKeysWithValues: stored.map { (EntityKey($0.key), $0.value) })
    let past = try container.decodeIfPresent([String: [EntityPast]].self, forKey: .past) ?? [:]
    self.past = Dictionary(uniqueKeysWithValues: past.map { (EntityKey($0.key), $0.value) })
  }

  /// Writes the record of an entity.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Member.self)
    try container.encode(id, forKey: .id)
    try container.encode(type, forKey: .type)
    try container.encode(EntityDate(created), forKey: .created)
    try container.encode(
      Dictionary(uniqueKeysWithValues: properties.map { ($0.key.rawValue, $0.value) }), forKey: .properties)
    if !past.isEmpty {
      try container.encode(
        Dictionary(uniqueKeysWithValues: past.map { ($0.key.rawValue, $0.value) }), forKey: .past)
    }
  }
}

extension EntityProperty: Codable {
  private enum Member: String, CodingKey {
    case string, integer, double, boolean, date, data, entity, list
    case label = "type"
    case datestamp
  }

  /// Reads a property of a record.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Member.self)
    let kinds = container.allKeys.filter { $0 != .label && $0 != .datestamp }
    guard kinds.count == 1 else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: container.codingPath, debugDescription: "A property has one value."))
    }
    let kind = kinds[0]
    switch kind {
    case .integer: value = .integer(try container.decode(Int.self, forKey: kind))
    case .double: value = .double(try container.decode(Double.self, forKey: kind))
    case .boolean: value = .boolean(try container.decode(Bool.self, forKey: kind))
    case .date: value = .date(try container.decode(EntityDate.self, forKey: kind).date)
    case .data: value = .data(try container.decode(Data.self, forKey: kind))
    case .entity: value = .entity(try container.decode(String.self, forKey: kind))
    case .list: value = .list(try container.decode([EntityProperty].self, forKey: kind))
    default: value = .string(try container.decode(String.self, forKey: kind))
    }
    label = try container.decode(String.self, forKey: .label)
    date = try container.decode(EntityDate.self, forKey: .datestamp).date
  }

  /// Writes a property of a record.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Member.self)
    switch value {
    case .string(let text): try container.encode(text, forKey: .string)
    case .integer(let number): try container.encode(number, forKey: .integer)
    case .double(let number): try container.encode(number, forKey: .double)
    case .boolean(let truth): try container.encode(truth, forKey: .boolean)
    case .date(let date): try container.encode(EntityDate(date), forKey: .date)
    case .data(let bytes): try container.encode(bytes, forKey: .data)
    case .entity(let id): try container.encode(id, forKey: .entity)
    case .list(let elements): try container.encode(elements, forKey: .list)
    }
    try container.encode(label, forKey: .label)
    try container.encode(EntityDate(date), forKey: .datestamp)
  }
}

extension EntityPast: Codable {
  private enum Member: String, CodingKey { case removed, datestamp }

  /// Reads an earlier value of a property.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Member.self)
    if try container.decodeIfPresent(Bool.self, forKey: .removed) == true {
      self.init(removed: try container.decode(EntityDate.self, forKey: .datestamp).date)
    } else {
      self.init(try EntityProperty(from: decoder))
    }
  }

  /// Writes an earlier value of a property.
  public func encode(to encoder: any Encoder) throws {
    if let property { return try property.encode(to: encoder) }
    var container = encoder.container(keyedBy: Member.self)
    try container.encode(true, forKey: .removed)
    try container.encode(EntityDate(date), forKey: .datestamp)
  }
}

/// A date as entities write it: ISO 8601 in UTC with at least three digits after the point, and as many as are needed to read back the same
/// date.
struct EntityDate: Codable {
  var date: Date

  init(_ date: Date) { self.date = date }

  /// Reads a date with or without a clock, fraction and zone; nil for anything else.
  init?(_ text: String) {
    guard let interval = DateText.parse(text), interval.isFinite else { return nil }
    date = Date(timeIntervalSinceReferenceDate: interval)
  }

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let date = Self(text) else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "“\(text)” is not a date."))
    }
    self = date
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  /// `2020-01-21T10:00:00.000Z`.
  var text: String {
    let text = DateText.text(of: date.timeIntervalSinceReferenceDate)
    guard text.hasSuffix("Z") else { return text }
    let body = text.dropLast()
    guard let point = body.lastIndex(of: ".") else { return "\(body).000Z" }
    let missing = max(0, 3 - body[point...].dropFirst().count)
    return "\(body)\(String(repeating: "0", count: missing))Z"
  }
}
