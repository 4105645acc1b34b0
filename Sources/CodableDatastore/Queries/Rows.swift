import StrataModel
import StrataDocuments
import StrataLocks
import StrataEngine

/// The values of some columns together: one row of each instance.
struct Rows<Instance: Sendable, Row>: Sendable {
  /// The properties of the columns; nil of a constant.
  let properties: [(any PartialKeyPath<Instance> & Sendable)?]
  /// Makes a row of the columns' values, which it asks for in their order.
  let row: @Sendable (ColumnValues<Instance>) throws -> Row
}

extension Rows {
  init(_ column: Column<Instance, Row>) {
    properties = [column.property]
    row = { values in try values.value(of: column, at: 0) }
  }

  /// The keys of the properties that a query is sorted by.
  init(keys columns: [Column<Instance, [UInt8]>]) where Row == [[UInt8]] {
    properties = columns.map(\.property)
    row = { values in
      var keys: [[UInt8]] = []
      keys.reserveCapacity(columns.count)
      for place in columns.indices { keys.append(try values.value(of: columns[place], at: place)) }
      return keys
    }
  }

  func map<Other>(_ transform: @escaping @Sendable (Row) -> Other) -> Rows<Instance, Other> {
    Rows<Instance, Other>(properties: properties) { [row] in transform(try row($0)) }
  }
}

/// A value, and some others of several types.
struct KeyedRow<Key, each Value> {
  let key: Key
  let values: (repeat each Value)

  private init(_ key: Key, _ values: (repeat each Value)) { (self.key, self.values) = (key, values) }

  static func rows<Instance: Sendable>(
    _ key: Column<Instance, Key>, _ columns: repeat Column<Instance, each Value>
  ) -> Rows<Instance, Self> {
    var properties = [key.property]
    for column in repeat each columns { properties.append(column.property) }
    return Rows(properties: properties) { values in
      var place = -1
      func value<Own>(_ column: Column<Instance, Own>) throws -> Own {
        place += 1
        return try values.value(of: column, at: place)
      }
      return Self(try value(key), (repeat try value(each columns)))
    }
  }
}

extension KeyedRow: Sendable where Key: Sendable, repeat each Value: Sendable {}

final class ColumnValues<Instance: Sendable> {
  enum Source {
    case instance(Instance)
    case text(UnsafeRawBufferPointer)
    /// An instance, each of whose values is compared with that of the text that was read.
    case both(Instance, UnsafeRawBufferPointer)
    case keys
  }

  private struct Member {
    let path: DocumentPath
    let part: Int
    /// Whether the type decodes a missing member as nil; nil until one was met.
    var isMissingNil: Bool?
  }

  /// Thrown if the source does not have a value.
  struct MissingValue: Error {}

  private var source: Source
  private var places = PartPlaces(DocumentSelection([]))
  /// The members of texts that columns are made of, one for each column; nil of a constant.
  private var members: [Member?] = []
  /// The keys of an entry, and the place of each column's among them; nil of a constant.
  var keys: [KeyValue] = []
  let keyPlaces: [Int?]
  /// A member of which a text had another value than its instance.
  private(set) var different: DocumentPath?

  init(_ source: Source) { (self.source, keyPlaces) = (source, []) }

  /// Values of keys, which are set for one entry after the other.
  init(keyPlaces: [Int?], count: Int) {
    (source, self.keyPlaces) = (.keys, keyPlaces)
    keys = Array(repeating: .null, count: count)
  }

  convenience init(ofConstants count: Int) { self.init(keyPlaces: Array(repeating: nil, count: count), count: 0) }

  /// - Returns: nil if the texts do not have all of the properties.
  init?(
    _ properties: [(any PartialKeyPath<Instance> & Sendable)?], in layout: StoredLayout, without off: Set<DocumentPath>
  ) {
    (source, keyPlaces) = (.keys, [])
    let paths = properties.map { property in property.flatMap { layout.path(of: $0) } }
    places = PartPlaces(DocumentSelection(paths.compactMap { $0 }))
    for (path, property) in zip(paths, properties) {
      guard property != nil else {
        members.append(nil)
        continue
      }
      // A part of another column's value has no place of its own.
      guard let path, !off.contains(path), let part = places.number(of: path) else { return nil }
      members.append(Member(path: path, part: part, isMissingNil: nil))
    }
  }

