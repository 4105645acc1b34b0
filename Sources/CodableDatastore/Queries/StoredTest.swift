import StrataDocuments
import StrataEngine
import StrataFoundation
import StrataModel

/// Tests the texts of records against the conditions of a query. It is not generic, so that no text costs a look for a type.
struct TextTest {
  struct Part {
    let number: Int
    /// The integers that the type can hold; nil of other types.
    let limits: ClosedRange<Int64>?
    /// Whether the type decodes a missing member as nil; nil until one was met.
    var isMissingNil: Bool?
  }

  fileprivate(set) var condition: ByteCondition
  fileprivate(set) var parts: [Part]
  /// The beginning of the records that it can read.
  let head: [UInt8]

  /// Whether a record meets the conditions; nil if only its instance tells.
  mutating func holds(for record: Bytes) -> Bool? {
    record.withUnsafeBytes { bytes in RecordBytes.content(of: bytes, after: head).flatMap { holds(for: $0) } }
  }

  private mutating func holds(for text: UnsafeRawBufferPointer) -> Bool? {
    let parts = parts
    let holds = condition.holds(for: text) { number in
      parts.contains { $0.number == number && $0.isMissingNil == true } ? .null : nil
    }
    for part in parts {
      guard let limits = part.limits, let token = condition.places[part.number], token.kind == .number else { continue }
      guard let value = JSONNumber.shortInteger(token.content(in: text)), limits.contains(value) else { return nil }
    }
    return holds
  }
}

/// The conditions of a query, as far as the stored text of a record tells whether they hold.
///
/// Each instance that is decoded is compared with its text: an `init(from:)` may change values.
struct StoredTest<Instance> {
  var text: TextTest
  /// In the order of the text's parts.
  private let members: [StoredSource<Instance>]

  /// - Returns: nil if the text of no record tells anything.
  init?(
    _ predicates: [Predicate<Instance>], layout: StoredLayout, without off: Set<DocumentPath>, behind head: [UInt8]
  ) {
    var properties = IndexedProperties(Instance.self)
    var sources: [Int: StoredSource<Instance>] = [:]
    for (path, source) in Self.sources(of: predicates, in: layout) where !off.contains(source.path) {
      sources[properties.add(path)] = source
    }
    let reading = PredicateReading(properties: properties)
    let whole = QueryCondition.all(predicates.map { reading.condition(of: $0.expression) })
    let condition = ByteCondition(whole, readsWhole: false) { subject in
      if case .property(let number) = subject { sources[number]?.path } else { nil }
    }
    guard let condition else { return nil }
    let found = sources.values.compactMap { source in
      condition.places.number(of: source.path).map { (source, TextTest.Part(number: $0, limits: source.limits)) }
    }
    text = TextTest(condition: condition, parts: found.map(\.1), head: head)
    members = found.map(\.0)
  }

  static func sources(
    of predicates: [Predicate<Instance>], in layout: StoredLayout
  ) -> [(path: AnyKeyPath, source: StoredSource<Instance>)] {
    predicates.flatMap { PredicateProperties.places(in: $0.expression) }.compactMap { place in
      guard case .path(let path) = place else { return nil }
      return StoredSource(path, in: layout).map { (path, $0) }
    }
  }

  /// The first member of the text tested last that an instance made of it does not have as its property.
  mutating func difference(of bytes: UnsafeRawBufferPointer, from instance: Instance) -> DocumentPath? {
    guard text.condition.places.isRead else { return nil }
    for index in members.indices {
      let (member, part) = (members[index], text.parts[index])
      guard let token = text.condition.places[part.number] else {
        guard case .optional = member.encoding else { continue }
        let isNil = member.isValue(instance, .null)
        if part.isMissingNil == true, !isNil { return member.path }
        text.parts[index].isMissingNil = isNil && part.isMissingNil != false
        continue
      }
      if let value = KeyValue(token, in: bytes, member.encoding), !member.isValue(instance, value) {
        return member.path
      }
    }
    return nil
  }
}

/// A stored property whose value a text tells: an integer, a double, a Boolean, a text, or an optional of these.
struct StoredSource<Instance> {
  let path: DocumentPath
  let encoding: KeyEncoding
  let limits: ClosedRange<Int64>?
  let isValue: (Instance, KeyValue) -> Bool

  init?(_ keyPath: AnyKeyPath, in layout: StoredLayout) {
    guard let own = keyPath as? PartialKeyPath<Instance>, let path = layout.path(of: own) else { return nil }
    self.path = path
    if let boolean = keyPath as? KeyPath<Instance, Bool> {
      (encoding, limits, isValue) = (.bool, nil, { $1 == .bool($0[keyPath: boolean]) })
      return
    }
    if let boolean = keyPath as? KeyPath<Instance, Bool?> {
      (encoding, limits, isValue) = (.optional(.bool), nil, { $1 == $0[keyPath: boolean].map { .bool($0) } ?? .null })
      return
    }
    typealias Key = any (ByteOrderedKey & Equatable).Type
    guard let key = type(of: own).valueType as? Key else { return nil }
    func source<Value: ByteOrderedKey & Equatable>(
      _ type: Value.Type
    ) -> (KeyEncoding, (Instance, KeyValue) -> Bool)? {
      guard let path = keyPath as? KeyPath<Instance, Value> else { return nil }
      return (Value.keyEncoding, { instance, value in Value(value) == instance[keyPath: path] })
    }
    guard let (encoding, isValue) = source(key) else { return nil }
    let content = if case .optional(let inner) = encoding { inner } else { encoding }
    switch content {
    case .integer, .unsigned: limits = Self.limits(of: type(of: own).valueType)
    case .double, .string: limits = nil
    default: return nil
    }
    (self.encoding, self.isValue) = (encoding, isValue)
  }

  private static func limits(of type: Any.Type) -> ClosedRange<Int64>? {
    func limits<Value: ByteOrderedInteger>(_ type: Value.Type) -> ClosedRange<Int64> {
      Int64(clamping: Value.min)...Int64(clamping: Value.max)
    }
    if let type = type as? any ByteOrderedInteger.Type { return limits(type) }
    return (type as? any AnyOptional.Type).flatMap { Self.limits(of: $0.wrapped) }
  }
}

extension KeyValue {
  /// The value of a token, as keys of an encoding have it; nil if the decoder has to tell.
  init?(_ token: JSONToken, in text: UnsafeRawBufferPointer, _ encoding: KeyEncoding) {
    switch (token.kind, encoding) {
    case (.null, .optional): self = .null
    case (_, .optional(let inner)): self.init(token, in: text, inner)
    case (.yes, .bool): self = .bool(true)
    case (.no, .bool): self = .bool(false)
    case (.number, .integer), (.number, .unsigned):
      guard let value = JSONNumber.shortInteger(token.content(in: text)) else { return nil }
      self = .integer(value)
    case (.number, .double):
      guard let value = JSONNumber.double(token.content(in: text)) else { return nil }
      self = .double(value)
    case (.text, .string) where token.isPlain:
      self = .string(String(decoding: token.content(in: text), as: UTF8.self))
    default: return nil
    }
  }
}
