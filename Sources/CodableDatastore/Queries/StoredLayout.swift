import StrataDocuments

/// The places of a type's stored properties in the JSON text of an instance, as the decoding of one record showed them.
///
/// A property is known if each struct on the way to it asked for exactly its stored properties, in their order and with their types, by
/// coding keys of its own. The compiler writes such an `init(from:)`.
struct StoredLayout: Sendable {
  private struct Property: Sendable {
    var offset: Int
    var type: Any.Type
    var path: DocumentPath
  }

  private var properties: [Property] = []

  init(of instance: Any, _ trace: DecodingTrace) { add(instance, at: 0, token: 0, path: .root, trace) }

  /// The place of the property that lies at an offset; nil if it is not known.
  func path(at offset: Int, of type: Any.Type) -> DocumentPath? {
    properties.first { $0.offset == offset && $0.type == type }?.path
  }

  /// The place of a property; nil if it is not stored or its place is not known.
  func path<Instance>(of property: PartialKeyPath<Instance>) -> DocumentPath? {
    MemoryLayout<Instance>.offset(of: property).flatMap { path(at: $0, of: type(of: property).valueType) }
  }

  private mutating func add(
    _ value: Any, at start: Int, token: Int, path: DocumentPath, _ trace: DecodingTrace
  ) {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .struct, !(value is any CustomReflectable),
      let asked = trace.members(of: token, as: type(of: value)), asked.count == mirror.children.count
    else { return }
    var end = 0
    var found: [(property: Property, value: Any, token: Int?)] = []
    for (child, asked) in zip(mirror.children, asked) {
      let type = type(of: child.value)
      guard type == asked.type else { return }
      let layout = Self.layout(of: type)
      let offset = (end + layout.alignment - 1) & ~(layout.alignment - 1)
      end = offset + layout.size
      let property = Property(offset: start + offset, type: type, path: path.appending(asked.name))
      found.append((property, child.value, asked.token))
    }
    guard end == Self.layout(of: type(of: value)).size else { return }
    // Coding keys in another order than the properties' would exchange properties of one type.
    let renamed = zip(mirror.children, found).filter { !Self.isNamed($0.0.label, as: $0.1.property.path) }.map(
      \.1.property)
    found.removeAll { one in
      renamed.contains { $0.offset == one.property.offset } && renamed.count { $0.type == one.property.type } > 1
    }
    properties += found.map(\.property)
    for (property, value, token) in found {
      guard let token else { continue }
      add(value, at: property.offset, token: token, path: property.path, trace)
    }
  }

  /// Whether a member has the name of a property, in whatever spelling: `first_name` of `firstName`.
  private static func isNamed(_ label: String?, as path: DocumentPath) -> Bool {
    guard case .member(let name)? = path.components.last, let label else { return false }
    func letters(_ name: String) -> String { name.lowercased().filter { $0 != "_" && $0 != "-" } }
    return letters(label) == letters(name)
  }

  private static func layout(of type: Any.Type) -> (size: Int, alignment: Int) {
    func layout<T>(_ type: T.Type) -> (size: Int, alignment: Int) { (MemoryLayout<T>.size, MemoryLayout<T>.alignment) }
    return _openExistential(type, do: layout)
  }
}