  /// Reads the text of a record; false if only its instance has the values.
  func read(_ text: UnsafeRawBufferPointer, comparedWith instance: Instance? = nil) -> Bool {
    source = if let instance { .both(instance, text) } else { .text(text) }
    return places.read(text, isWhole: false)
  }

  /// The value of a column. Throws ``Untold`` if the source does not have it, and the error of the column.
  func value<Value>(of column: Column<Instance, Value>, at place: Int) throws -> Value {
    switch source {
    case .instance(let instance): return try column.value(instance)
    case .keys:
      guard let value = column.keyed(keyPlaces[place].map { keys[$0] } ?? .null) else { throw MissingValue() }
      return value
    case .text(let text):
      guard let value = value(of: column, at: place, in: text) else { throw MissingValue() }
      return value
    case .both(let instance, let text):
      let value = try column.value(instance)
      compare(value, of: column, at: place, in: text)
      return value
    }
  }

  private func value<Value>(
    of column: Column<Instance, Value>, at place: Int, in text: UnsafeRawBufferPointer
  ) -> Value? {
    guard let member = members[place] else { return column.read(.null) }
    if let token = places[member.part] { return column.read(StoredMember(token: token, text: text)) }
    return member.isMissingNil == true ? column.read(.null) : nil
  }

  /// Learns what a missing member stands for.
  private func compare<Value>(
    _ own: Value, of column: Column<Instance, Value>, at place: Int, in text: UnsafeRawBufferPointer
  ) {
    guard let member = members[place] else { return }
    if let token = places[member.part] {
      let value = column.read(StoredMember(token: token, text: text))
      if let value, !column.isEqual(value, own) { different = member.path }
    } else if let null = column.read(.null) {
      let isNil = column.isEqual(null, own)
      members[place]?.isMissingNil = isNil && member.isMissingNil != false
      if member.isMissingNil == true, !isNil { different = member.path }
    }
  }
}

/// Makes rows of the texts of records, and compares some of them with the instances.
struct RowReading<Instance: Sendable, Row> {
  private let rows: Rows<Instance, Row>
  private var stored: ColumnValues<Instance>?
  private var pace: StoredPace
  /// Whether no text is needed, because rows are the same for all instances.
  let isConstant: Bool
  /// Whether a row was made of a text.
  private var isTaken = false

  init(_ rows: Rows<Instance, Row>, expectsMany: Bool = false) {
    self.rows = rows
    isConstant = rows.properties.allSatisfy { $0 == nil }
    pace = StoredPace(mayBegin: !isConstant, expectsMany: expectsMany)
  }

  /// The row of any instance, if rows are the same for all.
  func constant() throws -> Row { try rows.row(ColumnValues(ofConstants: rows.properties.count)) }

  /// The row of a record; nil if its instance has to be decoded.
  mutating func row<Format: DatastoreFormat>(
    of record: Bytes, in core: DatastoreCore<Format>
  ) -> Row? where Format.Instance == Instance {
    if isConstant { return try? constant() }
    if stored == nil {
      guard pace.begins() else { return nil }
      stored = core.stored(by: record, &pace.mayBegin) { ColumnValues(rows.properties, in: $0, without: $1) }
    }
    guard let stored, !pace.compares() else { return nil }
    let row = core.coder.withText(of: record) { text -> Row? in
      guard stored.read(text) else { return nil }
      return try? rows.row(stored)
    }
    if row != nil { isTaken = true }
    return row
  }

  /// The row of an instance, which is compared with the text of its record. If they differ, no text is asked for that property any more.
  ///
  /// - Throws: ``DecodedOtherwise`` if rows were made of texts before.
  mutating func row<Format: DatastoreFormat>(
    of instance: Instance, _ record: Bytes, in core: DatastoreCore<Format>
  ) throws -> Row where Format.Instance == Instance {
    let compared = try core.coder.withText(of: record) { text -> Row? in
      guard let stored, stored.read(text, comparedWith: instance) else { return nil }
      return try rows.row(stored)
    }
    if let different = stored?.different {
      stored = nil
      core.stored.withLock { _ = $0.off.insert(different) }
      if isTaken { throw DecodedOtherwise(datastore: core.key) }
    }
    return if let compared { compared } else { try rows.row(ColumnValues(.instance(instance))) }
  }
}
