import StrataModel
import StrataDocuments

/// The properties of an instance that are written in any order: sets, and dictionaries that `Codable` writes as a list because their keys
/// are neither texts nor integers. Each process writes them in an order of its own.
///
/// Found from one encoding of an instance, or from its stored properties if an app's own encoder writes it. A property within an optional
/// that is nil there is not found.
struct UnorderedProperties: Sendable {
  /// `set` and `pairs` by the paths of their fields; nil for a property that has an order.
  private let forms: [String: String?]

  init(of instance: some Encodable, userInfo: [CodingUserInfoKey: Any]) {
    let encoder = PropertyEncoder(userInfo: userInfo)
    // A property that cannot be encoded was refused by the coder before this.
    try? instance.encode(to: encoder)
    forms = encoder.found.forms
  }

  /// Runs no code of the app, whose own encoder may have user info that the type cannot do without.
  init(ofStored instance: Any) {
    var forms: [String: String?] = [:]
    func add(_ value: Any, at path: DocumentPath) {
      let mirror = Mirror(reflecting: value)
      if mirror.displayStyle == .optional { mirror.children.first.map { add($0.value, at: path) } }
      guard mirror.displayStyle == .struct else { return }
      for child in mirror.children {
        guard let label = child.label else { continue }
        let (place, form) = (path.appending(label), type(of: child.value) as? any UnorderedValue.Type)
        forms[place.description] = .some(form?.form)
        if form == nil { add(child.value, at: place) }
      }
    }
    add(instance, at: .root)
    self.forms = forms
  }

  /// Notes them in a descriptor, which keeps those that other processes have found.
  func mark(in descriptor: inout DatastoreDescriptor) {
    var fields = descriptor.unorderedFields
    for (path, form) in forms { fields[path] = form }
    if fields != descriptor.unorderedFields { descriptor.unorderedFields = fields }
  }
}

/// A type whose values are written as a list in any order.
protocol UnorderedValue {
  /// The name of the form in a descriptor; nil if values of this type are written otherwise.
  static var form: String? { get }
}

extension Set: UnorderedValue {
  static var form: String? { "set" }
}

extension Dictionary: UnorderedValue {
  static var form: String? {
    Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type ? nil : "pairs"
  }
}

extension Optional: UnorderedValue where Wrapped: UnorderedValue {
  static var form: String? { Wrapped.form }
}

/// Encodes nothing, and notes the types of properties.
private struct PropertyEncoder: Encoder {
  final class Found { var forms: [String: String?] = [:] }

  var found = Found()
  var names = DocumentPath.root
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any]

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Properties<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { Elements(encoder: self, isList: true) }

  func singleValueContainer() -> any SingleValueEncodingContainer { Elements(encoder: self, isList: false) }

  func examine<Value: Encodable>(_ value: Value?, isElement: Bool = false) throws {
    let type = Value.self as? any UnorderedValue.Type
    // The elements of a list share its path, so that a list of sets cannot be distinguished from a set.
    if !isElement { found.forms[names.description] = .some(type?.form) }
    // Values in a dictionary have no path that all instances share. Numbers, texts and booleans encode themselves for ever.
    let isPlain = value is any BinaryInteger || value is any BinaryFloatingPoint || value is String || value is Bool
    if type == nil, !isPlain { try value?.encode(to: self) }
  }

  struct Properties<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: PropertyEncoder
    let codingPath: [any CodingKey] = []

    private func property(_ name: any CodingKey) -> PropertyEncoder {
      PropertyEncoder(
        found: encoder.found, names: encoder.names.appending(name.stringValue), userInfo: encoder.userInfo)
    }

    func encodeNil(forKey key: Key) {}

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try property(key).examine(value) }

    func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try property(key).examine(value) }

    func nestedContainer<Nested: CodingKey>(
      keyedBy keyType: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
      property(key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { property(key).unkeyedContainer() }

    func superEncoder() -> any Encoder { property(JSONKey(stringValue: "super")) }

    func superEncoder(forKey key: Key) -> any Encoder { property(key) }
  }

  /// The elements of a list, or the one value that a type is encoded as.
  struct Elements: UnkeyedEncodingContainer, SingleValueEncodingContainer {
    let encoder: PropertyEncoder
    let isList: Bool
    let codingPath: [any CodingKey] = []
    let count = 0

    func encodeNil() {}

    func encode<T: Encodable>(_ value: T) throws { try encoder.examine(value, isElement: isList) }

    func nestedContainer<Key: CodingKey>(keyedBy keyType: Key.Type) -> KeyedEncodingContainer<Key> {
      encoder.container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder }
  }
}
